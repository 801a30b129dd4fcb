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
from .matching import mark_matches
from .windows import plan_windows

Ints = NDArray[numpy.int32]
MARKS = frozenset(range(2, 4))  # code points of the title markers


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
        before = self.counts.copy()
        windows = self._encode(example, number)
        for reason in self.counts - before:
            ids = self.concerned.setdefault(reason, [])
            if len(ids) < 20:
                ids.append(str(getattr(example, "id", number)))
        return windows

    def _encode(self, example: Any, number: int) -> list[Window]:
        options, lookup = self.options, self.tokenizer.lookup()
        layout = self._lay_out(example.context)
        starts, ends = self._offsets(layout)
        question = example.question
        question_starts, question_ends = self.tokenizer.word_offsets(question)
        if reason := self._refusal(layout, starts, question_starts):
            self.counts[reason] += 1
            return []
        start_list, end_list = starts.tolist(), ends.tolist()
        text = layout.text
        words = [text[a:b] for a, b in zip(start_list, end_list, strict=True)]
        asked = [question[a:b] for a, b in zip(question_starts, question_ends, strict=True)]
        candidates = [s for s in layout.segments if s.sent_id != TITLE or options.title_support]
        if options.max_sentences:
            candidates = candidates[: options.max_sentences]
        labels = None
        if getattr(example, "answer", None) is not None:
            located = Located(layout, start_list, end_list, ignore_case=options.ignore_case)
            labels = label_example(
                example,
                located,
                candidates,
                options,
                self.aliases,
                self.counts,
            )
        if options.match_features:
            marks = mark_matches(
                layout,
                [title for title, _ in example.context],
                words,
                start_list,
                end_list,
                question,
                asked,
                question_starts.tolist(),
                question_ends.tolist(),
            )
        else:
            marks = numpy.zeros(len(words), numpy.uint8), numpy.zeros(len(asked), numpy.uint8)
        whole = Window(
            number,
            0,
            text,
            numpy.fromiter(map(lookup.__getitem__, words), numpy.int32, len(words)),
            starts,
            ends,
            marks[0],
            question,
            numpy.fromiter(map(lookup.__getitem__, asked), numpy.int32, len(asked)),
            question_starts,
            question_ends,
            marks[1],
            segment_rows(candidates, start_list),
            *label_arrays(labels, len(candidates), options.slots),
        )
        if not options.window_tokens or len(words) <= options.window_tokens:
            return [whole]
        borders = [bisect_left(start_list, segment.start) for segment in layout.segments]
        planned = plan_windows(
            borders, len(words), max_length=options.window_tokens, stride=options.window_stride
        )
        return [cut_window(whole, start, end) for start, end in planned]

    def _lay_out(self, context: Sequence[tuple[str, Sequence[str]]]) -> Layout:
        return lay_out(context, self.options.layout)

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

    def _refusal(self, layout: Layout, starts: Ints, question_starts: Ints) -> str | None:
        options = self.options
        if not layout.segments or not len(starts):
            return "empty_context"
        if options.max_context_tokens and len(starts) > options.max_context_tokens:
            return "context_too_long"
        if options.max_question_tokens and len(question_starts) > options.max_question_tokens:
            return "question_too_long"
        return None


def segment_rows(segments: Sequence[Segment], starts: Sequence[int]) -> Ints:
    """Give each segment's first token, last token, paragraph and sent_id: (S, 4)."""
    rows = [
        (bisect_left(starts, s.start), bisect_left(starts, s.end) - 1, s.paragraph, s.sent_id)
        for s in segments
    ]
    return numpy.array(rows, dtype=numpy.int32).reshape(-1, 4)


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
