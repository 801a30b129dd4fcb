"""A training run on a page: its losses and scores as curves, and what the run was. Pure.

In: a run's report.json. Out: curves as points of a picture, their last values, and settings. A run
that did not make the predictions of a page is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from twowiki.errors import DataError, existing_file
from twowiki.io.records import read_object
from twowiki.metric.report import Report
from twowiki.pages.collect import SystemFindings

CURVE_SCORES = ("joint_f1", "f1", "sp_f1", "evi_f1", "joint_em")
_SETTINGS = ("steps", "epochs", "stopped", "seed", "batch_size", "weights", "cpu_seconds",
             "commit")  # fmt: skip
_MOST_POINTS = 400  # of a curve
STYLES = 6  # of lines


class ShownRun(NamedTuple):
    """A training run to show: its report.json, and the hashes of the predictions it wrote."""

    report: Mapping[str, Any]
    files: tuple[str, ...] = ()

    def check(self, systems: Iterable[SystemFindings], name: str = "the run") -> None:
        """Raise unless the run made one of the scored predictions.

        It did where it wrote the file, where the file names the run, or where its scores on the
        same gold are the same.

        Args:
            systems: those on the page.
            name: the run's folder, for the message.
        """
        run = self.report.get("run")
        for system in systems:
            wrote = system.report.predictions.sha256 in self.files
            named = run is not None and system.made_by.get("run") == run
            if wrote or named or self._has_scores(system.report):
                return
        remedy = "Name the run whose model made them, or predict with this run's model"
        raise DataError("the run did not make these predictions", file=name, remedy=remedy)

    def _has_scores(self, report: Report) -> bool:
        scores = self.report.get("scores")
        if not isinstance(scores, Mapping) or not isinstance(scores.get("metrics"), Mapping):
            return False
        if _gold_of(str(scores.get("signature"))) != _gold_of(report.signature):
            return False
        metrics = scores["metrics"]
        return all(
            _is_number(metrics.get(name)) and abs(metrics[name] - value) < 1e-6
            for name, value in report.metrics.items()
            if value is not None and name in metrics
        )


def _gold_of(signature: str) -> list[str]:
    """Return the parts of a signature that name the gold."""
    return [part for part in signature.split("|") if part.startswith(("gold:", "n:"))]


def read_run(path: Path) -> ShownRun:
    """Read a run's report, from its folder or from report.json itself."""
    path = path / "report.json" if path.is_dir() else path
    existing_file(path, "Name the folder that a training run wrote (with report.json in it)")
    report = read_object(path, "Name a training run's folder")
    scores = path.with_name("scores.json")
    files = read_object(scores).get("files", {}) if scores.is_file() else {}
    return ShownRun(report, tuple(files.values()) if isinstance(files, Mapping) else ())


def run_values(run: ShownRun) -> dict[str, Any]:
    """Return a run's curves, their last values, and what the run was."""
    settings = [(name, run.report[name]) for name in _SETTINGS if run.report.get(name) is not None]
    hardware = run.report.get("hardware")
    if isinstance(hardware, Mapping):
        settings += list(hardware.items())
    history = run.report.get("history")
    records = [one for one in history if isinstance(one, Mapping)] if history else []
    command = run.report.get("command")
    return {
        "charts": list(_charts(records)),
        "last_values": _last_values(records),
        "settings": [(name, _value_text(value)) for name, value in settings],
        "command": None if command is None else _value_text(command),
    }


class Curve(NamedTuple):
    """A line of a chart, its points in the picture's units."""

    name: str
    points: str
    style: int
    last: str


def _charts(records: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the chart of the losses and that of the validation scores, where there are any."""
    losses: dict[str, list[tuple[float, float]]] = {}
    scores: dict[str, list[tuple[float, float]]] = {}
    for one in records:
        step: Any = one.get("step")
        parts: Any = one.get("losses")
        metrics: Any = one.get("metrics")
        if not _is_number(step):
            continue
        named = {"loss": one.get("loss"), **(parts if isinstance(parts, Mapping) else {})}
        for name, value in named.items():
            if _is_number(value) and value > 0:
                losses.setdefault(name, []).append((step, math.log10(value)))
        for name in CURVE_SCORES if isinstance(metrics, Mapping) else ():
            if _is_number(metrics.get(name)):
                scores.setdefault(name, []).append((step, metrics[name]))
    for title, curves, unit in (("Training loss", losses, "log"), ("Validation", scores, "%")):
        if any(len(points) > 1 for points in curves.values()):
            yield _chart(title, curves, unit)


def _chart(
    title: str, curves: Mapping[str, Sequence[tuple[float, float]]], unit: str
) -> dict[str, Any]:
    """Return a chart of 100 by 100 units, the steps to the right."""
    steps = [step for points in curves.values() for step, _ in points]
    values = [value for points in curves.values() for _, value in points]
    low, high = (min(values), max(values)) if unit == "log" else (0.0, 100.0)
    first, last = min(steps), max(steps)
    wide, tall = last - first or 1, high - low or 1

    def text(value: float) -> str:
        return f"{10**value:.3g}" if unit == "log" else f"{value:.1f}"

    return {
        "title": title,
        "unit": unit,
        "first": f"{first:,.0f}",
        "last": f"{last:,.0f}",
        "low": text(low),
        "high": text(high),
        "columns": [],
        "curves": [
            Curve(
                name,
                " ".join(
                    f"{100 * (step - first) / wide:.2f},{100 - 100 * (value - low) / tall:.2f}"
                    for step, value in _thinned(points)
                ),
                number % STYLES,
                text(points[-1][1]),
            )
            for number, (name, points) in enumerate(curves.items())
        ],
    }


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return so many points as a picture shows, the last one included."""
    step = max(1, -(-len(points) // _MOST_POINTS))
    return [*points[:-1:step], points[-1]]


def _last_values(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the last loss, with its parts, and the last validation scores."""
    losses = [one for one in records if _is_number(one.get("loss"))]
    scores = [one["metrics"] for one in records if isinstance(one.get("metrics"), Mapping)]
    values: dict[str, Any] = {}
    if losses:
        parts = losses[-1].get("losses")
        values = {"loss": losses[-1]["loss"], **(parts if isinstance(parts, Mapping) else {})}
    values = {f"training {name}": value for name, value in values.items()}
    if scores:
        names = [name for name in CURVE_SCORES if name in scores[-1]] or sorted(scores[-1])[:8]
        values |= {f"validation {name}": scores[-1][name] for name in names}
    return [(name, f"{value:.4g}") for name, value in values.items() if _is_number(value)]


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _value_text(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return f"{value:,}" if type(value) is int else value
