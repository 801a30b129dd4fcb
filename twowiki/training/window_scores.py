"""The scores of a process's windows: processes decode them while the model reads the next ones.

In: a model, the batches of an evaluation, and their windows. Out: the scores of each window, the
same ones however many processes decode.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from accelerate.utils import send_to_device

from twowiki.io.processes import cores, map_parts
from twowiki.models.decoding import WindowScores
from twowiki.models.features import Window
from twowiki.models.outputs import TwoWikiOutput
from twowiki.training.evaluation import decoding_of
from twowiki.training.memory import in_halves

MOST = 8  # more processes than this decode faster than any model reads
Output = dict[str, Any]  # tensors, or arrays for another process
NumberedScores = list[tuple[int, WindowScores]]


class BatchOutput(NamedTuple):
    """What a model made of a batch: the numbers of its windows, its output, and the windows."""

    numbers: list[int]
    output: Output
    windows: list[Window]


@dataclass(frozen=True)
class PartScorer:
    """Turns parts into scores, in any process.

    Attributes:
        config: the model's configuration, which decides how its outputs are decoded.
    """

    config: Any

    def __call__(self, part: BatchOutput) -> NumberedScores:
        """Return the scores of a part's windows, by number."""
        tensors: dict[str, Any] = {
            name: torch.as_tensor(values) for name, values in part.output.items()
        }
        score = decoding_of(self.config).score
        found = score(TwoWikiOutput(**tensors), part.windows, self.config)
        return list(zip(part.numbers, found, strict=True))


def decoding_processes(wanted: int, device: Any) -> int:
    """Return how many processes decode: without a GPU the model itself has all cores."""
    if wanted or device.type == "cpu":
        return wanted or 1
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, min(MOST, cores() // here - 1))


@torch.no_grad()
def predict_windows(
    model: Any, loader: Any, windows: Sequence[Window], config: Any, workers: int = 1
) -> dict[int, WindowScores]:
    """Score this process's share of the windows, by number; the model is in evaluation mode.

    A batch that does not fit into memory is scored in halves.

    Args:
        model: of either kind.
        loader: the batches of this process, with the numbers of their windows.
        windows: all windows.
        config: the model's configuration.
        workers: processes that decode; 1 = this one alone, 0 = as the machine has cores.
    """
    device = next(model.parameters()).device
    count = decoding_processes(workers, device)

    def work(batch: Any) -> BatchOutput:
        numbers = batch["numbers"].tolist()
        output = model(**{name: value for name, value in batch.items() if name != "numbers"})
        kept: Output = {k: one for k, one in output.items() if isinstance(one, torch.Tensor)}
        if count > 1:  # arrays are copied to a process, tensors would be shared
            kept = {name: one.float().cpu().numpy() for name, one in kept.items()}
        return BatchOutput(numbers, kept, [windows[number] for number in numbers])

    def collate(numbers: Sequence[int]) -> Any:
        return send_to_device(loader.collate_fn(numbers), device)

    def parts() -> Iterator[BatchOutput]:
        for batch in loader:
            yield from in_halves(work, batch, collate)

    score: Callable[[BatchOutput], NumberedScores] = PartScorer(config)
    return dict(pair for found in map_parts(score, parts(), count) for pair in found)
