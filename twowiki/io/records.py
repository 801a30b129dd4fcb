"""The one reader of files: packing and format are decided here and nowhere else.

In: a path, or `zip://MEMBER::ARCHIVE`. The first bytes say how a file is packed (gzip, bzip2, xz,
zip, or not at all; pipes work too), since a cached download has no ending. What it holds is
Parquet, a table (CSV and TSV by their ending), or JSON: an array, one value per line, or one object
from id to value.

Out: `open_bytes` gives the unpacked bytes; `read_records` streams (number, record) pairs;
`read_values` reads a file whole and fast: msgspec first, then the standard library for what msgspec
refuses (NaN, lone surrogates) and for the line of a fault; a byte order mark and UTF-16, as
PowerShell writes it, are understood.

Refused with a `DataError` that names the file: missing files, folders, damaged or truncated files,
web pages, and content in no such format. Nothing here knows what a field means.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gc
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, TextIO

import msgspec

from twowiki.errors import DataError
from twowiki.io.archives import (
    MAGIC_ZIP,
    MemberChoice,
    exact_member,
    only_member,
    open_member,
    open_zip,
)
from twowiki.io.json_stream import LARGEST_RECORD, read_json_records

SEPARATORS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*")  # what some spreadsheets write into the first line
_REMEDY = "Write the table again with a spreadsheet or a CSV library; cells with signs are quoted"

Opener = Callable[..., Any]
_OPEN: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_PARQUET = b"PAR1"
_PARQUET_ROWS = 256  # rows decoded at a time
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FAULTS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_BLOCK = 1 << 20  # bytes unpacked at a time
_MOST_TIMES = 250  # what a file may unpack to, in its own sizes; text of real data stays below 50
MOST_BYTES = 4 << 30  # of a file that is read whole; predictions of all releases have 100 MB
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_AGAIN = "Download or write it again and compare its length"
IDS = ("_id", "id")


class DataSource(NamedTuple):
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


@contextmanager
def collector_patient() -> Iterator[None]:
    """Let the cyclic garbage collector walk the many objects of a long command less often."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


# ---- opening


@contextmanager
def open_bytes(
    path: str | PathLike[str], opener: Opener = open, choose: MemberChoice = only_member
) -> Iterator[IO[bytes]]:
    """Open a file, or a member of a zip, for reading its unpacked bytes.

    Args:
        path: a path or `zip://MEMBER::ARCHIVE`.
        opener: what opens a path for reading bytes (`open`, or one that knows URLs).
        choose: which member of a zip to read; by default its only data file.
    """
    with _opened(path, opener, choose) as (stream, _):
        yield stream


@contextmanager
def _opened(
    path: str | PathLike[str], opener: Opener, choose: MemberChoice
) -> Iterator[tuple[IO[bytes], str]]:
    """Open unpacked bytes; yield them with the name that tells their format."""
    name = os.fspath(path)
    inner, _, outer = name.partition("::")
    archive_path = outer if inner.startswith("zip://") else ""
    with ExitStack() as stack:
        stream: IO[bytes] = stack.enter_context(opener(archive_path or name, "rb"))
        _check_no_device(stream)
        if not stream.seekable():  # a pipe
            stream = io.BytesIO(stream.read())
        if archive_path or _is_zip(_head(stream), name):
            place = archive_path or name
            archive = stack.enter_context(open_zip(stream, place))
            if archive_path:
                member = exact_member(archive, place, inner.removeprefix("zip://"))
            else:
                member = choose(archive, place)
            name = member.filename
            stream = stack.enter_context(open_member(archive, member, place))
        head = _head(stream)
        unpack = next((unpack for magic, unpack in _OPEN.items() if head.startswith(magic)), None)
        yield (stream if unpack is None else stack.enter_context(unpack(stream, "rb"))), name


