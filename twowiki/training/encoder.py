"""Training of the encoder model: backbone or saved model, adapters, learning rates by depth."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from twowiki.errors import DataError
from twowiki.models.backbone import set_attention
from twowiki.models.configuration_encoder import (
    DISENTANGLED,
    VARIABLE_LENGTHS,
    TwoWikiEncoderConfig,
    can_pack,
)
from twowiki.models.features import MultihopProcessor
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.processing_encoder import EncoderCollator, EncoderProcessor
from twowiki.training.adapters import add_adapters, checkpoint_activations
from twowiki.training.data import Source
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.fixed_shapes import FixedShapes
from twowiki.training.loaders import StepLoader
from twowiki.training.loop import optimizer_of
from twowiki.training.scored_parts import present
from twowiki.training.selection import measure_selection, stored_selector
from twowiki.training.settings import EncoderArguments
from twowiki.training.vocabulary import stored_relations

HALF = ("bf16", "fp16")
DERIVED = (
    "chain_consistency",
    "support_from_triples",
    "derive_answers",
    "chain_answers",
)  # what decoding adds


class EncoderTask(ExtractiveTask):
    """Trains `TwoWikiEncoderForMultihopQA` on encoded examples."""

    collator = EncoderCollator
    model: TwoWikiEncoderForMultihopQA

    def make_processor(
        self, train: Source, saved: Path | None, aliases: Mapping[str, Sequence[str]]
    ) -> MultihopProcessor:
        """Load the backbone or the saved model, and return its processor."""
        relations = stored_relations(train, self.contents[0], self.folder)
        if saved is not None:
            self.model = load_saved(self.config, saved, relations)
        else:
            self.model = start_model(self.config, relations)
        if self.model.config.select_paragraphs:
            whole = replace(train, paragraphs=0, copies=1)
            weights = stored_selector(whole, self.contents[0], self.folder)
            self.model.config.selector = weights or self.model.config.selector
        return EncoderProcessor(self.model.config, self.model.own_tokenizer(), aliases)

    def describe(self) -> list[str]:
        """Return lines on what was encoded, and on what could not be."""
        config = self.model_config
        kind = config.backbone_config.model_type
        backbone = f"backbone: {kind}, windows of {config.window_limit:,} tokens"
        return [*super().describe(), backbone, describe_attention(config)]

    @property
    def fixed_shapes(self) -> bool:
        """Whether all batches of the training are of one shape: where the model is compiled."""
        wanted = self.config.fixed_shapes
        wanted = self.config.torch_compile if wanted is None else wanted
        return bool(wanted and self.model_config.packs)

    def make_loaders(self, rank: int = 0, processes: int = 1) -> tuple[StepLoader, Any]:
        """Make the loaders; the batches of the training may be of one shape."""
        training, evaluation = super().make_loaders(rank, processes)
        if self.fixed_shapes:
            config, plan = self.config, replace(training.plan, mixed=True)
            epochs, collate = config.num_train_epochs, self.collator(self.model_config)
            fixed = FixedShapes.of(collate, self.train, plan, self.model_config, epochs)
            workers = config.dataloader_num_workers
            training = StepLoader(
                self.train, fixed, plan, rank=rank, processes=processes, workers=workers
            )
        return training, evaluation

    def build_model(self) -> Any:
        """Return the model that was prepared, compiled where the run wants it."""
        if self.config.torch_compile:  # in place: weights keep their names
            dynamic = None if self.fixed_shapes else True  # evaluations have other shapes
            self.model.compile(dynamic=dynamic, backend=self.config.torch_compile_backend)
        return self.model

    def count_weights(self, model: Any) -> int:
        """Count all weights, those of adapters included."""
        return sum(parameter.numel() for parameter in model.parameters())

    def make_optimizer(self, model: Any) -> Any:
        """Make the optimizer, with a rate of its own for the heads."""
        return make_encoder_optimizer(model, self.config)

    def report(self) -> dict[str, Any]:
        """Return the report of a task, with what the selection of paragraphs keeps and loses."""
        selection = self.processor.options.selection
        if selection is None:
            return super().report()
        examples = self.examples[: self.config.ceiling_examples]
        return super().report() | {"selection": measure_selection(examples, selection)}

    def summary(self, scores: Mapping[str, Any], report: Mapping[str, Any]) -> str:
        """Return the last lines, before them one on the selection of paragraphs."""
        lines = super().summary(scores, report)
        kept = report.get("selection", {})
        return f"\n{selection_line(kept)}\n{lines}" if kept.get("examples") else lines

    def further_scores(self, predicted: Mapping[Any, Any]) -> dict[str, Any]:
        """Return the metrics without each step that decoding adds."""
        without: dict[str, Any] = {}
        for name in DERIVED:
            if getattr(self.model_config, name):
                config = copy.copy(self.model_config)
                setattr(config, name, False)
                scored = self.score_joint(self.decode(predicted, config))
                without[name] = present(scored.metrics)
        return {"without": without}


def selection_line(kept: Mapping[str, Any]) -> str:
    """Return a line on what a selection of paragraphs keeps."""
    return (
        f"selection: {kept['kept']:.2f} paragraphs read, {kept['recall']:.2f}% of the gold ones; "
        f"{kept['all_gold']:.2f}% of the questions lose none"
    )


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
            field="model_name_or_path",
            remedy="Name a pretrained encoder with a fast tokenizer, or its folder",
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
            remedy="Name the folder of a trained encoder model",
        ) from error
    known = set(model.config.relations or [])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        add_relations(model, [name for name in relations if name not in known])
    return fitted(model, config)


@torch.no_grad()
def add_relations(model: TwoWikiEncoderForMultihopQA, names: list[str]) -> None:
    """Add classes for relations that a model does not know, before the class none."""
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
    """Return the model with its attention, adapters and recomputed activations.

    Raises:
        DataError: the attention that was asked for has no dropout, and the backbone has; or it
            cannot read this backbone.
    """
    backbone = model.config.backbone_config
    chosen = VARIABLE_LENGTHS if packing_pays(backbone, config) else ""
    if config.attn_implementation or chosen:
        set_attention(model, config.attn_implementation or chosen)
    if config.attn_implementation == VARIABLE_LENGTHS and not can_pack(backbone):
        raise DataError(
            f"{VARIABLE_LENGTHS} cannot read this {backbone.model_type} backbone",
            field="attn_implementation",
            remedy="Leave it out, or take BERT, RoBERTa, ELECTRA, ModernBERT or DeBERTa-v3",
        )
    if backbone._attn_implementation == VARIABLE_LENGTHS and attention_dropout(backbone):
        raise DataError(
            f"{VARIABLE_LENGTHS} has no dropout in attention, and the backbone's is "
            f"{attention_dropout(backbone):g}",
            field="attn_implementation",
            remedy="Set backbone_dropout to 0, or take another attention",
        )
    if config.fixed_shapes and not model.config.packs:
        raise DataError(
            "needs windows that are packed, and this attention pads them",
            field="fixed_shapes",
            remedy=f"Set attn_implementation to {VARIABLE_LENGTHS} and backbone_dropout to 0",
        )
    if config.lora_r:
        add_adapters(model.backbone, config)
    if config.gradient_checkpointing:
        checkpoint_activations(model.backbone)
    return model


def packing_pays(backbone: Any, config: EncoderArguments) -> bool:
    """Return whether windows without padding run by a fast kernel here, as the backbone is."""
    half = config.bf16 or config.fp16 or os.environ.get("ACCELERATE_MIXED_PRECISION") in HALF
    on_gpu = torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_CPU") != "true"
    by_kernel = can_pack(backbone) and backbone.model_type != DISENTANGLED
    return half and on_gpu and by_kernel and not attention_dropout(backbone)


def attention_dropout(backbone: Any) -> float:
    """Return the dropout of a backbone's attention, in training."""
    names = ("attention_probs_dropout_prob", "attention_dropout")
    return max(float(getattr(backbone, name, 0.0) or 0.0) for name in names)


def describe_attention(config: TwoWikiEncoderConfig) -> str:
    """Return the line on which attention runs."""
    name = config.backbone_config._attn_implementation or "the library's choice"
    layout = "packed windows, no padding" if config.packs else "padded windows"
    return f"attention: {name}, {layout}"


_LAYER = re.compile(r"\blayers?\.(\d+)\.")


def make_encoder_optimizer(model: nn.Module, config: EncoderArguments) -> Any:
    """Return the optimizer; each group's `share` is its part of the run's rate.

    Heads have `head_learning_rate`; a backbone's layer has `layer_decay` of the rate of the layer
    above it, its embeddings the least. Vectors and embeddings of one row have no weight decay.
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
    """Return the depth of a backbone's parameter: embeddings 0, the first layer 1, and so on."""
    layer = _LAYER.search(name)
    if layer:
        return int(layer[1]) + 1
    return 0 if "embedding" in name else layers
