"""Saved reports as one table of systems, as one HTML page that needs nothing else. Pure.

In: the reports that `twowiki score --output` wrote, without gold or predictions. Out: the page, the
best joint F1 first. Reports that cannot be compared are refused: of another metric, with another
signature, or of another gold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import DataError, existing_file
from twowiki.io.records import read_object
from twowiki.metric.report import Interval
from twowiki.metric.results import METRIC_NAMES
from twowiki.pages.collect import system_names
from twowiki.pages.layout import render_layout
from twowiki.pages.systems import MEASURE_NAMES, PART_NAMES, Scale, shown_parts

_REMEDY = "Score the predictions again with `twowiki score --output REPORT.json --by-type`"


class SavedReport(NamedTuple):
    """The scores of one system, as they were saved.

    Attributes:
        file: the report's file.
        predictions: the name of the file that was scored.
        signature: all that can change the score, the gold's hash included.
        metrics, intervals, by_type: as in the report.
        missing: predictions that lack a part, or all.
    """

    file: str
    predictions: str
    signature: str
    n: int
    metrics: Mapping[str, Any]
    intervals: Mapping[str, Interval] | None
    by_type: Mapping[str, Mapping[str, Any]]
    missing: int

    @property
    def comparable(self) -> str:
        """The signature without what may differ between systems: the missing predictions."""
        kept = [part for part in self.signature.split("|") if not part.startswith("missing:")]
        return "|".join(kept)


def read_saved_report(path: Path) -> SavedReport:
    """Read a report that `twowiki score --output` wrote.

    Raises:
        DataError: it is another file.
    """
    existing_file(path, "Name a report that `twowiki score --output` wrote")
    value = read_object(path, _REMEDY)
    if value.get("metric") != "twowiki_joint":
        raise DataError("is not a report of the joint metric", file=path, remedy=_REMEDY)
    metrics = value.get("metrics")
    if not isinstance(metrics, Mapping) or not set(METRIC_NAMES) <= set(metrics):
        raise DataError("has no scores", file=path, field="metrics", remedy=_REMEDY)
    try:
        intervals = value.get("intervals")
        return SavedReport(
            str(path),
            str(value["data"]["predictions"]["name"]),
            str(value["signature"]),
            int(value["n"]),
            metrics,
            None if intervals is None else {name: tuple(ends) for name, ends in intervals.items()},
            value.get("by_type") or {},
            int(value["missing"]["count"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"is damaged ({error!r})", file=path, remedy=_REMEDY) from None


def check_comparable(reports: Sequence[SavedReport]) -> None:
    """Raise where a report was made another way than the first, or of another gold."""
    first = reports[0]
    for one in reports[1:]:
        if one.comparable != first.comparable:
            pairs = zip(first.comparable.split("|"), one.comparable.split("|"), strict=False)
            theirs, ours = next(((a, b) for a, b in pairs if a != b), ("fewer parts", "more parts"))
            raise DataError(
                f"cannot stand beside {Path(first.file).name}: its signature has {ours}, the "
                f"other {theirs}",
                file=one.file,
                field="signature",
                remedy="Score both with the same options, gold and version",
            )
        if one.n != first.n:
            problem = f"has {one.n} questions, and {Path(first.file).name} {first.n}"
            raise DataError(problem, file=one.file, field="n", remedy="Score the same gold")


def render_leaderboard(
    reports: Sequence[SavedReport],
    *,
    title: str,
    names: Sequence[str] = (),
    command: str | None = None,
) -> str:
    """Return the page.

    Args:
        reports: at least one; they are comparable.
        title: the page's title.
        names: of the systems, in the order of the reports; by default the files' names.
        command: the command line that made it, for the page to name.
    """
    called = list(names) or system_names([one.predictions for one in reports])
    parts = shown_parts(reports[0].metrics)
    headline = f"{next(iter(parts.values()))}f1"
    order = sorted(range(len(reports)), key=lambda number: -reports[number].metrics[headline])
    rows = [(called[number], reports[number]) for number in order]
    ends = [
        end
        for one in reports
        for end in (one.metrics[headline], *((one.intervals or {}).get(headline, ())))
    ]
    scale = Scale.around(ends)
    types = [kind for kind in reports[0].by_type if all(kind in one.by_type for one in reports)]
    return render_layout(
        "leaderboard.html",
        title=title,
        command=command,
        rows=[
            (rank, name, one, scale.place(one.metrics[headline],
                                          (one.intervals or {}).get(headline)))
            for rank, (name, one) in enumerate(rows, 1)
        ],
        signature=reports[0].comparable,
        n=reports[0].n,
        parts=parts,
        part_names=PART_NAMES,
        metric_names=MEASURE_NAMES,
        headline=headline,
        scale=scale,
        types=types,
    )  # fmt: skip
