"""The words and subword tokens of texts, and which words a question or another title repeats.

In: texts. Out: their tokens or words, as if each whole text had been cut: what stands between two
blanks is cut once, and texts are put together from it. A tokenizer that may look further than a
word cuts each whole piece once; the tokens are the same. A table of units is bounded: it forgets
all of them when there are many.

Names are matched by identity: three bits per word, as named below. A word is in the question as it
is, in lower case, Capitalized or in UPPER CASE. A title counts without the brackets at its end;
names of fewer than three characters do not count.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Sized
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from tokenizers import Tokenizer

from .text import (
    TITLE,
    IntArray,
    Layout,
    Segment,
    Span,
    bare_title,
    code_points,
    fold,
    is_aligned,
    occurrences,
    token_span,
    word_offsets,
)

SHARED_WORD = 1  # the other side (question or context) has the word too
ASKED_TITLE = 2  # in a title that the question names, or in such a mention
LINKED_TITLE = 4  # in a mention of another paragraph's title, or in a title that one mentions
MATCH_BITS = 3
Marks = NDArray[numpy.uint8]
_FIRST = " "  # before a unit that begins a piece; no other unit begins with a blank
_ANCHOR = "a "  # before any other unit where it is cut


class Words(NamedTuple):
    """The words of a text, in order. `first` and `last` are `starts` and `ends` as lists."""

    text: str
    starts: IntArray
    ends: IntArray
    first: list[int]
    last: list[int]
    numbers: IntArray  # of a `WordReader`
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


class EncodedText(NamedTuple):
    """Token ids with the characters `[start, end)` of each, both ascending."""

    ids: IntArray
    starts: IntArray
    ends: IntArray


def trimmed(text: str, borders: IntArray) -> IntArray:
    """Return tokens' borders, (N, 2), ascending and without the blanks at their ends."""
    codes = code_points(f"{text} ")
    perhaps = (codes <= ord(" ")) | (codes > 0x84)  # every blank, and letters that are not ASCII
    first, last = borders[:, 0], borders[:, 1]
    for row in numpy.flatnonzero((first < last) & (perhaps[first] | perhaps[last - 1])).tolist():
        start, end = borders[row].tolist()
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        borders[row] = start, end
    return numpy.maximum.accumulate(borders, axis=0) if len(borders) else borders


