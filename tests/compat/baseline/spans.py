"""Find text, and turn characters into tokens and back.

Characters are half-open `[start, end)`, tokens inclusive `(start, end)`. Pure functions over
strings and sorted offset lists, whatever tokenizer made them; nothing is moved or repaired.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FINAL_SIGMA, SIGMA = "\u03c2", "\u03c3"


class Span(NamedTuple):
    """Characters `[start, end)` of a text: `text[start:end]`."""

    start: int
    end: int


class TokenSpan(NamedTuple):
    """Tokens from `start` to `end`, both included."""

    start: int
    end: int


def fold(text: str) -> str:
    """Lower the case of a text without moving any character."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals lower to two characters
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered.replace(FINAL_SIGMA, SIGMA)  # which sigma depends on the neighbours


def occurrences(text: str, wanted: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Give every place in `text[start:end]` where a string stands, overlapping ones too.

    An empty string stands nowhere.
    """
    if not wanted:
        return
    stop = len(text) if end is None else end
    found = text.find(wanted, start, stop)
    while found >= 0:
        yield Span(found, found + len(wanted))
        found = text.find(wanted, found + 1, stop)


def find_text(text: str, wanted: str, *, ignore_case: bool = False) -> Span | None:
    """Give the first place where a string stands as it is, or None.

    With `ignore_case`, `text[start:end]` may differ from what was asked in case alone.
    """
    if ignore_case:
        text, wanted = fold(text), fold(wanted)
    return next(occurrences(text, wanted), None)


def token_span(starts: Sequence[int], ends: Sequence[int], span: Span) -> TokenSpan | None:
    """Give the least run of tokens that covers a span's characters, or None if no token does.

    Characters between tokens (blanks) need no cover. Tokens of no width belong to no span.

    Args:
        starts: first character of each token, ascending.
        ends: end (exclusive) of each token, ascending.
        span: the characters to cover.
    """
    first = bisect_right(ends, span.start)
    last = bisect_left(starts, span.end) - 1
    while first <= last and starts[first] == ends[first]:
        first += 1
    while first <= last and starts[last] == ends[last]:
        last -= 1
    return TokenSpan(first, last) if first <= last else None


def is_aligned(starts: Sequence[int], ends: Sequence[int], span: Span) -> bool:
    """Say whether a span starts where a token starts and ends where a token ends."""
    first = bisect_left(starts, span.start)
    last = bisect_left(ends, span.end)
    return (
        first < len(starts)
        and last < len(ends)
        and starts[first] == span.start
        and ends[last] == span.end
    )


def char_span(starts: Sequence[int], ends: Sequence[int], tokens: TokenSpan) -> Span:
    """Give the characters from a first token's start to a last token's end."""
    return Span(starts[tokens.start], ends[tokens.end])


def nearest_span(
    starts: Sequence[int], ends: Sequence[int], places: Sequence[Span]
) -> TokenSpan | None:
    """Choose as the published baseline does: the place whose ends are nearest to token borders.

    The first place with both ends on borders wins; else the least sum of distances, the earlier
    of equals.
    """
    best, least = None, None
    for place in places:
        first, start_distance = _nearest(starts, place.start)
        last, end_distance = _nearest(ends, place.end)
        distance = start_distance + end_distance
        if least is None or distance < least:
            best, least = TokenSpan(first, max(first, last)), distance
        if distance == 0:
            break
    return best


def _nearest(borders: Sequence[int], position: int) -> tuple[int, int]:
    """Give the index of the border nearest to a position, and the distance; the first of equals."""
    index = bisect_left(borders, position)
    around = [i for i in (index - 1, index) if 0 <= i < len(borders)]
    nearest = min(around, key=lambda i: abs(borders[i] - position))
    return bisect_left(borders, borders[nearest]), abs(borders[nearest] - position)
