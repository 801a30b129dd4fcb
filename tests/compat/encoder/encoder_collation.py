"""Records to one batch: the backbone's windows, and where each token of an example is in them.

A window is `prefix question middle CONTEXT suffix`. It ends at a paragraph's border where that is
possible, else at a sentence's, else inside a sentence. Where windows overlap, a token's state is
taken from the window in which it stands farthest from the edges: every token has exactly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from .collation import label_rows
from .encoder_configuration import TwoWikiEncoderConfig
from .encoding import Window
from .windows import plan_windows


class EncoderCollator:
    """Cuts records into the backbone's windows and pads; also `Trainer`'s data collator.

    Args:
        config: the model's configuration.
        labels: whether the batch has the labels.
    """

    def __init__(self, config: TwoWikiEncoderConfig, *, labels: bool = True) -> None:
        self.config, self.labels = config, labels

    def __call__(self, windows: Sequence[Window]) -> dict[str, Tensor]:
        """Pad and stack."""
        config = self.config
        plans = [plan_example(window, config) for window in windows]
        inputs = [
            frame(window, start, end, config)
            for window, plan in zip(windows, plans, strict=True)
            for start, end in plan
        ]
        batch = example_rows(windows, config)
        batch |= pad_inputs(inputs, config)
        batch |= places_of(windows, plans, batch["input_ids"].shape[1], config)
        if self.labels:
            batch |= label_rows(windows, batch["sentence_starts"].shape[1])
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def plan_example(window: Window, config: TwoWikiEncoderConfig) -> list[tuple[int, int]]:
    """Give the stretches `[start, end)` of an example's tokens that the backbone reads.

    Raises:
        ValueError: if windows of this size cannot move forward; with the three numbers.
    """
    ids = window.token_ids
    special = sum(len(part or ()) for part in frame_parts(config))
    sizes: dict[str, int] = {
        "max_length": config.window_limit,
        "question_length": len(window.question_ids),
        "special_tokens": special,
    }
    capacity = sizes["max_length"] - sizes["question_length"] - special
    if len(ids) <= capacity:
        return [(0, len(ids))]
    starts = numpy.flatnonzero(ids == config.title_marker_id).tolist()
    borders = numpy.flatnonzero(
        (ids == config.title_marker_id) | (ids == config.sentence_marker_id)
    ).tolist()
    planned: list[tuple[int, int]] = []
    for start, end in pairwise(dict.fromkeys([0, *starts, len(ids)])):
        if planned and end - planned[-1][0] <= capacity and planned[-1][1] == start:
            planned[-1] = planned[-1][0], end
        elif end - start <= capacity:
            planned.append((start, end))
        else:
            inside = [border - start for border in borders if start <= border < end]
            cut = plan_windows(inside, end - start, stride=config.window_stride, **sizes)
            planned += [(first + start, last + start) for first, last in cut]
    return planned


def frame_parts(config: TwoWikiEncoderConfig) -> tuple[list[int], list[int], list[int]]:
    """Give the tokens before the question, between question and context, and after it."""
    return config.prefix_ids or [], config.middle_ids or [], config.suffix_ids or []


def frame(
    window: Window, start: int, end: int, config: TwoWikiEncoderConfig
) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint8], int]:
    """Give a window's token ids, their matches, and where its context begins."""
    prefix, middle, suffix = frame_parts(config)
    ids = numpy.concatenate(
        [prefix, window.question_ids, middle, window.token_ids[start:end], suffix]
    ).astype(numpy.int64)
    asked, begin = len(prefix), len(prefix) + len(window.question_ids) + len(middle)
    matches = numpy.zeros(len(ids), numpy.uint8)
    matches[asked : asked + len(window.question_ids)] = window.question_matches
    matches[begin : begin + end - start] = window.matches[start:end]
    return ids, matches, begin


