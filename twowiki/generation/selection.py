"""Which candidates become samples: in the order of the draw, yes/no balanced, no question twice.

In: the `selected_*` tables. Out: samples, and every candidate that was dropped on the way with its
reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from twowiki.generation.drawing import Drawing, Drawn
from twowiki.generation.entities import Entities
from twowiki.generation.review import Reviewer
from twowiki.generation.samples import (
    BridgeComparisonCandidate,
    Candidate,
    ChainCandidate,
    ComparisonCandidate,
    Drop,
    GeneratedSample,
    Plan,
    Style,
    answers_of,
    plan_bridge_comparison,
    plan_chain,
    plan_comparison,
    render_question,
)
from twowiki.generation.tables import parquet_files


class _TypeRules(NamedTuple):
    """The table of a question type, the shape of its rows and how a row is prepared."""

    table: str
    candidate: type[Candidate]
    plan: Callable[[Any, Entities, Style], Plan | Drop]


_CHAIN = _TypeRules("selected_chains", ChainCandidate, plan_chain)
_RULES = {
    "comparison": _TypeRules("selected_comparison", ComparisonCandidate, plan_comparison),
    "inference": _CHAIN,
    "compositional": _CHAIN,
    "bridge_comparison": _TypeRules(
        "selected_bridge_comparison", BridgeComparisonCandidate, plan_bridge_comparison
    ),
}


class DroppedCandidate(msgspec.Struct):
    """A candidate that gives no sample, with the reason."""

    type: str
    reason: str
    candidate: Candidate


def table_of_type(question_type: str) -> str:
    """Return the name of the table that holds a type's candidates."""
    return _RULES[question_type].table


def candidate_of_type(question_type: str) -> type[Candidate]:
    """Return the shape of a type's candidates."""
    return _RULES[question_type].candidate


def read_candidates(folder: Path, question_type: str, surplus: int | None) -> Iterator[Candidate]:
    """Yield the first candidates of a type, more than are wanted; None yields all."""
    shape: Any = GenericAlias(list, (_RULES[question_type].candidate,))
    rows = (
        row
        for file in parquet_files(folder)
        for batch in pq.ParquetFile(file).iter_batches(batch_size=5_000)
        for row in msgspec.convert(batch.to_pylist(), shape)
        if not isinstance(row, ChainCandidate) or (question_type == "inference") == (row.rule > 0)
    )
    return islice(rows, surplus)


def select_samples(
    candidates: Iterable[Candidate],
    question_type: str,
    entities: Entities,
    style: Style,
    *,
    most: int | None,
    drawing: Drawing,
    known_questions: set[str],
    reviewer: Reviewer,
) -> Iterator[GeneratedSample | DroppedCandidate]:
    """Turn candidates of one type into samples, in the order of the draw.

    Args:
        candidates: in the order of the draw.
        question_type: the question type.
        entities: the entities that the candidates name.
        style: wording and seed.
        most: the number of samples wanted; None takes all.
        drawing: decides which samples are released.
        known_questions: questions that exist already, folded; those of the samples are added.
        reviewer: chooses the facts' sentences and drops plans with faults.

    Yields:
        Samples, and every candidate that gives none.
    """
    count = 0
    for candidate in candidates:
        if most is not None and count >= most:
            yield DroppedCandidate(question_type, "beyond_the_limit", candidate)
            continue
        plan = _RULES[question_type].plan(candidate, entities, style)
        if isinstance(plan, Plan):
            plan = reviewer.review(plan)
        for sample in _samples_of(plan, entities, style, every_answer=most is None):
            if isinstance(sample, Drop):
                yield DroppedCandidate(question_type, sample.reason, candidate)
                continue
            folded = sample.question.casefold().strip()
            if folded in known_questions:
                yield DroppedCandidate(question_type, "duplicate_question", candidate)
                continue
            known_questions.add(folded)
            for released in drawing.release(Drawn(sample, candidate)):
                count += 1
                if most is None or count <= most:
                    yield released
    for late in drawing.late():
        count += 1
        if most is None or count <= most:
            yield late
    for candidate, reason in drawing.waiting():
        yield DroppedCandidate(question_type, reason, candidate)


def _samples_of(
    plan: Plan | Drop, entities: Entities, style: Style, *, every_answer: bool
) -> Iterator[GeneratedSample | Drop]:
    """Yield a plan's sample, or with `every_answer` one for each answer that it has."""
    if isinstance(plan, Drop):
        yield plan
        return
    for answer in answers_of(plan) if every_answer else [None]:
        yield render_question(plan, entities, style, answer)
