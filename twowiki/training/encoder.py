"""The encoder model as the training loop sees it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn

import twowiki
from twowiki.data.schema import Example, Prediction
from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.models.configuration_encoder import TwoWikiEncoderConfig
from twowiki.models.decoding import WindowScores
from twowiki.models.decoding_encoder import decode_record, score_records
from twowiki.models.features import Window
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.oracle import encoder_oracle
from twowiki.models.processing_encoder import EncoderCollator, EncoderProcessor
from twowiki.training import evaluation
from twowiki.training.adapters import add_adapters, has_adapters, merged_weights
from twowiki.training.baseline import aliases_of
from twowiki.training.data import Source, find_sources
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.feature_store import Features, encode_cached
from twowiki.training.settings import MultihopConfig, described, documented_fields
from twowiki.training.task import Outcome

DERIVED = ("chain_consistency", "derive_answers")  # what the decoder adds, each an option


class EncoderTask(ExtractiveTask):
    """Trains `TwoWikiEncoderForMultihopQA` on encoded examples.

    Args:
        config: the run's settings.
    """

    prepared: PreparedEncoder
    collator = EncoderCollator
    score_outputs = staticmethod(score_records)

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)

    @property
    def model_config(self) -> TwoWikiEncoderConfig:
        """The model's configuration."""
        found: TwoWikiEncoderConfig = self.prepared.model.config
        return found

    def prepare(self, saved: Path | None) -> None:
        """Find the data, start from the backbone (or take a saved model) and encode."""
        self.prepared = prepare_encoder(self.config, saved)

    def describe(self) -> list[str]:
        """Say how much was encoded, and what the encoding could not do."""
        prepared = self.prepared
        count = f"{len(prepared.train)} training and {len(prepared.validation)} validation examples"
        name = self.model_config.backbone_name or self.model_config.backbone_config.model_type
        return [
            *self.not_encoded(),
            f"{count}, windows of {self.model_config.window_limit} tokens of {name},",
        ]

    def build_model(self) -> Any:
        """Give the model that was prepared."""
        return self.prepared.model

    def count_weights(self, model: Any) -> int:
        """Count all weights, adapters included."""
        return sum(parameter.numel() for parameter in model.parameters())

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimiser, with a rate of its own for the heads."""
        return make_encoder_optimizer(model, self.config)

    def score(self, predicted: Mapping[Any, Any]) -> Outcome:
        """Decode and score with the joint metric; also without each thing that is derived."""
        examples = self.prepared.validation_examples
        predictions = decode(predicted.values(), examples, self.model_config)
        scored = evaluation.score_predictions(examples, predictions, self.config.aliases_file)
        without = {
            name: self.figures(
                decode(predicted.values(), examples, changed(self.model_config, {name: False}))
            )
            for name in DERIVED
            if getattr(self.model_config, name)
        }
        files = {
            "predictions.json": evaluation.to_official([e.id for e in examples], predictions),
            "scores.json": scored._asdict() | {"without": without},
        }
        return Outcome(scored.metrics, files)

    def figures(self, predictions: Sequence[Prediction]) -> dict[str, float]:
        """Score predictions for the validation examples: the means alone."""
        examples = self.prepared.validation_examples
        report = twowiki.score(
            {example.id: said for example, said in zip(examples, predictions, strict=True)},
            [evaluation.gold_record(example) for example in examples],
            self.config.aliases_file or None,
        )
        return dict(report.metrics)

    def save(self, model: Any, folder: Path) -> None:
        """Save weights (adapters merged), code, configuration and tokenizer."""
        state = merged_weights(model) if has_adapters(model) else None
        model.save_pretrained(folder, state_dict=state)
        self.prepared.tokenizer.save_pretrained(folder)

    def report(self) -> dict[str, Any]:
        """Give the data, the model's configuration and the ceiling of the encoding."""
        prepared, config = self.prepared, self.model_config
        examples = prepared.validation_examples[: self.config.ceiling_examples]
        windows = [w for w in prepared.validation if w.example < len(examples)]
        said = decode(oracle_scores(windows, config), examples, config)
        return self.scored_report(examples, said)


