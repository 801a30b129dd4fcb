"""Windows to one padded batch of tensors, as the model's `forward` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from .configuration import IGNORED, TwoWikiConfig
from .encoding import Window
from .pointers import POINTERS
from .tokenization import char_rows, char_table

CONVOLUTION_WIDTH = 5  # characters that one response of the character convolution sees
LABEL_NAMES = [
    "start_positions",
    "end_positions",
    "answer_type_labels",
    "support_labels",
    "relation_labels",
    *(f"{name}_positions" for name in POINTERS),
]


class Collator:
    """Pads windows into a batch; also `Trainer`'s data collator.

    A row without words gets one padding token, so that every dimension is at least 1.

    Args:
        config: the model's configuration.
        labels: whether the batch has the labels.
    """

    def __init__(self, config: TwoWikiConfig, *, labels: bool = True) -> None:
        self.labels = labels
        self.char_limit = max(config.char_limit, CONVOLUTION_WIDTH)
        self.match_features = config.match_features
        self.char_vocab = config.char_vocab

    def __call__(self, windows: Sequence[Window]) -> dict[str, Tensor]:
        """Pad and stack."""
        batch = self._words(windows, "", [len(window.token_ids) for window in windows])
        batch |= self._words(windows, "question_", [len(window.question_ids) for window in windows])
        count = max(1, *(len(window.sentences) for window in windows))
        starts, ends = (numpy.zeros((len(windows), count), numpy.int64) for _ in range(2))
        ends -= 1
        mask = numpy.zeros((len(windows), count), bool)
        for row, window in enumerate(windows):
            size = len(window.sentences)
            starts[row, :size] = window.sentences[:, 0]
            ends[row, :size] = window.sentences[:, 1]
            mask[row, :size] = True
        batch |= {"sentence_starts": starts, "sentence_ends": ends, "sentence_mask": mask}
        if self.labels:
            batch |= label_rows(windows, count)
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _words(
        self, windows: Sequence[Window], side: str, lengths: Sequence[int]
    ) -> dict[str, NDArray[Any]]:
        shape = len(windows), max(1, *lengths)
        ids = numpy.zeros(shape, numpy.int64)
        marks = numpy.zeros(shape, numpy.uint8)
        characters = numpy.zeros((*shape, self.char_limit), numpy.int32)
        table = char_table(self.char_vocab)
        for row, (window, size) in enumerate(zip(windows, lengths, strict=True)):
            if side:
                text, places = window.question, (window.question_starts, window.question_ends)
                ids[row, :size], marks[row, :size] = window.question_ids, window.question_matches
            else:
                text, places = window.text, (window.token_starts, window.token_ends)
                ids[row, :size], marks[row, :size] = window.token_ids, window.matches
            characters[row, :size] = char_rows(text, *places, table, self.char_limit)
        mask = numpy.arange(shape[1]) < numpy.array(lengths)[:, None]
        names = (f"{side}ids", f"{side}char_ids", f"{side}mask", f"{side}matches")
        if not side:
            names = ("input_ids", "char_ids", "context_mask", "matches")
        values: list[NDArray[Any]] = [ids, characters, mask, marks]
        kept = 4 if self.match_features else 3
        return dict(zip(names[:kept], values[:kept], strict=True))


def label_rows(windows: Sequence[Window], sentences: int) -> dict[str, NDArray[numpy.int64]]:
    """Stack the windows' labels; padding sentences are ignored."""
    answers = numpy.stack([window.answer for window in windows]).astype(numpy.int64)
    pointers = numpy.stack([window.pointers for window in windows], axis=1).astype(numpy.int64)
    support = numpy.full((len(windows), sentences), IGNORED, numpy.int64)
    for row, window in enumerate(windows):
        support[row, : len(window.support)] = window.support
    return {
        "answer_type_labels": answers[:, 0],
        "start_positions": answers[:, 1],
        "end_positions": answers[:, 2],
        "support_labels": support,
        "relation_labels": numpy.stack([w.relations for w in windows]).astype(numpy.int64),
        "subject_start_positions": pointers[0],
        "subject_end_positions": pointers[1],
        "object_start_positions": pointers[2],
        "object_end_positions": pointers[3],
    }
