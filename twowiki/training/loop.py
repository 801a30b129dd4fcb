"""The parts of the training loop: losses, processor time, optimizer, learning rate, stopping.

torch and accelerate are imported inside the functions that need them, so that a run's settings
can be read without them.
"""

from __future__ import annotations

import ctypes
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


class NotFinite(RuntimeError):
    """The loss is NaN or infinite."""


class StepCounts(NamedTuple):
    """Numbers of steps: of the whole run, of the warmup, and between what the run repeats."""

    total: int
    warmup: int
    logging: int
    eval: int
    save: int

    @classmethod
    def of(cls, config: TrainingSettings, batches: int) -> StepCounts:
        """Return the counts of a run whose epochs have so many batches per process."""
        steps_per_epoch = -(-batches // config.gradient_accumulation_steps)
        limit = config.max_steps or sys.maxsize
        total = min(config.num_train_epochs * steps_per_epoch, limit)
        values = config.warmup_steps, config.logging_steps, config.eval_steps, config.save_steps
        return cls(total, *(step_count(value, total) for value in values))


class RunningLosses:
    """Means of the losses since they were last read."""

    def __init__(self) -> None:
        self.sums: dict[str, torch.Tensor] = {}
        self.count = 0

    def add(self, output: Any) -> None:
        """Add a batch's losses."""
        for name, value in {"loss": output.loss, **output.losses}.items():
            value = value.detach().float()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.count += 1

    def mean(self, accelerator: Any) -> dict[str, Any]:
        """Return the means over batches and processes, and start again. All processes call it."""
        import torch

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


def check_finite(accelerator: Any, loss: torch.Tensor, step: int) -> None:
    """Stop all processes when the loss of one is NaN or infinite.

    Raises:
        NotFinite: with the step and what to try.
    """
    import torch

    wrong = (~torch.isfinite(loss.detach())).float()
    if accelerator.num_processes > 1:
        wrong = accelerator.reduce(wrong, reduction="sum")
    if wrong.item():
        raise NotFinite(
            f"the loss is {loss.item()} at step {step}: nothing after the last checkpoint is "
            "kept. Lower learning_rate, set max_grad_norm, or train without mixed precision"
        )


def broadcast(accelerator: Any, value: Any) -> Any:
    """Return the main process's value on every process. All processes call it."""
    if accelerator.num_processes == 1:
        return value
    from accelerate.utils import broadcast_object_list

    values = [value]
    broadcast_object_list(values)
    return values[0]


def gather_predictions(predicted: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the pairs of all processes, in the keys' order; a key that several have counts once.

    All processes call this.
    """
    from accelerate.utils import gather_object

    return dict(sorted(dict(gather_object(list(predicted))).items()))


def flat_numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return a logged record as trackers want it: numbers by name."""
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            numbers |= {f"train/{name}/{part}": number for part, number in value.items()}
        else:
            numbers[f"train/{name}"] = value
    return numbers


def shows_bar(accelerator: Any) -> bool:
    """Check whether this process shows a progress bar: the main one, on a terminal."""
    return bool(accelerator.is_main_process) and sys.stderr.isatty()


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


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt


def keep_freed_memory() -> bool:
    """Make glibc reuse large blocks instead of returning them; return whether that worked.

    A training step on the CPU frees and allocates the same large arrays over and over; a block
    that was returned to the system comes back as untouched pages, which are zeroed on first use.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    biggest = 2**31 - 1
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, biggest))
