"""JSON as language models write it: odd quotes, missing marks, comments, cut off. Pure.

In: a text. Out: its outermost objects, or the value at one position, each with its end and whether
it is whole. Of a value that was cut, the complete leading items are kept; nothing is completed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder(strict=False)
_CLOSING = {"{": "}", "\uff5b": "\uff5d}", "[": "]", "\uff3b": "\uff3d]", "\u3010": "\u3011",
            "(": ")"}  # fmt: skip
_OBJECTS = "{\uff5b"
_COLONS, _COMMAS = ":\uff1a=", ",\uff0c\u3001;"
_QUOTES = {
    '"': '"', "'": "'", "`": "`", "\u201c": '\u201d\u201c"', "\u201d": '\u201d\u201c"',
    "\u201e": '\u201c\u201d"', "\u201f": '\u201d"', "\u2018": "\u2019\u2018'",
    "\u2019": "\u2019\u2018'", "\u00ab": "\u00bb", "\u300c": "\u300d", "\uff02": "\uff02",
    "\uff07": "\uff07",
}  # fmt: skip
_ENDS_STRING = re.compile(r"[ \t]*(?:[\r\n]|$|[,:\]})=;\uff0c\u3001\uff1a\uff5d\uff3d\u3011]|//|#)")
_IGNORED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)+", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")
_DEEPEST = 40
_MOST_TRIES = 50  # opening braces in a text that do not open an object
_LONGEST = 50_000  # characters of a value that is not valid JSON


class Read(NamedTuple):
    """A value, the position after it, and whether it is whole."""

    value: Any
    end: int
    whole: bool


def objects(text: str) -> Iterator[tuple[int, Read]]:
    """Yield the outermost objects of a text with their positions, in order."""
    at, tries = _next(text, 0), 0
    while at >= 0 and tries < _MOST_TRIES:
        found = read_json(text, at)
        if found is not None and isinstance(found.value, Mapping) and found.value:
            yield at, found
            at = _next(text, found.end)
        else:
            tries += 1
            at = _next(text, at + 1)


def _next(text: str, start: int) -> int:
    """Return the position of the next brace that opens an object, -1 if there is none."""
    found = [at for at in (text.find(brace, start) for brace in _OBJECTS) if at >= 0]
    return min(found, default=-1)


def read_json(text: str, at: int = 0) -> Read | None:
    """Return the value at a position, None if there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        return Read(value, end, whole=True)
    except (ValueError, RecursionError):
        pass
    reader = _Reader(text, at)
    try:
        value = reader.value(0)
    except _NotJsonError:
        return None
    return Read(value, reader.at, not reader.cut)


class _NotJsonError(Exception):
    """Text that is no value, however leniently it is read."""


class _Reader:
    """Reads one value; `cut` is set where the text ends inside it."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.cut = text[: at + _LONGEST], at, False

    def value(self, depth: int, stops: str = "}]") -> Any:
        letter = self._letter()
        if depth > _DEEPEST or not letter:
            raise _NotJsonError
        if letter in _OBJECTS:
            return self._object(depth)
        if letter == "(":  # a tuple of Python's, but not `(500) Days`
            opens = re.compile(r"\(\s*[\[({'\"]").match(self.text, self.at)
            return self._array(depth) if opens else self._word(stops)
        if letter in _CLOSING:
            return self._array(depth)
        return self._string() if letter in _QUOTES else self._word(stops)

    def _letter(self) -> str:
        """Return the next letter that counts; none at the end, where the text is cut."""
        ignored = _IGNORED.match(self.text, self.at)
        self.at = ignored.end() if ignored else self.at
        self.cut = self.cut or self.at >= len(self.text)
        return self.text[self.at : self.at + 1]

    def _object(self, depth: int) -> dict[str, Any]:
        closing, found = _CLOSING[self.text[self.at]], {}
        self.at += 1
        while letter := self._letter():
            if letter in closing:
                self.at += 1
                break
            if letter in _COMMAS:
                self.at += 1
                continue
            key = self._string() if letter in _QUOTES else self._word("}]{[" + _COLONS)
            after = self._letter()
            if self.cut:
                break
            if after not in _COLONS:
                raise _NotJsonError
            self.at += 2 if self.text.startswith("=>", self.at) else 1
            if not self._letter():
                break
            value = self.value(depth + 1)
            if not self.cut or (isinstance(value, dict | list) and value):
                found[str(key)] = value
        return found

    def _array(self, depth: int) -> list[Any]:
        closing, found = _CLOSING[self.text[self.at]], []
        stops = ")" if closing == ")" else "}]"
        self.at += 1
        while letter := self._letter():
            if letter in closing:
                self.at += 1
                break
            if letter in _COMMAS:
                self.at += 1
                continue
            if letter in "}])" and depth:  # another bracket closes it: left to who opened that
                break
            value = self.value(depth + 1, stops)
            if not self.cut or (not depth and isinstance(value, dict) and value):
                found.append(value)
        return found

    def _string(self) -> str:
        closers, letters, text = _QUOTES[self.text[self.at]], [], self.text
        self.at += 1
        while self.at < len(text):
            letter = text[self.at]
            if letter == "\\" and self.at + 1 < len(text):
                letters.append(self._escape())
                continue
            self.at += 1
            if letter in closers and _ENDS_STRING.match(text, self.at):
                return "".join(letters)
            letters.append(letter)
        self.cut = True
        return "".join(letters)

    def _escape(self) -> str:
        letter = self.text[self.at + 1]
        code = self.text[self.at + 2 : self.at + 6]
        self.at += 2
        if letter == "u" and re.fullmatch("[0-9a-fA-F]{4}", code):
            self.at += 4
            return chr(int(code, 16)) if not 0xD800 <= int(code, 16) < 0xE000 else "\ufffd"
        return _ESCAPES.get(letter, letter)

    def _word(self, stops: str) -> Any:
        """Return what stands without quotes: a number, a constant or plain words."""
        pattern = re.compile(f"[^\\n,\uff0c\uff5d\uff3d{re.escape(stops)}]*")
        match = pattern.match(self.text, self.at)
        word = match[0].strip() if match else ""
        if not word or match is None:
            raise _NotJsonError
        self.at = match.end()
        self.cut = self.cut or self.at >= len(self.text)
        if word.lower() in _WORDS:
            return _WORDS[word.lower()]
        if _NUMBER.fullmatch(word):
            return float(word) if "." in word else int(word)
        return word
