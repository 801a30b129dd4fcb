"""The encoder model as the training loop sees it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from twowiki.training.adapters import add_adapters, checkpoint_activations, save_merged
from twowiki.training.baseline import aliases_of
from twowiki.training.data import Source, find_sources
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.feature_store import Features, encode_cached
from twowiki.training.loop import optimizer_of
from twowiki.training.settings import EncoderArguments
from twowiki.training.task import EvaluationResult

DERIVED = ("chain_consistency", "derive_answers")  # what the decoder adds, each an option


class EncoderTask(ExtractiveTask):
    """Trains `TwoWikiEncoderForMultihopQA` on encoded examples.

    Args:
        config: the run's settings.
    """

    prepared: PreparedEncoder
    collator = EncoderCollator
    score_outputs = staticmethod(score_records)

    def __init__(self, config: EncoderArguments) -> None:
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

    def score(self, predicted: Mapping[Any, Any]) -> EvaluationResult:
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
        return EvaluationResult(scored.metrics, files)

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
        save_merged(model, folder)
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


def prepare_encoder(config: EncoderArguments, saved: Path | None = None) -> PreparedEncoder:
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


def start_model(config: EncoderArguments, relations: list[str]) -> TwoWikiEncoderForMultihopQA:
    """Start from a pretrained backbone; the heads are drawn from the seed."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = TwoWikiEncoderForMultihopQA.from_backbone(
                config.model_name_or_path,
                relations=relations,
                attn_implementation=config.attn_implementation or None,
                revision=config.revision or None,
                **config.model_options,
            )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise DataError(
            f"cannot be used ({str(error).strip().splitlines()[0]})",
            file=config.model_name_or_path,
            field="backbone",
            remedy="Give the name or folder of a pretrained encoder with a fast tokenizer",
        ) from error
    return fitted(model, config)


def load_saved(
    config: EncoderArguments, saved: Path, relations: list[str]
) -> TwoWikiEncoderForMultihopQA:
    """Load a saved model with the run's options; unknown relations get new classes."""
    attention = config.attn_implementation
    chosen = {"attn_implementation": attention} if attention else {}
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
    model: TwoWikiEncoderForMultihopQA, config: EncoderArguments
) -> TwoWikiEncoderForMultihopQA:
    """Return the model with adapters and recomputed activations, where the run wants them."""
    if config.lora_r:
        add_adapters(model.backbone, config)
    if config.gradient_checkpointing:
        checkpoint_activations(model.backbone)
    return model


_LAYER = re.compile(r"\blayers?\.(\d+)\.")


def make_encoder_optimizer(model: nn.Module, config: EncoderArguments) -> Any:
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
    fused = all(p.device.type in ("cpu", "cuda") for group in listed for p in group["params"])
    return optimizer_of(listed, config, fused=fused)


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
