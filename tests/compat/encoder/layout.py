"""A context as one text, and where each title and sentence stands in it.

Two layouts. "marked": a title between two control characters, then the sentences, a blank
between any two. "reference": the published baseline's, `<t> TITLE </t>` and the sentences glued
without a separator. In both a slice of the text is the words as the data writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .tokenization import (
    REFERENCE_TITLE_END,
    REFERENCE_TITLE_START,
    TITLE_END,
    TITLE_START,
)

TITLE = -1
Context = Sequence[tuple[str, Sequence[str]]]


class Segment(NamedTuple):
    """A title (`sent_id` -1) or a sentence: characters `[start, end)` of the text."""

    start: int
    end: int
    paragraph: int
    sent_id: int


class Layout(NamedTuple):
    """The text of a context with its segments, in order; they do not overlap."""

    text: str
    segments: tuple[Segment, ...]


def lay_out(context: Context, layout: str = "marked") -> Layout:
    """Write a context's paragraphs, (title, sentences) each, as one text."""
    if layout == "reference":
        return _reference_layout(context)
    pieces: list[str] = []
    segments: list[Segment] = []
    place = 0
    for paragraph, (title, sentences) in enumerate(context):
        start = place + 1
        place = start + len(title)
        pieces += (TITLE_START, title, TITLE_END)
        segments.append(Segment(start, place, paragraph, TITLE))
        place += 1
        for sent_id, sentence in enumerate(sentences):
            start = place + 1
            place = start + len(sentence)
            pieces += (" ", sentence)
            segments.append(Segment(start, place, paragraph, sent_id))
        pieces.append(" ")
        place += 1
    return Layout("".join(pieces), tuple(segments))


def _reference_layout(context: Context) -> Layout:
    pieces: list[str] = []
    segments: list[Segment] = []
    place = 0
    for paragraph, (title, sentences) in enumerate(context):
        marked = f"{REFERENCE_TITLE_START} {title} {REFERENCE_TITLE_END}"
        for sent_id, piece in enumerate((marked, *sentences), start=TITLE):
            segments.append(Segment(place, place + len(piece), paragraph, sent_id))
            pieces.append(piece)
            place += len(piece)
    return Layout("".join(pieces), tuple(segments))


def without_markers(text: str) -> str:
    """Drop the title markers of the marked layout from a slice, and blanks around it."""
    return text.replace(TITLE_START, " ").replace(TITLE_END, " ").strip()
