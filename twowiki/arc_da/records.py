"""Read raw records: JSON lines, JSON, CSV, Parquet, compressed or inside a zip, one at a time.

In: a path, or `zip://MEMBER::ARCHIVE`. Out: (number, record) pairs. Nothing here knows what the
fields mean, and nothing imports `datasets`.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import IO, Any

from twowiki.errors import DataError

Opener = Callable[..., Any]
_UNPACK: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DAMAGED = (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, csv.Error)


def read_records(name: str, opener: Opener = open) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file's raw records with their line or record number, from 1, one at a time.

    Args:
        name: a path or `zip://MEMBER::ARCHIVE`.
        opener: what opens a path for reading bytes (`open`, or one that knows URLs).

    Raises:
        DataError: the file is missing, damaged, or holds something that is no record.
    """
    ending = _ending(name)
    try:
        with ExitStack() as stack:
            stream = _open_bytes(name, opener, stack)
            if ending == ".parquet":
                yield from _parquet_records(stream)
            elif ending in (".csv", ".tsv"):
                yield from _table_records(stream, "\t" if ending == ".tsv" else ",")
            else:
                yield from _json_records(stream, name, whole=ending == ".json")
    except FileNotFoundError:
        raise DataError("no such file", file=name) from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text", file=name, remedy="Save it as UTF-8") from None
    except _DAMAGED as error:
        raise DataError(f"cannot be read ({error})", file=name) from None


def _ending(name: str) -> str:
    inner = name.partition("::")[0].lower()
    stem, ending = os.path.splitext(inner)
    if ending in _UNPACK:
        stem, ending = os.path.splitext(stem)
    return ending


def _open_bytes(name: str, opener: Opener, stack: ExitStack) -> IO[bytes]:
    """Open a path or a zip's member for reading bytes, unpacked."""
    inner, _, outer = name.partition("::")
    if inner.startswith("zip://") and outer:
        archive = stack.enter_context(zipfile.ZipFile(stack.enter_context(opener(outer, "rb"))))
        stream: IO[bytes] = stack.enter_context(archive.open(inner.removeprefix("zip://")))
    else:
        stream = stack.enter_context(opener(name, "rb"))
    unpack = _UNPACK.get(os.path.splitext(inner.lower())[1])
    return stream if unpack is None else stack.enter_context(unpack(stream, "rb"))


def _parquet_records(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=1000):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except pa.ArrowException as error:
        raise OSError(str(error).splitlines()[0]) from None


def _table_records(stream: IO[bytes], delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    yield from enumerate(csv.DictReader(text, delimiter=delimiter), start=1)


def _json_records(
    stream: IO[bytes], name: str, *, whole: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON lines; a `.json` file may also hold one list, or one mapping with a list."""
    if whole:
        text = stream.read().decode("utf-8-sig")
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            stream = io.BytesIO(text.encode())
        else:
            yield from enumerate(_listed(value, name), start=1)
            return
    for number, line in enumerate(stream, start=1):
        content = line.decode("utf-8-sig" if number == 1 else "utf-8")
        if not content.strip():
            continue
        try:
            record = json.loads(content)
        except json.JSONDecodeError as error:
            problem = f"this line is no JSON ({error.msg} at column {error.colno})"
            raise DataError(problem, file=name, record=number) from None
        yield number, record


def _listed(value: Any, name: str) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and "question" not in value:
        lists = [entry for entry in value.values() if isinstance(entry, list)]
        if len(lists) == 1:
            return lists[0]
        raise DataError("holds no list of records", file=name)
    return [value]
