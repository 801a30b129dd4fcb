"""The settings that every run has, and how they are read: YAML and flags into a frozen dataclass.

Each kind of model has a subclass (`twowiki.training.task` names them). A key or a flag that is
not known is an error. Options of the model are settings too, and those that are not set stay as
the model's configuration has them.
"""

from __future__ import annotations

import argparse
import difflib
import re
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml

from twowiki.errors import DataError, require_file

CONFIGS = Path(__file__).parent / "configs"


def described(default: Any, text: str) -> Any:
    """Make a field with its help text."""
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: default.copy(), metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class RunConfig:
    """What moves the training loop, whatever it trains; the run's folder keeps a copy."""

    task: str = described("baseline", "kind of model; decides which other settings there are")
    output_dir: str = described("runs/baseline", "folder of checkpoints, predictions and report")
    init_from: str = described("", "folder of a trained model to start from")
    model_options: dict[str, Any] = described({}, "fields of the model's configuration")  # noqa: RUF009
    # optimisation
    batch_size: int = described(
        24, "examples (windows) a step and process; halved when memory runs out"
    )
    gradient_accumulation: int = described(1, "batches before each step")
    epochs: int = described(10, "passes over the training examples")
    max_steps: int = described(0, "stop after these steps; 0 = no such limit")
    max_cpu_minutes: float = described(0.0, "stop after this much processor time; 0 = no limit")
    optimizer: str = described("adamw", "adamw, or sgd (the published baseline's)")
    learning_rate: float = described(2e-3, "highest learning rate")
    weight_decay: float = described(0.01, "decay of matrices, for adamw")
    schedule: str = described("linear", "linear, constant, or halving (when a result is no better)")
    warmup_steps: int = described(50, "steps from zero to the highest rate; not for halving")
    clip_norm: float = described(5.0, "longest gradient; 0 = never clipped")
    mixed_precision: str = described("", "no, bf16 or fp16; empty = what the launcher says")
    seed: int = described(13, "of initial weights, batches and dropout")
    bucket: bool = described(True, "batch what is of like length together")
    # evaluation
    eval_every: int = described(0, "steps between evaluations; 0 = each epoch")
    eval_batch_size: int = described(48, "examples (windows) a batch of an evaluation")
    metric: str = described("joint_f1", "figure that chooses the best checkpoint")
    patience: int = described(5, "evaluations without a better figure before stopping; 0 = never")
    stop_at: float = described(0.0, "stop when the figure passes this; 0 = never")
    # running
    log_every: int = described(10, "steps between logged losses")
    save_every: int = described(0, "steps between checkpoints; 0 = at each evaluation")
    checkpoint_limit: int = described(2, "checkpoints kept, beside the best model")
    resume: str = described("", "checkpoint folder to go on from, or `auto` for the last one")
    trackers: list[str] = described([], "tensorboard, trackio, wandb")  # noqa: RUF009
    workers: int = described(0, "processes that prepare batches")
    push_to_hub: bool = described(False, "upload the best model when done (token from the login)")
    hub_repo: str = described("", "repository to push to, as owner/name")

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "optimizer": ("adamw", "sgd"),
        "schedule": ("linear", "constant", "halving"),
        "mixed_precision": ("", "no", "bf16", "fp16"),
    }
    KEEPS_MEMORY: ClassVar[bool] = True  # batches are much alike in size: see `memory`
    AT_LEAST_ONE: ClassVar[tuple[str, ...]] = (
        "batch_size", "eval_batch_size", "gradient_accumulation", "epochs", "log_every"
    )  # fmt: skip

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Give the fields of the model's configuration that a run may set, with their types."""
        return {}

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Give the help text of each of these fields."""
        return {}

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Fill in what a setting implies for others that are not set."""
        return values

    def check(self) -> None:
        """Refuse what would only fail after the training.

        Raises:
            DataError: with the setting and the remedy.
        """
        import torch

        if self.push_to_hub:
            from twowiki.hub.push import check_login, check_repo_name

            check_repo_name(self.hub_repo, field="hub_repo")
            check_login()
        if self.mixed_precision == "fp16" and not torch.cuda.is_available():
            raise DataError(
                "is fp16, which a CPU does not do", field="mixed_precision", remedy="Use bf16 or no"
            )


C = TypeVar("C", bound="RunConfig")


