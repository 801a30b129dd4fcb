"""The configuration of a training run: one frozen dataclass, from YAML and flags.

A key or a flag that is not known is an error. Options of the model that are not set are those of
the chosen `settings`.
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
from typing import Any

import yaml

from twowiki.errors import DataError, require_file


def described(default: Any, text: str) -> Any:
    """Make a field with its help text."""
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: default.copy(), metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class TrainConfig:
    """Everything that moves a run; the run's folder keeps a copy."""

    output_dir: str = described("runs/baseline", "folder of checkpoints, predictions and report")
    # data
    data_dir: str = described(
        "", "folder (or archive) of the data set; none of these: made-up data"
    )
    data_config: str = described("data_ids_april7", "configuration of the data set")
    train_file: str = described("", "file of training examples, instead of data_dir")
    validation_file: str = described("", "file of validation examples, instead of data_dir")
    aliases_file: str = described("", "id_aliases.json: for scores and for names not found")
    tiny_examples: int = described(0, "made-up training examples (and a tenth for validation)")
    max_train_examples: int = described(0, "use the first of the training examples; 0 = all")
    max_validation_examples: int = described(0, "use the first validation examples; 0 = all")
    cache_dir: str = described("", "where encoded examples are kept; empty = in output_dir")
    # vocabulary
    vectors: str = described("", "word vectors: GloVe text, .npy beside a .txt of words, or .zip")
    extra_vectors: int = described(100_000, "of the vectors' first words, known beyond training's")
    min_word_count: int = described(1, "words rarer than this have no vector of their own")
    # model
    settings: str = described("corrected", "corrected, or reproduce (the published baseline)")
    model_options: dict[str, Any] = described({}, "fields of TwoWikiConfig, over the settings")  # noqa: RUF009
    init_from: str = described("", "folder of a trained model to start from")
    # optimisation
    batch_size: int = described(24, "windows a step and process; halved when memory runs out")
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
    dropout: float = described(0.0, "of inputs to recurrent layers and attention")
    mixed_precision: str = described("", "no, bf16 or fp16; empty = what the launcher says")
    seed: int = described(13, "of initial weights, batches and dropout")
    bucket: bool = described(True, "batch windows of like length together")
    # evaluation
    eval_every: int = described(0, "steps between evaluations; 0 = each epoch")
    eval_batch_size: int = described(48, "windows a batch of an evaluation")
    metric: str = described("joint_f1", "figure that chooses the best checkpoint")
    patience: int = described(5, "evaluations without a better figure before stopping; 0 = never")
    stop_at: float = described(0.0, "stop when the figure passes this; 0 = never")
    ceiling_examples: int = described(2000, "validation examples that the ceiling is taken on")
    # running
    log_every: int = described(10, "steps between logged losses")
    save_every: int = described(0, "steps between checkpoints; 0 = at each evaluation")
    checkpoint_limit: int = described(2, "checkpoints kept, beside the best model")
    resume: str = described("", "checkpoint folder to go on from, or `auto` for the last one")
    trackers: list[str] = described([], "tensorboard, trackio, wandb")  # noqa: RUF009
    workers: int = described(0, "processes that prepare batches")
    push_to_hub: bool = described(False, "upload the best model when done (token from the login)")
    hub_repo: str = described("", "repository to push to, as owner/name")


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
AT_LEAST_ONE = ("batch_size", "eval_batch_size", "gradient_accumulation", "epochs", "log_every")
CHOICES = {
    "settings": ("corrected", "reproduce"),
    "optimizer": ("adamw", "sgd"),
    "schedule": ("linear", "constant", "halving"),
    "mixed_precision": ("", "no", "bf16", "fp16"),
}


