"""Results of examples into a report: means, intervals, tests, signatures, tables.

The first part is shared by every metric of the package. In: one row of shares (0-1) per example
and the names of the columns. Out:

- `summarize`: the number of rows, the means as percentages, and their bootstrap intervals;
- `compare_rows`: another system on the same examples: differences of means and a paired test;
- `make_signature`: the line that names all that can change a score.

The second part is the report of the joint metric, a `Report`: a dict for JSON (`to_dict`) and
tables (`render`). Means are unrounded, summed in the gold's order as the evaluators do; tables show
two decimals. numpy is imported only for intervals and tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

from twowiki._version import __version__
from twowiki.data.configs import SET_TYPES
from twowiki.data.schema import HOTPOT_TYPES, TWO_WIKI_TYPES
from twowiki.io.records import DataSource
from twowiki.metric.consistency import consistency_of
from twowiki.metric.parts import PART_WORDS, GoldForm, without_absent
from twowiki.metric.results import METRIC_NAMES, UNTYPED, ExampleResult
from twowiki.metric.settings import ScoreSettings
from twowiki.metric.tables import format_score

if TYPE_CHECKING:
    from twowiki.metric.blame import Blame
    from twowiki.metric.sub_answers import HopScores

# A two-sided test at 5% finds a difference of 2.8 standard errors four times in five.
DETECTABLE_ERRORS = 2.8
_TYPES = tuple(dict.fromkeys((*TWO_WIKI_TYPES, *SET_TYPES, *HOTPOT_TYPES)))
_TYPE_ORDER = {name: position for position, name in enumerate(_TYPES)}

Rows = Sequence[Sequence[float]]
Interval = tuple[float, float]


class Summary(NamedTuple):
    """Means over examples, 0-100, with their intervals where a confidence was given."""

    n: int
    metrics: dict[str, Any]  # numbers; None where the gold has no such part
    intervals: dict[str, Interval] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        values: dict[str, Any] = {"n": self.n, "metrics": dict(self.metrics)}
        if self.intervals is not None:
            values["intervals"] = {name: list(ends) for name, ends in self.intervals.items()}
        return values


class Difference(NamedTuple):
    """The mean of one system minus that of another, 0-100, and how certain it is."""

    difference: float
    interval: Interval | None
    p: float  # of a paired randomization test, two-sided
    detectable: float  # the smallest difference that the test would find four times in five


def summarize(
    rows: Rows,
    names: Sequence[str],
    *,
    confidence: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Summary:
    """Return means, and intervals where a confidence is given.

    Args:
        rows: one per example, shares 0-1.
        names: the names of the columns.
        confidence: of percentile bootstrap intervals.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
    """
    columns = zip(*rows, strict=True)
    means = {
        name: _sum_in_order(column) / len(rows) * 100
        for name, column in zip(names, columns, strict=True)
    }
    if confidence is None:
        return Summary(len(rows), means)
    from twowiki.metric.significance import bootstrap_intervals

    ends = bootstrap_intervals(rows, confidence=confidence, resamples=resamples, seed=seed)
    return Summary(len(rows), means, _percentages(names, ends))


def compare_rows(
    ours: Rows,
    theirs: Rows,
    names: Sequence[str],
    *,
    rounds: int = 10_000,
    seed: int = 0,
    confidence: float | None = None,
    resamples: int = 1000,
) -> dict[str, Difference]:
    """Return the differences of two systems on the same examples, in the same order, by metric.

    Args:
        ours: one row per example, shares 0-1.
        theirs: those of the other system.
        names: the names of the columns.
        rounds: of the paired randomization test.
        seed: of the test and the bootstrap.
        confidence: of the differences' bootstrap intervals; None leaves them out.
        resamples: number of bootstrap resamples.
    """
    import numpy as np

    from twowiki.metric.significance import bootstrap_intervals, paired_randomization

    gaps = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    p_values = paired_randomization(ours, theirs, rounds=rounds, seed=seed)
    mine, others = summarize(ours, names).metrics, summarize(theirs, names).metrics
    intervals: Mapping[str, Interval] = {}
    if confidence is not None:
        ends = bootstrap_intervals(gaps, confidence=confidence, resamples=resamples, seed=seed)
        intervals = _percentages(names, ends)
    spread = gaps.std(axis=0, ddof=1) if len(gaps) > 1 else np.full(gaps.shape[1], np.nan)
    errors = 100 * spread / np.sqrt(len(gaps))
    return {
        name: Difference(
            mine[name] - others[name],
            intervals.get(name),
            float(p_values[column]),
            DETECTABLE_ERRORS * float(errors[column]),
        )
        for column, name in enumerate(names)
    }


def make_signature(metric: str, *parts: str) -> str:
    """Return a signature: the metric, what can change its score, and the package's version."""
    return "|".join((metric, *parts, f"v:{__version__}"))


