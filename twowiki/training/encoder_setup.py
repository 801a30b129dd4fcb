"""What a training of the encoder starts from: examples, relations, records, the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from twowiki.errors import DataError
from twowiki.files import progress
from twowiki.modeling.encoder_configuration import TwoWikiEncoderConfig
from twowiki.modeling.encoder_encoding import SubwordEncoder
from twowiki.modeling.encoder_modeling import TwoWikiForMultihopQA
from twowiki.schema import Example
from twowiki.training.adapters import add_adapters
from twowiki.training.data import Source, find_sources
from twowiki.training.encoder_config import EncoderConfig
from twowiki.training.features import Features, encode_cached
from twowiki.training.setup import aliases_of


class PreparedEncoder(NamedTuple):
    """Everything that training needs before the first step."""

    train: Features
    validation: Features
    validation_examples: list[Example]
    tokenizer: Any
    model: TwoWikiForMultihopQA
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
            source.examples(), SubwordEncoder(model.config, tokenizer, aliases), folder, content
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


def start_model(config: EncoderConfig, relations: list[str]) -> TwoWikiForMultihopQA:
    """Start from a pretrained backbone; the heads are drawn from the seed."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = TwoWikiForMultihopQA.from_backbone(
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


def load_saved(config: EncoderConfig, saved: Path, relations: list[str]) -> TwoWikiForMultihopQA:
    """Load a saved model with the run's options; unknown relations get new classes."""
    chosen = {"attn_implementation": config.attention} if config.attention else {}
    try:
        settings = TwoWikiEncoderConfig.from_pretrained(saved)
        for name, value in config.model_options.items():
            setattr(settings, name, value)
        settings.settle()
        model: TwoWikiForMultihopQA = TwoWikiForMultihopQA.from_pretrained(
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
def add_relations(model: TwoWikiForMultihopQA, names: list[str]) -> None:
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


def fitted(model: TwoWikiForMultihopQA, config: EncoderConfig) -> TwoWikiForMultihopQA:
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
