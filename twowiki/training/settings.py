"""The settings of training runs: frozen dataclasses that are the YAML file and the flags alike.

`TrainingSettings` has what every run shares, under the names of `transformers.TrainingArguments`
where those exist; each kind of model has a subclass (`twowiki.training.task` lists them). In:
a configuration by name or file, and flags, which win over it. Unknown names are refused with the
nearest one, former names with the new one. Options of the model are settings too; those that are
not set stay as the model's configuration has them. Importing this module loads no torch.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from twowiki.data.schema import CONFIGS
from twowiki.errors import DataError, existing_file
from twowiki.io.arguments import argument, check_values

CONFIG_FOLDER = Path(__file__).parent / "configs"

_run = partial(argument, group="run")
_data = partial(argument, group="data")
_model = partial(argument, group="model")
_optimization = partial(argument, group="optimization")
_evaluation = partial(argument, group="evaluation")
_logging = partial(argument, group="logging and checkpoints")
_hub = partial(argument, group="hub")
_option = partial(argument, None, group="model configuration")
_size = partial(_option, minimum=1, maximum=16_384)
_few = partial(_option, minimum=0, maximum=1000)
_count = partial(_option, minimum=0, maximum=2**31 - 1)
_weight = partial(_option, minimum=0)
_share = partial(_option, minimum=0, maximum=1)


def changed(cls: type, name: str, default: Any) -> Any:
    """Return a field of a class with another default."""
    return field(default=default, metadata=cls.__dataclass_fields__[name].metadata)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of the training loop, whatever it trains; the run's folder keeps a copy."""

    task: str = _run("baseline", "kind of model; decides which other settings there are")
    output_dir: str = _run(
        "", "folder of the run; empty = runs/ and the name of the configuration, or of the task"
    )
    overwrite_output_dir: bool = _run(False, "replace the run that output_dir holds")
    resume_from_checkpoint: str = _run("", "checkpoint to continue from, or `auto` for the last")
    seed: int = _run(13, "seed of weights, batches and dropout", minimum=0, maximum=2**32 - 2**16)
    max_steps: int = _run(0, "stop after this many steps; 0 = no limit", minimum=0)
    max_cpu_minutes: float = _run(0.0, "stop after this processor time; 0 = no limit", minimum=0)

    model_name_or_path: str = _model("", "folder of a trained model to start from")

    per_device_train_batch_size: int = _optimization(
        24, "examples (windows) per batch and process; halves where memory runs out", minimum=1
    )
    gradient_accumulation_steps: int = _optimization(1, "batches per step", minimum=1)
    global_batch_size: int = _optimization(
        0, "examples per step on all processes, instead of batches per step; 0 = off", minimum=0
    )
    num_train_epochs: int = _optimization(10, "passes over the training examples", minimum=1)
    optim: str = _optimization("adamw", "optimizer", choices=("adamw", "adafactor", "sgd"))
    learning_rate: float = _optimization(2e-3, "highest learning rate", above=0)
    weight_decay: float = _optimization(0.01, "weight decay of matrices, for adamw", minimum=0)
    lr_scheduler_type: str = _optimization(
        "linear",
        "schedule; halving: when an evaluation is no better than the best",
        choices=("linear", "cosine", "constant", "halving"),
    )
    warmup_steps: float = _optimization(
        50, "steps of linear warmup; below 1 = share of all steps; not for halving", minimum=0
    )
    max_grad_norm: float = _optimization(5.0, "largest gradient norm; 0 = no limit", minimum=0)
    ema_decay: float = _optimization(
        0.0, "decay of averaged weights, which are evaluated and kept; 0 = none", minimum=0, below=1
    )
    start_share: float = _optimization(
        0.0, "share of the start's weights in the model that is evaluated and kept; not with "
        "ema_decay", minimum=0, below=1,
    )  # fmt: skip
    train_sampling_strategy: str = _optimization(
        "group_by_length", "how batches are drawn", choices=("group_by_length", "random")
    )
    dataloader_num_workers: int = _optimization(0, "processes that prepare batches", minimum=0)
    preprocessing_num_workers: int = _run(
        0, "processes that encode the data, before training; 0 = one for each core", minimum=0
    )
    bf16: bool = _optimization(False, "bfloat16 mixed precision (or as the launcher is set)")
    fp16: bool = _optimization(False, "float16 mixed precision; needs a GPU")
    tf32: bool = _optimization(True, "TF32 products of single-precision matrices, on a GPU")

    eval_steps: float = _evaluation(
        0, "steps between evaluations; below 1 = share of all steps; 0 = each epoch", minimum=0
    )
    per_device_eval_batch_size: int = _evaluation(
        48, "examples (windows) per batch and process", minimum=1
    )
    metric_for_best_model: str = _evaluation("joint_f1", "metric that selects the best model")
    early_stopping_patience: int = _evaluation(
        5, "evaluations without improvement before stopping; 0 = never stop", minimum=0
    )
    stop_at: float = _evaluation(0.0, "stop when the metric exceeds this; 0 = never", minimum=0)

    logging_steps: float = _logging(
        10, "steps between logged losses; below 1 = share of all steps", above=0
    )
    save_steps: float = _logging(
        0, "steps between checkpoints; below 1 = share of all steps; 0 = each evaluation", minimum=0
    )
    save_total_limit: int = _logging(2, "checkpoints kept beside the best model", minimum=0)
    report_to: list[str] = _logging([], "trackers, such as tensorboard, trackio, wandb; or none")  # noqa: RUF009

    push_to_hub: bool = _hub(False, "upload the best model at the end (token from the login)")
    hub_model_id: str = _hub("", "repository to push to, as owner/name")
    hub_private_repo: bool = _hub(False, "make a new repository private")

    REUSES_MEMORY: ClassVar[bool] = True  # batches are of similar size: see `keep_freed_memory`

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return values with what they imply for settings that are not among them."""
        return values

    @property
    def saved_model(self) -> str:
        """Folder of the trained model that the run starts from; empty without one."""
        return self.model_name_or_path

    @property
    def model_options(self) -> dict[str, Any]:
        """Fields of the model's configuration that the run sets."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if _is_option(one)}
        return {name: value for name, value in values.items() if value is not None}

    def check(self) -> None:
        """Raise on what would only fail after the training.

        Raises:
            DataError: with the setting and the remedy.
        """
        check_values(self)
        if self.ema_decay and self.start_share:
            raise DataError(
                "cannot be combined with ema_decay", field="start_share", remedy="Set one of them"
            )
        if self.push_to_hub:
            from twowiki.hub.push import check_login, check_repo_name

            check_repo_name(self.hub_model_id, field="hub_model_id")
            check_login()
        self._check_precision()
        self._check_trackers()

    def _check_precision(self) -> None:
        import torch

        if self.bf16 and self.fp16:
            raise DataError("cannot be combined with bf16", field="fp16", remedy="Set one of them")
        if self.fp16 and not torch.cuda.is_available():
            raise DataError("needs a GPU", field="fp16", remedy="Use bf16, or neither")

    def _check_trackers(self) -> None:
        from accelerate.tracking import LoggerType, get_available_trackers

        available = {str(one.value) for one in get_available_trackers()}
        if self.report_to == ["none"]:
            object.__setattr__(self, "report_to", [])
        for name in self.report_to:
            if name not in available:
                known = name in {str(one.value) for one in LoggerType}
                problem = f"{name} is not installed" if known else f"{name!r} is not a tracker"
                remedy = f"Install it with: pip install {name}" if known else "Use tensorboard"
                raise DataError(problem, field="report_to", remedy=remedy)


