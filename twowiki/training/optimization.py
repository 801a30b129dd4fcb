"""The optimiser, and a learning rate that is a pure function of where a run stands."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from twowiki.training.checkpoints import RunState
from twowiki.training.run_config import RunConfig

LOWEST_RATE = 0.01  # of the highest: below this a halving run ends, as the published one does


def make_optimizer(model: nn.Module, config: RunConfig) -> torch.optim.Optimizer:
    """Make plain SGD, or AdamW that decays matrices only."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "sgd":
        return torch.optim.SGD(trained, lr=config.learning_rate)
    matrices = [parameter for parameter in trained if parameter.dim() >= 2]
    others = [parameter for parameter in trained if parameter.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98))


def learning_rate_at(config: RunConfig, state: RunState, progress: float) -> float:
    """Give the learning rate of the next step.

    Args:
        config: the run's configuration.
        state: where the run stands.
        progress: share of the run that is done, 0 to 1.
    """
    if config.schedule == "halving":
        return config.learning_rate * state.rate_factor
    warm = min(1.0, (state.step + 1) / config.warmup_steps) if config.warmup_steps else 1.0
    fall = max(0.0, 1.0 - progress) if config.schedule == "linear" else 1.0
    return config.learning_rate * min(warm, max(fall, LOWEST_RATE))


def set_learning_rate(optimizer: Any, rate: float) -> None:
    """Set the rate of every parameter group; a group's `share` is its part of the rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)


def note_evaluation(config: RunConfig, state: RunState, figure: float) -> bool:
    """Take an evaluation's figure into the state; say whether its model is to be kept.

    The best is kept, the earlier of two equals; while nothing has scored above 0, the latest.
    """
    if state.best is None or figure > state.best:
        state.best, state.best_step, state.waited = figure, state.step, 0
        return True
    state.waited += 1
    if config.schedule == "halving":
        state.rate_factor /= 2
    if figure == state.best == 0.0:
        state.best_step = state.step
        return True
    return False


def is_over(config: RunConfig, state: RunState) -> str:
    """Give the reason to stop after an evaluation, or an empty string."""
    if config.stop_at and state.best is not None and state.best > config.stop_at:
        return f"{config.metric} passed {config.stop_at:g}"
    if config.patience and state.waited >= config.patience:
        return f"no better {config.metric} in {state.waited} evaluations"
    if config.schedule == "halving" and state.rate_factor < LOWEST_RATE:
        return "the learning rate fell below a hundredth"
    return ""
