"""Examples to the encoder's records: subword tokens, offsets, sentence bounds, labels, batches.

In: anything with `question`, `context` of (title, sentences) and the gold fields of an example.
Out: one `Window` per example that holds its whole context; `EncoderCollator` cuts it into the
backbone's windows. A marker token precedes each title and each sentence; a sentence's first token
is its marker. Strings are looked up as whole words, whatever the tokenizer; every string that is
not found is counted by its reason. No id and no question type is ever encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken
from torch import Tensor

from .configuration_encoder import TwoWikiEncoderConfig
from .features import (
    MultihopProcessor,
    Window,
    label_arrays,
    label_rows,
    length_mask,
    padded_rows,
    plan_windows,
)
from .labels import Located, label_example
from .selection import WithContext, in_whole_context, select_paragraphs
from .text import (
    TITLE,
    IntArray,
    Layout,
    Segment,
    Span,
    TokenSpan,
    is_aligned,
    lay_out,
    occurrences,
    token_span,
)
from .words import (
    EncodedText,
    Marks,
    SubwordTokenizer,
    Words,
    mark_matches,
    no_marks,
    segment_array,
    spread_marks,
)

TITLE_MARKER, SENTENCE_MARKER = "[title]", "[sentence]"


_QUESTION = Segment(0, 0, -1, -2)  # among the segments of a context


class ExampleTokens(NamedTuple):
    """An example with its words and tokens; `kept` are the paragraphs that were selected."""

    example: Any
    kept: list[int]
    layout: Layout
    context: Words
    question: Words
    tokens: tuple[EncodedText, EncodedText, IntArray]


class EncoderProcessor(MultihopProcessor):
    """Encode examples for the encoder; the tokenizer is the backbone's, with the markers."""

    def __init__(
        self,
        config: TwoWikiEncoderConfig,
        tokenizer: Any,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(config, tokenizer, aliases)
        self.subwords = SubwordTokenizer(tokenizer)

    def read(self, examples: Sequence[Any]) -> Iterable[ExampleTokens]:
        """Cut the texts of examples, as words and as tokens."""
        selected = [self._select(example) for example in examples]
        layouts = [lay_out(example.context, self.options.layout) for example, _ in selected]
        questions = [example.question for example in examples]
        words = self.words.read([*(layout.text for layout in layouts), *questions])
        contexts, question_words = words[: len(layouts)], words[len(layouts) :]
        tokens = self._tokenize(questions, layouts)
        return (
            ExampleTokens(example, kept, layout, context, question, cut)
            for (example, kept), layout, context, question, cut in zip(
                selected, layouts, contexts, question_words, tokens, strict=True
            )
        )

    def _select(self, example: Any) -> tuple[Any, list[int]]:
        """Return an example with the paragraphs that are read, and which these are."""
        if self.options.selection is None:
            return example, []
        kept = select_paragraphs(example.question, example.context, self.options.selection)
        return WithContext(example, kept), kept

    def encode_example(
        self, read: ExampleTokens, number: int, counts: Counter[str]
    ) -> list[Window]:
        """Encode one example into one record, or none if its context has no words.

        Where paragraphs are selected, places are still those of the whole context.
        """
        options, (example, kept, layout, words, question_words, tokenized) = self.options, read
        question, tokens, rows = tokenized
        if len(tokens.ids) == len(layout.segments):  # markers alone
            counts["empty_context"] += 1
            return []
        candidates = [segment for segment in layout.segments if segment.sent_id != TITLE]
        labels = None
        if getattr(example, "answer", None) is not None:
            located = LocatedTokens(layout, words, tokens)
            labels = label_example(example, located, candidates, options, self.aliases, counts)
        if len(question.ids) > options.max_question_tokens:
            counts["question_cut"] += 1
            question = EncodedText(*(part[: options.max_question_tokens] for part in question))
        marks, question_marks = no_marks(tokens.ids), no_marks(question.ids)
        if options.match_features:
            titles = [title for title, _ in example.context]
            bits, question_bits = mark_matches(layout, titles, words, question_words, self.words)
            marks = spread_marks(bits, words, tokens.starts, tokens.ends)
            question_marks = spread_marks(
                question_bits, question_words, question.starts, question.ends
            )
        window = Window(
            number,
            0,
            layout.text,
            *tokens,
            marks,
            example.question,
            *question,
            question_marks,
            rows,
            *label_arrays(labels, len(candidates), options.slots),
        )
        if options.selection is None:
            return [window]
        return [in_whole_context(window, example.whole, kept)]

    def _tokenize(
        self, questions: Sequence[str], layouts: Sequence[Layout]
    ) -> Iterator[tuple[EncodedText, EncodedText, IntArray]]:
        """Yield the tokens of each question and context, and its sentences' rows (see `Window`).

        A marker precedes each title and each sentence.
        """
        pieces: list[str] = []
        for question, (text, segments) in zip(questions, layouts, strict=True):
            pieces.append(question)
            pieces += [text[start:end] for start, end, _, _ in segments]
        rows = segment_array([s for layout in layouts for s in (_QUESTION, *layout.segments)])
        begins, sent_ids = rows[:, 0].copy(), rows[:, 3]
        tokens, borders = self.subwords.tokenize_at(pieces, begins)
        marked = numpy.flatnonzero(sent_ids != _QUESTION.sent_id)
        title, sentence = self.config.title_marker_id, self.config.sentence_marker_id
        ids = numpy.where(sent_ids == TITLE, title, sentence)
        markers = numpy.stack([ids, begins, begins])[:, marked]
        tokens = numpy.insert(tokens, borders[marked], markers, axis=1)
        borders[1:] += (sent_ids != _QUESTION.sent_id).cumsum()
        first = 0
        for layout in layouts:
            begin, middle, end = borders[[first, first + 1, first + 1 + len(layout.segments)]]
            own = slice(first + 1, first + 1 + len(layout.segments))
            found = rows[own]
            found[:, 0] = borders[own] - middle
            found[:, 1] = borders[own.start + 1 : own.stop + 1] - middle - 1
            yield (
                EncodedText(*tokens[:, begin:middle]),
                EncodedText(*tokens[:, middle:end]),
                found[found[:, 3] != TITLE],
            )
            first = own.stop


class LocatedTokens(Located):
    """An example's text searched by whole words, answered in subword tokens.

    A place whose ends are token borders too is preferred; else the tokens that cover it.
    """

    def __init__(self, layout: Layout, words: Words, tokens: EncodedText) -> None:
        super().__init__(layout, words, ignore_case=True)
        self.token_starts, self.token_ends = tokens.starts.tolist(), tokens.ends.tolist()

    def _aligned(self, needle: str, start: int, end: int) -> TokenSpan | None:
        covering = None
        for span in occurrences(self.text, needle, start, end):
            if not is_aligned(self.starts, self.ends, span):
                continue
            found = token_span(self.token_starts, self.token_ends, span)
            if found and self._exact(found, span):
                return found
            covering = covering or found
        return covering

    def _exact(self, found: TokenSpan, span: Span) -> bool:
        return (self.token_starts[found.start], self.token_ends[found.end]) == span


def add_markers(tokenizer: Any) -> None:
    """Add the two marker tokens to a tokenizer that lacks them."""
    tokenizer.add_tokens(
        [
            AddedToken(marker, special=True, normalized=False)
            for marker in (TITLE_MARKER, SENTENCE_MARKER)
        ]
    )


def frame_of(tokenizer: Any, backbone_config: Any) -> dict[str, Any]:
    """Return the fields of the configuration that describe how a tokenizer frames two texts."""
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
            "use the tokenizer of an encoder"
        )
    return ids, special