def _is_option(one: Any) -> bool:
    return bool(one.metadata.get("group") == "model configuration")


@dataclass(frozen=True)
class MultihopSettings(TrainingSettings):
    """The settings of a run on 2WikiMultiHopQA's questions, whatever the model."""

    data_dir: str = _data("", "folder (or archive) of the data set, or `download`")
    data_config: str = _data(
        "", "config of the data, e.g. hotpotqa; empty = as its name tells", choices=("", *CONFIGS)
    )
    train_file: str = _data("", "file of training examples, instead of data_dir")
    validation_file: str = _data("", "file of validation examples, instead of data_dir")
    aliases_file: str = _data("", "id_aliases.json, for scores and for names that are not found")
    world: str = _data(
        "", "fictional world to generate and train on: people=2000,films=1500,seed=7,..."
    )
    max_train_samples: int = _data(0, "use the first training examples; 0 = all", minimum=0)
    max_eval_samples: int = _data(0, "use the first validation examples; 0 = all", minimum=0)
    train_paragraphs: int = _data(
        0, "train on the gold paragraphs and others up to this number; 0 = all", minimum=0
    )
    train_copies: int = _data(
        1, "copies of a training example, each with other paragraphs of its own", minimum=1
    )
    train_mix: list[str] = _data(  # noqa: RUF009
        [], "added to training: renamed or renamed=N (copies with other names), files of questions"
    )
    cache_dir: str = _data("", "folder for encoded examples; empty = in output_dir")
    score_parts: list[str] = argument(
        [],
        "parts that are scored, with their product as joint; none = all that the data has",
        group="evaluation",
        choices=("answer", "support", "evidence"),
    )
    decoding_num_workers: int = _evaluation(
        0,
        "processes that decode beside a model of windows; 1 = none; 0 = none without a GPU",
        minimum=0,
    )
    ceiling_examples: int = _evaluation(
        2000, "validation examples on which the ceiling is measured", minimum=0
    )

    def check(self) -> None:
        """Raise on an unknown metric, and on copies that would all be equal."""
        from twowiki.metric.results import METRIC_NAMES

        super().check()
        check_metric(self.metric_for_best_model, METRIC_NAMES)
        if self.train_copies > 1 and not self.train_paragraphs:
            raise DataError(
                f"is {self.train_copies}, but without train_paragraphs all copies are equal",
                field="train_copies",
                remedy="Set train_paragraphs too, or use more epochs",
            )


