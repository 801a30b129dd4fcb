"""Examples to the baseline's windows: word ids, offsets, sentence bounds and, with gold, labels.

In: anything with `question`, `context` of (title, sentences) and the gold fields of an example.
Out: `Window`s; `BaselineCollator` pads them into a batch. Over-long examples are cut into windows
or, in the published settings, dropped; every drop and every string that is not found is counted
by its reason. No id and no question type is ever encoded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from .configuration_baseline import TwoWikiBaselineConfig
from .features import (
    MultihopProcessor,
    Window,
    label_arrays,
    label_rows,
    length_mask,
    padded_rows,
    plan_windows,
)
from .labels import IGNORED, Located, label_example
from .text import TITLE, IntArray, Layout, Segment, lay_out
from .tokenization_baseline import char_rows, char_table
from .words import WordReader, Words, mark_matches, no_marks, segment_array

CONVOLUTION_WIDTH = 5  # characters that one response of the character convolution sees


class ExampleWords(NamedTuple):
    """An example with its words."""

    example: Any
    layout: Layout
    context: Words
    question: Words


class BaselineProcessor(MultihopProcessor):
    """Encode examples for the baseline; the tokenizer is a `TwoWikiTokenizer`."""

    def __init__(
        self,
        config: TwoWikiBaselineConfig,
        tokenizer: Any,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(config, tokenizer, aliases)
        self.words = WordReader(tokenizer)

    def read(self, examples: Sequence[Any]) -> Iterable[ExampleWords]:
        """Cut the texts of examples; the reference cuts each title and sentence on its own."""
        options, cut = self.options, self.tokenizer.word_offsets
        layouts = [lay_out(example.context, options.layout) for example in examples]
        if options.layout == "marked" and self.tokenizer.splitter == "words":
            texts = [example.question for example in examples]
            words = self.words.read([*(layout.text for layout in layouts), *texts])
            parts = words[: len(layouts)], words[len(layouts) :]
            return map(ExampleWords, examples, layouts, *parts)
        read = self.words.read_at
        contexts = (read(layout.text, self._offsets(layout)) for layout in layouts)
        questions = (read(one.question, cut(one.question)) for one in examples)
        return map(ExampleWords, examples, layouts, contexts, questions)

    def encode_example(self, read: ExampleWords, number: int, counts: Counter[str]) -> list[Window]:
        """Encode one example into one or several windows, or none if it exceeds a limit."""
        options, (_, layout, context, question) = self.options, read
        if reason := self._refusal(layout, context, question):
            counts[reason] += 1
            return []
        whole = self._whole(read, number, counts)
        if not options.window_tokens or len(context.numbers) <= options.window_tokens:
            return [whole]
        borders = [bisect_left(context.first, segment.start) for segment in layout.segments]
        planned = plan_windows(
            borders,
            len(context.numbers),
            max_length=options.window_tokens,
            stride=options.window_stride,
        )
        return [cut_window(whole, start, end) for start, end in planned]

    def _whole(self, read: ExampleWords, number: int, counts: Counter[str]) -> Window:
        """Make one window of the whole context."""
        options, (example, layout, context, question) = self.options, read
        candidates = [s for s in layout.segments if s.sent_id != TITLE or options.title_support]
        if options.max_sentences:
            candidates = candidates[: options.max_sentences]
        labels = None
        if getattr(example, "answer", None) is not None:
            located = Located(layout, context, ignore_case=options.ignore_case)
            labels = label_example(example, located, candidates, options, self.aliases, counts)
        if options.match_features:
            titles = [title for title, _ in example.context]
            marks, question_marks = mark_matches(layout, titles, context, question, self.words)
        else:
            marks, question_marks = no_marks(context.numbers), no_marks(question.numbers)
        return Window(
            number,
            0,
            context.text,
            context.ids,
            context.starts,
            context.ends,
            marks,
            question.text,
            question.ids,
            question.starts,
            question.ends,
            question_marks,
            segment_rows(candidates, context.starts),
            *label_arrays(labels, len(candidates), options.slots),
        )

    def _offsets(self, layout: Layout) -> tuple[IntArray, IntArray]:
        if self.options.layout == "marked":
            whole: tuple[IntArray, IntArray] = self.tokenizer.word_offsets(layout.text)
            return whole
        starts, ends = [numpy.zeros(0, numpy.int32)], [numpy.zeros(0, numpy.int32)]
        for segment in layout.segments:
            first, last = self._segment_offsets(layout.text, segment)
            starts.append(first + segment.start)
            ends.append(last + segment.start)
        return numpy.concatenate(starts), numpy.concatenate(ends)

    def _segment_offsets(self, text: str, segment: Segment) -> tuple[IntArray, IntArray]:
        piece = text[segment.start : segment.end]
        if segment.sent_id != TITLE:
            starts, ends = self.tokenizer.word_offsets(piece)
            return starts, ends
        title = piece[4:-5]  # between `<t> ` and ` </t>`
        starts, ends = self.tokenizer.word_offsets(title)
        last = len(piece)
        return (
            numpy.concatenate([[0], starts + 4, [last - 4]]).astype(numpy.int32),
            numpy.concatenate([[3], ends + 4, [last]]).astype(numpy.int32),
        )

    def _refusal(self, layout: Layout, context: Words, question: Words) -> str | None:
        options = self.options
        if not layout.segments or not len(context.numbers):
            return "empty_context"
        if options.max_context_tokens and len(context.numbers) > options.max_context_tokens:
            return "context_too_long"
        if options.max_question_tokens and len(question.numbers) > options.max_question_tokens:
            return "question_too_long"
        return None


def segment_rows(segments: Sequence[Segment], starts: IntArray) -> IntArray:
    """Return each segment's first token, last token, paragraph and sent_id: (S, 4)."""
    rows = segment_array(segments)
    rows[:, :2] = numpy.searchsorted(starts, rows[:, :2])
    rows[:, 1] -= 1
    return rows


