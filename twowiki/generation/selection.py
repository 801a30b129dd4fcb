"""Which candidates become samples: in the order of the draw, yes/no balanced, no question twice.

In: the `chosen_*` tables. Out: samples, and every candidate that was dropped on the way with its
reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from twowiki.generation.entities import World
from twowiki.generation.samples import (
    Drop,
    Plan,
    Sample,
    Style,
    answers_of,
    plan_bridge_comparison,
    plan_chain,
    plan_comparison,
    realise,
)
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import bare_title, normalize

Row = dict[str, Any]
Planner = Callable[[Mapping[str, Any], World, Style], Plan | Drop]
_PLANNERS: dict[str, Planner] = {
    "comparison": plan_comparison,
    "inference": plan_chain,
    "compositional": plan_chain,
    "bridge_comparison": plan_bridge_comparison,
}
TABLE_OF = {
    "comparison": "chosen_comparison",
    "inference": "chosen_chains",
    "compositional": "chosen_chains",
    "bridge_comparison": "chosen_bridge_comparison",
}
_ENTITIES = ("e", "b", "a", "s1", "s2", "f1", "h1", "f2", "h2")


class Chosen(NamedTuple):
    """Samples in the order of the draw, and (candidate, reason) of the dropped ones."""

    samples: list[Sample]
    dropped: list[tuple[str, Row, str]]


def candidates(folder: Path, kind: str, most: int | None) -> list[Row]:
    """Read the first candidates of a type, with a surplus for what will be dropped."""
    rows: list[Row] = []
    surplus = None if most is None else 3 * most + 50
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=20_000):
            for row in batch.to_pylist():
                if kind in ("inference", "compositional") and (kind == "inference") != (
                    row["rule"] > 0
                ):
                    continue
                rows.append(row)
                if surplus is not None and len(rows) >= surplus:
                    return rows
    return rows


def entities_of(rows: Iterable[Row]) -> Iterator[int]:
    """Give the ids that candidates name."""
    for row in rows:
        for name in _ENTITIES:
            if name in row and row[name] < 10**15:
                yield row[name]


def choose(
    rows: Iterable[Row],
    kind: str,
    world: World,
    style: Style,
    *,
    most: int | None,
    yes_share: float | None,
    asked: set[str],
) -> Chosen:
    """Turn candidates of one type into samples.

    Args:
        rows: candidates in the order of the draw.
        kind: the question type.
        world: what is known of their entities.
        style: wording and seed.
        most: samples wanted; None takes all.
        yes_share: the share of "yes" among yes/no answers; None leaves them as they fall.
        asked: questions that exist already; grows.
    """
    chosen = Chosen([], [])
    turns = _Turns(yes_share)
    for row in rows:
        if most is not None and len(chosen.samples) >= most:
            chosen.dropped.append((kind, row, "beyond_the_limit"))
            continue
        for sample in _samples_of(row, kind, world, style, every=most is None):
            if isinstance(sample, Drop):
                chosen.dropped.append((kind, row, sample.reason))
                continue
            folded = sample.question.casefold().strip()
            if folded in asked:
                chosen.dropped.append((kind, row, "duplicate_question"))
                continue
            asked.add(folded)
            chosen.samples.extend(turns.take(sample, row))
    chosen.dropped.extend((kind, row, "yes_no_balance") for row in turns.left())
    del chosen.samples[most or len(chosen.samples) :]
    return chosen


def _samples_of(
    row: Row, kind: str, world: World, style: Style, *, every: bool
) -> Iterator[Sample | Drop]:
    """Give a candidate's sample; one for each answer that it has, where all are asked for."""
    plan = _PLANNERS[kind](row, world, style)
    if isinstance(plan, Drop):
        yield plan
        return
    for answer in answers_of(plan) if every else [None]:
        yield realise(plan, world, style, answer)


class _Turns:
    """Lets yes and no through in turn, by their share; the commoner one waits for the other.

    Every start of what goes through is balanced, so that a limit keeps it so.
    """

    def __init__(self, yes_share: float | None) -> None:
        self._share = yes_share
        self._waiting: dict[str, deque[tuple[Sample, Row]]] = {"yes": deque(), "no": deque()}
        self._taken = {"yes": 0, "no": 0}

    def take(self, sample: Sample, row: Row) -> Iterator[Sample]:
        """Give what may go through now that this sample is here."""
        if self._share is None or sample.answer not in self._waiting:
            yield sample
            return
        self._waiting[sample.answer].append((sample, row))
        while self._waiting[self._next(self._share)]:
            answer = self._next(self._share)
            self._taken[answer] += 1
            yield self._waiting[answer].popleft()[0]

    def _next(self, share: float) -> str:
        so_far = self._taken["yes"] + self._taken["no"] + 1
        return "yes" if self._taken["yes"] < round(share * so_far, 9) else "no"

    def left(self) -> Iterator[Row]:
        """Give the rows of those that still wait."""
        for waiting in self._waiting.values():
            for _, row in waiting:
                yield row


_BRIDGED = ("inference", "compositional")


def fault_of(sample: Mapping[str, Any], paragraphs: int) -> str:
    """Name what is wrong with a sample; "" if nothing is.

    Args:
        sample: question, answer, context, supporting_facts, evidences, type.
        paragraphs: how many its context has to have.
    """
    pages: dict[str, Sequence[str]] = dict(sample["context"])
    if len(pages) != len(sample["context"]):
        return "recheck_repeated_title"
    if len(pages) != paragraphs:
        return "recheck_number_of_paragraphs"
    if any(not 0 <= sent_id < len(pages.get(title, ())) for title, sent_id in _support(sample)):
        return "recheck_unresolved_support"
    sentences = [pages[title][sent_id] for title, sent_id in _support(sample)]
    if not all(_stands(target, sentences) for _, _, target in sample["evidences"]):
        return "recheck_unsupported_object"
    return _bridge_fault(sample, pages) if sample["type"] in _BRIDGED else _pair_fault(sample)


def _support(sample: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(title, sent_id) for title, sent_id in sample["supporting_facts"]]


def _stands(text: str, sentences: Sequence[str]) -> bool:
    """Tell whether words stand in a sentence; spaces inside names may differ."""
    if any(normalize(text) in normalize(sentence) for sentence in sentences):
        return True
    plain = "".join(text.split())
    return any(plain in "".join(sentence.split()) for sentence in sentences)


def _bridge_fault(sample: Mapping[str, Any], pages: Mapping[str, Sequence[str]]) -> str:
    """Check the paper's requirements that keep a question from being answered in one hop."""
    first, second = (" ".join(pages[title]) for title, _ in _support(sample)[:2])
    if sample["answer"] != sample["evidences"][-1][2]:
        return "recheck_answer_is_not_the_last_object"
    if normalize(sample["answer"]) in normalize(first):
        return "recheck_answer_in_first_paragraph"
    start = sample["evidences"][0][0]
    names = {normalize(start), normalize(bare_title(_support(sample)[0][0]))}
    if any(name in normalize(second) for name in names):
        return "recheck_start_in_second_paragraph"
    return ""


def _pair_fault(sample: Mapping[str, Any]) -> str:
    if sample["answer"] in ("yes", "no"):
        return ""
    asked = normalize(sample["answer"]) in normalize(sample["question"])
    return "" if asked else "recheck_answer_not_in_question"
