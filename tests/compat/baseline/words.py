"""A text with its words: offsets as arrays for tensors, and as lists for searching."""

from __future__ import annotations

from typing import NamedTuple

from .tokenization import Offsets


class Words(NamedTuple):
    """The words of a text, in order. `first` and `last` are `starts` and `ends` as lists."""

    text: str
    starts: Offsets
    ends: Offsets
    first: list[int]
    last: list[int]
    words: list[str]


def read_words(text: str, offsets: tuple[Offsets, Offsets]) -> Words:
    """Take a text and the offsets of its words together."""
    starts, ends = offsets
    first, last = starts.tolist(), ends.tolist()
    words = [text[start:end] for start, end in zip(first, last, strict=True)]
    return Words(text, starts, ends, first, last, words)