def type_order(name: str) -> tuple[int, str]:
    """Return a question type's place in tables: that of the release, then of the alphabet."""
    return _TYPE_ORDER.get(name, len(_TYPE_ORDER)), name


def _sum_in_order(values: Iterable[float]) -> float:
    """Sum one value after the other, as the evaluators do (from 3.12 on, `sum` is more exact)."""
    return sum(values, 0.0) if sys.version_info < (3, 12) else reduce(add, values, 0.0)


def _percentages(names: Sequence[str], ends: Any) -> dict[str, Interval]:
    return {
        name: (float(low) * 100, float(high) * 100)
        for name, (low, high) in zip(names, ends, strict=True)
    }


class Comparison(NamedTuple):
    """Another system on the same gold: its means, and the differences to it by metric."""

    other: DataSource
    metrics: dict[str, Any]
    differences: dict[str, Difference]
    missing: int


@dataclass(frozen=True)
class Report:
    """The result of scoring a system.

    Attributes:
        results: one per example, in the gold's order; shares 0-1 in the order of `metric_names`.
        settings: the options of the score.
        signature: all that can change the score, in one line.
        predictions, gold, aliases: where the data came from, with hashes.
        form: the parts that were scored; metrics of the others are None.
        amendments: what was amended of the gold, and by which file.
        people: a `PeopleSummary`, where people answered some of the questions.
        missing_ids: gold examples of which the prediction leaves out a part, or all.
        extra_ids: predicted ids that are not in the gold; they are ignored.
        subset: the ids that were scored, where only a subset was.
        comparison: another system on the same gold.
        hops: the answers to sub-questions, hop by hop, where they were given.
        blame: the step that failed, where it is known what each question was asked with.
        warnings: what a reader of the score should know.
        command: the command line, where there was one.
    """

    results: Sequence[ExampleResult]
    settings: ScoreSettings
    signature: str
    predictions: DataSource
    gold: DataSource
    aliases: DataSource | None = None
    form: GoldForm = GoldForm()  # noqa: RUF009
    amendments: Mapping[str, Any] | None = None
    people: Any = None
    missing_ids: tuple[str, ...] = ()
    extra_ids: tuple[str, ...] = ()
    subset: tuple[str, ...] | None = None
    comparison: Comparison | None = None
    hops: HopScores | None = None
    blame: Blame | None = None
    warnings: tuple[str, ...] = ()
    command: str | None = None

    @property
    def n(self) -> int:
        """The number of gold examples that were scored."""
        return len(self.results)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics: the official 16, then the optional ones."""
        return metric_names(self.settings)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The unrounded means, 0-100, by the evaluators' names; None where the gold has no part."""
        found = summarize([result.metrics for result in self.results], self.metric_names)
        return without_absent(found.metrics, self.form)

    @cached_property
    def intervals(self) -> dict[str, Interval] | None:
        """The bootstrap intervals of the means, where a confidence was given."""
        return None if self.settings.confidence is None else self._summary(self.results).intervals

    @cached_property
    def types(self) -> dict[str, Summary]:
        """The means of each question type that occurs."""
        groups: dict[str, list[ExampleResult]] = {}
        for result in self.results:
            groups.setdefault(result.type or UNTYPED, []).append(result)
        return {name: self._summary(groups[name]) for name in sorted(groups, key=type_order)}

    @cached_property
    def consistency(self) -> dict[str, dict[str, float]]:
        """The pairs of questions and twins, and how many have both answers right."""
        return consistency_of(self.results)

    @cached_property
    def differing(self) -> int:
        """The number of examples on which the official and the one-to-one matching differ."""
        return sum(result.differs for result in self.results)

    @cached_property
    def above_100(self) -> int:
        """The number of examples with a metric above 100."""
        return sum(result.differs and max(result.metrics) > 1.0 for result in self.results)

    def _summary(self, results: Sequence[ExampleResult]) -> Summary:
        found = summarize(
            [result.metrics for result in results],
            self.metric_names,
            confidence=self.settings.confidence,
            resamples=self.settings.resamples,
            seed=self.settings.seed,
        )
        ends = {n: e for n, e in (found.intervals or {}).items() if n not in self.form.absent}
        intervals = None if found.intervals is None else ends
        return Summary(found.n, without_absent(found.metrics, self.form), intervals)

    def per_example(self) -> Iterator[dict[str, Any]]:
        """Yield the metrics of each example, 0-100, for a JSON-lines file."""
        for result in self.results:
            named = zip(self.metric_names, result.metrics, strict=True)
            yield {
                "id": result.id,
                "type": result.type,
                **without_absent({name: value * 100 for name, value in named}, self.form),
                "missing": list(result.missing),
                "matchings_differ": result.differs,
            }

    def to_dict(self) -> dict[str, Any]:
        """Return all but the results of the examples, as JSON values."""
        settings, aliases = self.settings, self.aliases
        missing = {
            part: sum(part in result.missing for result in self.results if result.missing)
            for part in self.form.parts
        }
        report: dict[str, Any] = {
            "metric": "twowiki_joint",
            "signature": self.signature,
            "n": self.n,
            "metrics": dict(self.metrics),
            "version": settings.version,
            "matching": settings.matching,
            "options": list(settings.options),
            "parts": [PART_WORDS[part] for part in self.form.parts],
            "missing": {"count": len(self.missing_ids), **missing, "ids": list(self.missing_ids)},
            "extra": {"count": len(self.extra_ids), "ids": list(self.extra_ids)},
            "matchings_differ": self.differing,
            "rows_above_100": self.above_100,
            "warnings": list(self.warnings),
        }
        if self.intervals is not None:
            report["intervals"] = {name: list(ends) for name, ends in self.intervals.items()}
            report["bootstrap"] = {
                "confidence": settings.confidence,
                "resamples": settings.resamples,
            }
        if settings.by_type:
            report["by_type"] = {name: summary.to_dict() for name, summary in self.types.items()}
        if self.comparison is not None:
            report["comparison"] = self._comparison_dict(self.comparison)
        if self.hops is not None:
            report["sub_questions"] = self.hops.to_dict()
        if self.blame is not None:
            report["blame"] = self.blame.to_dict()
        if self.consistency:
            report["consistency"] = self.consistency
        report["subset"] = None if self.subset is None else list(self.subset)
        if self.people is not None:
            report["people"] = self.people.to_dict()
        if self.amendments is not None:
            report["amendments"] = dict(self.amendments)
        report["data"] = {
            "predictions": self.predictions._asdict(),
            "gold": self.gold._asdict(),
            "aliases": None if aliases is None else aliases._asdict(),
        }
        report["seed"] = settings.seed
        python = ".".join(map(str, sys.version_info[:3]))
        report["versions"] = {"twowiki": __version__, "python": python}
        report["command"] = self.command
        return report

    def _comparison_dict(self, comparison: Comparison) -> dict[str, Any]:
        differences = comparison.differences.items()
        return {
            "other": comparison.other._asdict(),
            "metrics": dict(comparison.metrics),
            "differences": {name: one.difference for name, one in differences},
            "p_values": {name: one.p for name, one in differences},
            "missing": comparison.missing,
            "test": "paired approximate randomization, two-sided",
            "rounds": self.settings.rounds,
        }

    def render(self, *, warnings: bool = True) -> str:
        """Return the tables, counts and signature as text, and the warnings after them."""
        from twowiki.metric.report_text import render_report

        lines = [f"warning: {warning}" for warning in self.warnings] if warnings else []
        return "\n".join([render_report(self), *lines])

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"Report({self.signature}, joint_f1={format_score(self.metrics['joint_f1'])})"


def metric_names(settings: ScoreSettings) -> tuple[str, ...]:
    """Return the names of an example's metrics."""
    return (*METRIC_NAMES, "contains") if settings.contains else METRIC_NAMES