def parse_config(arguments: Sequence[str] | None = None) -> TrainConfig:
    """Read `--config FILE` and flags (flags win); options of the model are settings too."""
    parser = argparse.ArgumentParser(
        description="Train the baseline through accelerate. Every setting can also stand in the "
        "YAML file that --config names; a flag wins over it.",
    )
    parser.add_argument("--config", default="", metavar="FILE", help="YAML file of settings")
    hints, options = typing.get_type_hints(TrainConfig), model_option_types()
    for one in fields(TrainConfig):
        if one.name != "model_options":
            default = [] if one.default is MISSING else one.default
            text = f"{one.metadata['help']} (default: {default!r})"
            parser.add_argument(f"--{one.name}", **_reader(hints[one.name]), help=_escaped(text))
    documented = _option_texts()
    group = parser.add_argument_group("options of the model (default: those of --settings)")
    for name, kind in options.items():
        group.add_argument(f"--{name}", **_reader(kind), help=_escaped(documented[name]))
    given = {k: v for k, v in vars(parser.parse_args(arguments)).items() if v is not None}
    path = given.pop("config")
    values = {**(read_yaml(path) if path else {}), **given}
    own = values.pop("model_options", None) or {}
    chosen = {**own, **{name: values.pop(name) for name in options if name in values}}
    return make_config({**values, "model_options": chosen}, file=path or None)


def make_config(values: dict[str, Any], *, file: str | None = None) -> TrainConfig:
    """Check names, kinds and choices of settings, and fill in the rest."""
    _refuse_unknown(values, sorted(_field_names()), file, "setting")
    _refuse_unknown(
        values.get("model_options", {}), list(model_option_types()), file, "model option"
    )
    if values.get("settings") == "reproduce":
        values = {**REPRODUCED_TRAINING, **values}
    for name, kind in typing.get_type_hints(TrainConfig).items():
        if name in values:
            values[name] = _converted(name, values[name], kind, file)
    for name, choices in CHOICES.items():
        if values.get(name, choices[0]) not in choices:
            said = f"is {values[name]!r}, not one of {', '.join(c or 'empty' for c in choices)}"
            raise DataError(said, file=file, field=name)
    for name in AT_LEAST_ONE:
        if values.get(name, 1) < 1:
            raise DataError(f"is {values[name]!r}, and must be at least 1", file=file, field=name)
    return TrainConfig(**values)


def check_early(config: TrainConfig) -> None:
    """Refuse what would only fail after the training."""
    import torch

    from twowiki.rows import KEYS

    if config.metric not in KEYS:
        raise DataError(f"is {config.metric!r}, not one of {', '.join(KEYS)}", field="metric")
    if config.push_to_hub and config.hub_repo.count("/") != 1:
        raise DataError(
            f"is {config.hub_repo!r}, not owner/name", field="hub_repo", remedy="Give --hub_repo"
        )
    if config.mixed_precision == "fp16" and not torch.cuda.is_available():
        raise DataError(
            "is fp16, which a CPU does not do", field="mixed_precision", remedy="Use bf16 or no"
        )


def read_yaml(path: str) -> dict[str, Any]:
    """Read a YAML file of settings."""
    require_file(path, "Give an existing file to --config, such as configs/tiny.yaml")
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"is no YAML: {error}", file=path) from error
    if not isinstance(values, dict):
        raise DataError("holds no settings by name", file=path)
    return {str(name): value for name, value in values.items()}


def model_option_types() -> dict[str, Any]:
    """Give the fields of TwoWikiConfig that a run may set, with their types."""
    from twowiki.modeling.configuration import TwoWikiConfig

    learnt = {"vocab_size", "char_vocab", "relations", "dropout"}
    kinds = {"int": int, "float": float, "bool": bool, "str": str}
    return {
        name: kinds[kind]
        for name, kind in TwoWikiConfig.__annotations__.items()
        if name not in learnt and kind in kinds
    }


def _field_names() -> set[str]:
    return {f.name for f in fields(TrainConfig)}


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


def _option_texts() -> dict[str, str]:
    """Give what TwoWikiConfig's docstring says of each option."""
    from inspect import cleandoc

    from twowiki.modeling.configuration import TwoWikiConfig

    listed = cleandoc(TwoWikiConfig.__doc__ or "").partition("Args:\n")[2]
    return {
        found["name"]: " ".join(found["text"].split())
        for found in re.finditer(r"^    (?P<name>\w+): (?P<text>.*(?:\n {8}.*)*)", listed, re.M)
    }


def _refuse_unknown(
    values: dict[str, Any], known: Sequence[str], file: str | None, what: str
) -> None:
    for name in values:
        if name not in known:
            everything = sorted(_field_names() | set(model_option_types()))
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
