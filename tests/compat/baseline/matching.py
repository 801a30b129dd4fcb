"""Mark the words that a question or another title repeats: names have to be matched by identity.

Three bits a word. 1: the word stands on the other side too (question or context), as it is, in
lower case, Capitalised or in UPPER CASE. 2: it is in a
title that the question names, or in such a mention. 4: it mentions another paragraph's title, or
it is a title that another paragraph mentions.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy
from numpy.typing import NDArray

from .layout import TITLE, Layout
from .spans import Span, fold, is_aligned, occurrences, token_span
from .words import Words

IN_QUESTION, ASKED_TITLE, LINKED_TITLE = 1, 2, 4
Marks = NDArray[numpy.uint8]


def mark_matches(
    layout: Layout, titles: Sequence[str], context: Words, question: Words
) -> tuple[Marks, Marks]:
    """Give the bits of the context's words and of the question's words."""
    marks, question_marks = mark_shared(context.words, question.words)
    folded, asked = fold(layout.text), fold(question.text)
    segments = [segment for segment in layout.segments if segment.sent_id == TITLE]
    begins = [segment.start for segment in segments]
    for segment, begin, end, title in zip(
        segments, begins, [*begins[1:], len(folded)], titles, strict=True
    ):
        name = fold(bare_title(title))
        if len(name) < 3:
            continue
        mentions = [
            place
            for place in occurrences(folded, name)
            if not begin <= place.start < end and is_aligned(context.first, context.last, place)
        ]
        named = [
            place
            for place in occurrences(asked, name)
            if is_aligned(question.first, question.last, place)
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
    """Give no bit to any word."""
    return numpy.zeros(len(words), numpy.uint8)


def _cases(word: str) -> tuple[str, ...]:
    return word, word.lower(), word.capitalize(), word.upper()


def bare_title(title: str) -> str:
    """Drop what a title has in brackets at its end: "Heart (1987 film)" to "Heart"."""
    name, bracket, _ = title.rpartition(" (")
    return name if bracket and title.endswith(")") and name else title


def _mark(marks: Marks, words: Words, places: Sequence[Span], bit: int) -> None:
    for place in places:
        tokens = token_span(words.first, words.last, place)
        if tokens:
            marks[tokens.start : tokens.end + 1] |= bit