def read_settings(
    kind: type[C], arguments: Sequence[str] | None = None, *, description: str = ""
) -> C:
    """Read `--config FILE` and flags (flags win) into one kind of settings."""
    parser = argparse.ArgumentParser(
        description=f"{description} Every setting can also stand in the YAML file that --config "
        "names; a flag wins over it.",
    )
    parser.add_argument(
        "--config", default="", metavar="NAME", help="packaged configuration or YAML file"
    )
    hints, options = typing.get_type_hints(kind), kind.option_types()
    for one in fields(kind):
        if one.name != "model_options":
            default = [] if one.default is MISSING else one.default
            text = f"{one.metadata['help']} (default: {default!r})"
            parser.add_argument(f"--{one.name}", **_reader(hints[one.name]), help=_escaped(text))
    documented = kind.option_texts()
    group = parser.add_argument_group("options of the model (default: those of its configuration)")
    for name, option in options.items():
        group.add_argument(f"--{name}", **_reader(option), help=_escaped(documented[name]))
    given = {k: v for k, v in vars(parser.parse_args(arguments)).items() if v is not None}
    path = given.pop("config")
    values = {**(read_yaml(path) if path else {}), **given}
    own = values.pop("model_options", None) or {}
    chosen = {**own, **{name: values.pop(name) for name in options if name in values}}
    return make_settings(kind, {**values, "model_options": chosen}, file=path or None)


def make_settings(kind: type[C], values: dict[str, Any], *, file: str | None = None) -> C:
    """Check names, kinds and choices of settings, and fill in the rest."""
    _refuse_unknown(kind, values, sorted(one.name for one in fields(kind)), file, "setting")
    _refuse_unknown(
        kind, values.get("model_options", {}), list(kind.option_types()), file, "model option"
    )
    values = kind.completed(values)
    hints = typing.get_type_hints(kind)
    for one in fields(kind):
        if one.name in values:
            values[one.name] = _converted(one.name, values[one.name], hints[one.name], file)
    for name, choices in kind.CHOICES.items():
        if values.get(name, choices[0]) not in choices:
            said = f"is {values[name]!r}, not one of {', '.join(c or 'empty' for c in choices)}"
            raise DataError(said, file=file, field=name)
    for name in kind.AT_LEAST_ONE:
        if values.get(name, 1) < 1:
            raise DataError(f"is {values[name]!r}, and must be at least 1", file=file, field=name)
    return kind(**values)


def config_names() -> list[str]:
    """Return the names of the packaged configurations."""
    return sorted(path.stem for path in CONFIGS.glob("*.yaml"))


def find_config(name: str) -> Path:
    """Return a configuration's file: the path itself, or the packaged one of this name."""
    packaged = CONFIGS / f"{name}.yaml"
    if not Path(name).is_file() and name in config_names():
        return packaged
    return require_file(name, f"Use a YAML file or one of {', '.join(config_names())}")