Stretches = Sequence[tuple[int, int]]  # tokens `[start, end)` of each window of an example


class EncoderCollator:
    """Cut records into the backbone's windows and pad; also `Trainer`'s data collator.

    Args:
        config: the model's configuration.
        labels: whether the batch has the labels.
    """

    def __init__(self, config: TwoWikiEncoderConfig, *, labels: bool = True) -> None:
        self.config, self.labels = config, labels

    def __call__(self, windows: Sequence[Window]) -> dict[str, Tensor]:
        """Pad and stack."""
        plans = [plan_example(window, self.config) for window in windows]
        batch = {**self._examples(windows), **self._inputs(windows, plans)}
        borders = batch.get("window_borders")
        count, width = batch["input_ids"].shape
        firsts = range(0, count * width, width) if borders is None else borders[:-1].tolist()
        batch |= self._positions(windows, plans, firsts)
        if not self.config.fuse_single_windows:
            batch["fused_rows"] = numpy.flatnonzero([len(plan) > 1 for plan in plans])
        if self.labels:
            batch |= label_rows(windows, batch["sentence_starts"].shape[1])
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _examples(self, windows: Sequence[Window]) -> dict[str, NDArray[Any]]:
        """Stack what examples have whatever their windows: masks, matches, sentence bounds."""
        config = self.config
        lengths = [len(window.token_ids) for window in windows]
        counts = [len(window.sentences) for window in windows]
        tokens, count = max(1, *lengths), max(1, *counts)
        mask = length_mask(lengths, tokens)
        ids = padded_rows([window.token_ids for window in windows], tokens)
        markers = (ids == config.title_marker_id) | (ids == config.sentence_marker_id)
        batch: dict[str, NDArray[Any]] = {
            "context_mask": mask,
            "span_mask": mask & ~markers,
            "sentence_starts": padded_rows([w.sentences[:, 0] for w in windows], count),
            "sentence_mask": length_mask(counts, count),
        }
        if config.match_features:
            marks = [window.matches for window in windows]
            batch["matches"] = padded_rows(marks, tokens, dtype=numpy.uint8)
        return batch

    def _inputs(
        self, windows: Sequence[Window], plans: Sequence[Stretches]
    ) -> dict[str, NDArray[Any]]:
        """Frame the backbone's windows; pad them to (W, L), or put them into one row, (1, N)."""
        config = self.config
        framed = [
            frame_window(window, start, end, config)
            for window, plan in zip(windows, plans, strict=True)
            for start, end in plan
        ]
        lengths, begins = [len(ids) for ids, *_ in framed], [begin for *_, begin in framed]

        def stacked(rows: Sequence[Any], fill: int = 0, dtype: Any = numpy.int64) -> NDArray[Any]:
            if config.packs:
                return numpy.concatenate(rows).astype(dtype)[None]
            return padded_rows(rows, max(lengths), fill=fill, dtype=dtype)

        batch = {"input_ids": stacked([ids for ids, *_ in framed], config.padding_id)}
        if config.packs:
            positions = stacked([numpy.arange(length) for length in lengths])
            batch["position_ids"] = positions + config.first_position
            batch["window_borders"] = numpy.cumsum([0, *lengths], dtype=numpy.int32)
            batch["window_positions"] = numpy.arange(max(lengths))
        else:
            batch["attention_mask"] = length_mask(lengths, max(lengths))
            batch["question_window_mask"] = length_mask(begins, max(lengths))
        if config.context_segment >= 0:
            inside = [numpy.arange(n) >= begin for n, begin in zip(lengths, begins, strict=True)]
            batch["token_type_ids"] = stacked(inside) * config.context_segment
        if config.reads_matches:
            batch["window_matches"] = stacked([marks for _, marks, _ in framed], 0, numpy.uint8)
        return batch

    def _positions(
        self, windows: Sequence[Window], plans: Sequence[Stretches], firsts: Sequence[int]
    ) -> dict[str, NDArray[Any]]:
        """Return where the states of an example's tokens are; windows begin at `firsts`.

        Shape:
            context_positions: (B, T); question_positions and question_mask: (B, Q), the first
            token of every window and, of the first window, the question.
        """
        context, questions, first_window = [], [], 0
        prefix, middle, _ = frame_parts(self.config)
        for window, plan in zip(windows, plans, strict=True):
            before = len(prefix) + len(window.question_ids) + len(middle)
            depth = numpy.full(len(window.token_ids), -1)
            positions = numpy.zeros(len(window.token_ids), numpy.int64)
            heads = [*firsts[first_window : first_window + len(plan)]]
            for first, (start, end) in zip(heads, plan, strict=True):
                inside = numpy.arange(end - start)
                edge = numpy.minimum(inside, inside[::-1])
                better = edge > depth[start:end]
                positions[start:end][better] = (first + before + inside)[better]
                depth[start:end][better] = edge[better]
            context.append(positions)
            begin = heads[0] + len(prefix)
            questions.append([*heads, *range(begin, begin + len(window.question_ids))])
            first_window += len(plan)
        lengths = [len(row) for row in questions]
        return {
            "context_positions": padded_rows(context, max(1, *map(len, context))),
            "question_positions": padded_rows(questions, max(lengths)),
            "question_mask": length_mask(lengths, max(lengths)),
        }


