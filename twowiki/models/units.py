"""Texts put together from units that are cut once: what stands between two blanks.

In: texts. Out: their tokens or words, as if each whole text had been cut. A table of units is
bounded: it forgets all of them when there are many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from .text import IntArray, Segment, code_points, word_offsets


class Words(NamedTuple):
    """The words of a text, in order. `first` and `last` are `starts` and `ends` as lists."""

    text: str
    starts: IntArray
    ends: IntArray
    first: list[int]
    last: list[int]
    numbers: IntArray  # of a `units.WordReader`
    ids: IntArray  # of a vocabulary, if the reader has one


class UnitTable(ABC):
    """The tokens of units of text; each unit is cut once, and texts are put together from them.

    Args:
        columns: how many numbers a token has.
    """

    most = 1 << 20  # tokens that it holds before it forgets all of them

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self.clear()

    def clear(self) -> None:
        """Forget all units."""
        self._numbers = _Numbers()
        self._borders = numpy.zeros(1024, numpy.int64)  # between the units' tokens
        self._tokens = numpy.empty((self._columns, 1024), numpy.int32)

    def trim(self) -> None:
        """Forget all units where there are many, so that the table stays small."""
        if self._borders[len(self._numbers)] >= self.most:
            self.clear()

    @abstractmethod
    def cut(self, units: list[str]) -> tuple[Any, Any]:
        """Return the number of tokens of each unit, and the columns of all tokens: (C, T)."""

    def look_up(self, units: Sequence[str]) -> tuple[NDArray[numpy.int64], IntArray]:
        """Return the number of tokens of each unit, and the columns of all tokens: (C, T)."""
        find = self._numbers.__getitem__
        numbers = numpy.fromiter(map(find, units), numpy.int64, len(units))
        if self._numbers.new:
            self._learn()
        firsts = self._borders[numbers]
        counts = self._borders[numbers + 1] - firsts
        index = (firsts - counts.cumsum() + counts).repeat(counts)
        index += numpy.arange(len(index))
        return counts, self._tokens.take(index, axis=1)

    def _learn(self) -> None:
        new, units = self._numbers.new, len(self._numbers)
        try:
            counts, tokens = self.cut(new)
        except BaseException:
            self.clear()
            raise
        first = int(self._borders[units - len(new)])
        borders = first + numpy.cumsum(counts)
        self._borders = _with_room(self._borders, units + 1)
        self._borders[units + 1 - len(new) : units + 1] = borders
        self._tokens = _with_room(self._tokens, int(borders[-1]))
        self._tokens[:, first : int(borders[-1])] = tokens
        new.clear()


class _Numbers(dict[str, int]):
    """Units by number; `new` are those that were asked for since it was emptied."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, unit: str) -> int:
        number = self[unit] = len(self)
        self.new.append(unit)
        return number


def _with_room(values: NDArray[Any], size: int) -> NDArray[Any]:
    """Return values, or a copy of them that has room for so many in a row."""
    have = values.shape[-1]
    if size <= have:
        return values
    larger = numpy.empty((*values.shape[:-1], max(size, 2 * have)), values.dtype)
    larger[..., :have] = values
    return larger


class WordReader(UnitTable):
    """Cuts texts into words, and numbers the words; what stands between blanks is cut once.

    Args:
        tokenizer: a `TwoWikiTokenizer`, whose ids the words have; none without it.

    Attributes:
        names: the words by number.
        numbers: the numbers of the words.
    """

    def __init__(self, tokenizer: Any = None) -> None:
        self.tokenizer = tokenizer
        super().__init__(4)

    def __reduce__(self) -> Any:
        return WordReader, (self.tokenizer,)  # empty

    def clear(self) -> None:
        """Forget all units and words."""
        super().clear()
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}

    def read(self, texts: Sequence[str]) -> list[Words]:
        """Cut texts into words as `word_offsets` does."""
        joined = " ".join(texts)
        units, begins = joined.split(" "), blank_ends(joined)
        counts, tokens = self.look_up(units)
        begins = begins.repeat(counts)
        tokens[0] += begins
        tokens[1] += begins
        found, first, begin = [], 0, 0
        for text in texts:
            last = int(tokens[0].searchsorted(begin + len(text)))
            starts, ends, numbers, ids = tokens[:, first:last]
            if begin:
                starts, ends = starts - begin, ends - begin
            found.append(Words(text, starts, ends, starts.tolist(), ends.tolist(), numbers, ids))
            first, begin = last, begin + len(text) + 1
        return found

    def read_at(self, text: str, offsets: tuple[IntArray, IntArray]) -> Words:
        """Cut a text at given offsets."""
        first, last = (part.tolist() for part in offsets)
        words = [text[start:end] for start, end in zip(first, last, strict=True)]
        numbers = numpy.fromiter(map(self._number, words), numpy.int32, len(words))
        ids = numbers
        if self.tokenizer is not None:
            find = self.tokenizer.lookup().__getitem__
            ids = numpy.fromiter(map(find, words), numpy.int32, len(words))
        return Words(text, *offsets, first, last, numbers, ids)

    def cut(self, units: list[str]) -> tuple[Any, Any]:
        """Cut units without blanks."""
        joined = " ".join(units)
        words = self.read_at(joined, word_offsets(code_points(joined)))
        begins = blank_ends(joined)
        unit = numpy.searchsorted(begins, words.starts, side="right") - 1
        counts = numpy.bincount(unit, minlength=len(units))
        begins = begins[unit]
        return counts, (words.starts - begins, words.ends - begins, words.numbers, words.ids)

    def _number(self, word: str) -> int:
        number = self.numbers.setdefault(word, len(self.names))
        if number == len(self.names):
            self.names.append(word)
        return number


def blank_ends(text: str) -> IntArray:
    """Return where the parts of a text begin that stand between blanks."""
    begins = numpy.flatnonzero(code_points(f" {text}") == ord(" "))
    return begins.astype(numpy.int32)


def segment_array(segments: Sequence[Segment]) -> IntArray:
    """Return segments as rows of numbers: (S, 4)."""
    values = chain.from_iterable(segments)
    return numpy.fromiter(values, numpy.int32, 4 * len(segments)).reshape(-1, 4)