def pad_inputs(
    inputs: Sequence[tuple[NDArray[numpy.int64], NDArray[numpy.uint8], int]],
    config: TwoWikiEncoderConfig,
) -> dict[str, NDArray[Any]]:
    """Stack windows: (W, L), padded at the end."""
    longest = max(len(ids) for ids, *_ in inputs)
    input_ids = numpy.full((len(inputs), longest), config.padding_id, numpy.int64)
    mask = numpy.zeros(input_ids.shape, bool)
    types = numpy.zeros(input_ids.shape, numpy.int64)
    asked = numpy.zeros(input_ids.shape, bool)
    matches = numpy.zeros(input_ids.shape, numpy.uint8)
    for row, (ids, marks, begin) in enumerate(inputs):
        input_ids[row, : len(ids)], matches[row, : len(ids)] = ids, marks
        mask[row, : len(ids)] = True
        types[row, begin : len(ids)] = config.context_segment
        asked[row, :begin] = True
    batch: dict[str, NDArray[Any]] = {
        "input_ids": input_ids,
        "attention_mask": mask,
        "question_window_mask": asked,
    }
    if config.context_segment >= 0:
        batch["token_type_ids"] = types
    if config.reads_matches:
        batch["window_matches"] = matches
    return batch


def example_rows(
    windows: Sequence[Window], config: TwoWikiEncoderConfig
) -> dict[str, NDArray[Any]]:
    """Stack what examples have whatever their windows: masks, matches, sentence bounds."""
    tokens = max(1, *(len(window.token_ids) for window in windows))
    count = max(1, *(len(window.sentences) for window in windows))
    context = numpy.zeros((len(windows), tokens), bool)
    span = numpy.zeros((len(windows), tokens), bool)
    matches = numpy.zeros((len(windows), tokens), numpy.uint8)
    starts = numpy.zeros((len(windows), count), numpy.int64)
    sentence_mask = numpy.zeros((len(windows), count), bool)
    for row, window in enumerate(windows):
        size, ids = len(window.token_ids), window.token_ids
        context[row, :size] = True
        span[row, :size] = (ids != config.title_marker_id) & (ids != config.sentence_marker_id)
        matches[row, :size] = window.matches
        starts[row, : len(window.sentences)] = window.sentences[:, 0]
        sentence_mask[row, : len(window.sentences)] = True
    batch: dict[str, NDArray[Any]] = {
        "context_mask": context,
        "span_mask": span,
        "sentence_starts": starts,
        "sentence_mask": sentence_mask,
    }
    if config.match_features:
        batch["matches"] = matches
    return batch


def places_of(
    windows: Sequence[Window],
    plans: Sequence[Sequence[tuple[int, int]]],
    width: int,
    config: TwoWikiEncoderConfig,
) -> dict[str, NDArray[Any]]:
    """Say where the states of an example's tokens lie in the flattened windows.

    Shape:
        context_places: (B, T); question_places and question_mask: (B, Q), the first token of
        every window and, of the first window, the question.
    """
    tokens = max(1, *(len(window.token_ids) for window in windows))
    context = numpy.zeros((len(windows), tokens), numpy.int64)
    questions: list[list[int]] = []
    prefix, middle, _ = frame_parts(config)
    first_window = 0
    for row, (window, plan) in enumerate(zip(windows, plans, strict=True)):
        before = len(prefix) + len(window.question_ids) + len(middle)
        depth = numpy.full(len(window.token_ids), -1)
        for number, (start, end) in enumerate(plan):
            inside = numpy.arange(end - start)
            edge = numpy.minimum(inside, inside[::-1])
            better = edge > depth[start:end]
            begin = (first_window + number) * width + before
            context[row, start:end][better] = (begin + inside)[better]
            depth[start:end][better] = edge[better]
        asked = first_window * width + len(prefix) + numpy.arange(len(window.question_ids))
        heads = [(first_window + number) * width for number in range(len(plan))]
        questions.append([*heads, *asked.tolist()])
        first_window += len(plan)
    longest = max(len(row) for row in questions)
    question = numpy.zeros((len(windows), longest), numpy.int64)
    mask = numpy.zeros(question.shape, bool)
    for row, places in enumerate(questions):
        question[row, : len(places)] = places
        mask[row, : len(places)] = True
    return {"context_places": context, "question_places": question, "question_mask": mask}