def _check_no_device(stream: IO[bytes]) -> None:
    """Raise for a device, which has no end; a terminal has one."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
    except (OSError, ValueError, AttributeError):  # it is no file of this machine
        return
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not os.isatty(number)):
        raise DataError("is a device, not a file", remedy="Name a file")


def _head(stream: IO[bytes], size: int = 6) -> bytes:
    head = stream.read(size)
    stream.seek(0)
    return head


def _is_zip(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC_ZIP) or name.lower().endswith(".zip")


def _delimiter(name: str) -> str | None:
    """Return the delimiter of a table by its ending; None for any other file."""
    stem, ending = os.path.splitext(name.lower())
    if ending in (".gz", ".bz2", ".xz"):
        ending = os.path.splitext(stem)[1]
    return _DELIMITERS.get(ending)


def sniff(path: str | PathLike[str], opener: Opener = open) -> str:
    """Return what a file is: zip, parquet, packed, table, json or other.

    A `.zip` that holds a web page is a zip here, so that the error can say so.
    """
    name = os.fspath(path)
    with opener(path, "rb") as stream:
        head = stream.read(64)
    if _is_zip(head, name):
        return "zip"
    if head.startswith(_PARQUET) or name.lower().endswith(".parquet"):
        return "parquet"
    if head.startswith(tuple(_OPEN)):
        return "packed"
    if _delimiter(name):
        return "table"
    return "json" if head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[") else "other"


# ---- streamed


def read_records(
    path: str | PathLike[str],
    opener: Opener = open,
    *,
    choose: MemberChoice = only_member,
    columns: Collection[str] | None = None,
    empty_cell: str | None = "",
    repeated: list[str] | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a file's records with their number, from 1, one at a time.

    Args:
        path: a path or `zip://MEMBER::ARCHIVE`.
        opener: what opens a path for reading bytes (`open`, or one that knows URLs).
        choose: which member of a zip to read; by default its only data file.
        columns: the columns of Parquet to decode; others are None. By default all.
        empty_cell: what an empty cell of a table is.
        repeated: of JSON, gets the keys that stand twice in the record that comes next.

    Raises:
        DataError: the file cannot be read to its end; whole records before the fault come first.
    """
    with _faults_at(path), _opened(path, opener, choose) as (stream, name):
        records = _records(stream, name, columns, empty_cell, repeated)
        yield from enumerate(records, start=1)


def _records(
    stream: IO[bytes],
    name: str,
    columns: Collection[str] | None = None,
    empty_cell: str | None = "",
    repeated: list[str] | None = None,
) -> Iterator[dict[str, Any]]:
    delimiter = _delimiter(name)
    if delimiter is not None:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            for row in read_delimited(text, delimiter):
                yield {name: cell or empty_cell for name, cell in row.items()}
    elif name.lower().endswith(".parquet") or _head(stream).startswith(_PARQUET):
        yield from _parquet_rows(stream, columns)
    else:
        yield from read_json_records(stream, repeated=repeated)


