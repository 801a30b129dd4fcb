"""Low-rank adapters in a backbone (peft): trained instead of its weights, merged when saved.

A saved folder holds plain weights and needs no peft. The adapters themselves are kept in the
checkpoints' training state, so that a run goes on exactly.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

ADAPTER = "default"


def add_adapters(backbone: nn.Module, *, rank: int, alpha: int, targets: str) -> None:
    """Freeze a backbone and put adapters beside its linear layers.

    Args:
        backbone: the encoder, changed in place.
        rank: inner width of an adapter.
        alpha: scale of the adapters, divided by their rank.
        targets: "all-linear", or ends of layers' names, parted by commas.

    Raises:
        ValueError: no layer has such a name.
    """
    from peft import LoraConfig, inject_adapter_in_model

    wanted = targets if targets == "all-linear" else [name.strip() for name in targets.split(",")]
    settings = LoraConfig(r=rank, lora_alpha=alpha, target_modules=wanted, lora_dropout=0.0)
    for parameter in backbone.parameters():
        parameter.requires_grad_(False)
    inject_adapter_in_model(settings, backbone, adapter_name=ADAPTER)


def has_adapters(model: nn.Module) -> bool:
    """Say whether a model holds adapters."""
    return any(hasattr(module, "lora_A") for module in model.modules())


def merged_weights(model: Any) -> dict[str, Tensor]:
    """Give the state of a model as if its adapters had been added to the weights; it stays."""
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
