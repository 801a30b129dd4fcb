"""Cut a long context into windows that overlap, at sentence borders where that is possible."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from .labels import IGNORED, Labels
from .outputs import POINTERS

SHOWN = 20  # ids that are kept for each reason
LABEL_NAMES = [
    "start_positions",
    "end_positions",
    "answer_type_labels",
    "support_labels",
    "relation_labels",
    *(f"{name}_positions" for name in POINTERS),
]


def plan_windows(
    borders: Sequence[int],
    tokens: int,
    *,
    max_length: int,
    stride: int,
    question_length: int = 0,
    special_tokens: int = 0,
) -> list[tuple[int, int]]:
    """Give windows `[start, end)` of tokens whose union is the whole context.

    A window ends, and the next one starts, at a sentence border where there is one; a sentence
    longer than a window is cut inside.

    Args:
        borders: first token of each title and sentence, ascending.
        tokens: length of the context.
        max_length: most tokens of a window, with the question and the special tokens.
        stride: tokens that neighbouring windows share, at most.
        question_length: tokens of the question that each window repeats.
        special_tokens: other tokens that each window holds.

    Raises:
        ValueError: if windows of this size cannot move forward; with the three numbers.
    """
    capacity = max_length - question_length - special_tokens
    if stride < 0 or stride >= capacity:
        raise ValueError(
            f"a window of {max_length} tokens with a question of {question_length} and "
            f"{special_tokens} special tokens leaves {max(capacity, 0)} for the context, which "
            f"must be more than the stride of {stride}"
        )
    windows: list[tuple[int, int]] = []
    start = 0
    while tokens - start > capacity:
        limit = start + capacity
        end = limit
        index = bisect_right(borders, limit) - 1
        if index >= 0 and borders[index] > start + stride:
            end = borders[index]
        windows.append((start, end))
        index = bisect_left(borders, end - stride)
        start = borders[index] if index < len(borders) and borders[index] <= end else end - stride
    if tokens:
        windows.append((start, tokens))
    return windows


Ints = NDArray[numpy.int32]


class Window(NamedTuple):
    """One encoded stretch of an example's context, with the whole question.

    Token offsets are positions in `text`, which starts at `char_offset` of the context's text.
    `sentences` has a row a candidate for support: first token, last token (before the first for
    an empty sentence), paragraph, sent_id. `pointers` has the rows subject start, subject end,
    object start, object end. Without gold every label is -100.
    """

    example: int
    char_offset: int
    text: str
    token_ids: Ints
    token_starts: Ints
    token_ends: Ints
    matches: NDArray[numpy.uint8]
    question: str
    question_ids: Ints
    question_starts: Ints
    question_ends: Ints
    question_matches: NDArray[numpy.uint8]
    sentences: Ints  # (S, 4)
    answer: Ints  # type, start, end
    support: NDArray[numpy.int8]  # (S,)
    relations: NDArray[numpy.int16]  # (K,)
    pointers: Ints  # (4, K)


def label_arrays(labels: Labels | None, sentences: int, slots: int) -> tuple[Any, ...]:
    """Turn labels into the arrays of a window; all ignored where there are none."""
    if labels is None:
        return (
            numpy.full(3, IGNORED, numpy.int32),
            numpy.full(sentences, IGNORED, numpy.int8),
            numpy.full(slots, IGNORED, numpy.int16),
            numpy.full((4, slots), IGNORED, numpy.int32),
        )
    spans = [
        (*subject, *object_)
        for subject, object_ in zip(labels.subjects, labels.objects, strict=True)
    ]
    return (
        numpy.array([labels.answer_type, *labels.answer], numpy.int32),
        numpy.array(labels.support, numpy.int8),
        numpy.array(labels.relations, numpy.int16),
        numpy.array(spans, numpy.int32).reshape(slots, 4).T,
    )


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
