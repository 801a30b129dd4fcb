"""The interface between the training loop and a kind of model, and the list of those kinds.

`twowiki.train` knows a `Task` and nothing of what it trains: data, model, predictions and scores
belong to the task; steps, checkpoints, processes and reports to the loop. In: a command line. Out:
the settings and the task that they are for. Importing this module loads no torch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import yaml

from twowiki.errors import DataError
from twowiki.io.arguments import (
    CommandParser,
    add_arguments,
    from_values,
    parse_flags,
    read_settings_file,
)
from twowiki.training.former_names import RENAMED
from twowiki.training.settings import TrainingSettings, config_names, find_config

if TYPE_CHECKING:
    from twowiki.training.loaders import StepLoader

# task: (module of its settings, their class, module of the task, its class)
TASK_CLASSES: dict[str, tuple[str, str, str, str]] = {
    "baseline": (
        "twowiki.training.settings", "BaselineArguments",
        "twowiki.training.baseline", "BaselineTask",
    ),
    "encoder": (
        "twowiki.training.settings", "EncoderArguments",
        "twowiki.training.encoder", "EncoderTask",
    ),
    "arc_da": (
        "twowiki.text2text.settings", "ArcDaArguments",
        "twowiki.text2text.arc_da", "ArcDaTask",
    ),
    "two_wiki_text": (
        "twowiki.text2text.settings", "TwoWikiTextArguments",
        "twowiki.text2text.two_wiki", "TwoWikiTextTask",
    ),
}  # fmt: skip


class EvaluationResult(NamedTuple):
    """The result of an evaluation.

    Attributes:
        metrics: values by name; the run's `metric_for_best_model` is one of them.
        files: JSON contents by file name, kept if this is the best evaluation so far: the
            predictions and `scores.json` (metrics, by_type, signature) among them.
    """

    metrics: dict[str, float]
    files: dict[str, Any]


class Task(Protocol):
    """A kind of model with its data, as the loop sees it.

    `prepare` runs on every process before there is a process group; the one that comes first
    encodes while the others wait for its file. `score` runs on the main process alone.
    """

    def prepare(self, saved: Path | None) -> None:
        """Find and encode the data; `saved` is the folder of a model to continue from."""

    def identity(self) -> list[str]:
        """Return hashes of the data, in which a resumed run must agree."""

    def announce(self) -> list[str]:
        """Return lines on what a user should know before the data is prepared."""

    def describe(self) -> list[str]:
        """Return lines on what was prepared, and on what could not be."""

    def build_model(self) -> Any:
        """Make the model from the seed, or load the saved one."""

    def count_weights(self, model: Any) -> int:
        """Count the weights that the report states."""

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimizer; the loop sets its rate as a share of each group's own."""

    def make_loaders(self, rank: int = 0, processes: int = 1) -> tuple[StepLoader, Any]:
        """Make the loader of a process's training steps, and that of all evaluation batches."""

    def count_labels(self, batch: Mapping[str, Any]) -> Any:
        """Return what the loss of a training batch is divided by; counts of batches add up."""

    def forward(self, model: Any, batch: Mapping[str, Any], counts: Any) -> Any:
        """Run a training batch; the output has `loss`, and `losses` by name.

        They are divided by the counts of the whole step, so that those of its batches add up.
        """

    def predict(self, model: Any, loader: Any) -> Iterable[tuple[Any, Any]]:
        """Predict this process's share: pairs of a key, the same on each process, and a value."""

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
        """Score the predictions of all processes."""

    def save(self, model: Any, folder: Path) -> None:
        """Save a plain model as a folder that loads on its own."""

    def report(self) -> dict[str, Any]:
        """Return what the report adds to the run: data, ceiling, the model's configuration."""

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the last lines that a run prints."""


def read_settings(arguments: Sequence[str] | None = None) -> TrainingSettings:
    """Return a run's settings from flags, which win, and the configuration that --config names.

    The task, in the flags or in the configuration, decides which settings there are.
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--task")
    first.add_argument("--config")
    given, _ = first.parse_known_args(argv)
    path = find_config(given.config) if given.config else None
    cls = settings_class(given.task, path)
    parser = CommandParser(
        "python -m twowiki.train",
        f"Train a model through accelerate. Tasks: {', '.join(TASK_CLASSES)}. Every setting is a "
        "flag and a key of the YAML file that --config names; a flag wins over it.",
    )
    names = ", ".join(config_names())
    parser.add_argument(
        "--config", metavar="NAME", default=argparse.SUPPRESS, help=f"a YAML file, or {names}"
    )
    add_arguments(parser, cls, "_")
    flags = parse_flags(parser, cls, argv, renamed=RENAMED)
    flags.pop("config", None)
    values = read_settings_file(path, cls, renamed=RENAMED) if path else {}
    values = cls.fill_in({**values, **flags})
    if not values.get("output_dir"):
        name = path.stem if path else f"{values.get('task', TrainingSettings.task)}_defaults"
        values["output_dir"] = f"runs/{name}"
    return from_values(cls, values)


def settings_class(task: str | None, path: Path | None) -> type[TrainingSettings]:
    """Return the settings class of a task, named directly or in a YAML file.

    Raises:
        DataError: there is no such task.
    """
    name = task or (path and _task_in(path)) or "baseline"
    if not isinstance(name, str) or name not in TASK_CLASSES:
        problem = f"is {name!r}, not one of {', '.join(TASK_CLASSES)}"
        raise DataError(problem, file=None if task else path, field="task")
    module, class_name, _, _ = TASK_CLASSES[name]
    cls: type[TrainingSettings] = getattr(import_module(module), class_name)
    return cls


def _task_in(path: Path) -> str | None:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None  # reading the settings reports it
    return content.get("task") if isinstance(content, dict) else None


def make_task(settings: TrainingSettings) -> Task:
    """Return the task that a run's settings are for."""
    _, _, module, name = TASK_CLASSES[settings.task]
    made: Task = getattr(import_module(module), name)(settings)
    return made
