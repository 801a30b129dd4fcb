"""Averaged weights, over the steps or with those at the start: evaluated and kept as best.

In: a model that is trained. Out: the average of its trained weights, put into the model while it is
evaluated and kept. A checkpoint holds it, or the weights at the start, beside those that the
training goes on from. The average with the start is that of Wortsman et al. 2022 (WiSE-FT).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

AVERAGE_FILE = "averaged.safetensors"


class AverageWeights:
    """The average of a model's trained weights; without shares there is none, and nothing to do.

    Args:
        model: a plain model as it is at the start, the same on every process.
        decay: what remains of the average over the steps after one; 0 = no such average.
        start_share: share of the weights at the start in the average with them; 0 = none. Not
            with a decay.
    """

    def __init__(self, model: Any, decay: float, start_share: float = 0.0) -> None:
        named = model.named_parameters() if decay or start_share else ()
        trained = {name: value for name, value in named if value.requires_grad}
        self.decay, self.names, self.trained = decay, list(trained), list(trained.values())
        self.start_share = start_share
        self.average = [value.detach().clone() for value in self.trained]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the average towards the weights; the first steps count for more.

        Args:
            step: number of the step that was taken, from 1.
        """
        if self.decay:
            decay = min(self.decay, step / (step + 9))
            torch._foreach_lerp_(
                self.average, [value.detach() for value in self.trained], 1 - decay
            )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Have the average in the model, and the weights back in it afterwards."""
        kept = self._mix()
        try:
            yield
        finally:
            self._put_back(kept)

    @torch.no_grad()
    def _mix(self) -> list[torch.Tensor]:
        """Move the weights to the average, or towards those at the start; return them as before."""
        kept = [value.clone() for value in self.trained]
        for value, average in zip(self.trained, self.average, strict=True):
            value.lerp_(average, self.start_share or 1.0)
        return kept

    @torch.no_grad()
    def _put_back(self, kept: list[torch.Tensor]) -> None:
        for value, own in zip(self.trained, kept, strict=True):
            value.copy_(own)

    def save(self, folder: Path) -> None:
        """Write the average into a checkpoint, if there is one."""
        from safetensors.torch import save_file

        if self.average:
            named = zip(self.names, self.average, strict=True)
            save_file({name: value.contiguous() for name, value in named}, folder / AVERAGE_FILE)

    def load(self, folder: Path) -> None:
        """Read the average of a checkpoint, which has one if this run has."""
        from safetensors.torch import load_file

        if self.average:
            saved = load_file(folder / AVERAGE_FILE)
            for name, value in zip(self.names, self.average, strict=True):
                value.copy_(saved[name])