def cut_window(whole: Window, start: int, end: int) -> Window:
    """Return tokens `[start, end)` of a window with what is in them; spans cut off are ignored."""
    first = int(whole.token_starts[start])
    last = int(whole.token_ends[end - 1])
    firsts, lasts = whole.sentences[:, 0], whole.sentences[:, 1]
    inside = (firsts < end) & (lasts >= start) & (lasts >= firsts)
    rows = whole.sentences[inside].copy()
    rows[:, 0] = numpy.maximum(rows[:, 0], start) - start
    rows[:, 1] = numpy.minimum(rows[:, 1], end - 1) - start
    answer = whole.answer.copy()
    answer[1:] = _shift(whole.answer[1:].reshape(2, 1), start, end)[:, 0]
    pointers = numpy.concatenate(
        [_shift(whole.pointers[:2], start, end), _shift(whole.pointers[2:], start, end)]
    )
    return whole._replace(
        char_offset=whole.char_offset + first,
        text=whole.text[first:last],
        token_ids=whole.token_ids[start:end],
        token_starts=whole.token_starts[start:end] - first,
        token_ends=whole.token_ends[start:end] - first,
        matches=whole.matches[start:end],
        sentences=rows,
        answer=answer,
        support=whole.support[inside],
        pointers=pointers,
    )


def _shift(spans: IntArray, start: int, end: int) -> IntArray:
    """Move (start, end) rows of token spans into a window; -100 for those not wholly in it."""
    kept = (spans[0] >= start) & (spans[1] < end) & (spans[0] >= 0)
    return numpy.where(kept, spans - start, IGNORED).astype(numpy.int32)


class BaselineCollator:
    """Pad windows into a batch; also `Trainer`'s data collator.

    A row without words gets one padding token, so that every dimension is at least 1.

    Args:
        config: the model's configuration.
        labels: whether the batch has the labels.
    """

    def __init__(self, config: TwoWikiBaselineConfig, *, labels: bool = True) -> None:
        self.labels = labels
        self.char_limit = max(config.char_limit, CONVOLUTION_WIDTH)
        self.match_features = config.match_features
        self.char_vocab = config.char_vocab

    def __call__(self, windows: Sequence[Window]) -> dict[str, Tensor]:
        """Pad and stack."""
        counts = [len(window.sentences) for window in windows]
        count = max(1, *counts)
        context = [(w.text, w.token_ids, w.token_starts, w.token_ends, w.matches) for w in windows]
        question = [
            (w.question, w.question_ids, w.question_starts, w.question_ends, w.question_matches)
            for w in windows
        ]
        ids, characters, mask, matches = self._words(context)
        question_ids, question_characters, question_mask, question_matches = self._words(question)
        batch: dict[str, NDArray[Any]] = {
            "input_ids": ids,
            "char_ids": characters,
            "context_mask": mask,
            "question_ids": question_ids,
            "question_char_ids": question_characters,
            "question_mask": question_mask,
            "sentence_starts": padded_rows([w.sentences[:, 0] for w in windows], count),
            "sentence_ends": padded_rows([w.sentences[:, 1] for w in windows], count, fill=-1),
            "sentence_mask": length_mask(counts, count),
        }
        if self.match_features:
            batch |= {"matches": matches, "question_matches": question_matches}
        if self.labels:
            batch |= label_rows(windows, count)
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _words(self, texts: Sequence[tuple[Any, ...]]) -> tuple[NDArray[Any], ...]:
        """Stack ids, characters, mask and matches: (B, T), (B, T, C), (B, T), (B, T)."""
        lengths = [len(ids) for _, ids, *_ in texts]
        width = max(1, *lengths)
        characters = numpy.zeros((len(texts), width, self.char_limit), numpy.int32)
        table = char_table(self.char_vocab)
        for row, (text, _, starts, ends, _) in enumerate(texts):
            characters[row, : len(starts)] = char_rows(text, starts, ends, table, self.char_limit)
        return (
            padded_rows([ids for _, ids, *_ in texts], width),
            characters,
            length_mask(lengths, width),
            padded_rows([marks for *_, marks in texts], width, dtype=numpy.uint8),
        )
