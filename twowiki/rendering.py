"""A joint report as text: the four parts, the question types, the other system, and the signature.

Two decimals, percent. Everything that a number needs to be compared stands in the last line.
"""

from __future__ import annotations

from collections.abc import Sequence

from twowiki.report import Comparison, Group, Interval, Report
from twowiki.rows import FIGURES, PARTS

_NAMES = {"answer": "answer", "sp": "support", "evidence": "evidence", "joint": "joint"}
_SHORT = {"em": "EM", "f1": "F1", "prec": "prec", "recall": "recall"}


def render_report(report: Report) -> str:
    """Give the report's tables, counts and signature; its warnings stand in `report.warnings`."""
    blocks = [_parts_table(Group(report.n, report.metrics, report.intervals))]
    if report.by_type and report.types:
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
    return f"{title}, {report.resampling.rounds} rounds, two-sided)\n{table(lines)}"


def _counts(report: Report) -> list[str]:
    lines = [
        f"gold examples: {report.n}; missing or incomplete predictions: "
        f"{len(report.missing_ids)}; extra predictions, ignored: {len(report.extra_ids)}"
    ]
    if report.intervals is not None:
        drawn = report.resampling
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
