"""Mark the words that a question or another title repeats: names have to be matched by identity.

Three bits a word. 1: the word stands on the other side too (question or context), as it is, in
lower case, Capitalised or in UPPER CASE. 2: it is in a
title that the question names, or in such a mention. 4: it mentions another paragraph's title, or
it is a title that another paragraph mentions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from .layout import TITLE, Layout, Segment
from .spans import Span, fold, is_aligned, occurrences, token_span

IN_QUESTION, ASKED_TITLE, LINKED_TITLE = 1, 2, 4
Marks = NDArray[numpy.uint8]


def mark_matches(
    layout: Layout,
    titles: Sequence[str],
    words: Sequence[str],
    starts: Sequence[int],
    ends: Sequence[int],
    question: str,
    question_words: Sequence[str],
    question_starts: Sequence[int],
    question_ends: Sequence[int],
) -> tuple[Marks, Marks]:
    """Give the bits of the context's words and of the question's words."""
    folded, asked = fold(layout.text), fold(question)
    forms = {form: word for word in question_words if word[0].isalnum() for form in _cases(word)}
    marks = numpy.fromiter(map(forms.__contains__, words), numpy.uint8, len(words))
    common = {forms[word] for word in forms.keys() & set(words)}
    common = {form for word in common for form in _cases(word)}
    question_marks = numpy.fromiter(
        map(common.__contains__, question_words), numpy.uint8, len(question_words)
    )
    title_segments = [segment for segment in layout.segments if segment.sent_id == TITLE]
    paragraphs = _paragraph_ends(title_segments, len(folded))
    for segment, (begin, end), title in zip(title_segments, paragraphs, titles, strict=True):
        name = fold(bare_title(title))
        if len(name) < 3:
            continue
        own = token_span(starts, ends, Span(segment.start, segment.end))
        mentions = [
            place
            for place in occurrences(folded, name)
            if not begin <= place.start < end and is_aligned(starts, ends, place)
        ]
        for place in mentions:
            _mark(marks, starts, ends, place, LINKED_TITLE)
        if mentions and own:
            marks[own.start : own.end + 1] |= LINKED_TITLE
        for place in occurrences(asked, name):
            if is_aligned(question_starts, question_ends, place):
                _mark(question_marks, question_starts, question_ends, place, ASKED_TITLE)
                if own:
                    marks[own.start : own.end + 1] |= ASKED_TITLE
    return marks, question_marks


def _cases(word: str) -> tuple[str, ...]:
    return word, word.lower(), word.capitalize(), word.upper()


def bare_title(title: str) -> str:
    """Drop what a title has in brackets at its end: "Heart (1987 film)" to "Heart"."""
    name, bracket, _ = title.rpartition(" (")
    return name if bracket and title.endswith(")") and name else title


def _mark(marks: Marks, starts: Sequence[int], ends: Sequence[int], place: Span, bit: int) -> None:
    tokens = token_span(starts, ends, place)
    if tokens:
        marks[tokens.start : tokens.end + 1] |= bit


def _paragraph_ends(titles: Sequence[Segment], length: int) -> list[tuple[int, int]]:
    begins = [segment.start for segment in titles]
    return list(zip(begins, [*begins[1:], length], strict=True))
