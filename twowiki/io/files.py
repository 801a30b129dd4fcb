"""Files at the edge: write aside then rename, read text whatever its compression, show progress.

Nothing here knows a data format; nothing is half-written when a process dies.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

from twowiki.errors import DataError

_Item = TypeVar("_Item")
_HALF = re.compile("[\ud800-\udfff]")
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
        stream = open(aside, mode, encoding=text, newline=newline)  # noqa: SIM115
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
        remedy="Make room or choose another folder; the earlier file is unchanged",
    )


def read_text(path: Path) -> str:
    """Read a text file; raise a `DataError` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text ({error.reason})"
        raise DataError(problem, file=path, remedy="Save the file as UTF-8") from None


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file in one step (UTF-8, Unix line ends)."""
    with replacing(path) as stream:
        stream.write(text)


def write_json(path: str | PathLike[str], value: Any, *, indent: int | None = 2) -> None:
    """Write JSON in one step, non-ASCII letters as they are, with a final line end."""
    write_text(path, _json_text(value, indent) + "\n")


def write_json_lines(path: str | PathLike[str], values: Iterable[Any]) -> int:
    """Write one JSON value a line in one step; return the number of lines."""
    count = 0
    with replacing(path) as stream:
        for value in values:
            stream.write(_json_text(value) + "\n")
            count += 1
    return count


def _json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON; half a surrogate pair, which UTF-8 has no bytes for, is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if text.isascii() else _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def sha256_of(path: str | PathLike[str]) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes, read in blocks."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def progress(items: Iterable[_Item], *, what: str, total: int | None = None) -> Iterable[_Item]:
    """Wrap an iterable in a progress bar on standard error; silent if that is not a terminal."""
    from tqdm import tqdm

    return tqdm(items, desc=what, total=total, unit=" records", disable=not sys.stderr.isatty())


WAIT = 15.0  # seconds for which a command waits for another one in the same folder
_LOCK, _STAGED, _READY, _REMOVE = ".lock", ".staged", ".ready", ".remove.json"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other commands out of a folder, and finish what an interrupted one had written.

    Raises:
        DataError: another command works there for longer than `WAIT`.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=WAIT, poll_interval=0.02)
    except Timeout:
        remedy = "Wait until it has ended, and run this one again"
        problem = "another command is working in this folder"
        raise DataError(problem, file=folder, remedy=remedy) from None
    try:
        _finish(folder)
        yield
    finally:
        lock.release()


def write_together(folder: Path, files: Mapping[str, str], *, remove: Iterable[str] = ()) -> None:
    """Write several files, and remove others, as one step; call it under the lock.

    Args:
        folder: the folder of all of them.
        files: texts by name, relative to the folder.
        remove: names of files to remove.

    Raises:
        DataError: there is no room; the earlier file is unchanged.
    """
    staged = folder / _STAGED
    try:
        for name, text in files.items():
            write_text(staged / name, text)
        write_text(staged / _REMOVE, json.dumps(list(remove)))
        staged.rename(folder / _READY)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    _finish(folder)


def check_unedited(
    folder: Path, files: Mapping[str, str], known: Mapping[str, str], *, remedy: str
) -> None:
    """Check that no file to replace or remove was changed by people.

    Args:
        folder: the folder of all of them.
        files: what is to be written.
        known: the hashes of what an earlier run wrote.
        remedy: what to do about it.

    Raises:
        DataError: a file is neither as it was written nor as it would be written.
    """
    for name in dict.fromkeys([*files, *known]):
        path = folder / name
        if path.is_file():
            same = {known.get(name), text_hash(files[name]) if name in files else None}
            if sha256_of(path) not in same:
                problem = "was edited since it was written, and would be lost"
                raise DataError(problem, file=path, remedy=remedy)


def text_hash(text: str) -> str:
    """Return the hash that a file of this text has."""
    return hashlib.sha256(text.encode()).hexdigest()


def _finish(folder: Path) -> None:
    """Move a finished set into place; sub-folders never hold old and new files together."""
    shutil.rmtree(folder / _STAGED, ignore_errors=True)
    ready = folder / _READY
    if not ready.is_dir():
        return
    paths = sorted(path for path in ready.rglob("*") if path.is_file() and path.name != _REMOVE)
    names = [path.relative_to(ready).as_posix() for path in paths]
    try:
        gone = json.loads((ready / _REMOVE).read_text(encoding="utf-8"))
    except FileNotFoundError:  # all was moved, and the folder itself half removed
        gone = []
    for name in [*gone, *(name for name in names if "/" in name)]:
        (folder / name).unlink(missing_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (ready / name).replace(folder / name)
    shutil.rmtree(ready)
