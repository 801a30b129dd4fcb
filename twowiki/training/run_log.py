"""What a run prints, on a terminal or not: what it trains on, its steps, evaluations, its files.

Every line is written at once, so that a log file or a pipe is as far as the run is. Trackers get
the same numbers (see `flat_numbers`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.training import reports
from twowiki.training.checkpoints import RunState
from twowiki.training.settings import TrainingSettings

KEPT = ("step", "epoch", "loss", "losses", "rate")  # of a logged step, in the history


class Pace:
    """How fast a run trains, and how long it still takes; evaluations do not count.

    Attributes:
        examples: taken since the last reading.
        seconds: spent on them.
    """

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.restart()

    def restart(self) -> None:
        """Forget what was measured; the next step is measured from here."""
        self.examples, self.steps, self.cpu = 0, 0, self.state.cpu_seconds
        self.seconds, self.began = 0.0, time.monotonic()

    def count(self, examples: int) -> None:
        """Count a step of so many examples."""
        self.examples += examples
        self.steps += 1

    def pause(self) -> None:
        """Stop measuring, until `resume`."""
        self.seconds += time.monotonic() - self.began

    def resume(self) -> None:
        """Measure again."""
        self.began = time.monotonic()

    def read(self, total: int, cpu_minutes: float) -> dict[str, float]:
        """Return examples per second and seconds left, and measure anew.

        Args:
            total: steps of the run.
            cpu_minutes: the run's limit; 0 without one.
        """
        self.pause()
        spent = max(self.seconds, 1e-9)
        left = (total - self.state.step) * spent / max(1, self.steps)
        used = self.state.cpu_seconds - self.cpu
        if cpu_minutes and used > 0:
            left = min(left, (60 * cpu_minutes - self.state.cpu_seconds) * spent / used)
        rate = self.examples / spent
        self.restart()
        return {"examples_per_second": rate, "seconds_left": max(0.0, left)}


class Counted(NamedTuple):
    """How much there is of a run: steps, examples of a step and of an epoch, batches of a step."""

    total: int
    step_examples: int
    epoch_examples: int
    batches: int


def opening(
    config: TrainingSettings, accelerator: Any, model: Any, weights: int, counted: Counted, run: str
) -> list[str]:
    """Return the lines on model, hardware, steps and folder that a run begins with."""
    hardware = reports.hardware(accelerator.num_processes)
    start = f", started from {config.model_name_or_path}" if config.model_name_or_path else ""
    processes = f"{hardware['processes']} process{'es' if hardware['processes'] > 1 else ''}"
    threads = f" (threads: {hardware['threads']})" if hardware["device"] == "CPU" else ""
    precision = str(accelerator.mixed_precision).replace("no", "fp32")
    limit = f", at most {config.max_cpu_minutes:g} CPU minutes" if config.max_cpu_minutes else ""
    parts = f"{processes} x {config.per_device_train_batch_size} x {counted.batches} accumulated"
    per_epoch = -(-counted.epoch_examples // counted.step_examples)
    more = " (more than an epoch has)" if counted.step_examples > counted.epoch_examples else ""
    return [
        f"model: {type(model).__name__}, {weights:,} weights{start}",
        f"devices: {processes} on {hardware['device']}{threads}, {precision}",
        f"steps: {counted.total:,} of {counted.step_examples:,} examples{more} ({parts}), "
        f"{per_epoch:,} per epoch{limit}",
        f"output_dir: {config.output_dir} (run {run}, seed {config.seed})",
    ]


def step_line(record: Mapping[str, Any], total: int) -> str:
    """Return the line of a logged step."""
    return "  ".join([
        f"step {record['step']:,}/{total:,}",
        f"epoch {record['epoch']:.2f}",
        f"loss {record['loss']:.4f}",
        f"lr {record['rate']:.2e}",
        f"{record['examples_per_second']:.1f} examples/s",
        f"left {duration(record['seconds_left'])}",
    ])  # fmt: skip


def evaluation_line(
    state: RunState, total: int, metrics: Mapping[str, float], chosen: str, kept: bool
) -> str:
    """Return the line of an evaluation, the metric that selects the model first."""
    known = (chosen, *reports.JOINT_COLUMNS, *reports.FURTHER)
    shown = [f"{name} {metrics[name]:.2f}" for name in dict.fromkeys(known) if name in metrics]
    best = f"best so far: {state.best:.2f} at step {state.best_step:,}"
    if kept:
        best = "the best so far, kept" if state.best else "nothing has scored yet, kept"
    return "  ".join([f"step {state.step:,}/{total:,}", "evaluation", *shown, f"({best})"])


def closing(config: TrainingSettings, *, science: bool, data: str = "DATA") -> list[str]:
    """Return the lines on where everything is, and on what to do with it.

    Args:
        config: the run's settings.
        science: whether the model answers science questions.
        data: file to predict in the example.
    """
    output = Path(config.output_dir)
    best, page = output / "best", f"twowiki report predictions.json {data} page.html"
    predict = f"twowiki predict {output} {data} predictions.json"
    if science:
        predict, page = f"twowiki predict --model {best} --task arc_da {data} predictions.json", ""
    return [
        f"\nmodel: {best}",
        f"report: {output / 'report.json'}",
        f"curves: {output / 'curves.png'}",
        f"next: {predict}",
        *([f"      {page}"] if page else []),
        f"      twowiki push model {output} my-name/my-model",
    ]


def duration(seconds: float) -> str:
    """Return a time as people read it: 0:07, 12:30, 3:04:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def flat_numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return a logged record as trackers want it: numbers by name."""
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            numbers |= {f"train/{name}/{part}": number for part, number in value.items()}
        else:
            numbers[f"train/{name}"] = value
    return numbers


def print_lines(accelerator: Any, lines: Sequence[str]) -> None:
    """Print lines on the main process, at once."""
    for line in lines:
        accelerator.print(line, flush=True)