@dataclass(frozen=True)
class BaselineArguments(MultihopSettings):
    """The settings of a training of the baseline."""

    settings: str = _model(
        "corrected",
        "corrected, or reproduce (the published baseline)",
        choices=("corrected", "reproduce"),
    )
    dropout: float = _model(0.0, "dropout of GRU inputs and attention", minimum=0, below=1)
    vectors: str = _model("", "word vectors: GloVe text, .npy beside a .txt of words, or .zip")
    extra_vectors: int = _model(
        100_000, "first words of the vectors that are known beyond those of training", minimum=0
    )
    min_word_count: int = _model(1, "rarer words have no vector of their own", minimum=1)

    word_dim: int | None = _size("width of the word vectors (default: 300)")
    char_dim: int | None = _size("width of the character embedding (default: 8)")
    char_hidden: int | None = _size("filters of the character convolution (default: 100)")
    char_limit: int | None = _size("characters of a word that are read (default: 16)")
    hidden_size: int | None = _size("width of each direction of each GRU (default: 100)")
    relation_dim: int | None = _size("width of the relation embedding (default: 100)")
    splitter: str | None = _option("how text becomes words: words or spacy (default: words)")
    layout: str | None = _option(
        "context: marked, or reference without separators (default: marked)"
    )
    lower_case_words: bool | None = _option("look words up regardless of case (default: on)")
    ignore_case: bool | None = _option("find answers regardless of case (default: on)")
    prefer_support: bool | None = _option(
        "prefer whole words in supporting sentences as labels (default: on)"
    )
    ignore_missing: bool | None = _option(
        "leave labels that are not found out of the loss (default: on)"
    )
    title_support: bool | None = _option("titles can be predicted as support (default: off)")
    window_tokens: int | None = _count("longest context of a window; 0 = all (default: 2048)")
    window_stride: int | None = _count("tokens that adjacent windows share (default: 256)")
    max_context_tokens: int | None = _count("drop longer contexts; 0 = none (default: 0)")
    max_question_tokens: int | None = _count("drop longer questions; 0 = none (default: 0)")
    max_sentences: int | None = _count("ignore sentences after these; 0 = none (default: 0)")
    match_features: bool | None = _option("mark words of the question and of titles (default: on)")
    triple_slots: int | None = _few("triples predicted; 0 = one per relation (default: 6)")
    token_evidence: bool | None = _option("triple pointers see tokens, not sentences (default: on)")
    pointer_chain: bool | None = _option("each pointer has a GRU of its own (default: off)")
    mask_padding: bool | None = _option("keep padding out of attention (default: on)")
    teacher_forcing: bool | None = _option("train pointers with gold relations (default: on)")
    narrow_scale: bool | None = _option("start attention scales at 1/sqrt(width) (default: on)")
    freeze_word_vectors: bool | None = _option("do not train the word vectors (default: off)")
    loss_reduction: str | None = _option("mean over labels, or sum by batch size (default: mean)")
    answer_type_weight: float | None = _weight("weight of the answer type loss (default: 1)")
    support_weight: float | None = _weight("weight of the support loss (default: 1)")
    evidence_weight: float | None = _weight("weight of the evidence loss (default: 1)")
    max_span_tokens: int | None = _size("longest predicted span (default: 40)")
    support_threshold: float | None = _share("least probability of support (default: 0.5)")

    @classmethod
    def fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return values with the published training for `settings: reproduce`."""
        published = values.get("settings") == "reproduce"
        return {**REPRODUCED_TRAINING, **values} if published else values


# what `settings: reproduce` changes unless the run sets it
REPRODUCED_TRAINING: dict[str, Any] = {
    "optim": "sgd",
    "learning_rate": 0.1,
    "weight_decay": 0.0,
    "lr_scheduler_type": "halving",
    "max_grad_norm": 0.0,
    "tf32": False,
    "metric_for_best_model": "f1",
    "train_sampling_strategy": "random",
    "early_stopping_patience": 0,
}


@dataclass(frozen=True)
class AdaptedSettings(TrainingSettings):
    """The settings of a run that starts from a pretrained model of the library."""

    revision: str = _model("", "revision of the model's repository")
    attn_implementation: str = _model(
        "", "sdpa, eager, flash_attention_2, ...; empty = the library's choice"
    )
    gradient_checkpointing: bool = _model(
        False, "recompute activations in the backward pass: less memory, a third more time"
    )
    lora_r: int = _model(0, "rank of trained adapters; 0 = train all weights", minimum=0)
    lora_alpha: int = _model(16, "scale of the adapters, divided by their rank", minimum=1)
    lora_dropout: float = _model(0.0, "dropout of the adapters' inputs", minimum=0, below=1)
    target_modules: list[str] = _model([], "layers with adapters; none = all linear layers")  # noqa: RUF009

    def check(self) -> None:
        """Raise where adapters are wanted and peft is not installed."""
        from importlib.util import find_spec

        super().check()
        if self.lora_r and find_spec("peft") is None:
            remedy = "Install it with: pip install 'twowiki[peft]', or set 0"
            raise DataError("adapters need the package 'peft'", field="lora_r", remedy=remedy)


@dataclass(frozen=True)
class EncoderArguments(AdaptedSettings, MultihopSettings):
    """The settings of a training of the encoder model."""

    task: str = changed(TrainingSettings, "task", "encoder")
    model_name_or_path: str = _model(
        "", "pretrained encoder with a fast tokenizer, or folder of a trained encoder model"
    )
    attn_implementation: str = _model(
        "", "sdpa, eager, flash_attention_2, twowiki_varlen (no padding; empty = where it can run)"
    )
    fixed_shapes: bool | None = _model(
        None, "fill packed batches up to one shape (default: where the model is compiled)"
    )
    torch_compile: bool = _model(False, "compile the model's steps; the first ones take minutes")
    torch_compile_backend: str = _model("inductor", "what compiles it")
    per_device_train_batch_size: int = changed(TrainingSettings, "per_device_train_batch_size", 8)
    per_device_eval_batch_size: int = changed(TrainingSettings, "per_device_eval_batch_size", 16)
    num_train_epochs: int = changed(TrainingSettings, "num_train_epochs", 3)
    learning_rate: float = _optimization(5e-5, "highest learning rate of the backbone", above=0)
    head_learning_rate: float = _optimization(3e-4, "highest learning rate of the heads", above=0)
    layer_decay: float = _optimization(
        1.0, "rate of each layer as a share of the layer above it", above=0, maximum=1
    )
    max_grad_norm: float = changed(TrainingSettings, "max_grad_norm", 1.0)
    warmup_steps: float = changed(TrainingSettings, "warmup_steps", 100)

    backbone_dropout: float | None = _option(
        "dropout of the backbone; below 0 = its own (default: -1)", minimum=-1, below=1
    )
    window_tokens: int | None = _count("longest input; 0 = all the backbone reads (default: 0)")
    window_stride: int | None = _count("tokens shared where a paragraph is cut (default: 64)")
    max_question_tokens: int | None = _count("cut questions; 0 = a third of a window (default: 0)")
    select_paragraphs: int | None = _few("paragraphs that are read; 0 = all (default: 0)")
    select_threshold: float | None = _share("least probability beyond two (default: 0.01)")
    triple_slots: int | None = _few("triples that can be predicted (default: 8)")
    slot_layers: int | None = _few("decoder layers of the triples (default: 2)", minimum=1)
    fusion_layers: int | None = _few("attention layers over all windows (default: 1)")
    head_size: int | None = _size("width of an attention head in them (default: 64)")
    match_features: bool | None = _option("mark tokens of the question and of titles (default: on)")
    input_matches: bool | None = _option("the backbone reads these marks too (default: on)")
    assignment: str | None = _option("triples to slots: optimal or ordered (default: optimal)")
    dropout: float | None = _share("dropout of fusion and slot layers (default: 0.1)", below=1)
    answer_type_weight: float | None = _weight("weight of the answer type loss (default: 1)")
    support_weight: float | None = _weight("weight of the support loss (default: 1)")
    evidence_weight: float | None = _weight("weight of the evidence loss (default: 1)")
    max_span_tokens: int | None = _size("longest predicted span (default: 64)")
    support_threshold: float | None = _share("least probability of support (default: 0.5)")
    max_object_tokens: int | None = _size("longest object of a triple (default: 16)")
    span_candidates: int | None = _size("objects in a page that decoding considers (default: 6)")
    chain_consistency: bool | None = _option("choose triples together, by pages (default: on)")
    chain_margin: float | None = _weight("cost of an unlinked subject, in logits (default: 12)")
    support_from_triples: bool | None = _option("what states triples is support (default: on)")
    derive_answers: bool | None = _option("derive comparisons from the triples (default: on)")
    chain_answers: bool | None = _option("answer chains by their last triple (default: on)")
    initializer_range: float | None = _weight("spread of the heads' weights (default: 0.02)")

    @property
    def saved_model(self) -> str:
        """Folder of the trained encoder model that the run starts from; empty for a backbone."""
        config = Path(self.model_name_or_path) / "config.json"
        try:
            content = json.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return ""
        trained = isinstance(content, dict) and content.get("model_type") == "twowiki_encoder"
        return self.model_name_or_path if trained else ""

    def check(self) -> None:
        """Raise without a model to start from."""
        super().check()
        if not self.model_name_or_path:
            raise DataError(
                "is not set",
                field="model_name_or_path",
                remedy="Name a pretrained encoder, such as answerdotai/ModernBERT-base",
            )


def check_metric(name: str, known: Any) -> None:
    """Raise where a metric is not one of those that an evaluation computes."""
    if name not in known:
        problem = f"is {name!r}, not one of {', '.join(known)}"
        raise DataError(problem, field="metric_for_best_model")


def config_names() -> list[str]:
    """Return the names of the packaged configurations."""
    return sorted(path.stem for path in CONFIG_FOLDER.glob("*.yaml"))


def find_config(name: str) -> Path:
    """Return a configuration's file: the path itself, or the packaged one of this name."""
    if not Path(name).is_file() and name in config_names():
        return CONFIG_FOLDER / f"{name}.yaml"
    return existing_file(name, f"Use a YAML file or one of {', '.join(config_names())}")


def step_count(value: float, total: int) -> int:
    """Return a number of steps; a value below 1 is a share of all steps, at least one of them."""
    return max(1, math.ceil(value * total)) if 0 < value < 1 else int(value)
