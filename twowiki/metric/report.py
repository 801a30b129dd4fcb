"""Rows into a report: means, means by type, intervals, a paired test, and the words around them.

In: the rows of one or two systems on one gold. Out: a `Report`, which is a dict for JSON
(`to_dict`) and a table for people (`render`). Means are unrounded percentages, summed in the
gold's order as the evaluators do; the table shows two decimals.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

from twowiki._version import __version__
from twowiki.data.schema import HOTPOT_TYPES, TWO_WIKI_TYPES
from twowiki.io.json_files import Source
from twowiki.metric.results import FIGURES, KEYS, PARTS, Row
from twowiki.metric.settings import ScoreSettings

UNTYPED = "untyped"
_TYPES = tuple(dict.fromkeys((*TWO_WIKI_TYPES, *HOTPOT_TYPES)))
_TYPE_ORDER = {name: place for place, name in enumerate(_TYPES)}

Interval = tuple[float, float]


class Group(NamedTuple):
    """The means over some of the examples."""

    n: int
    metrics: dict[str, float]
    intervals: dict[str, Interval] | None = None


class Comparison(NamedTuple):
    """Another system on the same gold: its means, the differences to it, and how sure they are."""

    other: Source
    metrics: dict[str, float]
    differences: dict[str, float]  # this system's mean minus the other's
    p_values: dict[str, float]
    missing: int


@dataclass(frozen=True)
class Report:
    """What one scoring found.

    Attributes:
        rows: a row an example, in the gold's order, figures 0-1 in the order of `keys`.
        settings: the options of the score.
        signature: everything that can move the score, in one line.
        predictions, gold, aliases: where the data came from, with hashes.
        missing_ids: gold examples of which the prediction leaves out a part, or all.
        extra_ids: predicted ids that the gold does not know; they are ignored.
        subset: the ids that were scored, where a subset was asked for.
        comparison: another system on the same gold.
        warnings: what a reader of the score should know.
        command: the command line, where there was one.
    """

    rows: Sequence[Row]
    settings: ScoreSettings
    signature: str
    predictions: Source
    gold: Source
    aliases: Source | None = None
    missing_ids: tuple[str, ...] = ()
    extra_ids: tuple[str, ...] = ()
    subset: tuple[str, ...] | None = None
    comparison: Comparison | None = None
    warnings: tuple[str, ...] = ()
    command: str | None = None

    @property
    def n(self) -> int:
        """How many gold examples were scored."""
        return len(self.rows)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the figures; the official 16, and extra ones last."""
        return keys_of(self.settings)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The unrounded means, 0-100, under the evaluators' names."""
        return means_of(self.rows, self.keys)

    @cached_property
    def intervals(self) -> dict[str, Interval] | None:
        """The means' bootstrap intervals, where a confidence was asked for."""
        return intervals_of(self.rows, self.keys, self.settings)

    @cached_property
    def types(self) -> dict[str, Group]:
        """The means of each question type that occurs."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.type or UNTYPED, []).append(row)
        order = sorted(groups, key=lambda name: (_TYPE_ORDER.get(name, len(_TYPE_ORDER)), name))
        return {
            name: Group(
                len(groups[name]),
                means_of(groups[name], self.keys),
                intervals_of(groups[name], self.keys, self.settings),
            )
            for name in order
        }

    @cached_property
    def differing(self) -> int:
        """On how many examples the official and the one-to-one matching differ."""
        return sum(row.differs for row in self.rows)

    @cached_property
    def above_100(self) -> int:
        """How many rows have a figure above 100."""
        return sum(row.differs and max(row.figures) > 1.0 for row in self.rows)

    def per_example(self) -> Iterator[dict[str, Any]]:
        """Yield each example's figures, 0-100, for a JSON-lines file."""
        for row in self.rows:
            figures = {key: value * 100 for key, value in zip(self.keys, row.figures, strict=True)}
            yield {
                "id": row.id,
                "type": row.type,
                **figures,
                "missing": list(row.missing),
                "matchings_differ": row.differs,
            }

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the rows, as JSON values."""
        missing = {
            part: sum(part in row.missing for row in self.rows if row.missing)
            for part in ("answer", "sp", "evidence")
        }
        report: dict[str, Any] = {
            "metric": "twowiki_joint",
            "signature": self.signature,
            "n": self.n,
            "metrics": dict(self.metrics),
            "version": self.settings.version,
            "matching": self.settings.matching,
            "options": list(self.settings.options),
            "missing": {"count": len(self.missing_ids), **missing, "ids": list(self.missing_ids)},
            "extra": {"count": len(self.extra_ids), "ids": list(self.extra_ids)},
            "matchings_differ": self.differing,
            "rows_above_100": self.above_100,
            "warnings": list(self.warnings),
        }
        report.update(self._chance())
        if self.settings.by_type:
            report["by_type"] = {name: _group(group) for name, group in self.types.items()}
        if self.comparison is not None:
            report["comparison"] = self._compared(self.comparison)
        report["subset"] = None if self.subset is None else list(self.subset)
        report["data"] = {
            "predictions": self.predictions._asdict(),
            "gold": self.gold._asdict(),
            "aliases": None if self.aliases is None else self.aliases._asdict(),
        }
        report["seed"] = self.settings.seed
        report["versions"] = {
            "twowiki": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        }
        report["command"] = self.command
        return report

    def _chance(self) -> dict[str, Any]:
        if self.intervals is None:
            return {}
        drawn = {"confidence": self.settings.confidence, "resamples": self.settings.resamples}
        return {"intervals": {**_listed(self.intervals)}, "bootstrap": drawn}

    def _compared(self, comparison: Comparison) -> dict[str, Any]:
        return {
            "other": comparison.other._asdict(),
            "metrics": dict(comparison.metrics),
            "differences": dict(comparison.differences),
            "p_values": dict(comparison.p_values),
            "missing": comparison.missing,
            "test": "paired approximate randomization, two-sided",
            "rounds": self.settings.rounds,
        }

    def render(self) -> str:
        """Give the tables and lines that a person reads."""
        return render_report(self)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"Report({self.signature}, joint_f1={self.metrics['joint_f1']:.2f})"


def keys_of(settings: ScoreSettings) -> tuple[str, ...]:
    """Give the names of the figures of a row."""
    return (*KEYS, "contains") if settings.contains else KEYS


def means_of(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, float]:
    """Sum each figure in the rows' order, divide, and make it a percentage."""
    columns = zip(*[row.figures for row in rows], strict=True)
    return {
        key: _in_order(column) / len(rows) * 100 for key, column in zip(keys, columns, strict=True)
    }


