"""A file's raw records, streamed: JSON, JSON lines, gzip, a zip's member, Parquet.

Files are told by their first bytes. Every fault becomes a `DataError` with the file's name, after
the whole records before it. It loads no `datasets`.
"""

from __future__ import annotations

import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any

from twowiki.archives import MAGIC_ZIP, member_for, open_member, open_zip
from twowiki.errors import DataError
from twowiki.json_stream import read_json_records
from twowiki.schema import KNOWN_FIELDS

Opener = Callable[..., IO[bytes]]
_BATCH = 256  # Parquet rows at a time


def sniff(path: str | PathLike[str], opener: Opener = open) -> str:
    """Tell what a file is from its first bytes: zip, parquet, gzip, json or other.

    A cached download has no suffix to tell by; a `.zip` that holds a web page stays a zip here.
    """
    with opener(path, "rb") as stream:
        head = stream.read(64)
    if head.startswith(MAGIC_ZIP) or str(path).lower().endswith(".zip"):
        return "zip"
    if head.startswith(b"PAR1") or str(path).lower().endswith(".parquet"):
        return "parquet"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    return "json" if head.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"[") else "other"


@contextmanager
def _open_data(
    path: str | PathLike[str], kind: str, split: str | None, opener: Opener
) -> Iterator[IO[bytes]]:
    """Open a file's bytes: a zip's member of the split, what a .gz holds, or the file itself."""
    if kind == "zip":
        with (
            opener(path, "rb") as stream,
            open_zip(stream, path) as archive,
            open_member(archive, member_for(archive, path, split), path) as member,
        ):
            yield member
    elif kind == "gzip":
        with opener(path, "rb") as stream, gzip.GzipFile(fileobj=stream) as unpacked:
            yield unpacked  # type: ignore[misc]
    else:
        with opener(path, "rb") as stream:
            yield stream


def read_raw(
    path: str | PathLike[str], split: str | None = None, opener: Opener = open
) -> Iterator[Any]:
    """Yield a file's raw records (JSON objects, or Parquet rows as dicts) in file order.

    Raises:
        DataError: the file cannot be read to its end; whole records before the fault come first.
    """
    try:
        kind = sniff(path, opener)
        if kind == "parquet":
            yield from _parquet_rows(path, opener)
        else:
            with _open_data(path, kind, split, opener) as stream:
                yield from read_json_records(stream)
    except DataError as error:
        raise error.at(path) from None
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise DataError(
            str(reason), file=path, remedy="Check the path and the right to read it"
        ) from None


def _parquet_rows(path: str | PathLike[str], opener: Opener) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet

    with opener(path, "rb") as stream:
        try:
            table = pyarrow.parquet.ParquetFile(stream)
            names = table.schema_arrow.names
            others = dict.fromkeys(name for name in names if name not in KNOWN_FIELDS)
            labels = _type_labels(table.schema_arrow.metadata)
            columns = [name for name in names if name in KNOWN_FIELDS]
            for batch in table.iter_batches(batch_size=_BATCH, columns=columns):
                for row in batch.to_pylist():
                    if labels and type(row.get("type")) is int:
                        row["type"] = labels.get(row["type"], row["type"])
                    yield row | others
        except Exception as error:  # damaged bytes make the reader raise many kinds
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(
                f"no readable Parquet ({reason})",
                file=path,
                remedy="Download it again and compare its length",
            ) from None


def _type_labels(metadata: dict[bytes, bytes] | None) -> dict[int, str]:
    """Read the class labels of `type` that `datasets` leaves in a file's schema."""
    try:
        info = json.loads((metadata or {})[b"huggingface"])
        return dict(enumerate(info["info"]["features"]["type"]["names"]))
    except (KeyError, TypeError, ValueError):
        return {}