def _parquet_rows(stream: IO[bytes], columns: Collection[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(stream)
        names = file.schema_arrow.names
        wanted = [name for name in names if columns is None or name in columns]
        others = dict.fromkeys(name for name in names if name not in wanted)
        labels = class_labels(file.schema_arrow.metadata)
        for batch in file.iter_batches(batch_size=_PARQUET_ROWS, columns=wanted):
            for row in batch.to_pylist():
                for name, texts in labels.items():
                    if type(row.get(name)) is int and 0 <= row[name] < len(texts):
                        row[name] = texts[row[name]]
                yield row | others
    except Exception as error:  # damaged bytes make the reader raise many kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"not readable as Parquet ({reason})", remedy=_AGAIN) from None


def class_labels(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return the names of class labels that `datasets` writes into a file's schema, by column."""
    try:
        columns = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: list(column["names"])
            for name, column in columns.items()
            if isinstance(column, dict) and isinstance(column.get("names"), list)
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return {}


def read_lines(path: str | PathLike[str]) -> list[str]:
    """Read a text file's lines, without line ends.

    Raises:
        DataError: the file is missing, a folder, damaged, or not UTF-8.
    """
    with _faults_at(path), open_bytes(path) as stream:
        text = read_to_end(stream).decode("utf-8-sig")
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


@contextmanager
def _faults_at(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever a file that cannot be read raises into one error that names it."""
    try:
        yield
    except DataError as error:
        raise error.at(path) from None
    except FileNotFoundError:
        raise DataError("no such file", file=path, remedy="Check the path") from None
    except IsADirectoryError:
        raise DataError("is a folder, not a file", file=path, remedy="Name a file in it") from None
    except PermissionError as error:
        remedy = "Check the right to read it"
        raise DataError(str(error.strerror), file=path, remedy=remedy) from None
    except UnicodeDecodeError as error:
        remedy = "Save the file as UTF-8"
        raise DataError(f"not UTF-8 text ({error.reason})", file=path, remedy=remedy) from None
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        problem = f"the file is truncated or damaged ({error})"
        raise DataError(problem, file=path, remedy=_AGAIN) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error})", file=path, remedy=_AGAIN) from None


# ---- whole


def read_values(
    path: str | PathLike[str],
    *,
    ids: Collection[str] = IDS,
    record: Any = Any,
    text_lines: bool = False,
    remedy: str = "Check the path",
) -> tuple[Any, DataSource]:
    """Read a file whole: the list of its records, or its one object from id to value.

    Args:
        path: any file that `read_records` takes.
        ids: fields of a record's id; a single object without any of them is not a record.
        record: the `msgspec` type of a record; where the content does not fit it, values are
            plain, so that the caller can say what is wrong.
        text_lines: whether a file that is not JSON is a list of its lines.
        remedy: what to do about a missing file.

    Returns:
        The values, and where they came from with the SHA-256 of the file as it is stored.
    """
    data, source, name = _read_unpacked(path, remedy)
    with collector_paused(), _faults_at(path):
        if data.startswith(_PARQUET) or name.lower().endswith(".parquet") or _delimiter(name):
            return list(_records(io.BytesIO(data), name)), source
        return parse_values(data, path, ids=ids, record=record, text_lines=text_lines), source


def read_object(path: str | PathLike[str], remedy: str = "Check the path") -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Raises:
        DataError: it is missing, or holds something else.
    """
    value = parse_json(_utf8(_read_unpacked(path, remedy)[0], path), path)
    if not isinstance(value, dict):
        raise DataError("is not a JSON object", file=path, remedy=remedy)
    return value


def read_bytes(
    path: str | PathLike[str], remedy: str = "Check the path"
) -> tuple[bytes, DataSource]:
    """Read a file's unpacked bytes, and the SHA-256 of the file as it is stored."""
    data, source, _ = _read_unpacked(path, remedy)
    return data, source


def _read_unpacked(path: str | PathLike[str], remedy: str) -> tuple[bytes, DataSource, str]:
    place = Path(path)
    if not place.is_file() and not place.is_fifo():
        problem = "is a folder, not a file" if place.is_dir() else "no such file"
        raise DataError(problem, file=path, remedy=remedy)
    size = place.stat().st_size
    if size > MOST_BYTES:
        problem = f"has {size:,} bytes, and at most {MOST_BYTES:,} are read at once"
        raise DataError(problem, file=path, remedy="Check that it is the right file, or split it")
    data, name = place.read_bytes(), str(path)
    source = DataSource(name, hashlib.sha256(data).hexdigest())
    stored = len(data)
    if data.startswith(MAGIC_ZIP):
        with open_zip(io.BytesIO(data), path) as archive:
            member = only_member(archive, path)
            with _faults_at(path), open_member(archive, member, path) as stream:
                data, name = read_to_end(stream, stored), member.filename
    unpack = next((unpack for magic, unpack in _OPEN.items() if data.startswith(magic)), None)
    if unpack is None:
        return data, source, name
    try:
        with unpack(io.BytesIO(data), "rb") as stream:
            return read_to_end(stream, stored), source, name
    except DataError as error:
        raise error.at(path) from None
    except _FAULTS as error:
        problem = f"the compressed file is truncated or damaged ({error})"
        raise DataError(problem, file=path, remedy=_AGAIN) from None


def read_to_end(stream: IO[bytes], stored: int | None = None) -> bytes:
    """Read to the end, but not on in what no data file holds.

    Raises:
        DataError: more than `LARGEST_RECORD` bytes without the end of a line or a text, or in all
            more than that and `_MOST_TIMES` the bytes that are stored.
    """
    blocks: list[bytes] = []
    length = run = 0
    is_table = False
    while block := stream.read(_BLOCK):
        is_table = block.startswith(_PARQUET) if not blocks else is_table
        blocks.append(block)
        length += len(block)
        ends = (block.find(b'"'), block.find(b"\n"))
        first = min((end for end in ends if end >= 0), default=-1)
        run += len(block) if first < 0 else first
        if run > LARGEST_RECORD and not is_table:
            problem = f"a text or line of it is longer than {LARGEST_RECORD:,} characters"
            raise DataError(problem, remedy="This is no file of data; write it again")
        if first >= 0:
            run = len(block) - 1 - max(block.rfind(b'"'), block.rfind(b"\n"))
        if stored is not None and length > max(LARGEST_RECORD, _MOST_TIMES * stored):
            problem = f"it unpacks to more than {_MOST_TIMES} times its size"
            raise DataError(problem, remedy="Unpack it, look at it, and name the unpacked file")
    return b"".join(blocks)


# ---- JSON in memory


def parse_values(
    data: bytes,
    path: str | PathLike[str] | None = None,
    *,
    ids: Collection[str] = IDS,
    record: Any = Any,
    text_lines: bool = False,
) -> Any:
    """Parse what a file holds, as `read_values` returns it.

    Raises:
        DataError: the data is empty, a web page, or broken; the line is named.
    """
    data = _utf8(data, path)
    first = data.lstrip()[:1]
    if text_lines and first not in (b"[", b"{"):
        return data.decode("utf-8", "replace").splitlines()
    try:
        if first == b"[":
            return msgspec.json.Decoder(list[record]).decode(data)
        values: list[Any] = msgspec.json.Decoder(record).decode_lines(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        if first == b"[":
            return parse_json(data, path)
        values = _parse_lines(data, path)
    if len(values) == 1 and isinstance(values[0], dict) and not any(map(values[0].get, ids)):
        return values[0]
    return values


def parse_json(data: bytes, path: str | PathLike[str] | None = None) -> Any:
    """Parse one JSON value."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        pass
    with _json_faults(path):
        return json.loads(_text(data, path))


def _parse_lines(data: bytes, path: str | PathLike[str] | None) -> list[Any]:
    """Parse JSON values, one per line or (pretty-printed) one after another."""
    try:
        return msgspec.json.Decoder().decode_lines(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        pass
    text, values, at = _text(data, path), [], 0
    decode = json.JSONDecoder().raw_decode
    with _json_faults(path):
        while (at := _next(text, at)) < len(text):
            value, at = decode(text, at)
            values.append(value)
    return values


def _next(text: str, at: int) -> int:
    """Return the position of the next character that is not blank."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _utf8(data: bytes, path: str | PathLike[str] | None) -> bytes:
    """Return UTF-8 bytes without a byte order mark; refuse an empty file and a web page."""
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
        remedy = "Download the data itself, not the page around it"
        raise DataError("got a web page, not JSON", file=path, remedy=remedy)
    return data


def _text(data: bytes, path: str | PathLike[str] | None) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 text ({error.reason}, line {line})"
        raise DataError(problem, file=path, remedy="Save the file as UTF-8") from None


@contextmanager
def _json_faults(path: str | PathLike[str] | None) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        problem = "the file is truncated: it ends" if cut else f"broken JSON ({error.msg})"
        where = f"line {error.lineno}, column {error.colno}"
        remedy = _AGAIN if cut else "Correct the file, or write it again"
        raise DataError(f"{problem} at {where}", file=path, remedy=remedy) from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"JSON beyond what can be read ({error})", file=path) from None


# ---- single fields


def decoded_cell(value: Any) -> Any:
    """Return the array or object whose JSON a table's cell holds; any other value as it is."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def text_of_field(record: Mapping[str, Any], field: str, name: str, number: int) -> str:
    """Return a field that must hold text, as ids do; a number or null is never taken for text.

    Raises:
        DataError: it is missing, empty or not text.
    """
    value = record.get(field)
    if not isinstance(value, str) or not value.strip():
        problem = "is missing" if value is None else "must be a non-empty text"
        remedy = "Write the id as it stands in the data" if value is not None else None
        raise DataError(problem, file=name, record=number, field=field, remedy=remedy)
    return value


def person_of_field(record: Mapping[str, Any], field: str, name: str, number: int) -> str:
    """Return a person's name or id, text or a whole number; empty where there is none.

    Raises:
        DataError: it is anything else.
    """
    value = record.get(field)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = "Write a name or a whole number"
        raise DataError("must be a name", file=name, record=number, field=field, remedy=remedy)
    return str(value)


def read_delimited(text: TextIO, preferred: str = ",") -> Iterator[dict[str, str]]:
    """Read a table's rows.

    Args:
        text: opened with `newline=""`.
        preferred: the separator that counts where several cut the header alike.

    Raises:
        DataError: a row does not fit the header, a quotation mark is not closed, or two columns
            have one name; the row is named, counted from 1 below the header.
    """
    first = text.readline()
    separator = None
    if line_of := _SEPARATOR_LINE.fullmatch(first):
        separator, first = line_of[1], text.readline()
    separator = separator or _separator(first, preferred)
    rows = csv.reader(chain([first], text), delimiter=separator, strict=True)
    header: list[str] = []
    number, line = 0, 1
    try:
        for row in rows:
            if not header:
                header = _header(row)
            elif any(cell.strip() for cell in row):
                number += 1
                yield _record(header, row, number, line)
            line = rows.line_num + 1
    except csv.Error as error:
        problem = f"from line {line} on, a quotation mark is not closed or stands alone ({error})"
        raise DataError(problem, record=number + 1, remedy=_REMEDY) from None


def _separator(header: str, preferred: str) -> str:
    """Choose the separator that cuts the header into most cells."""
    order = dict.fromkeys((preferred, *SEPARATORS))
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(order, key=unquoted.count)


def _header(row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    while names and not names[-1]:
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        problem = f"two columns are named {twice[0]!r}"
        raise DataError(problem, field=twice[0], remedy="Keep one of them")
    return names


def _record(header: list[str], row: list[str], number: int, line: int) -> dict[str, str]:
    cells = row[: len(header)]
    if len(cells) < len(header) or any(cell.strip() for cell in row[len(header) :]):
        problem = f"the row (line {line}) has {len(row)} cells, the header has {len(header)}"
        raise DataError(problem, record=number, remedy=_REMEDY)
    return {name: cell for name, cell in zip(header, cells, strict=True) if name}
