"""The settings of text-to-text runs: those of both data sets, and those of each."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from twowiki.errors import DataError
from twowiki.io.arguments import argument
from twowiki.training.settings import (
    AdaptedSettings,
    MultihopSettings,
    TrainingSettings,
    changed,
    check_metric,
)

ARC_METRICS = ("f1", "rougeL", "mc_accuracy")
FP16_OVERFLOWS = ("t5", "mt5", "umt5", "longt5", "t5gemma", "t5gemma2", "switch_transformers")

_data = partial(argument, group="data")
_model = partial(argument, group="model")
_text = partial(argument, group="texts")
_evaluation = partial(argument, group="evaluation")


@dataclass(frozen=True)
class TextArguments(AdaptedSettings):
    """The settings of a run of a text-to-text model, whatever it answers; T5's recipe."""

    model_name_or_path: str = _model(
        "tiny-t5", "folder, .gguf file, hub name, or tiny-t5 / tiny-causal (random weights)"
    )
    trust_remote_code: bool = _model(False, "run the code that comes with a model")
    dtype: str = _model("float32", "type of the weights", choices=("float32", "bfloat16"))
    dropout: float = _model(-1.0, "the model's dropout; below 0 = its own", minimum=-1, below=1)
    force_fp16: bool = _model(False, "train T5 in fp16 although its activations overflow")
    tiny_width: int = _model(64, "width of the random models", minimum=1, maximum=16_384)
    tiny_layers: int = _model(
        2, "layers of the random models (T5: of the encoder)", minimum=1, maximum=1000
    )
    tiny_vocabulary: int = _model(4000, "largest vocabulary of the random models", minimum=1)

    max_source_length: int = _text(512, "longest input; whole sentences are dropped", minimum=1)
    max_target_length: int = _text(128, "longest target; longer ones are cut", minimum=1)
    chat: str = _text("auto", "use a language model's chat template", choices=("auto", "yes", "no"))
    num_beams: int = _text(1, "beams of an evaluation; 1 = greedy", minimum=1)
    max_new_tokens: int = _text(32, "longest output of an evaluation", minimum=1)
    cache_dir: str = _data("", "folder for encoded texts; empty = in output_dir")

    per_device_train_batch_size: int = changed(TrainingSettings, "per_device_train_batch_size", 32)
    per_device_eval_batch_size: int = changed(TrainingSettings, "per_device_eval_batch_size", 32)
    optim: str = changed(TrainingSettings, "optim", "adafactor")
    learning_rate: float = changed(TrainingSettings, "learning_rate", 1e-3)
    lr_scheduler_type: str = changed(TrainingSettings, "lr_scheduler_type", "constant")
    warmup_steps: float = changed(TrainingSettings, "warmup_steps", 0)
    max_grad_norm: float = changed(TrainingSettings, "max_grad_norm", 1.0)
    metric_for_best_model: str = changed(TrainingSettings, "metric_for_best_model", "f1")

    REUSES_MEMORY: ClassVar[bool] = False  # each length has large arrays of its own size

    @property
    def saved_model(self) -> str:
        """Empty: the start is loaded like any other model."""
        return ""

    def check(self) -> None:
        """Raise on fp16 with T5, and on what no run can do."""
        launched = os.environ.get("ACCELERATE_MIXED_PRECISION", "no") if not self.bf16 else "no"
        if self.fp16 or launched == "fp16":
            self._check_fp16()
        super().check()

    def _check_fp16(self) -> None:
        from twowiki.text2text.loading import model_type_of

        if self.lora_r and self.dtype == "bfloat16":
            raise DataError("cannot be combined with fp16", field="dtype", remedy="Use bf16")
        model_type = model_type_of(self.model_name_or_path, self)
        if model_type not in FP16_OVERFLOWS:
            return
        problem = f"{model_type} overflows in float16: its losses become NaN"
        if not self.force_fp16:
            remedy = "Use bf16 or neither; --force_fp16 trains anyway"
            raise DataError(problem, field="fp16", remedy=remedy)
        warnings.warn(problem, stacklevel=2)


@dataclass(frozen=True)
class ArcDaArguments(TextArguments):
    """The settings of a run on ARC-DA, with multiple choice where ARC's files are given."""

    task: str = changed(TrainingSettings, "task", "arc_da")

    data_dir: str = _data("", "ARC-DA: the release's folder, its zip, or an export")
    train_file: str = _data("", "file of training questions, instead of data_dir")
    validation_file: str = _data("", "file of validation questions, instead of data_dir")
    arc: list[str] = _data([], "ARC's files, folder or zip: trains on multiple choice too")  # noqa: RUF009
    direct_answers: bool = _data(True, "train on direct answers; off: only evaluate on them")
    multiple_choice: bool = _data(True, "train on ARC's options; off: only evaluate on them")
    contexts: list[str] = _data([], "sentences from `twowiki arc-da retrieve`; none = no IR")  # noqa: RUF009
    mc_contexts: list[str] = _data([], "the same for multiple choice; none = those of contexts")  # noqa: RUF009
    sentences: int = _data(10, "most sentences per question", minimum=0)
    max_train_samples: int = _data(0, "use the first training questions; 0 = all", minimum=0)
    max_eval_samples: int = _data(0, "use the first validation questions; 0 = all", minimum=0)
    n_a: int = _data(4, "gold answers drawn per training question; 0 = all", minimum=0)
    resample: bool = _data(False, "draw other answers in each epoch")
    mixing: str = _data(
        "equal",
        "how often multiple choice is drawn",
        choices=("equal", "proportional", "temperature"),
    )
    temperature: float = _data(2.0, "temperature of that mixing", minimum=1)
    leaks: str = _data(
        "drop", "training questions that are evaluated too", choices=("drop", "error", "keep")
    )
    contamination: str = _data(
        "unknown", "what the start is known to have seen of ARC; a note in the report"
    )
    preset: str = _text(
        "arcda",
        "input format; arcda is the paper's",
        choices=("arcda", "macaw", "unifiedqa", "plain"),
    )
    mc_target: str = _text(
        "text", "target on multiple choice", choices=("text", "label", "label_text")
    )
    order: str = _text("best_first", "order of the context", choices=("best_first", "best_last"))
    mc_method: str = _evaluation(
        "unifiedqa", "how options are compared", choices=("unifiedqa", "robust")
    )

    def check(self) -> None:
        """Raise without data, or with a metric that nothing measures."""
        super().check()
        check_metric(self.metric_for_best_model, ARC_METRICS)
        if not self.direct_answers and not self.multiple_choice:
            raise DataError("nothing is left to train on", field="direct_answers")
        by_options = self.metric_for_best_model == "mc_accuracy" or not self.direct_answers
        if by_options and not self.arc:
            raise DataError("needs ARC's files", field="arc", remedy="Set --arc DIR")
        if not self.data_dir and not (self.train_file and self.validation_file):
            remedy = "Set --data_dir ARC-DA-v1.1, or --train_file and --validation_file"
            raise DataError("no questions are given", field="data_dir", remedy=remedy)


@dataclass(frozen=True)
class TwoWikiTextArguments(TextArguments, MultihopSettings):
    """The settings of a run on 2WikiMultiHopQA: answer, support and triples as one text."""

    task: str = changed(TrainingSettings, "task", "two_wiki_text")
    metric_for_best_model: str = changed(TrainingSettings, "metric_for_best_model", "joint_f1")
    max_source_length: int = changed(TextArguments, "max_source_length", 1536)
    max_target_length: int = changed(TextArguments, "max_target_length", 384)
    max_new_tokens: int = changed(TextArguments, "max_new_tokens", 256)
