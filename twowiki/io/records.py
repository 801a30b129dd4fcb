"""Read raw records: JSON lines, JSON, CSV, Parquet, compressed or inside a zip, one at a time.

In: a path, or `zip://MEMBER::ARCHIVE`. Out: (number, record) pairs. Nothing here knows what the
fields mean, and nothing imports `datasets`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from twowiki.errors import DataError
from twowiki.io.archives import open_zip
from twowiki.io.json_stream import read_json_records
from twowiki.io.tables import read_table

Opener = Callable[..., Any]
_UNPACK: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_PARQUET = b"PAR1"
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_records(name: str, opener: Opener = open) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file's raw records with their number, from 1, one at a time.

    Args:
        name: a path or `zip://MEMBER::ARCHIVE`.
        opener: what opens a path for reading bytes (`open`, or one that knows URLs).

    Raises:
        DataError: the file is missing, damaged, or holds something that is no record.
    """
    with _explained(name), ExitStack() as stack:
        stream = open_bytes(name, opener, stack)
        yield from enumerate(_records(stream, name), start=1)


def read_lines(name: str) -> list[str]:
    """Read a text file's lines, without line ends.

    Raises:
        DataError: the file is missing, a folder, damaged, or not UTF-8.
    """
    with _explained(name), ExitStack() as stack:
        text = open_bytes(name, open, stack).read().decode("utf-8-sig")
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def text_of_field(record: Mapping[str, Any], field: str, name: str, number: int) -> str:
    """Give a field that must hold text, as ids do; a number or null is never taken for text.

    Raises:
        DataError: it is missing, empty or no text.
    """
    value = record.get(field)
    if not isinstance(value, str) or not value.strip():
        problem = "is missing" if value is None else "must be a non-empty text"
        remedy = "Write the id as it stands in the data" if value is not None else None
        raise DataError(problem, file=name, record=number, field=field, remedy=remedy)
    return value


def person_of_field(record: Mapping[str, Any], field: str, name: str, number: int) -> str:
    """Give a person's name or id, text or a whole number; empty where there is none.

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


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say in one error what is wrong with a file."""
    try:
        yield
    except DataError as error:
        raise error.at(name) from None
    except FileNotFoundError:
        raise DataError("no such file", file=name, remedy="Check the path") from None
    except IsADirectoryError:
        raise DataError("is a folder, not a file", file=name, remedy="Name a file in it") from None
    except UnicodeDecodeError as error:
        remedy = "Save the file as UTF-8"
        raise DataError(f"not UTF-8 text ({error.reason})", file=name, remedy=remedy) from None
    except _DAMAGED as error:
        remedy = "Download or write it again"
        raise DataError(f"cannot be read ({error})", file=name, remedy=remedy) from None


def open_bytes(name: str, opener: Opener, stack: ExitStack) -> IO[bytes]:
    """Open a path or a zip's member for reading bytes; `stack` closes it.

    Packed files are told by their first bytes, for a cached download has no ending.
    """
    inner, _, outer = name.partition("::")
    if inner.startswith("zip://") and outer:
        member = inner.removeprefix("zip://")
        archive = stack.enter_context(open_zip(stack.enter_context(opener(outer, "rb")), outer))
        if member not in archive.namelist():
            remedy = f"It holds {', '.join(archive.namelist()[:5])}"
            raise DataError(f"the zip has no member {member!r}", file=outer, remedy=remedy)
        stream: IO[bytes] = stack.enter_context(archive.open(member))
    else:
        stream = stack.enter_context(opener(name, "rb"))
    if not stream.seekable():  # a pipe
        stream = io.BytesIO(stream.read())
    head = _head(stream)
    unpack = next((unpack for magic, unpack in _UNPACK.items() if head.startswith(magic)), None)
    return stream if unpack is None else stack.enter_context(unpack(stream, "rb"))


def _head(stream: IO[bytes]) -> bytes:
    head = stream.read(6)
    stream.seek(0)
    return head


def _delimiter(name: str) -> str | None:
    """Tell a table by its ending, a packed file's own ending aside; None for anything else."""
    stem, ending = os.path.splitext(name.partition("::")[0].lower())
    if ending in (".gz", ".bz2", ".xz"):
        ending = os.path.splitext(stem)[1]
    return _DELIMITERS.get(ending)


def _records(stream: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    delimiter = _delimiter(name)
    if delimiter is not None:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            yield from read_table(text, delimiter)
    elif _head(stream).startswith(_PARQUET):
        yield from _parquet_rows(stream)
    else:
        yield from read_json_records(stream)


def _parquet_rows(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=1000):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise OSError(f"no readable Parquet: {str(error).splitlines()[0]}") from None