def _in_order(values: Iterable[float]) -> float:
    """Sum one value after the other, as the evaluators do (from 3.12 on, `sum` is more exact)."""
    return sum(values, 0.0) if sys.version_info < (3, 12) else reduce(add, values, 0.0)


def intervals_of(
    rows: Sequence[Row], keys: Sequence[str], settings: ScoreSettings
) -> dict[str, Interval] | None:
    """Give the means' percentile bootstrap intervals, None where none are asked for."""
    if settings.confidence is None:
        return None
    from twowiki.metric.significance import bootstrap_intervals

    ends = bootstrap_intervals(
        [row.figures for row in rows],
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return {
        key: (float(low) * 100, float(high) * 100)
        for key, (low, high) in zip(keys, ends, strict=True)
    }


def compare(
    rows: Sequence[Row],
    other_rows: Sequence[Row],
    other: Source,
    settings: ScoreSettings,
) -> Comparison:
    """Compare two systems' rows on the same gold, in the same order."""
    from twowiki.metric.significance import paired_randomization

    keys = keys_of(settings)
    tested = paired_randomization(
        [row.figures for row in rows],
        [row.figures for row in other_rows],
        rounds=settings.rounds,
        seed=settings.seed,
    )
    mine, theirs = means_of(rows, keys), means_of(other_rows, keys)
    return Comparison(
        other,
        theirs,
        {key: mine[key] - theirs[key] for key in keys},
        {key: float(value) for key, value in zip(keys, tested, strict=True)},
        sum(bool(row.missing) for row in other_rows),
    )


def _listed(intervals: dict[str, Interval]) -> dict[str, list[float]]:
    return {key: list(interval) for key, interval in intervals.items()}


def _group(group: Group) -> dict[str, Any]:
    entry: dict[str, Any] = {"n": group.n, "metrics": dict(group.metrics)}
    if group.intervals is not None:
        entry["intervals"] = _listed(group.intervals)
    return entry


_NAMES = {"answer": "answer", "sp": "support", "evidence": "evidence", "joint": "joint"}
_SHORT = {"em": "EM", "f1": "F1", "prec": "prec", "recall": "recall"}


def render_report(report: Report) -> str:
    """Give the report's tables, counts and signature; its warnings stand in `report.warnings`."""
    blocks = [_parts_table(Group(report.n, report.metrics, report.intervals))]
    if report.settings.by_type and report.types:
        blocks.append(_types_table(report.types))
    if report.comparison is not None:
        blocks.append(_comparison_table(report, report.comparison))
    blocks.append("\n".join([*_counts(report), report.signature]))
    return "\n\n".join(blocks)


def _parts_table(group: Group) -> str:
    lines = [["", *(_SHORT[figure] for figure in FIGURES)]]
    for part, prefix in PARTS.items():
        keys = [prefix + figure for figure in FIGURES]
        lines.append([_NAMES[part], *(_cell(group, key) for key in keys)])
    if "contains" in group.metrics:
        lines.append(["contains", _cell(group, "contains"), "", "", ""])
    return table(lines)


def _cell(group: Group, key: str) -> str:
    return f"{group.metrics[key]:.2f}{_range(group.intervals, key)}"


def _range(intervals: dict[str, Interval] | None, key: str) -> str:
    if intervals is None:
        return ""
    low, high = intervals[key]
    return f" [{low:.2f}, {high:.2f}]"


def _types_table(types: dict[str, Group]) -> str:
    """Give the columns of the paper's table 6; intervals stand in the JSON report."""
    keys = [prefix + figure for prefix in PARTS.values() for figure in ("em", "f1")]
    lines = [["type", "n", *keys]]
    for name, group in types.items():
        lines.append([name, str(group.n), *(f"{group.metrics[key]:.2f}" for key in keys)])
    return table(lines)


def _comparison_table(report: Report, comparison: Comparison) -> str:
    lines = [["", "this", "other", "difference", "p"]]
    for key in report.keys:
        lines.append(
            [
                key,
                f"{report.metrics[key]:.2f}",
                f"{comparison.metrics[key]:.2f}",
                f"{comparison.differences[key]:+.2f}",
                f"{comparison.p_values[key]:.4f}",
            ]
        )
    title = f"against {comparison.other.name} (missing: {comparison.missing}; paired randomization"
    return f"{title}, {report.settings.rounds} rounds, two-sided)\n{table(lines)}"


def _counts(report: Report) -> list[str]:
    lines = [
        f"gold examples: {report.n}; missing or incomplete predictions: "
        f"{len(report.missing_ids)}; extra predictions, ignored: {len(report.extra_ids)}"
    ]
    if report.intervals is not None:
        drawn = report.settings
        lines.append(
            f"[{drawn.confidence:.0%} intervals: percentile bootstrap, {drawn.resamples} "
            f"resamples, seed {drawn.seed}]"
        )
    lines.append(f"the official and the one_to_one matching differ on {report.differing} examples")
    return lines


def table(lines: Sequence[Sequence[str]]) -> str:
    """Align cells: the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
