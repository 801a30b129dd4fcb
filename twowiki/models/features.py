"""Encoded examples: the window that both models read, its labels, and the base of the processors.

In: an example's tokens and labels. Out: `Window`s of flat arrays, unpadded. A context that is
longer than a window is cut into windows that overlap, at sentence borders where possible.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from .labels import IGNORED, LABEL_NAMES, EncodingOptions, Labels
from .text import IntArray
from .words import WordReader

LISTED_IDS = 20  # ids that are kept for each reason
TOGETHER = 32  # examples whose texts are cut at once


class Window(NamedTuple):
    """One encoded stretch of an example's context, with the whole question.

    Token offsets are positions in `text`, which starts at `char_offset` of the context's text.
    `sentences` has one row per candidate for support: first token, last token (before the first
    for an empty sentence), paragraph, sent_id. `pointers` has the rows subject start, subject
    end, object start, object end. Without gold every label is -100.
    """

    example: int
    char_offset: int
    text: str
    token_ids: IntArray
    token_starts: IntArray
    token_ends: IntArray
    matches: NDArray[numpy.uint8]
    question: str
    question_ids: IntArray
    question_starts: IntArray
    question_ends: IntArray
    question_matches: NDArray[numpy.uint8]
    sentences: IntArray  # (S, 4)
    answer: IntArray  # type, start, end
    support: NDArray[numpy.int8]  # (S,)
    relations: NDArray[numpy.int16]  # (K,)
    pointers: IntArray  # (4, K)


class MultihopProcessor:
    """Encode examples under one configuration and tokenizer; count what cannot be encoded.

    Args:
        config: the model's configuration; its relations are the known ones.
        tokenizer: the model's tokenizer.
        aliases: other names by Wikidata id, tried where a name is not in the context.
    """

    options: EncodingOptions

    def __init__(
        self, config: Any, tokenizer: Any, aliases: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.config, self.tokenizer, self.aliases = config, tokenizer, dict(aliases or {})
        self.options = config.encoding_options()
        self.words = WordReader()
        self.counts: Counter[str] = Counter()
        self.concerned: dict[str, list[str]] = {}

    def encode(self, example: Any, number: int = 0) -> list[Window]:
        """Encode one example; an empty list if it has no words or exceeds a limit."""
        return self.encode_all([example], number)

    def encode_all(self, examples: Sequence[Any], first: int = 0) -> list[Window]:
        """Encode examples, of which the first has this number; their texts are cut together."""
        windows: list[Window] = []
        for start in range(0, len(examples), TOGETHER):
            self.words.trim()
            group = examples[start : start + TOGETHER]
            for number, read in enumerate(self.read(group), first + start):
                counts: Counter[str] = Counter()
                windows += self.encode_example(read, number, counts)
                self.counts.update(counts)
                for reason in counts:
                    ids = self.concerned.setdefault(reason, [])
                    if len(ids) < LISTED_IDS:
                        ids.append(str(getattr(read.example, "id", number)))
        return windows

    def read(self, examples: Sequence[Any]) -> Iterable[Any]:
        """Cut the texts of examples; each of the results has the `example`."""
        raise NotImplementedError

    def encode_example(self, read: Any, number: int, counts: Counter[str]) -> list[Window]:
        """Encode one example, counting by reason what is dropped or not found."""
        raise NotImplementedError


def plan_windows(
    borders: Sequence[int],
    tokens: int,
    *,
    max_length: int,
    stride: int,
    question_length: int = 0,
    special_tokens: int = 0,
) -> list[tuple[int, int]]:
    """Return windows `[start, end)` of tokens whose union is the whole context.

    A window ends, and the next one starts, at a sentence border where there is one; a sentence
    longer than a window is cut inside.

    Args:
        borders: first token of each title and sentence, ascending.
        tokens: length of the context.
        max_length: most tokens of a window, with the question and the special tokens.
        stride: tokens that neighboring windows share, at most.
        question_length: tokens of the question that each window repeats.
        special_tokens: other tokens that each window holds.

    Raises:
        ValueError: windows of this size cannot advance; with the three numbers.
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


def label_arrays(labels: Labels | None, sentences: int, slots: int) -> tuple[Any, ...]:
    """Turn labels into the last four arrays of a window; all ignored where there are none."""
    if labels is None:
        return (
            numpy.full(3, IGNORED, numpy.int32),
            numpy.full(sentences, IGNORED, numpy.int8),
            numpy.full(slots, IGNORED, numpy.int16),
            numpy.full((4, slots), IGNORED, numpy.int32),
        )
    spans = [(*ends[0], *ends[1]) for ends in zip(labels.subjects, labels.objects, strict=True)]
    return (
        numpy.array([labels.answer_type, *labels.answer], numpy.int32),
        numpy.array(labels.support, numpy.int8),
        numpy.array(labels.relations, numpy.int16),
        numpy.array(spans, numpy.int32).reshape(slots, 4).T,
    )


def label_rows(windows: Sequence[Window], sentences: int) -> dict[str, NDArray[numpy.int64]]:
    """Stack the windows' labels; padding sentences are ignored."""
    support = padded_rows([window.support for window in windows], sentences, fill=IGNORED)
    answer_types, starts, ends = numpy.stack([window.answer for window in windows], axis=1)
    relations = numpy.stack([window.relations for window in windows])
    pointers = numpy.stack([window.pointers for window in windows], axis=1)
    stacked = [starts, ends, answer_types, support, relations, *pointers]
    return {
        name: values.astype(numpy.int64) for name, values in zip(LABEL_NAMES, stacked, strict=True)
    }


def padded_rows(
    rows: Sequence[Any], width: int, *, fill: int = 0, dtype: Any = numpy.int64
) -> NDArray[Any]:
    """Stack rows of different lengths, padded at the end: (B, width)."""
    stacked = numpy.full((len(rows), width), fill, dtype)
    for row, values in enumerate(rows):
        stacked[row, : len(values)] = values
    return stacked


def length_mask(lengths: Sequence[int], width: int) -> NDArray[numpy.bool_]:
    """Return which entries of padded rows are real: (B, width)."""
    mask: NDArray[numpy.bool_] = numpy.arange(width) < numpy.array(lengths)[:, None]
    return mask
