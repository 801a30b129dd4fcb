"""Folders that several people's commands write into: one lock, and files that change together.

In: a folder, texts by name. `locked` keeps other commands out. `write_together` writes all files
aside first and then moves them into place; a process that dies leaves either all of the old files,
or a finished set that the next command (under the lock) moves into place.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from twowiki.errors import DataError
from twowiki.files import sha256_of, write_text

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
        folder: where they lie.
        files: texts by name, relative to the folder.
        remove: names of files to go.

    Raises:
        DataError: there is no room; what stood there before is untouched.
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


def refuse_edited(
    folder: Path, files: Mapping[str, str], known: Mapping[str, str], *, remedy: str
) -> None:
    """Refuse to replace or remove a file that people have changed.

    Args:
        folder: where they lie.
        files: what is to be written.
        known: the hashes of what an earlier run wrote.
        remedy: what to do about it.

    Raises:
        DataError: a file is neither as it was written, nor equal to what would be.
    """
    for name in dict.fromkeys([*files, *known]):
        path = folder / name
        if path.is_file():
            same = {known.get(name), text_hash(files[name]) if name in files else None}
            if sha256_of(path) not in same:
                problem = "was edited since it was written, and would be lost"
                raise DataError(problem, file=path, remedy=remedy)


def text_hash(text: str) -> str:
    """Give the hash that a file of this text has."""
    return hashlib.sha256(text.encode()).hexdigest()


def _finish(folder: Path) -> None:
    """Move a finished set into place; within sub-folders nothing new stands beside old."""
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
