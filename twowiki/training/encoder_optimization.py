"""Rates for a pretrained backbone and new heads: a group of parameters for each share."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from twowiki.training.encoder_config import EncoderConfig

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
