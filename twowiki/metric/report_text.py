"""The report of the joint metric as tables of text, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twowiki.metric.consistency import render_consistency
from twowiki.metric.results import MEASURES, PARTS
from twowiki.metric.tables import format_score, render_table

if TYPE_CHECKING:
    from twowiki.metric.people import PeopleSummary
    from twowiki.metric.report import Comparison, Report, Summary

_PART_TITLES = {"answer": "answer", "sp": "support", "evidence": "evidence", "joint": "joint"}
_MEASURE_TITLES = {"em": "EM", "f1": "F1", "prec": "prec", "recall": "recall"}


def render_report(report: Report) -> str:
    """Return the tables, counts and signature of a report."""
    blocks = [_parts_table(report)]
    if report.settings.by_type and report.types:
        blocks.append(_types_table(report.types))
    if report.people is not None:
        blocks.append(_people_table(report.people, by_type=report.settings.by_type))
    if report.comparison is not None:
        blocks.append(_comparison_table(report, report.comparison))
    if report.consistency:
        blocks.append(render_consistency(report.consistency))
    if report.hops is not None:
        blocks.append(report.hops.render())
    if report.blame is not None:
        blocks.append(report.blame.render())
    blocks.append("\n".join([*_counts(report), report.signature]))
    return "\n\n".join(blocks)


def _parts_table(summary: Report) -> str:
    def cell(name: str) -> str:
        intervals = summary.intervals
        return format_score(summary.metrics[name], (intervals or {}).get(name))

    rows = [["", *(_MEASURE_TITLES[measure] for measure in MEASURES)]]
    for part, prefix in PARTS.items():
        rows.append([_PART_TITLES[part], *(cell(prefix + measure) for measure in MEASURES)])
    if "contains" in summary.metrics:
        rows.append(["contains", cell("contains"), "", "", ""])
    return render_table(rows)


def _types_table(types: dict[str, Summary]) -> str:
    """Return the columns of the paper's table 6; the intervals are in the JSON report."""
    names = [prefix + measure for prefix in PARTS.values() for measure in ("em", "f1")]
    rows = [["type", "n", *names]]
    for name, summary in types.items():
        rows.append([name, str(summary.n), *(format_score(summary.metrics[key]) for key in names)])
    return render_table(rows)


def _comparison_table(report: Report, comparison: Comparison) -> str:
    rows = [["", "this", "other", "difference", "p"]]
    for name, found in comparison.differences.items():
        scores = (report.metrics[name], comparison.metrics[name])
        difference = format_score(found.difference, sign="+")
        rows.append([name, *map(format_score, scores), difference, f"{found.p:.4f}"])
    title = f"against {comparison.other.name} (missing: {comparison.missing}; paired randomization"
    return f"{title}, {report.settings.rounds} rounds, two-sided)\n{render_table(rows)}"


PEOPLE_TITLES = {"average": "people", "upper_bound": "best person", "system": "this system"}


def _people_table(people: PeopleSummary, *, by_type: bool) -> str:
    names = [prefix + measure for prefix in PARTS.values() for measure in ("em", "f1")]
    rows = [["", "n", *names]]
    groups = [("", people.rows), *(people.types.items() if by_type else ())]
    for group, found in groups:
        for name, summary in found:
            title = f"{PEOPLE_TITLES[name]} {group}".strip()
            values = (format_score(summary.metrics[key]) for key in names)
            rows.append([title, str(summary.n), *values])
    title = f"beside {people.people} people, on the questions that they answered"
    return f"{title} ({people.answers} answers)\n{render_table(rows)}"


def _counts(report: Report) -> list[str]:
    settings = report.settings
    lines = [
        f"gold examples: {report.n}; missing or incomplete predictions: "
        f"{len(report.missing_ids)}; extra predictions, ignored: {len(report.extra_ids)}"
    ]
    if report.amendments is not None:
        one = report.amendments
        lines.append(
            f"gold amended by {one['source']}: {one['changed']} changed, {one['left_out']} left out"
        )
    if report.intervals is not None:
        lines.append(
            f"[{settings.confidence:.0%} intervals: percentile bootstrap, {settings.resamples} "
            f"resamples, seed {settings.seed}]"
        )
    if "evidence" in report.form.parts:
        differing = (
            f"the official and the one_to_one matching differ on {report.differing} examples"
        )
        lines.append(differing)
    return lines
