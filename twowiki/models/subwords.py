"""Subword tokens of pieces of text by any fast tokenizer, with exact offsets.

In: pieces of text. Out: the ids of their tokens and the characters of each. A tokenizer that is
known to look at no more than a word cuts what stands between two blanks once, any other one cuts
each whole piece once: the tokens are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray
from tokenizers import Tokenizer

from .text import IntArray
from .units import UnitTable

_FIRST = " "  # before a unit that begins a piece; no other unit begins with a blank
_ANCHOR = "a "  # before any other unit where it is cut


class EncodedText(NamedTuple):
    """Token ids with the characters `[start, end)` of each, both ascending."""

    ids: IntArray
    starts: IntArray
    ends: IntArray


def trimmed(text: str, borders: IntArray) -> IntArray:
    """Return tokens' borders, (N, 2), ascending and without the blanks at their ends."""
    codes = numpy.frombuffer(f"{text} ".encode("utf-32-le", "surrogatepass"), numpy.uint32)
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
