"""The parts of the training loop: losses, processor time, optimizer, learning rate, stopping.

torch and accelerate are imported inside the functions that need them, so that a run's settings
can be read without them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from twowiki.training.checkpoints import RunState
from twowiki.training.settings import TrainingSettings, step_count

if TYPE_CHECKING:
    import torch

LOWEST_RATE = 0.01  # share of the highest: below it a halving run ends, as the published one does


class StepCounts(NamedTuple):
    """Numbers of steps: of the whole run, of the warmup, and between what the run repeats."""

    total: int
    warmup: int
    logging: int
    eval: int
    save: int

    @classmethod
    def of(cls, config: TrainingSettings, steps_per_epoch: int, more: int = 0) -> StepCounts:
        """Return the counts of a run whose epochs have so many steps, and perhaps more in all."""
        limit = config.max_steps or sys.maxsize
        total = min(config.num_train_epochs * steps_per_epoch + more, limit)
        values = config.warmup_steps, config.logging_steps, config.eval_steps, config.save_steps
        return cls(total, *(step_count(value, total) for value in values))


class RunningLosses:
    """Means of the steps' losses since they were last read, those before a checkpoint included."""

    def __init__(self, kept: Mapping[str, Any], is_main: bool) -> None:
        self.sums: dict[str, Any] = dict(kept.get("sums", {})) if is_main else {}
        self.count: int = kept.get("count", 0)

    def add(self, losses: Mapping[str, torch.Tensor]) -> None:
        """Add this process's part of a step's losses."""
        for name, value in losses.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.count += 1

    def kept(self) -> dict[str, Any]:
        """Return the sums of all processes, for a checkpoint. All processes call it."""
        from accelerate.utils import gather_object

        sums: dict[str, float] = {}
        for part in gather_object([{name: float(value) for name, value in self.sums.items()}]):
            for name, value in part.items():  # a process may have had no batch of a small step
                sums[name] = sums.get(name, 0.0) + value
        return {"count": self.count, "sums": sums}

    def mean(self) -> dict[str, Any]:
        """Return the means over the steps, and start again. All processes call it."""
        means = {name: value / max(1, self.count) for name, value in self.kept()["sums"].items()}
        self.sums, self.count = {}, 0
        return {"loss": means.pop("loss"), "losses": dict(sorted(means.items()))}


class CpuClock:
    """Adds the processor time of training, and of nothing else, to a run's state."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.restart()

    def restart(self) -> None:
        """Count from here."""
        self.started = time.process_time()

    def tick(self) -> None:
        """Count what was spent since the last call."""
        now = time.process_time()
        self.state.cpu_seconds += now - self.started
        self.started = now

    def share(self, minutes: float) -> float:
        """Return the share of a limit that is spent; 0 without a limit."""
        return self.state.cpu_seconds / (60 * minutes) if minutes else 0.0


def broadcast(accelerator: Any, value: Any) -> Any:
    """Return the main process's value on every process. All processes call it."""
    if accelerator.num_processes == 1:
        return value
    from accelerate.utils import broadcast_object_list

    values = [value]
    broadcast_object_list(values)
    return values[0]


def gather_predictions(predicted: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the pairs of all processes on the main one, and on the others nothing.

    They are in the keys' order; a key that several have counts once. All processes call this.
    """
    from torch import distributed

    own = dict(predicted)
    if distributed.is_available() and distributed.is_initialized():
        main = distributed.get_rank() == 0
        parts: list[Any] | None = [None] * distributed.get_world_size() if main else None
        distributed.gather_object(own, parts)
        own = {key: value for part in parts or () for key, value in part.items()}
    return dict(sorted(own.items()))


def make_optimizer(model: Any, config: TrainingSettings) -> Any:
    """Return the optimizer of a model whose weights all have one learning rate."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optim != "adamw":
        return optimizer_of([{"params": trained}], config)
    matrices = [parameter for parameter in trained if parameter.dim() >= 2]
    others = [parameter for parameter in trained if parameter.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return optimizer_of(groups, config)


def optimizer_of(
    groups: list[dict[str, Any]], config: TrainingSettings, *, fused: bool | None = None
) -> Any:
    """Return plain SGD, Adafactor at a fixed rate, or AdamW over parameter groups."""
    import torch

    if config.optim == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate)
    if config.optim == "adafactor":
        from transformers import optimization

        adafactor: Any = optimization.Adafactor
        options = {"scale_parameter": False, "relative_step": False}
        return adafactor(groups, lr=config.learning_rate, **options)
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98), fused=fused)


def learning_rate_at(
    config: TrainingSettings, state: RunState, progress: float, warmup: int
) -> float:
    """Return the learning rate of the next step.

    Args:
        config: the run's settings.
        state: the run's state before the step.
        progress: share of the run that is done, 0 to 1.
        warmup: steps of linear warmup.
    """
    if config.lr_scheduler_type == "halving":
        return config.learning_rate * state.rate_factor
    warm = min(1.0, (state.step + 1) / warmup) if warmup else 1.0
    left = {
        "linear": 1.0 - progress,
        "cosine": (1.0 + math.cos(math.pi * min(1.0, progress))) / 2,
    }.get(config.lr_scheduler_type, 1.0)
    return config.learning_rate * min(warm, max(left, LOWEST_RATE))


def set_learning_rate(optimizer: Any, rate: float) -> None:
    """Set the rate of every parameter group; a group's `share` is its part of the rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("share", 1.0)


def note_evaluation(config: TrainingSettings, state: RunState, metric: float) -> bool:
    """Put an evaluation's metric into the state; return whether its model is to be kept.

    The best is kept, the earlier of two equals; while nothing has scored above 0, the latest.
    """
    if state.best is None or metric > state.best:
        state.best, state.best_step, state.waited = metric, state.step, 0
        return True
    state.waited += 1
    if config.lr_scheduler_type == "halving":
        state.rate_factor /= 2
    if metric == state.best == 0.0:
        state.best_step = state.step
        return True
    return False


def is_over(config: TrainingSettings, state: RunState) -> str:
    """Return the reason to stop after an evaluation, or an empty string."""
    metric = config.metric_for_best_model
    if config.stop_at and state.best is not None and state.best > config.stop_at:
        return f"{metric} exceeded {config.stop_at:g}"
    if config.early_stopping_patience and state.waited >= config.early_stopping_patience:
        return f"no better {metric} in {state.waited} evaluations"
    if config.lr_scheduler_type == "halving" and state.rate_factor < LOWEST_RATE:
        return "the learning rate fell below a hundredth"
    return ""


def is_spent(config: TrainingSettings, state: RunState, total: int) -> str:
    """Return which limit of a run is reached, or an empty string."""
    if config.max_cpu_minutes and state.cpu_seconds >= 60 * config.max_cpu_minutes:
        return f"{config.max_cpu_minutes:g} CPU minutes are spent"
    return f"all {total:,} steps are done" if state.step >= total else ""
