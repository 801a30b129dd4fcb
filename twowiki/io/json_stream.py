"""JSON records from a byte stream, one at a time: an array of objects, or one object per line.

Memory stays at one window of text whatever the file's length, and the first record comes before
the file has been read to its end. A broken file yields its whole records first, then raises one
error with the position.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from twowiki.errors import DataError

WINDOW = 1 << 18  # bytes read at a time
LARGEST_RECORD = 1 << 24  # characters, some 3,000 times a real record
_NO_SPACE = re.compile(r"[^ \t\r\n]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half a character, alone or in a pair
_decode = json.JSONDecoder().raw_decode
_CUT = 16  # an error this near to the window's end may be a cut literal, number or escape
_AGAIN = "Download it again and compare its length and checksum"


class _Window:
    """A text window that slides over a byte stream."""

    def __init__(self, stream: IO[bytes], window: int) -> None:
        self._stream, self._size = stream, window
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.passed, self.ended = "", 0, 0, False
        self._fault: Exception | None = None
        self.repeated: list[str] | None = None

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
        """Read about `size` bytes; what came before an error is returned first."""
        blocks: list[bytes] = []
        read = getattr(self._stream, "read1", self._stream.read)
        while size > 0 and self._fault is None:
            try:
                block = read(size)
            except Exception as error:  # whatever a damaged file makes the unpackers raise
                self._fault = error
                break
            if not block:
                break
            blocks.append(block)
            size -= len(block)
        if not blocks and self._fault is not None:
            raise DataError(
                f"the file is truncated or damaged ({self._fault}), "
                f"after character {self.passed + len(self.text)}",
                remedy=_AGAIN,
            ) from None
        return b"".join(blocks)

    def peek(self) -> str:
        """Return the next character that is not a space, '' at the end."""
        while True:
            found = _NO_SPACE.search(self.text, self.at)
            self.at = found.start() if found else len(self.text)
            if found:
                return found[0]
            if not self.grow():
                return ""

    def place(self) -> str:
        return f"character {self.passed + self.at}"


def read_json_records(
    stream: IO[bytes], *, window: int = WINDOW, repeated: list[str] | None = None
) -> Iterator[Any]:
    """Yield the values of a JSON array, or of JSON lines, as they are read.

    Args:
        stream: bytes of UTF-8 text, with or without a byte order mark.
        window: bytes to read at a time.
        repeated: gets the keys that stand twice in an object of the value that comes next.

    Raises:
        DataError: not JSON, truncated, or damaged, with the position; the caller adds the file.
    """
    source = _Window(stream, window)
    source.repeated = repeated
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
            f"not JSON: it begins with {source.text[source.at : source.at + 20]!r}",
            remedy="Write a JSON array of records, or one record per line",
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
            remedy="Keep one JSON array in the file, or write one record per line",
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
            value, end = _decode_noting(source)
        except json.JSONDecodeError as error:
            unterminated = error.msg.startswith("Unterminated")
            place, tail = source.passed + error.pos, source.text[error.pos :]
            if unterminated or len(tail) <= _CUT:
                if len(source.text) - source.at >= LARGEST_RECORD:
                    problem = f"the record is longer than {LARGEST_RECORD:,} characters"
                    raise _broken(source, number, problem) from None
                if source.grow():
                    continue
            truncated = source.ended and (unterminated or not re.search(r"[\]}]", tail))
            raise _broken(source, number, None if truncated else error.msg, place) from None
        except (RecursionError, ValueError) as error:
            deep = isinstance(error, RecursionError)
            problem = "nested too deeply" if deep else f"a number that is too long ({error})"
            raise _broken(source, number, problem) from None
        if _HALF.search(source.text, source.at, end):
            _check_surrogates(source, number, value)
        source.at = end
        return value


def _decode_noting(source: _Window) -> tuple[Any, int]:
    """Decode the value at the window's place; note keys that stand twice if they are wanted."""
    if source.repeated is None:
        return _decode(source.text, source.at)
    found: list[str] = []

    def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            found.extend(name for name in value if names.count(name) > 1)
        return value

    value, end = json.JSONDecoder(object_pairs_hook=as_dict).raw_decode(source.text, source.at)
    source.repeated.extend(found)
    return value, end


def _check_surrogates(source: _Window, number: int, value: Any) -> None:
    """Raise for a record with half a surrogate pair, which no UTF-8 file can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.start + 1]
        raise _broken(source, number, f"half a character ({half!a}) in a text") from None


def _broken(source: _Window, number: int, problem: str | None, at: int | None = None) -> DataError:
    place = source.place() if at is None else f"character {at}"
    where = f"at {place}, in record number {number} (from 0)"
    if problem is None:
        return DataError(
            f"the file is truncated: it ends {where}",
            remedy="Download or write it again and compare its length",
        )
    return DataError(
        f"broken JSON {where}: {problem}", remedy="Correct the file, or download it again"
    )
