"""Which candidates become samples: in the order of the draw, yes/no balanced, no question twice.

In: the `selected_*` tables. Out: samples, and every candidate that was dropped on the way with its
reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from twowiki.generation.entities import Entities
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


class SelectedSamples(NamedTuple):
    """Samples in the order of the draw, and the candidates that were dropped."""

    samples: list[GeneratedSample]
    dropped: list[DroppedCandidate]


def table_of_type(question_type: str) -> str:
    """Return the name of the table that holds a type's candidates."""
    return _RULES[question_type].table


def read_candidates(folder: Path, question_type: str, most: int | None) -> list[Candidate]:
    """Read the first candidates of a type, with a surplus for what will be dropped."""
    rows: list[Candidate] = []
    surplus = None if most is None else 3 * most + 50
    shape: Any = GenericAlias(list, (_RULES[question_type].candidate,))
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=20_000):
            for row in msgspec.convert(batch.to_pylist(), shape):
                if isinstance(row, ChainCandidate) and (question_type == "inference") != (
                    row.rule > 0
                ):
                    continue
                rows.append(row)
                if surplus is not None and len(rows) >= surplus:
                    return rows
    return rows


def select_samples(
    candidates: Iterable[Candidate],
    question_type: str,
    entities: Entities,
    style: Style,
    *,
    most: int | None,
    yes_share: float | None,
    known_questions: set[str],
) -> SelectedSamples:
    """Turn candidates of one type into samples.

    Args:
        candidates: in the order of the draw.
        question_type: the question type.
        entities: the entities that the candidates name.
        style: wording and seed.
        most: the number of samples wanted; None takes all.
        yes_share: the share of "yes" among yes/no answers; None does not balance them.
        known_questions: questions that exist already, folded; those of the samples are added.
    """
    selection = SelectedSamples([], [])
    balancer = _YesNoBalancer(yes_share)

    def drop(candidate: Candidate, reason: str) -> None:
        selection.dropped.append(DroppedCandidate(question_type, reason, candidate))

    for candidate in candidates:
        if most is not None and len(selection.samples) >= most:
            drop(candidate, "beyond_the_limit")
            continue
        plan = _RULES[question_type].plan(candidate, entities, style)
        for sample in _samples_of(plan, entities, style, every_answer=most is None):
            if isinstance(sample, Drop):
                drop(candidate, sample.reason)
                continue
            folded = sample.question.casefold().strip()
            if folded in known_questions:
                drop(candidate, "duplicate_question")
                continue
            known_questions.add(folded)
            selection.samples.extend(balancer.release(sample, candidate))
    for candidate in balancer.waiting():
        drop(candidate, "yes_no_balance")
    del selection.samples[most or len(selection.samples) :]
    return selection


def _samples_of(
    plan: Plan | Drop, entities: Entities, style: Style, *, every_answer: bool
) -> Iterator[GeneratedSample | Drop]:
    """Yield a plan's sample, or with `every_answer` one for each answer that it has."""
    if isinstance(plan, Drop):
        yield plan
        return
    for answer in answers_of(plan) if every_answer else [None]:
        yield render_question(plan, entities, style, answer)


class _YesNoBalancer:
    """Releases yes and no in turn, by their share; the more frequent one waits for the other.

    Every prefix of what is released is balanced, so that a limit keeps it so.
    """

    def __init__(self, yes_share: float | None) -> None:
        self._share = yes_share
        self._queues: dict[str, deque[tuple[GeneratedSample, Candidate]]] = {
            "yes": deque(), "no": deque(),
        }  # fmt: skip
        self._released = {"yes": 0, "no": 0}

    def release(self, sample: GeneratedSample, candidate: Candidate) -> Iterator[GeneratedSample]:
        """Add a sample; return the samples that are released now."""
        if self._share is None or sample.answer not in self._queues:
            yield sample
            return
        self._queues[sample.answer].append((sample, candidate))
        while self._queues[self._next(self._share)]:
            answer = self._next(self._share)
            self._released[answer] += 1
            yield self._queues[answer].popleft()[0]

    def _next(self, share: float) -> str:
        so_far = self._released["yes"] + self._released["no"] + 1
        return "yes" if self._released["yes"] < round(share * so_far, 9) else "no"

    def waiting(self) -> Iterator[Candidate]:
        """Return the candidates of the samples that were not released."""
        for queue in self._queues.values():
            for _, candidate in queue:
                yield candidate
