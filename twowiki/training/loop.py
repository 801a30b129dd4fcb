"""What a run watches while it trains: losses, processor time, numbers that are none."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from twowiki.training.checkpoints import RunState
from twowiki.training.settings import RunConfig


class NotFinite(RuntimeError):
    """The loss is no number any more."""


class RunningLosses:
    """Means of the losses since they were last asked for."""

    def __init__(self) -> None:
        self.sums: dict[str, torch.Tensor] = {}
        self.count = 0

    def add(self, output: Any) -> None:
        """Take a batch's losses in."""
        for name, value in {"loss": output.loss, **output.losses}.items():
            value = value.detach().float()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.count += 1

    def mean(self, accelerator: Any) -> dict[str, Any]:
        """Give the means over batches and processes, and start again. All processes call this."""
        names = sorted(self.sums)
        values = torch.stack([self.sums[name] for name in names]) / max(1, self.count)
        means = dict(zip(names, accelerator.reduce(values, reduction="mean").tolist(), strict=True))
        self.sums, self.count = {}, 0
        return {"loss": means.pop("loss"), "losses": means}


class CpuClock:
    """Adds the processor time of training, and of nothing else, to a run's state."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.restart()

    def restart(self) -> None:
        """Begin to count here."""
        self.started = time.process_time()

    def tick(self) -> None:
        """Count what was spent since the last call."""
        now = time.process_time()
        self.state.cpu_seconds += now - self.started
        self.started = now

    def share(self, minutes: float) -> float:
        """Give the part of a limit that is spent; 0 without a limit."""
        return self.state.cpu_seconds / (60 * minutes) if minutes else 0.0


def check_finite(accelerator: Any, loss: torch.Tensor, step: int) -> None:
    """Stop all processes when the loss of one is no number.

    Raises:
        NotFinite: with the step and what to try.
    """
    wrong = (~torch.isfinite(loss.detach())).float()
    if accelerator.num_processes > 1:
        wrong = accelerator.reduce(wrong, reduction="sum")
    if wrong.item():
        raise NotFinite(
            f"the loss is {loss.item()} at step {step}: nothing after the last checkpoint is "
            "kept. Lower learning_rate, set clip_norm, or train without mixed precision"
        )


def agreed(accelerator: Any, mine: bool) -> bool:
    """Give the main process's answer on every process."""
    if accelerator.num_processes == 1:
        return mine
    from accelerate.utils import broadcast_object_list

    answer = [mine]
    broadcast_object_list(answer)
    return answer[0]


def flat(record: Mapping[str, Any]) -> dict[str, float]:
    """Give a logged record as trackers want it: numbers by name."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= {f"train/{name}/{part}": number for part, number in value.items()}
        else:
            found[f"train/{name}"] = value
    return found


def shows_bar(accelerator: Any) -> bool:
    """Say whether this process shows a progress bar: the main one, on a terminal."""
    return bool(accelerator.is_main_process) and sys.stderr.isatty()


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


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt


def keep_freed_memory() -> bool:
    """Let glibc reuse large blocks instead of giving each back; say whether that worked.

    A training step on the CPU frees and takes the same large arrays over and over; each that goes
    back to the system returns as untouched pages, which are zeroed on first use.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    biggest = 2**31 - 1
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, biggest))
