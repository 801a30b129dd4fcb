"""What the training loop asks of a kind of model, and which kinds there are.

`train.py` knows a `Task` and nothing of what it trains: data, model, predictions and scores are
the task's; steps, checkpoints, processes and reports are the loop's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from twowiki.errors import DataError
from twowiki.training.settings import RunConfig, read_settings, read_yaml

# task: (module of its settings, their class, module of the task, its class)
TASKS: dict[str, tuple[str, str, str, str]] = {
    "baseline": (
        "twowiki.training.settings", "TrainConfig",
        "twowiki.training.baseline", "BaselineTask",
    ),
    "encoder": (
        "twowiki.training.encoder", "EncoderConfig",
        "twowiki.training.encoder", "EncoderTask",
    ),
    "arc_da": (
        "twowiki.text2text.settings", "ArcDaConfig",
        "twowiki.text2text.arc_da", "ArcDaTask",
    ),
    "two_wiki_text": (
        "twowiki.text2text.settings", "TwoWikiTextConfig",
        "twowiki.text2text.two_wiki", "TwoWikiTextTask",
    ),
}  # fmt: skip


class Outcome(NamedTuple):
    """What an evaluation found.

    Attributes:
        metrics: figures by name; the run's `metric` is one of them.
        files: what is kept if this is the best so far: JSON contents by file name, with the
            predictions and `scores.json` (metrics, by_type, signature) among them.
    """

    metrics: dict[str, float]
    files: dict[str, Any]


class Task(Protocol):
    """A kind of model with its data, as the loop sees it.

    `prepare` runs on every process, the main one first; `score` on the main process alone.
    """

    def prepare(self, saved: Path | None) -> None:
        """Find and encode the data; `saved` is the folder of a model to go on from."""

    def identity(self) -> list[str]:
        """Give hashes of the data, in which a resumed run must agree."""

    def describe(self) -> list[str]:
        """Say what was prepared, and what could not be, a line each."""

    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""

    def count_weights(self, model: Any) -> int:
        """Count the weights that the report states."""

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimiser; the loop sets its rate as a share of each group's own."""

    def make_loaders(self, batch_size: int) -> tuple[Any, Any]:
        """Make the loaders of training and of evaluation batches."""

    def forward(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Run a training batch; the output has `loss`, and `losses` by name."""

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Predict this process's share: pairs of a key, the same on each process, and a value."""

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Score the predictions of all processes."""

    def save(self, model: Any, folder: Path) -> None:
        """Save a plain model as a folder that loads on its own."""

    def report(self) -> dict[str, Any]:
        """Give what the report says beside the run: data, ceiling, the model's configuration."""

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Write the end of a run for people."""


def read_config(arguments: Sequence[str] | None = None) -> RunConfig:
    """Read a run's settings: those of the task that the flags or the YAML file name."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--task")
    first.add_argument("--config")
    given, _ = first.parse_known_args(arguments)
    task = given.task or (read_yaml(given.config).get("task") if given.config else None)
    task = "baseline" if task is None else task
    if task not in TASKS:
        raise DataError(
            f"is {task!r}, not one of {', '.join(TASKS)}",
            file=None if given.task else given.config,
            field="task",
        )
    module, name, _, _ = TASKS[task]
    kind: type[RunConfig] = getattr(import_module(module), name)
    tasks = ", ".join(TASKS)
    return read_settings(
        kind, arguments, description=f"Train through accelerate (--task: {tasks})."
    )


def task_of(config: RunConfig) -> Task:
    """Make the task that a run's settings are for."""
    _, _, module, name = TASKS[config.task]
    made: Task = getattr(import_module(module), name)(config)
    return made