def decode(
    scores: Iterable[WindowScores], examples: Sequence[Example], config: TwoWikiEncoderConfig
) -> list[Prediction]:
    """Answer examples from their records, in the examples' order."""
    by_example = {score.example: [score] for score in scores}
    return [
        evaluation.to_prediction(
            decode_record(by_example.get(number, []), example.question, example.context, config)
        )
        for number, example in enumerate(examples)
    ]


def oracle_scores(
    windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> Iterator[WindowScores]:
    """Score what the labels say."""
    for first in range(0, len(windows), 16):
        part = windows[first : first + 16]
        yield from score_records(encoder_oracle(part, config), part, config)


def changed(config: TwoWikiEncoderConfig, options: Mapping[str, Any]) -> TwoWikiEncoderConfig:
    """Copy a configuration with other values of some options."""
    other = copy.copy(config)
    for name, value in options.items():
        setattr(other, name, value)
    return other


class PreparedEncoder(NamedTuple):
    """Everything that training needs before the first step."""

    train: Features
    validation: Features
    validation_examples: list[Example]
    tokenizer: Any
    model: TwoWikiEncoderForMultihopQA
    sources: tuple[Source, Source]
    contents: tuple[str, str]


def prepare_encoder(config: EncoderConfig, saved: Path | None = None) -> PreparedEncoder:
    """Find the data, make or load the model, and encode.

    Args:
        config: the run.
        saved: folder of a model to go on from; relations that it does not know are added.
    """
    train, validation = find_sources(config)
    validation_examples = list(validation.examples())
    if not validation_examples:
        raise DataError("holds no examples", file=validation.name, field="validation")
    relations = relations_of(train)
    model = load_saved(config, saved, relations) if saved else start_model(config, relations)
    tokenizer = model.own_tokenizer()
    aliases = aliases_of(config.aliases_file)
    folder = config.cache_dir or str(Path(config.output_dir) / "features")
    contents = train.content(), validation.content()
    encoded = [
        encode_cached(
            source.examples(), EncoderProcessor(model.config, tokenizer, aliases), folder, content
        )
        for source, content in zip((train, validation), contents, strict=True)
    ]
    if not len(encoded[0]):
        raise DataError(
            f"no example can be trained on ({dict(encoded[0].counts)})", file=train.name
        )
    return PreparedEncoder(
        encoded[0],
        encoded[1],
        validation_examples,
        tokenizer,
        model,
        (train, validation),
        contents,
    )


def relations_of(source: Source) -> list[str]:
    """Give the relation names of a split's triples, in order."""
    names: set[str] = set()
    empty = True
    for example in progress(source.examples(), what="relations"):
        empty = False
        names.update(triple.relation.strip() for triple in example.evidences)
    if empty:
        raise DataError("holds no examples", file=source.name, field="train")
    return sorted(names)


def start_model(config: EncoderConfig, relations: list[str]) -> TwoWikiEncoderForMultihopQA:
    """Start from a pretrained backbone; the heads are drawn from the seed."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = TwoWikiEncoderForMultihopQA.from_backbone(
                config.backbone,
                relations=relations,
                attn_implementation=config.attention or None,
                revision=config.revision or None,
                **config.model_options,
            )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise DataError(
            f"cannot be used ({str(error).strip().splitlines()[0]})",
            file=config.backbone,
            field="backbone",
            remedy="Give the name or folder of a pretrained encoder with a fast tokenizer",
        ) from error
    return fitted(model, config)


def load_saved(
    config: EncoderConfig, saved: Path, relations: list[str]
) -> TwoWikiEncoderForMultihopQA:
    """Load a saved model with the run's options; unknown relations get new classes."""
    chosen = {"attn_implementation": config.attention} if config.attention else {}
    try:
        settings = TwoWikiEncoderConfig.from_pretrained(saved)
        for name, value in config.model_options.items():
            setattr(settings, name, value)
        settings.settle()
        model: TwoWikiEncoderForMultihopQA = TwoWikiEncoderForMultihopQA.from_pretrained(
            saved, config=settings, dtype=torch.float32, **chosen
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(
            f"cannot be loaded ({str(error).strip().splitlines()[0]})",
            file=saved,
            remedy="Give the folder of a trained encoder model",
        ) from error
    known = set(model.config.relations or [])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        add_relations(model, [name for name in relations if name not in known])
    return fitted(model, config)


@torch.no_grad()
def add_relations(model: TwoWikiEncoderForMultihopQA, names: list[str]) -> None:
    """Give relations that a model does not know classes of their own, before the class none."""
    if not names:
        return
    old = model.relation_head
    new = nn.Linear(old.in_features, old.out_features + len(names))
    nn.init.normal_(new.weight, 0.0, model.config.initializer_range)
    nn.init.zeros_(new.bias)
    known = old.out_features - 1
    for part in ("weight", "bias"):
        getattr(new, part)[:known] = getattr(old, part)[:known]
        getattr(new, part)[-1] = getattr(old, part)[-1]
    model.relation_head = new
    model.config.relations = [*(model.config.relations or []), *names]


def fitted(
    model: TwoWikiEncoderForMultihopQA, config: EncoderConfig
) -> TwoWikiEncoderForMultihopQA:
    """Put adapters and gradient checkpointing in, as a run asks."""
    if config.lora_rank:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            try:
                add_adapters(
                    model.backbone,
                    rank=config.lora_rank,
                    alpha=config.lora_alpha,
                    targets=config.lora_targets,
                )
            except ValueError as error:
                raise DataError(
                    f"fits no layer ({str(error).splitlines()[0]})", field="lora_targets"
                ) from error
    if config.gradient_checkpointing:
        checkpoint_activations(model.backbone)
    return model


def checkpoint_activations(backbone: Any) -> None:
    """Compute the backbone's activations again in the backward pass."""
    kept = {"use_reentrant": False}
    try:
        if hasattr(backbone, "activation_checkpointing_enable"):
            backbone.activation_checkpointing_enable(activation_checkpointing_kwargs=kept)
        else:
            backbone.gradient_checkpointing_enable(gradient_checkpointing_kwargs=kept)
    except ValueError as error:
        raise DataError(
            f"is not there for {type(backbone).__name__}",
            field="gradient_checkpointing",
            remedy="Switch it off, or take another backbone",
        ) from error


# fields of the model's configuration that the data, the backbone or its tokenizer decides
LEARNT = frozenset(
    "backbone_name title_marker_id sentence_marker_id context_segment padding_id".split()
)


@dataclass(frozen=True)
class EncoderConfig(MultihopConfig):
    """Everything that moves a training of the encoder model."""

    task: str = described("encoder", "kind of model; decides which other settings there are")
    output_dir: str = described("runs/encoder", "folder of checkpoints, predictions and report")
    backbone: str = described("", "name or folder of a pretrained encoder with a fast tokenizer")
    revision: str = described("", "revision of the backbone's repository")
    attention: str = described(
        "", "sdpa, eager, flash_attention_2, twowiki_varlen (no padding); empty = library's choice"
    )
    gradient_checkpointing: bool = described(
        False, "forget the backbone's activations, compute them again: less memory, more time"
    )
    lora_rank: int = described(0, "train adapters of this rank in the backbone; 0 = all weights")
    lora_alpha: int = described(16, "scale of the adapters, divided by their rank")
    lora_targets: str = described(
        "all-linear", "layers that get adapters: all-linear, or the ends of their names, by commas"
    )
    batch_size: int = described(8, "examples a step and process; halved when memory runs out")
    eval_batch_size: int = described(16, "examples a batch of an evaluation")
    epochs: int = described(3, "passes over the training examples")
    learning_rate: float = described(5e-5, "highest learning rate of the backbone")
    head_learning_rate: float = described(3e-4, "highest learning rate of the heads")
    layer_decay: float = described(
        1.0, "share of a layer's rate that the layer below has; below 1 spares the lowest layers"
    )
    clip_norm: float = described(1.0, "longest gradient; 0 = never clipped")
    warmup_steps: int = described(100, "steps from zero to the highest rate; not for halving")

    AT_LEAST_ONE: ClassVar[tuple[str, ...]] = MultihopConfig.AT_LEAST_ONE

    @classmethod
    def option_types(cls) -> dict[str, Any]:
        """Give the fields of TwoWikiEncoderConfig that a run may set, with their types."""
        from twowiki.models.configuration_encoder import TwoWikiEncoderConfig

        kinds = {"int": int, "float": float, "bool": bool, "str": str}
        return {
            name: kinds[kind]
            for name, kind in TwoWikiEncoderConfig.__annotations__.items()
            if name not in LEARNT and kind in kinds
        }

    @classmethod
    def option_texts(cls) -> dict[str, str]:
        """Give what TwoWikiEncoderConfig's docstring says of each option."""
        from twowiki.models.configuration_encoder import TwoWikiEncoderConfig

        return documented_fields(TwoWikiEncoderConfig)

    def check(self) -> None:
        """Refuse what would only fail later."""
        super().check()
        if not (self.backbone or self.init_from or self.resume):
            raise DataError(
                "is not given",
                field="backbone",
                remedy="Give the name or folder of a pretrained encoder, such as "
                "answerdotai/ModernBERT-base, or init_from",
            )
        if not 0.0 < self.layer_decay <= 1.0:
            raise DataError(f"is {self.layer_decay}, not above 0 and up to 1", field="layer_decay")
        if self.lora_rank < 0:
            raise DataError(f"is {self.lora_rank}, and cannot be negative", field="lora_rank")
        if self.lora_rank:
            try:
                import peft  # noqa: F401
            except ModuleNotFoundError as error:
                raise DataError(
                    "adapters need the package 'peft'",
                    field="lora_rank",
                    remedy="Install it with: pip install 'twowiki[peft]', or set 0",
                ) from error


_LAYER = re.compile(r"\blayers?\.(\d+)\.")


def make_encoder_optimizer(model: nn.Module, config: EncoderConfig) -> torch.optim.Optimizer:
    """Make the optimiser; each group's `share` says what part of the run's rate it has.

    Heads have `head_learning_rate`; a backbone's layer has `layer_decay` of the rate of the layer
    above it, its embeddings the least. Vectors and embeddings of one row are not decayed.
    """
    layers = backbone_layers(model)
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if name.startswith("backbone."):
            share = config.layer_decay ** (layers - depth_of(name, layers))
        else:
            share = config.head_learning_rate / config.learning_rate
        groups.setdefault((share, parameter.dim() >= 2), []).append(parameter)
    listed: list[dict[str, Any]] = [
        {
            "params": parameters,
            "share": share,
            "lr": config.learning_rate * share,
            "weight_decay": config.weight_decay if decays else 0.0,
        }
        for (share, decays), parameters in groups.items()
    ]
    if config.optimizer == "sgd":
        return torch.optim.SGD(listed, lr=config.learning_rate)
    fused = all(p.device.type in ("cpu", "cuda") for group in listed for p in group["params"])
    return torch.optim.AdamW(listed, lr=config.learning_rate, betas=(0.9, 0.98), fused=fused)


def backbone_layers(model: nn.Module) -> int:
    """Count the layers of a model's backbone."""
    found = [
        int(layer[1])
        for name, _ in model.named_parameters()
        if name.startswith("backbone.") and (layer := _LAYER.search(name))
    ]
    return max(found, default=-1) + 1


def depth_of(name: str, layers: int) -> int:
    """Give the depth of a backbone's parameter: embeddings 0, the first layer 1, and so on."""
    layer = _LAYER.search(name)
    if layer:
        return int(layer[1]) + 1
    return 0 if "embedding" in name else layers