class SubwordTokenizer(UnitTable):
    """Cuts pieces of text with a fast tokenizer; what stands between blanks is cut once.

    A tokenizer that may look across blanks cuts whole pieces, each of them once.

    Args:
        tokenizer: any fast tokenizer of transformers.

    Raises:
        ValueError: the tokenizer has no fast backend.
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(
                f"{type(tokenizer).__name__} is not a fast tokenizer: character offsets need one "
                "(AutoTokenizer.from_pretrained(..., use_fast=True))"
            )
        self._take(backend.to_str())

    def _take(self, state: str) -> None:
        super().__init__(3)
        self.backend = Tokenizer.from_str(state)
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        self.prefix = " " if _needs_blank(self.backend) else ""
        self.anchor = len(self.backend.encode(_ANCHOR.strip(), add_special_tokens=False))
        self.cuts_at_blanks = cuts_at_blanks(json.loads(state))

    def __reduce__(self) -> Any:
        return _from_state, (self.backend.to_str(),)  # empty

    def tokenize(self, pieces: Sequence[str]) -> list[EncodedText]:
        """Cut pieces; the offsets of each are its own."""
        tokens, borders = self.tokenize_at(pieces, numpy.zeros(len(pieces), numpy.int64))
        return [EncodedText(*tokens[:, first:last]) for first, last in pairwise(borders.tolist())]

    def tokenize_at(
        self, pieces: Sequence[str], begins: NDArray[Any]
    ) -> tuple[IntArray, NDArray[numpy.int64]]:
        """Cut pieces of a text that begin at given characters.

        Returns:
            Ids, starts and ends of the tokens, (3, T), and where the tokens of each piece begin.
        """
        self.trim()
        units: list[str] = []
        firsts = []  # the number of each piece's first unit
        for piece in pieces:
            firsts.append(len(units))
            parts = _units(piece) if self.cuts_at_blanks else [piece]
            parts[0] = _FIRST + parts[0]
            units += parts
        counts, tokens = self.look_up(units)
        places = numpy.fromiter(map(len, units), numpy.int32, len(units)) + 1
        places = places.cumsum(dtype=numpy.int32) - places
        shifts = begins - places[firsts]  # units begin one character later, but for the first
        places -= 1
        places[firsts] += 1
        places += shifts.repeat(numpy.diff(firsts, append=len(units)))
        tokens[1:] += places.repeat(counts)
        return tokens, numpy.append(0, counts.cumsum())[[*firsts, len(units)]]

    def cut(self, units: list[str]) -> tuple[Any, Any]:
        """Cut units: those that begin a piece as they are, others after a blank and an anchor."""
        first = [unit.startswith(_FIRST) for unit in units]
        texts = [unit.removeprefix(_FIRST) for unit in units]
        before = [self.prefix if one else _ANCHOR for one in first]
        encoded = self.backend.encode_batch(
            [
                start + text.encode("utf-8", "replace").decode()
                for start, text in zip(before, texts, strict=True)
            ],
            add_special_tokens=False,
        )
        skipped = [0 if one else self.anchor for one in first]
        ids, borders = (
            [getattr(one, name)[skip:] for one, skip in zip(encoded, skipped, strict=True)]
            for name in ("ids", "offsets")
        )
        counts, sizes = list(map(len, ids)), list(map(len, texts))
        base, size, left = (
            numpy.repeat(numbers, counts)[:, None]
            for numbers in (numpy.cumsum([0, *sizes[:-1]]), sizes, list(map(len, before)))
        )
        places = numpy.array(list(chain(*borders)), numpy.int64).reshape(-1, 2)
        places = trimmed("".join(texts), (places - left).clip(0, size) + base) - base
        return counts, (list(chain(*ids)), *places.T)


def _from_state(state: str) -> SubwordTokenizer:
    made = SubwordTokenizer.__new__(SubwordTokenizer)
    made._take(state)
    return made


# characters across a blank from which nothing is joined: no blank, no mark, nothing that composes
_SOLID = frozenset(map(chr, chain(range(0x21, 0x7F), range(0xC0, 0x250), range(0x2010, 0x2028))))
# the normalizers and cuts of tokenizers that look at no more than a word
_LOCAL = {
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled",
    "StripAccents", "Strip", "BertPreTokenizer", "ByteLevel", "Metaspace", "WhitespaceSplit",
}  # fmt: skip
_RUNS_OF_BLANKS = {"Regex": " {2,}"}


def _units(piece: str) -> list[str]:
    """Cut a text at each blank that stands alone between two solid characters."""
    units = piece.split(" ")
    if "" not in units and piece.isascii() and piece.isprintable():
        return units
    runs = [[units[0]]]
    for before, unit in pairwise(units):
        if before[-1:] in _SOLID and unit[:1] in _SOLID:
            runs.append([unit])
        else:
            runs[-1].append(unit)
    return list(map(" ".join, runs))


def cuts_at_blanks(state: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer is known to cut the text before such a blank as if it ended there.

    Args:
        state: the tokenizer's own JSON.
    """
    normalizers, cuts = _steps(state["normalizer"]), _steps(state["pre_tokenizer"])
    for step in [*normalizers, *cuts]:
        pattern = step["pattern"] if step["type"] == "Replace" else {"Regex": ""}
        replaced = " " not in pattern.get("String", " ") or pattern == _RUNS_OF_BLANKS
        if step["type"] not in _LOCAL and not replaced:
            return False
        if not (step.get("split", True) and step.get("use_regex", True)):
            return False
    for token in state["added_tokens"]:
        blanks, size = token["content"].count(" "), len(token["content"])
        run = blanks == size > 1
        if not token["special"] and (token["lstrip"] or token["rstrip"] or (blanks and not run)):
            return False
    return bool(cuts)


def _steps(part: Any) -> list[Any]:
    """Return the steps of a normalizer or a pre-tokenizer."""
    if part is None or part["type"] != "Sequence":
        return [part] if part else []
    return [
        step for one in part.get("normalizers", part.get("pretokenizers")) for step in _steps(one)
    ]


def _needs_blank(backend: Any) -> bool:
    """Return whether a word at a text's start is cut as another token than after a blank."""
    alone, after, both = (
        list(backend.encode(text, add_special_tokens=False).ids) for text in ("a", " a", "a a")
    )
    return alone != after and both == [*alone, *after]


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
    known = numpy.zeros(len(reader.names), bool)
    known[[reader.numbers[form] for form in forms if form in reader.numbers]] = True
    marks = known[context.numbers]
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
