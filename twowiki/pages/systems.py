"""Several systems side by side: what a report page and a leaderboard show of them. Pure.

In: what one pass over the gold found of each system. Out: rows of tables: scores with intervals,
paired differences with p-values adjusted for the number of pairs, what changed side between two
systems, where each lies on one scale, and slopes from system to system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from twowiki.metric.report import Difference, Interval, Report, compare_rows
from twowiki.metric.results import PARTS
from twowiki.metric.significance import holm
from twowiki.pages.collect import SystemFindings
from twowiki.pages.run_curves import STYLES, Curve

PART_NAMES = {"joint": "joint", "answer": "answer", "sp": "support", "evidence": "evidence"}
MEASURE_NAMES = {"em": "EM", "f1": "F1", "prec": "precision", "recall": "recall"}
SIDES = ("answer", "whole chain")


def shown_parts(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts that scores have, joint first, with the prefixes of their metrics."""
    return {part: PARTS[part] for part in PART_NAMES if metrics[f"{PARTS[part]}f1"] is not None}


class Place(NamedTuple):
    """Where a mean and its interval lie on a picture's scale, in percent of its width."""

    mean: float
    low: float
    high: float


class Scale(NamedTuple):
    """The ends of a picture's scale, whole tens around all values."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> Scale:
        """Return the scale that holds some values."""
        low, high = min(values, default=0.0), max(values, default=100.0)
        low, high = 10 * (low // 10), 10 * -(-high // 10)
        return cls(low, max(high, low + 10))

    def place(self, mean: float, interval: Interval | None) -> Place:
        """Return where a mean and its interval lie."""
        ends = interval or (mean, mean)
        return Place(*(100 * (one - self.low) / (self.high - self.low) for one in (mean, *ends)))


class PairDifference(NamedTuple):
    """The difference of two systems in one metric; `p` is adjusted for the number of pairs."""

    first: int
    second: int
    found: Difference
    p: float


def differences_of(
    systems: Sequence[SystemFindings], names: Sequence[str]
) -> list[tuple[int, int, dict[str, PairDifference]]]:
    """Return the differences of every pair of systems, by metric.

    Args:
        systems: the systems.
        names: the metrics to compare.
    """
    settings = systems[0].report.settings
    rows = [[one.metrics for one in system.report.results] for system in systems]
    pairs = list(combinations(range(len(systems)), 2))
    found = [
        compare_rows(
            rows[first],
            rows[second],
            systems[0].report.metric_names,
            rounds=settings.rounds,
            seed=settings.seed,
            confidence=settings.confidence,
            resamples=settings.resamples,
        )
        for first, second in pairs
    ]
    adjusted = {name: holm([one[name].p for one in found]) for name in names}
    return [
        (*pair, {name: PairDifference(*pair, one[name], adjusted[name][number]) for name in names})
        for number, (pair, one) in enumerate(zip(pairs, found, strict=True))
    ]


def changes_of(systems: Sequence[SystemFindings]) -> list[dict[str, Any]]:
    """Count for every pair of systems the questions that one has right and the other wrong."""
    sides = [system.right for system in systems]
    found = []
    for first, second in combinations(range(len(systems)), 2):
        for number, side in enumerate(SIDES):
            both = Counter(
                (one[number], other[number])
                for one, other in zip(sides[first], sides[second], strict=True)
            )
            found.append(
                {"first": first, "second": second, "side": side, "key": f"{'aw'[number]}",
                 "both": both[True, True], "only_first": both[True, False],
                 "only_second": both[False, True], "neither": both[False, False]}
            )  # fmt: skip
    return found


def by_type(systems: Sequence[SystemFindings]) -> list[tuple[str, list[tuple[str, Report | Any]]]]:
    """Return the scores of each system for all questions, then for each question type."""
    groups: list[tuple[str, list[tuple[str, Any]]]] = [
        ("all", [(one.name, one.report) for one in systems])
    ]
    for kind in systems[0].report.types:
        groups.append((kind, [(one.name, one.report.types[kind]) for one in systems]))
    return groups


def by_hop(systems: Sequence[SystemFindings], parts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the share of gold triples and sentences that each system found, by hop."""
    hops = systems[0].hops.hops
    if len(hops) < 2:
        return []
    words = {"sp": "sentences", "evidence": "triples"}
    return [
        {"what": words[part], "name": system.name,
         "shares": [(hop, system.hops.share(part, hop)) for hop in hops]}
        for part in ("sp", "evidence") if part in parts
        for system in systems
    ]  # fmt: skip


def slopes_of(title: str, lines: Sequence[tuple[str, Sequence[float]]]) -> dict[str, Any]:
    """Return the picture of values that go from system to system, one line for each name.

    Args:
        title: the picture's title.
        lines: names with the values of each system, in percent.
    """
    scale = Scale.around([value for _, values in lines for value in values])
    curves = []
    for number, (name, values) in enumerate(lines):
        points = [
            f"{100 * (place + 0.5) / len(values):.2f},{100 - scale.place(value, None).mean:.2f}"
            for place, value in enumerate(values)
        ]
        shown = " → ".join(f"{value:.1f}" for value in values)
        curves.append(Curve(name, " ".join(points), number % STYLES, shown))
    count = len(lines[0][1])
    return {
        "title": title,
        "unit": "%",
        "low": f"{scale.low:g}",
        "high": f"{scale.high:g}",
        "columns": [100 * (place + 0.5) / count for place in range(count)],
        "curves": curves,
    }
