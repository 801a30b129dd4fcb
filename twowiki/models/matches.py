"""Mark the words that a question or another title repeats: names are matched by identity.

In: the words of context and question. Out: three bits per word, as named below. A word is in the
question as it is, in lower case, Capitalized or in UPPER CASE. A title counts without the brackets
at its end; names of fewer than three characters do not count.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy
from numpy.typing import NDArray

from .text import (
    TITLE,
    IntArray,
    Layout,
    Span,
    Words,
    bare_title,
    fold,
    is_aligned,
    occurrences,
    token_span,
)

SHARED_WORD = 1  # the other side (question or context) has the word too
ASKED_TITLE = 2  # in a title that the question names, or in such a mention
LINKED_TITLE = 4  # in a mention of another paragraph's title, or in a title that one mentions
MATCH_BITS = 3
Marks = NDArray[numpy.uint8]


def mark_matches(
    layout: Layout, titles: Sequence[str], context: Words, question: Words
) -> tuple[Marks, Marks]:
    """Return the bits of the context's words and of the question's words."""
    marks, question_marks = mark_shared(context.words, question.words)
    folded, folded_question = fold(layout.text), fold(question.text)
    segments = [segment for segment in layout.segments if segment.sent_id == TITLE]
    begins = [segment.start for segment in segments]
    for segment, begin, end, title in zip(
        segments, begins, [*begins[1:], len(folded)], titles, strict=True
    ):
        name = fold(bare_title(title))
        if len(name) < 3:
            continue
        mentions = [
            span
            for span in occurrences(folded, name)
            if not begin <= span.start < end and is_aligned(context.first, context.last, span)
        ]
        named = [
            span
            for span in occurrences(folded_question, name)
            if is_aligned(question.first, question.last, span)
        ]
        own = Span(segment.start, segment.end)
        _mark(marks, context, [*mentions, *([own] if mentions else [])], LINKED_TITLE)
        _mark(marks, context, [own] if named else [], ASKED_TITLE)
        _mark(question_marks, question, named, ASKED_TITLE)
    return marks, question_marks


def mark_shared(words: Sequence[str], question_words: Sequence[str]) -> tuple[Marks, Marks]:
    """Mark the words that both sides have, in any of four cases."""
    forms = {form: word for word in question_words if word[0].isalnum() for form in _cases(word)}
    marks = numpy.fromiter(map(forms.__contains__, words), numpy.uint8)
    shared = {form for found in forms.keys() & set(words) for form in _cases(forms[found])}
    return marks, numpy.fromiter(map(shared.__contains__, question_words), numpy.uint8)


def no_marks(words: Sized) -> Marks:
    """Return marks without any bit."""
    return numpy.zeros(len(words), numpy.uint8)


def spread_marks(word_marks: Marks, words: Words, starts: IntArray, ends: IntArray) -> Marks:
    """Return the marks of tokens: of the word that each begins in; a marker has none.

    Args:
        word_marks: those of the words.
        words: in the same text.
        starts: the first character of each token.
        ends: the character after each token.
    """
    marks = no_marks(starts)
    if words.words:
        word = numpy.searchsorted(words.starts, starts, side="right") - 1
        inside = (word >= 0) & (starts < words.ends[word]) & (ends > starts)
        marks[inside] = word_marks[word[inside]]
    return marks


def _cases(word: str) -> tuple[str, ...]:
    return word, word.lower(), word.capitalize(), word.upper()


def _mark(marks: Marks, words: Words, spans: Sequence[Span], bit: int) -> None:
    for span in spans:
        tokens = token_span(words.first, words.last, span)
        if tokens:
            marks[tokens.start : tokens.end + 1] |= bit
