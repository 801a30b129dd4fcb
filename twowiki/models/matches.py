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
    bare_title,
    fold,
    is_aligned,
    occurrences,
    token_span,
)
from .units import WordReader, Words

SHARED_WORD = 1  # the other side (question or context) has the word too
ASKED_TITLE = 2  # in a title that the question names, or in such a mention
LINKED_TITLE = 4  # in a mention of another paragraph's title, or in a title that one mentions
MATCH_BITS = 3
Marks = NDArray[numpy.uint8]


def mark_matches(
    layout: Layout, titles: Sequence[str], context: Words, question: Words, reader: WordReader
) -> tuple[Marks, Marks]:
    """Return the bits of the context's words and of the question's words.

    Args:
        layout: that of the context.
        titles: those of its paragraphs.
        context: its words.
        question: the question's.
        reader: what read both.
    """
    marks, question_marks = mark_shared(context, question, reader)
    folded, folded_question = fold(layout.text), fold(question.text)
    segments = [segment for segment in layout.segments if segment.sent_id == TITLE]
    ends = [*(segment.start for segment in segments[1:]), len(folded)]
    for own, end, title in zip(segments, ends, titles, strict=True):
        name = fold(bare_title(title))
        if len(name) < 3:
            continue
        before = own.start + len(name) - 1  # where a mention that begins before the title may end
        if folded.find(name, 0, before) >= 0 or folded.find(name, end) >= 0:  # mostly not
            mentions = _whole(folded, name, context, 0, before)
            mentions += _whole(folded, name, context, end)
            _mark(marks, context, [*mentions, Span(*own[:2])] if mentions else [], LINKED_TITLE)
        if name in folded_question and (named := _whole(folded_question, name, question)):
            _mark(marks, context, [Span(*own[:2])], ASKED_TITLE)
            _mark(question_marks, question, named, ASKED_TITLE)
    return marks, question_marks


def mark_shared(context: Words, question: Words, reader: WordReader) -> tuple[Marks, Marks]:
    """Mark the words that both sides have, in any of four cases."""
    question_words = [reader.names[number] for number in question.numbers.tolist()]
    forms = {form: word for word in question_words if word[0].isalnum() for form in _cases(word)}
    numbers = sorted(reader.numbers[form] for form in forms if form in reader.numbers)
    known = numpy.array([*numbers, -1], numpy.int32)
    marks = known[known[:-1].searchsorted(context.numbers)] == context.numbers
    found = {reader.names[number] for number in set(context.numbers[marks].tolist())}
    shared = {form for one in found for form in _cases(forms[one])}
    question_marks = numpy.fromiter(map(shared.__contains__, question_words), numpy.uint8)
    return marks.astype(numpy.uint8), question_marks


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
    if len(words.starts):
        word = numpy.searchsorted(words.starts, starts, side="right") - 1
        inside = (word >= 0) & (starts < words.ends[word]) & (ends > starts)
        marks[inside] = word_marks[word[inside]]
    return marks


def _cases(word: str) -> tuple[str, ...]:
    return word, word.lower(), word.capitalize(), word.upper()


def _whole(
    text: str, name: str, words: Words, start: int = 0, end: int | None = None
) -> list[Span]:
    """Return the places of a name in a part of a text that are whole words."""
    spans = occurrences(text, name, start, end)
    return [span for span in spans if is_aligned(words.first, words.last, span)]


def _mark(marks: Marks, words: Words, spans: Sequence[Span], bit: int) -> None:
    for span in spans:
        tokens = token_span(words.first, words.last, span)
        if tokens:
            marks[tokens.start : tokens.end + 1] |= bit
