"""Which candidates become samples: in the order of the draw, yes/no balanced, no question twice.

In: the `chosen_*` tables. Out: samples, and every candidate that was dropped on the way with its
reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

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
from twowiki.generation.world import World

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
    ready: list[tuple[Sample, Row]] = []
    for row in rows:
        for sample in _samples_of(row, kind, world, style, every=most is None):
            if isinstance(sample, Drop):
                chosen.dropped.append((kind, row, sample.reason))
                continue
            folded = sample.question.casefold().strip()
            if folded in asked:
                chosen.dropped.append((kind, row, "duplicate_question"))
                continue
            asked.add(folded)
            ready.append((sample, row))
    kept = _balanced(ready, yes_share, chosen.dropped, kind)
    chosen.samples.extend(sample for sample, _ in kept[: most or None])
    for _, row in kept[most:] if most is not None else ():
        chosen.dropped.append((kind, row, "beyond_the_limit"))
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


def _balanced(
    ready: list[tuple[Sample, Row]],
    yes_share: float | None,
    dropped: list[tuple[str, Row, str]],
    kind: str,
) -> list[tuple[Sample, Row]]:
    """Take yes and no in turn, by their share; what is left of the commoner one is dropped.

    Every start of the result is balanced, so that a limit later keeps it so.
    """
    if yes_share is None:
        return ready
    waiting = {
        answer: deque(entry for entry in ready if entry[0].answer == answer)
        for answer in ("yes", "no")
    }
    kept: list[tuple[Sample, Row]] = []
    taken = {"yes": 0, "no": 0}
    for entry in ready:
        if entry[0].answer not in waiting:
            kept.append(entry)
            continue
        so_far = taken["yes"] + taken["no"] + 1
        wanted = "yes" if taken["yes"] < round(yes_share * so_far, 9) else "no"
        if waiting[wanted]:
            kept.append(waiting[wanted].popleft())
            taken[wanted] += 1
    for left in waiting.values():
        dropped.extend((kind, row, "yes_no_balance") for _, row in left)
    return kept