def plan_example(window: Window, config: TwoWikiEncoderConfig) -> list[tuple[int, int]]:
    """Return the stretches `[start, end)` of an example's tokens that the backbone reads.

    Raises:
        ValueError: windows of this size cannot advance; with the three numbers.
    """
    ids = window.token_ids
    sizes: dict[str, int] = {
        "max_length": config.window_limit,
        "question_length": len(window.question_ids),
        "special_tokens": sum(map(len, frame_parts(config))),
    }
    capacity = sizes["max_length"] - sizes["question_length"] - sizes["special_tokens"]
    if len(ids) <= capacity:
        return [(0, len(ids))]
    title = ids == config.title_marker_id
    starts = numpy.flatnonzero(title).tolist()
    borders = numpy.flatnonzero(title | (ids == config.sentence_marker_id)).tolist()
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
    """Return the tokens before the question, between question and context, and after it."""
    return config.prefix_ids or [], config.middle_ids or [], config.suffix_ids or []


def frame_window(
    window: Window, start: int, end: int, config: TwoWikiEncoderConfig
) -> tuple[NDArray[numpy.int64], Marks, int]:
    """Return a window's token ids, their matches, and where its context begins."""
    prefix, middle, suffix = frame_parts(config)
    ids = numpy.concatenate(
        [prefix, window.question_ids, middle, window.token_ids[start:end], suffix]
    ).astype(numpy.int64)
    matches = no_marks(ids)
    begin = len(prefix) + len(window.question_ids) + len(middle)
    matches[len(prefix) : begin - len(middle)] = window.question_matches
    matches[begin : begin + end - start] = window.matches[start:end]
    return ids, matches, begin
