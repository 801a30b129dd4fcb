"""An example to windows: word ids, offsets, sentence bounds and, where gold is known, labels.

In: anything with `question`, `context` of (title, sentences) and the gold fields of an example.
Out: `Window`s of flat arrays, unpadded (see `collation` for batches). Over-long examples are cut
into windows or, in the published settings, dropped; every drop and every string that is not
found is counted by its reason. No id and no question type is ever encoded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from .configuration import IGNORED, TwoWikiConfig
from .labels import Labels, Located, label_example
from .layout import TITLE, Layout, Segment, lay_out
from .matching import mark_matches, no_marks
from .windows import plan_windows
from .words import Words, read_words

Ints = NDArray[numpy.int32]
SHOWN = 20  # ids that are kept for each reason


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


class Encoder:
    """Encodes examples under one configuration and tokenizer, counting what it cannot do.

    Args:
        config: the settings; its relations are the known ones.
        tokenizer: a `TwoWikiTokenizer`.
        aliases: other names by Wikidata id, tried where a name is not in the context.
    """

    def __init__(
        self,
        config: TwoWikiConfig,
        tokenizer: Any,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.config, self.tokenizer, self.aliases = config, tokenizer, dict(aliases or {})
        self.options = config.encoding_options()
        self.counts: Counter[str] = Counter()
        self.concerned: dict[str, list[str]] = {}

    def encode(self, example: Any, number: int = 0) -> list[Window]:
        """Encode one example; an empty list if it has no words or is over a limit."""
        counts: Counter[str] = Counter()
        windows = self._encode(example, number, counts)
        if counts:
            self.counts.update(counts)
            for reason in counts:
                ids = self.concerned.setdefault(reason, [])
                if len(ids) < SHOWN:
                    ids.append(str(getattr(example, "id", number)))
        return windows

    def _encode(self, example: Any, number: int, counts: Counter[str]) -> list[Window]:
        options = self.options
        layout = lay_out(example.context, options.layout)
        context = read_words(layout.text, self._offsets(layout))
        question = read_words(example.question, self.tokenizer.word_offsets(example.question))
        if reason := self._refusal(layout, context, question):
            counts[reason] += 1
            return []
        whole = self._whole(example, number, layout, context, question, counts)
        if not options.window_tokens or len(context.words) <= options.window_tokens:
            return [whole]
        borders = [bisect_left(context.first, segment.start) for segment in layout.segments]
        planned = plan_windows(
            borders,
            len(context.words),
            max_length=options.window_tokens,
            stride=options.window_stride,
        )
        return [cut_window(whole, start, end) for start, end in planned]

    def _whole(
        self,
        example: Any,
        number: int,
        layout: Layout,
        context: Words,
        question: Words,
        counts: Counter[str],
    ) -> Window:
        """Make one window of the whole context."""
        options = self.options
        candidates = [s for s in layout.segments if s.sent_id != TITLE or options.title_support]
        if options.max_sentences:
            candidates = candidates[: options.max_sentences]
        labels = None
        if getattr(example, "answer", None) is not None:
            located = Located(layout, context, ignore_case=options.ignore_case)
            labels = label_example(example, located, candidates, options, self.aliases, counts)
        if options.match_features:
            titles = [title for title, _ in example.context]
            marks = mark_matches(layout, titles, context, question)
        else:
            marks = no_marks(context.words), no_marks(question.words)
        lookup = self.tokenizer.lookup()
        return Window(
            number,
            0,
            context.text,
            numpy.fromiter(map(lookup.__getitem__, context.words), numpy.int32),
            context.starts,
            context.ends,
            marks[0],
            question.text,
            numpy.fromiter(map(lookup.__getitem__, question.words), numpy.int32),
            question.starts,
            question.ends,
            marks[1],
            segment_rows(candidates, context.starts),
            *label_arrays(labels, len(candidates), options.slots),
        )

    def _offsets(self, layout: Layout) -> tuple[Ints, Ints]:
        """Cut the text into words; the reference cuts each title and sentence on its own."""
        if self.options.layout == "marked":
            whole: tuple[Ints, Ints] = self.tokenizer.word_offsets(layout.text)
            return whole
        starts, ends = [numpy.zeros(0, numpy.int32)], [numpy.zeros(0, numpy.int32)]
        for segment in layout.segments:
            first, last = self._segment_offsets(layout.text, segment)
            starts.append(first + segment.start)
            ends.append(last + segment.start)
        return numpy.concatenate(starts), numpy.concatenate(ends)

    def _segment_offsets(self, text: str, segment: Segment) -> tuple[Ints, Ints]:
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
        if not layout.segments or not context.words:
            return "empty_context"
        if options.max_context_tokens and len(context.words) > options.max_context_tokens:
            return "context_too_long"
        if options.max_question_tokens and len(question.words) > options.max_question_tokens:
            return "question_too_long"
        return None


def segment_rows(segments: Sequence[Segment], starts: Ints) -> Ints:
    """Give each segment's first token, last token, paragraph and sent_id: (S, 4)."""
    rows = numpy.array(segments, dtype=numpy.int32).reshape(-1, 4)
    rows[:, :2] = numpy.searchsorted(starts, rows[:, :2])
    rows[:, 1] -= 1
    return rows


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


def cut_window(whole: Window, start: int, end: int) -> Window:
    """Give tokens `[start, end)` of a window, with what lies in them; spans cut off are ignored."""
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


def _shift(spans: Ints, start: int, end: int) -> Ints:
    """Move (start, end) rows of token spans into a window; -100 for those not wholly in it."""
    kept = (spans[0] >= start) & (spans[1] < end) & (spans[0] >= 0)
    return numpy.where(kept, spans - start, IGNORED).astype(numpy.int32)
