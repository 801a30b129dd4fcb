"""JSON records from a byte stream, one at a time: an array of objects, or one object a line.

Memory stays at one window of text whatever the file's length, and the first record comes before
the file has been read to its end. A broken file gives its whole records first, then one error
with the place.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from typing import IO, Any
from zipfile import BadZipFile

from twowiki.errors import DataError

WINDOW = 1 << 18  # bytes read at a time
LARGEST_RECORD = 1 << 27  # characters; beyond it the file is taken for broken
_SPACE = " \t\r\n"
_decode = json.JSONDecoder().raw_decode
_CUT = 16  # an error this near to the window's end may be a cut literal, number or escape


class _Window:
    """A text window that slides over a byte stream."""

    def __init__(self, stream: IO[bytes], window: int) -> None:
        self._stream, self._size = stream, window
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.passed, self.ended = "", 0, 0, False

    def grow(self) -> bool:
        """Read on, dropping the text before `at`; False at the file's end."""
        if self.ended:
            return False
        # A long record asks for windows that double, so that reading it stays linear.
        block = self._read(max(self._size, len(self.text) - self.at))
        self.ended = not block
        try:
            more = self._decoder.decode(block, final=self.ended)
        except UnicodeDecodeError as error:
            raise DataError(
                f"not UTF-8 text ({error.reason}) after character {self.passed + len(self.text)}",
                remedy="Save the file as UTF-8, or download it again",
            ) from None
        self.passed += self.at
        self.text, self.at = self.text[self.at :] + more, 0
        return bool(more) or self.grow()

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (EOFError, zlib.error, BadZipFile, gzip.BadGzipFile) as error:
            raise DataError(
                f"the compressed file is truncated or damaged ({error}), "
                f"after character {self.passed + len(self.text)}",
                remedy="Download it again and compare its length and checksum",
            ) from None

    def peek(self) -> str:
        """Give the next character that is no space, '' at the end."""
        while True:
            text, at = self.text, self.at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self.at = at
            if at < len(text):
                return text[at]
            if not self.grow():
                return ""

    def place(self, at: int | None = None) -> str:
        return f"character {self.passed + (self.at if at is None else at)}"


def read_json_records(stream: IO[bytes], *, window: int = WINDOW) -> Iterator[Any]:
    """Yield the values of a JSON array, or of JSON lines, as they are read.

    Args:
        stream: bytes of UTF-8 text, with or without a byte order mark.
        window: bytes to read at a time.

    Raises:
        DataError: no JSON, truncated, or damaged; the place is named, the file is for the caller.
    """
    source = _Window(stream, window)
    first = source.peek()
    if first == "":
        raise DataError("the file is empty", remedy="Download or write it again")
    if first == "<":
        raise DataError(
            "got a web page, not JSON",
            remedy="Download the data itself (a browser may save the page around it)",
        )
    if first == "[":
        source.at += 1
        yield from _array(source)
    elif first == "{":
        yield from _lines(source)
    else:
        raise DataError(
            f"no JSON: it begins with {source.text[source.at : source.at + 20]!r}",
            remedy="Give a JSON array of records, or one record a line",
        )


def _array(source: _Window) -> Iterator[Any]:
    number = 0
    if source.peek() != "]":
        while True:
            yield _value(source, number)
            number += 1
            mark = source.peek()
            if mark == "]":
                break
            if mark != ",":
                raise _broken(source, number, "a ',' or ']' is missing" if mark else None)
            source.at += 1
            source.peek()
    source.at += 1
    if source.peek():
        raise DataError(
            f"text after the end of the array, at {source.place()}",
            remedy="Keep one JSON array in the file, or write one record a line",
        )


def _lines(source: _Window) -> Iterator[Any]:
    number = 0
    while source.peek():
        yield _value(source, number)
        number += 1
        if source.peek() == ",":
            raise _broken(source, number, "a ',' between lines (the array's '[' is missing)")


def _value(source: _Window, number: int) -> Any:
    """Parse the object at the window's place, reading on while it is cut."""
    if source.text[source.at : source.at + 1] != "{":
        raise _broken(source, number, "a record must be a JSON object" if source.peek() else None)
    while True:
        try:
            value, end = _decode(source.text, source.at)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(source.text) - _CUT
            if cut and len(source.text) - source.at < LARGEST_RECORD and source.grow():
                continue
            problem = None if cut and source.ended else error.msg
            raise _broken(source, number, problem, error.pos) from None
        except RecursionError:
            raise _broken(source, number, "nested too deeply") from None
        source.at = end
        return value


def _broken(source: _Window, number: int, problem: str | None, at: int | None = None) -> DataError:
    where = f"at {source.place(at)}, in record number {number} (from 0)"
    if problem is None:
        return DataError(
            f"the file is truncated: it ends {where}",
            remedy="Download or write it again and compare its length",
        )
    return DataError(f"broken JSON {where}: {problem}", remedy="Mend or download the file again")
