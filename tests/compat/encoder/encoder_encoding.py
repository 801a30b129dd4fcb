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
from typing import Any

import numpy

from .encoder_configuration import TwoWikiEncoderConfig
from .encoder_tokenization import Ints, SubwordReader, Tokens
from .encoding import SHOWN, Window, label_arrays
from .labels import Located, label_example
from .layout import TITLE, Layout, lay_out
from .matching import Marks, mark_matches, no_marks
from .spans import Span, TokenSpan, is_aligned, occurrences, token_span
from .tokenization import code_points, word_offsets
from .words import Words, read_words


class SubwordEncoder:
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
        self.reader = SubwordReader(tokenizer)
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
    return read_words(text, word_offsets(code_points(text)))
