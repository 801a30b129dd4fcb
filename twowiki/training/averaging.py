"""Averaged weights: an exponential average over the steps, which is evaluated and kept as best.

In: a model that is trained. Out: the average of its trained weights, put into the model while it is
evaluated and kept. A checkpoint holds it beside the weights that the training goes on from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

AVERAGE_FILE = "averaged.safetensors"


class AverageWeights:
    """The average of a model's trained weights; without a decay there is none, and nothing to do.

    Args:
        model: a plain model, the same on every process.
        decay: what remains of the average after a step; 0 = no average.
    """

    def __init__(self, model: Any, decay: float) -> None:
        named = model.named_parameters() if decay else ()
        trained = {name: value for name, value in named if value.requires_grad}
        self.decay, self.names, self.trained = decay, list(trained), list(trained.values())
        self.average = [value.detach().clone() for value in self.trained]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the average towards the weights; the first steps count for more.

        Args:
            step: number of the step that was taken, from 1.
        """
        if self.average:
            decay = min(self.decay, step / (step + 9))
            torch._foreach_lerp_(
                self.average, [value.detach() for value in self.trained], 1 - decay
            )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Have the average in the model, and the weights back in it afterwards."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for value, average in zip(self.trained, self.average, strict=True):
            kept = value.clone()
            value.copy_(average)
            average.copy_(kept)

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
