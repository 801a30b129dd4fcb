"""Files at the edge: write aside then rename, read text whatever its compression, show progress.

Nothing here knows a data format; nothing is half-written when a process dies.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

from twowiki.errors import DataError

Item = TypeVar("Item")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


@contextmanager
def replacing(path: str | PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file beside `path`, and rename it to `path` only if the block ends well."""
    target = Path(path)
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    text = None if "b" in mode else "utf-8"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        newline = None if "b" in mode else "\n"
        stream = open(aside, mode, encoding=text, newline=newline)  # noqa: SIM115 (closed below)
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, target)
    except OSError as error:
        if error.errno in _FULL or error.filename == str(aside):
            raise _unwritable(target, error) from error
        raise
    finally:
        aside.unlink(missing_ok=True)


def _unwritable(target: Path, error: OSError) -> DataError:
    return DataError(
        f"cannot be written ({error.strerror or error})",
        file=target,
        remedy="Make room or name another place; what stood there before is untouched",
    )


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file in one step (UTF-8, Unix line ends)."""
    with replacing(path) as stream:
        stream.write(text)


def write_json(path: str | PathLike[str], value: Any, *, indent: int | None = 2) -> None:
    """Write JSON in one step, non-ASCII letters as they are, with a final line end."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def write_json_lines(path: str | PathLike[str], values: Iterable[Any]) -> int:
    """Write one JSON value a line in one step; give the number of lines."""
    count = 0
    with replacing(path) as stream:
        for value in values:
            stream.write(json.dumps(value, ensure_ascii=False) + "\n")
            count += 1
    return count


def sha256_of(path: str | PathLike[str]) -> str:
    """Give the hexadecimal SHA-256 of a file's bytes, read in blocks."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def progress(items: Iterable[Item], *, what: str, total: int | None = None) -> Iterable[Item]:
    """Wrap an iterable in a progress bar on standard error; silent when that is no terminal."""
    from tqdm import tqdm

    return tqdm(items, desc=what, total=total, unit=" records", disable=not sys.stderr.isatty())
