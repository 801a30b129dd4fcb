"""Which run made the files of a run's folder: no model is described by another run's scores.

A run has an id, a hash of what its result follows from: task, settings, seed, data, and the model
that it started from; not the number of processes. The id and the step stand in `run.json` of every
saved model, in `scores.json` with the hashes of the predictions, in `report.json` and in the card.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.files import sha256_of
from twowiki.io.records import read_object
from twowiki.io.stages import key_of

RUN_FILE, SCORES_FILE, REPORT_FILE = "run.json", "scores.json", "report.json"
_REMEDY = "Train again with --overwrite_output_dir, or move the files of the other run away"


def run_id(identity: Mapping[str, Any]) -> str:
    """Return the id of a run."""
    return key_of(identity)[:12]


def run_of_model(folder: Path) -> dict[str, Any]:
    """Return what a saved model's `run.json` holds; empty without one."""
    path = folder / RUN_FILE
    return read_object(path) if path.is_file() else {}


def made_by(model: str) -> dict[str, Any]:
    """Return the run and the step of a model, which its predictions name.

    Args:
        model: its folder, or that of its run; of a name on the hub the result is empty.
    """
    found = run_of_model(Path(model)) or run_of_model(Path(model) / "best")
    return {name: found[name] for name in ("run", "step") if name in found}


def check_run_files(output: Path, run: str = "") -> None:
    """Check that the best model, scores, predictions and report of a folder are of one run.

    Args:
        output: the run's folder, with the model in `best`.
        run: the id that they must have; by default the model's.

    Raises:
        DataError: a file is of another run or step, or was changed.
    """
    model, report = run_of_model(output / "best"), _read(output / REPORT_FILE)
    if not model and not report.get("run"):
        return  # of an earlier version
    expected = {"run": run or model.get("run"), "step": model.get("step")}
    _compare(output / "best" / RUN_FILE, model, expected)
    scores = _read(output / SCORES_FILE)
    if scores:
        _compare(output / SCORES_FILE, scores, expected)
    for name, digest in scores.get("files", {}).items():
        path = output / name
        if path.is_file() and sha256_of(path) != digest:
            raise DataError("is not as the run wrote it", file=path, remedy=_REMEDY)
    if report:
        found = {"run": report.get("run"), "step": (report.get("scores") or {}).get("step")}
        _compare(output / REPORT_FILE, found, expected)


def _read(path: Path) -> dict[str, Any]:
    return read_object(path) if path.is_file() else {}


def _compare(path: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name, value in expected.items():
        if found.get(name) != value:
            raise DataError(
                f"is of {name} {found.get(name)}, and the model in `best` of {name} {value}",
                file=path,
                field=name,
                remedy=_REMEDY,
            )
