"""The settings of text-to-text runs: what both data sets share, and each one's own."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import ClassVar

from twowiki.errors import DataError
from twowiki.training.settings import MultihopConfig, RunConfig, described

ARC_METRICS = ("f1", "rougeL", "mc_accuracy")
FP16_LOSES = ("t5", "mt5", "umt5", "longt5", "t5gemma", "t5gemma2", "switch_transformers")


@dataclass(frozen=True)
class TextConfig(RunConfig):
    """A run of a text-to-text model, whatever it answers."""

    output_dir: str = described("runs/text", "folder of checkpoints, predictions and report")
    # model
    model: str = described(
        "tiny-t5",
        "where to start: a folder, a .gguf file, a hub name, or tiny-t5 / tiny-causal (random)",
    )
    revision: str = described("", "revision of a hub model")
    trust_remote_code: bool = described(False, "run the code that comes with a model")
    weights: str = described("float32", "precision of the weights: float32 or bfloat16")
    dropout: float = described(-1.0, "the model's dropout; below 0 leaves it as it is")
    gradient_checkpointing: bool = described(False, "less memory, a third more time")
    force_fp16: bool = described(False, "train T5 in fp16 although its activations overflow there")
    tiny_width: int = described(64, "of the random models")
    tiny_layers: int = described(2, "of the random models (T5: encoder; its decoder has half)")
    tiny_vocabulary: int = described(4000, "largest vocabulary of the random models")
    # adapters
    lora_rank: int = described(0, "train adapters of this rank alone (needs peft); 0 = all weights")
    lora_alpha: int = described(32, "scale of the adapters")
    lora_dropout: float = described(0.05, "of the adapters' inputs")
    lora_targets: list[str] = described([], "layers with adapters; none named: all linear ones")  # noqa: RUF009
    # texts
    max_source_tokens: int = described(512, "longest input; whole sentences of context are dropped")
    max_target_tokens: int = described(128, "longest target; longer ones are cut and counted")
    chat: str = described("auto", "chat template of a language model: auto, yes or no")
    # generation at evaluation
    num_beams: int = described(1, "beams; 1 = greedy")
    max_new_tokens: int = described(32, "longest output")
    cache_dir: str = described("", "where encoded texts are kept; empty = in output_dir")
    # what the loop has, as T5's recipe sets it
    batch_size: int = described(32, "instances a step and process; halved when memory runs out")
    optimizer: str = described("adafactor", "adafactor, adamw or sgd")
    learning_rate: float = described(1e-3, "highest learning rate")
    schedule: str = described("constant", "linear, constant, or halving (when no better)")
    warmup_steps: int = described(0, "steps from zero to the highest rate; not for halving")
    clip_norm: float = described(1.0, "longest gradient; 0 = never clipped")
    eval_batch_size: int = described(32, "questions a batch of an evaluation")
    metric: str = described("f1", "figure that chooses the best checkpoint")

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **RunConfig.CHOICES,
        "optimizer": ("adafactor", "adamw", "sgd"),
        "weights": ("float32", "bfloat16"),
        "chat": ("auto", "yes", "no"),
    }
    KEEPS_MEMORY: ClassVar[bool] = False  # each length has huge arrays of its own size
    AT_LEAST_ONE: ClassVar[tuple[str, ...]] = (
        *RunConfig.AT_LEAST_ONE,
        *("max_source_tokens", "max_target_tokens", "num_beams", "max_new_tokens"),
        *("tiny_width", "tiny_layers", "tiny_vocabulary"),
    )

    def check(self) -> None:
        """Refuse fp16 with T5, and what no run can do."""
        asked = self.mixed_precision or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        if asked == "fp16":
            self._check_fp16()
        if self.lora_rank:
            from importlib.util import find_spec

            if find_spec("peft") is None:
                remedy = "Install it with: pip install 'twowiki[text]'"
                raise DataError("needs the package 'peft'", field="lora_rank", remedy=remedy)
        if self.lora_rank and self.weights == "bfloat16" and self.mixed_precision == "fp16":
            raise DataError("cannot be mixed with fp16", field="weights", remedy="Use bf16")
        super().check()

    def _check_fp16(self) -> None:
        from twowiki.text2text.loading import model_type_of

        kind = model_type_of(self.model if not self.init_from else self.init_from, self)
        if kind not in FP16_LOSES:
            return
        problem = f"is fp16, in which {kind} overflows: its losses become NaN"
        if not self.force_fp16:
            remedy = "Use bf16 or no; --force_fp16 trains all the same"
            raise DataError(problem, field="mixed_precision", remedy=remedy)
        warnings.warn(f"mixed_precision {problem}", stacklevel=2)


@dataclass(frozen=True)
class ArcDaConfig(TextConfig):
    """A run on ARC-DA, with multiple choice beside it where ARC's files are given."""

    task: str = described("arc_da", "kind of model; decides which other settings there are")
    output_dir: str = described("runs/arc_da", "folder of checkpoints, predictions and report")
    # data
    data_dir: str = described("", "ARC-DA: the release's folder, its zip, or an export")
    train_file: str = described("", "file of training questions, instead of data_dir")
    validation_file: str = described("", "file of validation questions, instead of data_dir")
    arc: list[str] = described([], "ARC's files, folder or zip: trains on multiple choice too")  # noqa: RUF009
    direct_answers: bool = described(True, "train on direct answers; no: evaluate on them alone")
    multiple_choice: bool = described(True, "train on ARC's options; no: evaluate on them alone")
    contexts: list[str] = described([], "sentences of `twowiki arc-da retrieve`; none: no IR")  # noqa: RUF009
    mc_contexts: list[str] = described([], "the same for multiple choice; none: `contexts`")  # noqa: RUF009
    sentences: int = described(10, "sentences a question, at most")
    max_train_examples: int = described(0, "use the first training questions; 0 = all")
    max_validation_examples: int = described(0, "use the first validation questions; 0 = all")
    # instances
    n_a: int = described(4, "gold answers a training question, drawn; 0 = all")
    resample: bool = described(False, "draw other answers in each epoch")
    mixing: str = described("equal", "multiple choice: equal, proportional or temperature")
    temperature: float = described(2.0, "of mixing: temperature")
    leaks: str = described("drop", "training questions that are evaluated: drop, error or keep")
    # format
    preset: str = described("arcda", "input format: arcda (the paper's), macaw, unifiedqa, plain")
    mc_target: str = described("text", "what is said on multiple choice: text, label, label_text")
    order: str = described("best_first", "context: best_first or best_last")
    contamination: str = described(
        "unknown", "what the start is known to have seen of ARC; stands in the report"
    )
    mc_method: str = described("unifiedqa", "how options are compared: unifiedqa or robust")

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        **TextConfig.CHOICES,
        "mixing": ("equal", "proportional", "temperature"),
        "leaks": ("drop", "error", "keep"),
        "preset": ("arcda", "macaw", "unifiedqa", "plain"),
        "mc_target": ("text", "label", "label_text"),
        "order": ("best_first", "best_last"),
        "mc_method": ("unifiedqa", "robust"),
    }

    def check(self) -> None:
        """Refuse what would only fail after the training."""
        super().check()
        if self.metric not in ARC_METRICS:
            said = f"is {self.metric!r}, not one of {', '.join(ARC_METRICS)}"
            raise DataError(said, field="metric")
        if not self.direct_answers and not self.multiple_choice:
            raise DataError("nothing is left to train on", field="direct_answers")
        if (self.metric == "mc_accuracy" or not self.direct_answers) and not self.arc:
            raise DataError("needs ARC's files", field="arc", remedy="Give them with --arc DIR")
        if not self.data_dir and not (self.train_file and self.validation_file):
            remedy = "Give --data_dir ARC-DA-v1.1, or --train_file and --validation_file"
            raise DataError("no questions are given", field="data_dir", remedy=remedy)
        if self.temperature < 1:
            raise DataError(f"is {self.temperature}, below 1", field="temperature")


@dataclass(frozen=True)
class TwoWikiTextConfig(TextConfig, MultihopConfig):
    """A run on 2WikiMultiHopQA: answer, supporting sentences and triples as one text."""

    task: str = described("two_wiki_text", "kind of model; decides which other settings there are")
    output_dir: str = described("runs/two_wiki_text", "folder of checkpoints and report")
    metric: str = described("joint_f1", "figure that chooses the best checkpoint")
    max_source_tokens: int = described(1536, "longest input; last sentences are dropped")
    max_target_tokens: int = described(384, "longest target; longer ones are cut and counted")
    max_new_tokens: int = described(256, "longest output")
