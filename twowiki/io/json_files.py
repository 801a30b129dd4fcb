"""Whole JSON files, fast, whatever the official scorer's reader would take.

In: a plain, gzipped or zipped file, or its bytes. Out: JSON values. msgspec reads first; what it
refuses (NaN, lone surrogates) the standard library reads; what neither reads is a `DataError`
with the line. A byte order mark and UTF-16 (as PowerShell writes it) are understood.
"""

from __future__ import annotations

import codecs
import gc
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from twowiki.errors import DataError
from twowiki.io.archives import MAGIC_ZIP, only_member, open_member, open_zip

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DAMAGED = "Download or write it again and compare its length"


class Source(NamedTuple):
    """Where data came from, for the report: a path (or what it was), and a hash of it."""

    name: str
    sha256: str
    config: str | None = None
    split: str | None = None


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking what is being read (half of the time)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_bytes(path: str | PathLike[str], remedy: str = "Check the path") -> tuple[bytes, Source]:
    """Read a file whole: unpacked, and with the SHA-256 of the file as it lies there."""
    place = Path(path)
    if not place.is_file() and not place.is_fifo():
        problem = "is a folder, not a file" if place.is_dir() else "no such file"
        raise DataError(problem, file=path, remedy=remedy)
    data = place.read_bytes()
    source = Source(str(path), hashlib.sha256(data).hexdigest())
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data), source
        return (_only_member(data, path) if data.startswith(MAGIC_ZIP) else data), source
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"the compressed file is truncated or damaged ({error})"
        raise DataError(problem, file=path, remedy=_DAMAGED) from None


def _only_member(data: bytes, path: str | PathLike[str]) -> bytes:
    with (
        open_zip(io.BytesIO(data), path) as archive,
        open_member(archive, only_member(archive, path), path) as stream,
    ):
        return stream.read()


def utf8(data: bytes, path: str | PathLike[str] | None = None) -> bytes:
    """Give UTF-8 bytes without a byte order mark; refuse an empty file and a web page."""
    if data.startswith(_UTF16):
        try:
            data = data.decode("utf-16").encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DataError(f"damaged UTF-16 text ({error.reason})", file=path) from None
    data = data.removeprefix(codecs.BOM_UTF8)
    head = data[:4096].lstrip() or data.lstrip()
    if not head:
        raise DataError("the file is empty", file=path, remedy="Write it again")
    if head.startswith(b"<"):
        problem = "got a web page, not JSON"
        raise DataError(
            problem, file=path, remedy="Download the data itself, not the page around it"
        )
    return data


def parse_json(data: bytes, path: str | PathLike[str] | None = None) -> Any:
    """Parse one JSON value."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        pass
    with _faults_named(path):
        return json.loads(_text(data, path))


def parse_values(data: bytes, path: str | PathLike[str] | None = None) -> list[Any]:
    """Parse JSON values that stand one a line, or (pretty-printed) one after another."""
    try:
        return msgspec.json.Decoder().decode_lines(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        pass
    text, values, at = _text(data, path), [], 0
    decode = json.JSONDecoder().raw_decode
    with _faults_named(path):
        while (at := _next(text, at)) < len(text):
            value, at = decode(text, at)
            values.append(value)
    return values


def _next(text: str, at: int) -> int:
    """Give the place of the next character that is no blank."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _text(data: bytes, path: str | PathLike[str] | None) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 text ({error.reason}, line {line})"
        raise DataError(problem, file=path, remedy="Save the file as UTF-8") from None


@contextmanager
def _faults_named(path: str | PathLike[str] | None) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        problem = "the file is truncated: it ends" if cut else f"broken JSON ({error.msg})"
        where = f"line {error.lineno}, column {error.colno}"
        remedy = _DAMAGED if cut else "Mend the file, or write it again"
        raise DataError(f"{problem} at {where}", file=path, remedy=remedy) from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"JSON beyond what can be read ({error})", file=path) from None
