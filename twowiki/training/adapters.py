"""Low-rank adapters (peft) and recomputed activations for pretrained models.

Adapters are trained instead of a model's weights. A saved folder holds plain weights, with the
adapters added to them, and needs no peft; the adapters alone are in its folder `adapter`. The
checkpoints' training state keeps them apart from the weights, so that a run continues exactly.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from twowiki.errors import DataError
from twowiki.training.settings import AdaptedSettings

ADAPTER = "default"


def add_adapters(model: nn.Module, config: AdaptedSettings) -> None:
    """Freeze a model and put adapters beside its linear layers, in place, drawn from the seed.

    Raises:
        DataError: no layer has such a name.
    """
    from peft import LoraConfig, inject_adapter_in_model

    all_linear = config.target_modules in ([], ["all-linear"])
    settings = LoraConfig(
        r=config.lora_r,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules="all-linear" if all_linear else list(config.target_modules),
    )
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # peft uses an older name of the library
            torch.manual_seed(config.seed)
            inject_adapter_in_model(settings, model, adapter_name=ADAPTER)
    except ValueError as error:
        names = sorted({name.rpartition(".")[2] for name, _ in model.named_modules()} - {""})
        raise DataError(
            f"match no layer ({str(error).splitlines()[0]})",
            field="target_modules",
            remedy=f"The layers are named {', '.join(names[:20])}",
        ) from error


def has_adapters(model: nn.Module) -> bool:
    """Check whether a model has adapters."""
    return any(hasattr(module, "lora_A") for module in model.modules())


def save_merged(model: Any, folder: Path) -> None:
    """Save a model with its adapters, if it has any, added to the weights, and them beside it."""
    if not has_adapters(model):
        model.save_pretrained(folder)
        return
    model.save_pretrained(folder, state_dict=merged_weights(model))
    save_adapters(model, folder / "adapter")


def merged_weights(model: Any) -> dict[str, Tensor]:
    """Return the state of a model as if its adapters were added to the weights; it stays as is."""
    state: dict[str, Tensor] = dict(model.state_dict())
    for name, module in model.named_modules():
        if not hasattr(module, "lora_A"):
            continue
        weight = state[f"{name}.base_layer.weight"]
        added = module.get_delta_weight(ADAPTER).to(weight)
        for part in list(state):
            if part.startswith(f"{name}.") and ".lora_" in part:
                del state[part]
        for part in ("weight", "bias"):
            if f"{name}.base_layer.{part}" in state:
                state[f"{name}.{part}"] = state.pop(f"{name}.base_layer.{part}")
        state[f"{name}.weight"] = weight + added
    return state


def save_adapters(model: nn.Module, folder: Path) -> None:
    """Save the adapters of a model, or of the part that has them, as peft loads them."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    adapted: Any = next(part for part in model.modules() if hasattr(part, "peft_config"))
    state = get_peft_model_state_dict(adapted, adapter_name=ADAPTER)
    adapted.peft_config[ADAPTER].save_pretrained(folder)
    named = {f"base_model.model.{name}": value.contiguous() for name, value in state.items()}
    save_file(named, folder / "adapter_model.safetensors")


def checkpoint_activations(model: Any) -> None:
    """Recompute a model's activations in the backward pass; the method has two names by version."""
    options = {"use_reentrant": False}
    try:
        if hasattr(model, "activation_checkpointing_enable"):
            model.activation_checkpointing_enable(activation_checkpointing_kwargs=options)
        else:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)
    except ValueError as error:
        raise DataError(
            f"is not available for {type(model).__name__}",
            field="gradient_checkpointing",
            remedy="Switch it off, or use another model",
        ) from error
