"""What a run watches while it trains: losses, processor time, numbers that are none."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import torch

from twowiki.training.checkpoints import RunState


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
