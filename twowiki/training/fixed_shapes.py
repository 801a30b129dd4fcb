"""Batches of one shape: what is compiled, or recorded, once serves every step of a run.

In: the collator of packed windows, and the plan of the epochs. Out: a collator that fills a batch
up to the budget that all of the plan's batches fit in: padding tokens are windows of their own,
padding examples have one token and no label, so that neither moves a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from twowiki.models.features import Window
from twowiki.models.labels import IGNORED, LABEL_NAMES
from twowiki.models.processing_encoder import frame_parts, plan_example
from twowiki.training.epoch_plan import EpochPlan

# dimensions of a batch's tensors; every other one is the same in all batches
_OF_EXAMPLES = {
    "tokens": ("context_mask", "context_positions", "span_mask", "matches"),
    "question": ("question_mask", "question_positions"),
    "sentences": ("sentence_mask", "sentence_starts", "support_labels"),
}
_OF_ROW = ("input_ids", "token_type_ids", "window_matches", "position_ids")
_MULTIPLE = 64  # of which a row's tokens are, as the kernels of products like it
Shape = dict[str, int]
Collate = Callable[[Sequence[Window]], dict[str, Tensor]]


def shape_of(batch: Mapping[str, Tensor]) -> Shape:
    """Return the sizes of a packed batch."""
    sizes = {name: batch[tensors[0]].shape[1] for name, tensors in _OF_EXAMPLES.items()}
    sizes |= {"examples": batch["context_mask"].shape[0], "row": batch["input_ids"].shape[1]}
    sizes |= {
        "windows": len(batch["window_borders"]) - 1,
        "longest": len(batch["window_positions"]),
    }
    return sizes | {"fused": len(batch["fused_rows"]) if "fused_rows" in batch else 0}


@dataclass(frozen=True)
class FixedShapes:
    """Collates, and fills up to a shape; a batch that is larger somewhere stays so.

    Attributes:
        collate: the collator of packed windows.
        shape: the sizes that are filled up to.
        fewest: examples of the plan's smallest batch. What has fewer is not filled up: the halves
            of a batch that memory did not suffice for.
        padding: the token of padding.
        first: the position of a window's first token.
    """

    collate: Collate
    shape: Shape
    fewest: int
    padding: int
    first: int

    @classmethod
    def of(
        cls, collate: Collate, items: Any, plan: EpochPlan, config: Any, epochs: int
    ) -> FixedShapes:
        """Return the collator whose shape all batches of so many epochs fit in.

        Args:
            collate: the collator of packed windows.
            items: the windows' store.
            plan: of their epochs.
            config: the model's configuration.
            epochs: their number.
        """
        lengths, windows, longest = framed_sizes(items, config)
        parts = [
            part for epoch in range(epochs) for step in plan.steps(epoch) for part in step if part
        ]
        columns = (lengths, windows, windows > 1)
        row, count, fused = (max(int(column[part].sum()) for part in parts) for column in columns)
        row = -(-row // _MULTIPLE) * _MULTIPLE
        shape = {
            "tokens": max(items.lengths("token_ids")),
            "question": int((numpy.array(items.lengths("question_ids")) + windows).max()),
            "sentences": max(items.lengths("sentences")) // 4,
            "examples": max(map(len, parts)) + 1,  # a row that no example has
            "row": row,
            "windows": count - (-row // longest),  # with those of padding
            "longest": longest,
            "fused": fused,
        }
        fewest = min(map(len, parts))
        return cls(collate, shape, fewest, config.padding_id, config.first_position)

    def __call__(self, windows: Sequence[Window]) -> dict[str, Tensor]:
        """Collate and fill up."""
        batch = self.collate(windows)
        if len(windows) < self.fewest:
            return batch
        own = shape_of(batch)
        shape = {name: max(size, own[name]) for name, size in self.shape.items()}
        self._fill_row(batch, own, shape)
        self._fill_examples(batch, own, shape)
        return batch

    def _fill_row(self, batch: dict[str, Tensor], own: Shape, shape: Shape) -> None:
        """Fill the row of windows up, by windows of padding, then by empty ones."""
        longest, end, left = shape["longest"], own["row"], shape["row"] - own["row"]
        for name in _OF_ROW:
            if name in batch:
                value = self.padding if name == "input_ids" else 0
                batch[name] = functional.pad(batch[name], [0, left], value=value)
        batch["position_ids"][0, end:] = torch.arange(left) % longest + self.first
        further = [*range(end + longest, shape["row"], longest)]
        borders = torch.cat([batch["window_borders"], torch.tensor(further, dtype=torch.int32)])
        missing = max(1, shape["windows"] + 1 - len(borders))
        batch["window_borders"] = functional.pad(borders, [0, missing], value=shape["row"])
        batch["window_positions"] = torch.arange(longest)

    def _fill_examples(self, batch: dict[str, Tensor], own: Shape, shape: Shape) -> None:
        """Fill up what the examples have: their number, and the widths of their rows."""
        sides = {one: side for side, names in _OF_EXAMPLES.items() for one in names}
        rows = shape["examples"] - own["examples"]
        for name in {*LABEL_NAMES, *sides} & set(batch):
            side = sides.get(name)
            wider = [0, shape[side] - own[side]] if side else [0, 0] * (batch[name].dim() - 1)
            value = IGNORED if name in LABEL_NAMES else 0
            batch[name] = functional.pad(batch[name], [*wider, 0, rows], value=value)
        batch["question_mask"][own["examples"] :, 0] = True  # attention to nothing is no number
        if "fused_rows" in batch:
            missing = shape["fused"] - own["fused"]
            batch["fused_rows"] = functional.pad(
                batch["fused_rows"], [0, missing], value=shape["examples"] - 1
            )


def framed_sizes(items: Any, config: Any) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Return each item's tokens and windows in the backbone, and the longest window's tokens."""
    tokens, questions = (
        numpy.array(items.lengths(f"{name}_ids")) for name in ("token", "question")
    )
    frame = questions + sum(map(len, frame_parts(config)))
    lengths, windows = tokens + frame, numpy.ones_like(tokens)
    cut = numpy.flatnonzero(lengths > config.window_limit)
    longest = int(lengths[lengths <= config.window_limit].max(initial=0))
    for number in cut.tolist():
        plan = plan_example(items[number], config)
        parts = [end - start + int(frame[number]) for start, end in plan]
        windows[number], lengths[number] = len(parts), sum(parts)
        longest = max(longest, *parts)
    return lengths, windows, longest
