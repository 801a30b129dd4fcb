"""The report of a run: versions and hardware, tables of scores, and the curves as a picture."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from twowiki.metric.report import render_table

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


def render_by_type(by_type: Mapping[str, Mapping[str, float]], overall: Mapping[str, float]) -> str:
    """Return a table of metrics, one line per question type."""
    rows: list[tuple[str, ...]] = [("", *JOINT_COLUMNS)]
    for name, metrics in [*by_type.items(), ("all", overall)]:
        rows.append((name, *(f"{metrics[column]:.2f}" for column in JOINT_COLUMNS)))
    return render_table(rows)


def headline(metrics: Mapping[str, float], signature: str) -> str:
    """Return the joint metrics and the signature on one line."""
    return f"joint_em {metrics['joint_em']:.2f}  joint_f1 {metrics['joint_f1']:.2f}  {signature}"


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
    """Draw the losses and the evaluations over the steps, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    losses = [record for record in history if "loss" in record]
    scores = [record for record in history if "metrics" in record]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    left.plot([r["step"] for r in losses], [r["loss"] for r in losses], label="loss")
    names = sorted({name for record in losses for name in record.get("losses", {})})
    for name in names:
        left.plot(
            [r["step"] for r in losses],
            [r["losses"].get(name) for r in losses],
            linewidth=0.8,
            label=name,
        )
    left.set(xlabel="step", ylabel="training loss", yscale="log")
    left.legend(fontsize="small")
    drawn = (metric, "joint_f1", "f1", "sp_f1", "evi_f1", *FURTHER)
    for name in dict.fromkeys(drawn):
        if not any(name in record["metrics"] for record in scores):
            continue
        values = [record["metrics"].get(name) for record in scores]
        right.plot([record["step"] for record in scores], values, marker=".", label=name)
    right.set(xlabel="step", ylabel="validation, percent", ylim=(0, 100))
    if right.lines:
        right.legend(fontsize="small")
    aside = path.with_name(f".{path.name}")
    figure.savefig(aside, dpi=120, format="png", metadata={"Software": ""})
    pyplot.close(figure)
    aside.replace(path)
