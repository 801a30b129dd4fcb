"""An example to one record of subword tokens, with offsets, sentence bounds and labels.

In and out as in `encoding`: a `Window` holds the whole context here; `encoder_collation` cuts it
into the backbone's windows. A marker token stands before each title and each sentence; a
sentence's first token is its marker. Strings are looked up as whole words, whatever the
tokenizer; every string that is not found is counted by its reason. No id and no question type is
ever encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer
from torch import Tensor

from .configuration_encoder import TwoWikiEncoderConfig
from .features import SHOWN, Window, label_arrays, label_rows, plan_windows
from .labels import Located, label_example
from .matches import Marks, mark_matches, no_marks
from .text import (
    TITLE,
    Layout,
    Span,
    TokenSpan,
    Words,
    code_points,
    is_aligned,
    lay_out,
    occurrences,
    token_span,
    tokenize_words,
    word_offsets,
)


class EncoderProcessor:
    """Encodes examples under one configuration and tokenizer, counting what it cannot do.

    Args:
        config: the settings; its relations are the known ones.
        tokenizer: the backbone's fast tokenizer, with the markers.
        aliases: other names by Wikidata id, tried where a name is not in the context.
    """

    def __init__(
        self,
        config: TwoWikiEncoderConfig,
        tokenizer: Any,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.config, self.tokenizer, self.aliases = config, tokenizer, dict(aliases or {})
        self.options = config.encoding_options()
        self.reader = SubwordTokenizer(tokenizer)
        self.counts: Counter[str] = Counter()
        self.concerned: dict[str, list[str]] = {}

    def encode(self, example: Any, number: int = 0) -> list[Window]:
        """Encode one example into one record; an empty list if its context has no words."""
        counts: Counter[str] = Counter()
        windows = self._encode(example, number, counts)
        self.counts.update(counts)
        for reason in counts:
            ids = self.concerned.setdefault(reason, [])
            if len(ids) < SHOWN:
                ids.append(str(getattr(example, "id", number)))
        return windows

    def _encode(self, example: Any, number: int, counts: Counter[str]) -> list[Window]:
        layout = lay_out(example.context, self.options.layout)
        pieces = [layout.text[segment.start : segment.end] for segment in layout.segments]
        question, *parts = self.reader.read([example.question, *pieces])
        if not any(len(part.ids) for part in parts):
            counts["empty_context"] += 1
            return []
        tokens, rows = self._join(layout, parts)
        words = _words_of(layout.text)
        candidates = [segment for segment in layout.segments if segment.sent_id != TITLE]
        labels = None
        if getattr(example, "answer", None) is not None:
            located = LocatedTokens(layout, words, tokens)
            labels = label_example(example, located, candidates, self.options, self.aliases, counts)
        if len(question.ids) > self.options.max_question_tokens:
            counts["question_cut"] += 1
            question = Tokens(*(part[: self.options.max_question_tokens] for part in question))
        marks, question_marks = self._marks(layout, example, words, tokens, question)
        return [
            Window(
                number,
                0,
                layout.text,
                tokens.ids,
                tokens.starts,
                tokens.ends,
                marks,
                example.question,
                question.ids,
                question.starts,
                question.ends,
                question_marks,
                rows,
                *label_arrays(labels, len(candidates), self.options.slots),
            )
        ]

    def _join(self, layout: Layout, parts: Sequence[Tokens]) -> tuple[Tokens, Ints]:
        """Put a marker before each segment, and give the sentences' rows (see `Window`)."""
        ids, starts, ends, rows, place = [], [], [], [], 0
        for segment, part in zip(layout.segments, parts, strict=True):
            title = segment.sent_id == TITLE
            marker = self.config.title_marker_id if title else self.config.sentence_marker_id
            ids.append(numpy.concatenate([[marker], part.ids]))
            starts.append(numpy.concatenate([[0], part.starts]) + segment.start)
            ends.append(numpy.concatenate([[0], part.ends]) + segment.start)
            if not title:
                last = place + len(part.ids)
                rows.append((place, last, segment.paragraph, segment.sent_id))
            place += len(part.ids) + 1
        joined = (numpy.concatenate(part).astype(numpy.int32) for part in (ids, starts, ends))
        return Tokens(*joined), numpy.array(rows, numpy.int32).reshape(-1, 4)

    def _marks(
        self, layout: Layout, example: Any, words: Words, tokens: Tokens, question: Tokens
    ) -> tuple[Marks, Marks]:
        """Give each token of context and question the matches of the word that it begins in."""
        asked = _words_of(example.question)
        if not self.options.match_features or not words.words:
            return no_marks(tokens.ids), no_marks(question.ids)
        titles = [title for title, _ in example.context]
        of_words, of_asked = mark_matches(layout, titles, words, asked)
        return _spread(of_words, words, tokens), _spread(of_asked, asked, question)


def _spread(of_word: Marks, words: Words, tokens: Tokens) -> Marks:
    """Hand words' marks to their tokens; a marker has none."""
    marks = no_marks(tokens.ids)
    if words.words:
        word = numpy.searchsorted(words.starts, tokens.starts, side="right") - 1
        inside = (word >= 0) & (tokens.starts < words.ends[word]) & (tokens.ends > tokens.starts)
        marks[inside] = of_word[word[inside]]
    return marks


