"""The report of a run: versions and hardware, tables of scores, and the curves as a picture."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from twowiki.io.files import replacing
from twowiki.io.records import read_object
from twowiki.metric.tables import render_table

LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "numpy", "pyarrow")
JOINT_COLUMNS = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
FURTHER = ("rougeL", "mc_accuracy")  # metrics of science questions


def versions() -> dict[str, str]:
    """Return the versions of Python, this package and the libraries of a run."""
    from twowiki._version import __version__

    found = {"python": platform.python_version(), "twowiki": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware(processes: int) -> dict[str, Any]:
    """Return the hardware of a run."""
    import torch

    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
    return {
        "device": device,
        "processes": processes,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def commit() -> str | None:
    """Return the commit of the package's working tree, if it is in one."""
    here = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def read_report(output: Path) -> dict[str, Any]:
    """Return the report of a run's folder; empty without one."""
    path = output / "report.json"
    return read_object(path) if path.is_file() else {}


def render_by_type(by_type: Mapping[str, Mapping[str, float]], overall: Mapping[str, float]) -> str:
    """Return a table of metrics, one line per question type."""
    columns = [name for name in JOINT_COLUMNS if overall.get(name) is not None]
    rows: list[tuple[str, ...]] = [("", *columns)]
    for name, metrics in [*by_type.items(), ("all", overall)]:
        rows.append((name, *(f"{metrics[column]:.2f}" for column in columns)))
    return render_table(rows)


def headline(metrics: Mapping[str, float], signature: str) -> str:
    """Return the joint metrics (the answer's, where there is no joint) and the signature."""
    prefix = "" if metrics.get("joint_f1") is None else "joint_"
    em, f1 = metrics[f"{prefix}em"], metrics[f"{prefix}f1"]
    return f"{prefix}em {em:.2f}  {prefix}f1 {f1:.2f}  {signature}"


def joint_summary(
    scores: Mapping[str, Any],
    ceiling: Mapping[str, Any],
    form: str,
    output_dir: str,
    further: Sequence[str] = (),
) -> str:
    """Return the tables of a ceiling and of the best model, and the line that ends a run."""
    return "\n".join(
        [
            f"\nceiling of the {form} ({ceiling['examples']} examples):",
            render_by_type(ceiling["by_type"], ceiling["metrics"]),
            f"\nbest model, step {scores['step']}, {Path(output_dir) / 'best'}:",
            render_by_type(scores["by_type"], scores["metrics"]),
            *further,
            f"\n{headline(scores['metrics'], scores['signature'])}",
        ]
    )


def draw_curves(history: Sequence[Mapping[str, Any]], path: Path, metric: str) -> None:
    """Draw the losses and the evaluations over the steps, as a PNG.

    One legend names all curves; no two of them have one color.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    losses = [record for record in history if "loss" in record]
    scores = [record for record in history if "metrics" in record]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")
    curves = [("loss", [(r["step"], r["loss"]) for r in losses])]
    for name in sorted({name for record in losses for name in record.get("losses", {})}):
        parts = [(r["step"], r["losses"][name]) for r in losses if name in r["losses"]]
        curves.append((f"{name} loss", parts))
    colors = iter(matplotlib.color_sequences["tab20"])
    for name, points in curves:
        width = 2.0 if name == "loss" else 1.0
        left.plot(*_columns(points), linewidth=width, color=next(colors), label=name)
    for name in dict.fromkeys((metric, "joint_f1", "f1", "sp_f1", "evi_f1", *FURTHER)):
        points = [(r["step"], r["metrics"][name]) for r in scores if name in r["metrics"]]
        if points:
            width = 2.0 if name == metric else 1.0
            right.plot(
                *_columns(points), linewidth=width, color=next(colors), marker=".", label=name
            )
    positive = any(record["loss"] > 0 for record in losses)
    left.set(title="Training loss", xlabel="step", yscale="log" if positive else "linear")
    right.set(title="Validation", xlabel="step", ylabel="percent", ylim=(0, 100))
    if left.lines or right.lines:
        figure.legend(loc="outside right center", frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    with replacing(path, "wb") as stream:
        figure.savefig(stream, dpi=120, format="png", metadata={"Software": ""})
    pyplot.close(figure)


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [step for step, _ in points], [value for _, value in points]