def read_yaml(path: str) -> dict[str, Any]:
    """Read a YAML file of settings, or a packaged configuration by its name."""
    try:
        values = yaml.safe_load(find_config(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"is no YAML: {error}", file=path) from error
    if not isinstance(values, dict):
        raise DataError("holds no settings by name", file=path)
    return {str(name): value for name, value in values.items()}


def documented_fields(kind: type) -> dict[str, str]:
    """Give what a class's docstring says of each of its fields (the section `Args:`)."""
    from inspect import cleandoc

    listed = cleandoc(kind.__doc__ or "").partition("Args:\n")[2]
    return {
        found["name"]: " ".join(found["text"].split())
        for found in re.finditer(r"^    (?P<name>\w+): (?P<text>.*(?:\n {8}.*)*)", listed, re.M)
    }


def _reader(kind: Any) -> dict[str, Any]:
    """Say how argparse reads a flag of a type; a flag that is not given is None."""
    if kind is bool:
        return {"type": _read_bool, "nargs": "?", "const": True, "metavar": "BOOL"}
    if typing.get_origin(kind) is list:
        return {"nargs": "*", "metavar": "NAME"}
    return {"type": kind, "metavar": kind.__name__.upper()}


def _read_bool(text: str) -> bool:
    if text.lower() in ("true", "yes", "1", "on"):
        return True
    if text.lower() in ("false", "no", "0", "off"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _refuse_unknown(
    kind: type[RunConfig],
    values: dict[str, Any],
    known: Sequence[str],
    file: str | None,
    what: str,
) -> None:
    for name in values:
        if name not in known:
            everything = sorted({one.name for one in fields(kind)} | set(kind.option_types()))
            near = difflib.get_close_matches(name, everything, n=1)
            remedy = f"Did you mean {near[0]!r}" if near else "`train.py --help` lists them"
            raise DataError(f"there is no such {what}", file=file, field=name, remedy=remedy)


def _converted(name: str, value: Any, kind: Any, file: str | None) -> Any:
    """Give a value in its field's type; YAML reads 1e-3 as text and 1 as an int."""
    if isinstance(kind, types.GenericAlias):
        origin = typing.get_origin(kind)
        if not isinstance(value, origin):
            raise DataError(f"is {value!r}, not a {origin.__name__}", file=file, field=name)
        return value
    try:
        if kind is float and not isinstance(value, bool):
            return float(value)
        if kind is str and value is None:
            return ""
        if isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
            return value
    except (TypeError, ValueError):
        pass
    raise DataError(f"is {value!r}, not of type {kind.__name__}", file=file, field=name)


@dataclass(frozen=True)
class MultihopConfig(RunConfig):
    """A run on 2WikiMultiHopQA's questions, whatever the model."""

    data_dir: str = described("", "folder (or archive) of the data set, or `download`")
    data_config: str = described("data_ids_april7", "configuration of the data set")
    train_file: str = described("", "file of training examples, instead of data_dir")
    validation_file: str = described("", "file of validation examples, instead of data_dir")
    aliases_file: str = described("", "id_aliases.json: for scores and for names not found")
    world: str = described(
        "", "a fictional world to make and train on: people=2000,films=1500,seed=7,... (see docs)"
    )
    tiny_examples: int = described(0, "made-up training examples (and a tenth for validation)")
    max_train_examples: int = described(0, "use the first of the training examples; 0 = all")
    max_validation_examples: int = described(0, "use the first validation examples; 0 = all")
    train_paragraphs: int = described(
        0, "train on the gold paragraphs and others up to so many; 0 = all; learns sooner"
    )
    train_copies: int = described(1, "draws of a training example, with train_paragraphs")
    cache_dir: str = described("", "where encoded examples are kept; empty = in output_dir")
    ceiling_examples: int = described(2000, "validation examples that the ceiling is taken on")

    def check(self) -> None:
        """Refuse a metric that is none of the joint metric's, and what no run can do."""
        from twowiki.metric.results import METRIC_NAMES

        super().check()
        if self.metric not in METRIC_NAMES:
            raise DataError(
                f"is {self.metric!r}, not one of {', '.join(METRIC_NAMES)}", field="metric"
            )
        if self.train_paragraphs < 0:
            raise DataError(f"is {self.train_paragraphs}, below 0", field="train_paragraphs")
        if self.train_copies < 1:
            raise DataError(f"is {self.train_copies}, below 1", field="train_copies")
        if self.train_copies > 1 and not self.train_paragraphs:
            raise DataError(
                f"is {self.train_copies}, and copies differ in nothing without train_paragraphs",
                field="train_copies",
                remedy="Set train_paragraphs too, or give more epochs",
            )


@dataclass(frozen=True)
class TrainConfig(MultihopConfig):
    """Everything that moves a training of the baseline."""

    settings: str = described("corrected", "corrected, or reproduce (the published baseline)")
    dropout: float = described(0.0, "of inputs to recurrent layers and attention")
    vectors: str = described("", "word vectors: GloVe text, .npy beside a .txt of words, or .zip")
    extra_vectors: int = described(100_000, "of the vectors' first words, known beyond training's")
    min_word_count: int = described(1, "words rarer than this have no vector of their own")

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **RunConfig.CHOICES,
        "settings": ("corrected", "reproduce"),
    }

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Give the fields of TwoWikiBaselineConfig that a run may set, with their types."""
        from twowiki.models.configuration_baseline import TwoWikiBaselineConfig

        learnt = {"vocab_size", "char_vocab", "relations", "dropout"}
        kinds = {"int": int, "float": float, "bool": bool, "str": str}
        return {
            name: kinds[kind]
            for name, kind in TwoWikiBaselineConfig.__annotations__.items()
            if name not in learnt and kind in kinds
        }

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Give what TwoWikiBaselineConfig's docstring says of each option."""
        from twowiki.models.configuration_baseline import TwoWikiBaselineConfig

        return documented_fields(TwoWikiBaselineConfig)

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Train as published, in reproduce settings, where the run does not say otherwise."""
        published = values.get("settings") == "reproduce"
        return {**REPRODUCED_TRAINING, **values} if published else values


# what `settings: reproduce` changes where the run does not say otherwise
REPRODUCED_TRAINING: dict[str, Any] = {
    "optimizer": "sgd",
    "learning_rate": 0.1,
    "weight_decay": 0.0,
    "schedule": "halving",
    "clip_norm": 0.0,
    "metric": "f1",
    "bucket": False,
    "patience": 0,
}