class LocatedTokens(Located):
    """An example's text searched by whole words, answered in subword tokens.

    A place whose ends are token borders too is preferred; else the tokens that cover it.
    """

    def __init__(self, layout: Layout, words: Words, tokens: Tokens) -> None:
        super().__init__(layout, words, ignore_case=True)
        self.token_starts, self.token_ends = tokens.starts.tolist(), tokens.ends.tolist()

    def _aligned(self, needle: str, start: int, end: int) -> TokenSpan | None:
        covering = None
        for place in occurrences(self.text, needle, start, end):
            if not is_aligned(self.starts, self.ends, place):
                continue
            found = token_span(self.token_starts, self.token_ends, place)
            if found and self._exact(found, place):
                return found
            covering = covering or found
        return covering

    def _exact(self, found: TokenSpan, place: Span) -> bool:
        return (self.token_starts[found.start], self.token_ends[found.end]) == place


def _words_of(text: str) -> Words:
    return tokenize_words(text, word_offsets(code_points(text)))


Ints = NDArray[numpy.int32]
TITLE_MARKER, SENTENCE_MARKER = "[title]", "[sentence]"


class Tokens(NamedTuple):
    """Token ids with the characters `[start, end)` of each, both never falling."""

    ids: Ints
    starts: Ints
    ends: Ints


class SubwordTokenizer:
    """Cuts pieces of text with a fast tokenizer.

    Args:
        tokenizer: any fast tokenizer of transformers.

    Raises:
        ValueError: the tokenizer has no fast backend.
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(
                f"{type(tokenizer).__name__} is no fast tokenizer: character offsets need one "
                "(AutoTokenizer.from_pretrained(..., use_fast=True))"
            )
        self.backend = Tokenizer.from_str(backend.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        self.prefix = " " if _needs_blank(self.backend) else ""

    def __getstate__(self) -> dict[str, Any]:
        return {"backend": self.backend.to_str(), "prefix": self.prefix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.backend, self.prefix = Tokenizer.from_str(state["backend"]), state["prefix"]
        self.backend.encode_special_tokens = True

    def read(self, pieces: Sequence[str]) -> list[Tokens]:
        """Cut pieces; the offsets of each are its own."""
        shift = len(self.prefix)
        encoded = self.backend.encode_batch(
            [self.prefix + piece.encode("utf-8", "replace").decode() for piece in pieces],
            add_special_tokens=False,
        )
        return [
            trimmed(piece, found.ids, found.offsets, shift)
            for piece, found in zip(pieces, encoded, strict=True)
        ]


def trimmed(text: str, ids: list[int], offsets: list[tuple[int, int]], shift: int) -> Tokens:
    """Take a prefix and outer blanks off the tokens' offsets."""
    places = numpy.array(offsets, numpy.int32).reshape(-1, 2) - shift
    places = places.clip(0, len(text))
    rows = places.tolist()
    for row, (start, end) in enumerate(rows):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        places[row] = start, end
    if len(places):
        places = numpy.maximum.accumulate(places, axis=0)
    return Tokens(numpy.array(ids, numpy.int32), places[:, 0].copy(), places[:, 1].copy())


def _needs_blank(backend: Any) -> bool:
    """Say whether a word at a text's start is cut as another token than after a blank."""

    def ids(text: str) -> list[int]:
        found: list[int] = backend.encode(text, add_special_tokens=False).ids
        return found

    alone, after, both = ids("a"), ids(" a"), ids("a a")
    return alone != after and both == [*alone, *after]


def add_markers(tokenizer: Any) -> None:
    """Add the two marker tokens to a tokenizer that lacks them."""
    tokenizer.add_tokens(
        [
            AddedToken(marker, special=True, normalized=False)
            for marker in (TITLE_MARKER, SENTENCE_MARKER)
        ]
    )


def frame_of(tokenizer: Any, backbone_config: Any) -> dict[str, Any]:
    """Give the fields of the configuration that say how a tokenizer frames a pair of texts."""
    ids, special = _pair(tokenizer)
    content = [number for number, is_special in enumerate(special) if not is_special]
    gap = next(i for i, j in pairwise(content) if j > i + 1)
    after = next(number for number in content if number > gap)
    has_types = int(getattr(backbone_config, "type_vocab_size", 0) or 0) > 1
    padding = tokenizer.pad_token_id
    return {
        "prefix_ids": ids[: content[0]],
        "middle_ids": ids[gap + 1 : after],
        "suffix_ids": ids[content[-1] + 1 :],
        "context_segment": 1 if has_types else -1,
        "padding_id": int(padding if padding is not None else 0),
        "title_marker_id": int(tokenizer.convert_tokens_to_ids(TITLE_MARKER)),
        "sentence_marker_id": int(tokenizer.convert_tokens_to_ids(SENTENCE_MARKER)),
    }


def _pair(tokenizer: Any) -> tuple[list[int], list[int]]:
    encoded = tokenizer("a", "a", return_special_tokens_mask=True)
    ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
    inner = special[next((i for i, s in enumerate(special) if not s), 0) :]
    if sum(special) < 2 or 1 not in inner[: len(inner) - inner[::-1].index(0)]:
        raise ValueError(
            f"{type(tokenizer).__name__} puts no special token between two texts: "
            "give the tokenizer of an encoder"
        )
    return ids, special


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
        context_positions: (B, T); question_positions and question_mask: (B, Q), the first token of
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
    return {"context_positions": context, "question_positions": question, "question_mask": mask}
