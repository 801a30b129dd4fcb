"""Files at the edge: write aside then rename, read text whatever its compression, show progress.

Nothing here knows a data format; nothing is half-written when a process dies.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

from twowiki.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is taken for a left-over
    fcntl = None  # type: ignore[assignment]

_Item = TypeVar("_Item")
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_UNWRITABLE = (*NO_ROOM, errno.EROFS)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | _NO_LINK
_SUFFIX = r"[0-9a-f]{8}\.tmp"
LEFT_OVER = re.compile(rf"\.(.+)\.twowiki-{_SUFFIX}", re.DOTALL)  # of the file that it names
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def replacing(path: str | PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file beside `path`, and rename it to `path` only if the block ends well.

    A link stays, and the file that it points to is replaced; a file's permissions stay. What is no
    file (a pipe, a terminal, /dev/null) is written straight into.
    """
    existing = check_writable(path)
    text: Any = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if not replaceable(path, existing):
        with _straight_into(path, mode, text) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_overs(target)
        aside, descriptor = _open_aside(target, existing)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with open(descriptor, mode, **text) as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
            if existing is not None:
                _keep_owner(descriptor, existing)
            os.replace(aside, target)  # while it is locked: nobody else takes it for a left-over
    except OSError as error:
        if error.errno in _UNWRITABLE or error.filename == str(aside):
            raise _unwritable(path, error) from error
        raise
    finally:
        aside.unlink(missing_ok=True)


def check_writable(path: str | PathLike[str]) -> os.stat_result | None:
    """Check that a file may be written under a name; return what stands there, if anything.

    Raises:
        DataError: it is a folder, a disk, or no name that a file can have.
    """
    try:
        found = os.stat(Path(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unwritable(path, error) from error
    except ValueError:
        raise _no_name(path) from None
    if stat.S_ISDIR(found.st_mode):
        raise DataError("is a folder", file=path, remedy="Name a file, such as one in this folder")
    if stat.S_ISBLK(found.st_mode):
        raise DataError("is a disk, which is not written", file=path, remedy="Name a file")
    return found


def check_folder_name(path: str | PathLike[str]) -> None:
    """Raise a `DataError` where a folder cannot be, because of its name or a file there."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path, error) from error
    except ValueError:
        raise _no_name(path) from None
    if not stat.S_ISDIR(found.st_mode):
        raise DataError("is a file, not a folder", file=path, remedy="Name another folder")


def check_no_pipes(folder: str | PathLike[str]) -> None:
    """Raise a `DataError` for a pipe or device below a folder of ours: reading it would wait."""
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if os.path.exists(path) and not os.path.isfile(path):
                remedy = "Move it out of the folder"
                raise DataError("is a pipe or a device, not a file", file=path, remedy=remedy)


def _no_name(path: str | PathLike[str]) -> DataError:
    remedy = "Choose a name of letters, digits and dots"
    return DataError(f"{str(path)!a} is no name that a file can have", remedy=remedy)


def replaceable(path: str | PathLike[str], found: os.stat_result | None) -> bool:
    """Return whether a new file may take this place: no pipe, no device, no open stream."""
    return _open_stream(path) is None and (found is None or stat.S_ISREG(found.st_mode))


def _open_stream(path: str | PathLike[str]) -> int | None:
    """Return the number of the open stream that a path names, such as 1 for /dev/stdout."""
    name = os.path.abspath(path)
    number = re.fullmatch(rf"/(?:dev|proc/(?:self|thread-self|{os.getpid()}))/fd/(\d+)", name)
    return int(number[1]) if number else _STREAMS.get(name)


@contextmanager
def _straight_into(path: str | PathLike[str], mode: str, text: Any) -> Iterator[IO[Any]]:
    number = _open_stream(path)
    try:
        sys.stdout.flush()
        with open(path if number is None else os.dup(number), mode, **text) as stream:
            yield stream
    except OSError as error:
        if error.errno in _UNWRITABLE or error.filename == str(path):
            raise _unwritable(path, error) from error
        raise


def _open_aside(target: Path, existing: os.stat_result | None) -> tuple[Path, int]:
    """Return a new, locked file beside the target, and its descriptor."""
    while True:
        aside = target.with_name(f"{_aside_prefix(target)}{secrets.token_hex(4)}.tmp")
        try:
            descriptor = os.open(aside, _NEW, 0o666 if existing is None else 0o600)
        except FileExistsError:
            continue
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:  # else another process took it for a left-over
            return aside, descriptor
        os.close(descriptor)


def _aside_prefix(target: Path) -> str:
    name = os.fsencode(target.name)
    short = target.name if len(name) <= 200 else hashlib.sha256(name).hexdigest()
    return f".{short}.twowiki-"


def _remove_left_overs(target: Path) -> None:
    """Remove what killed processes left beside the target: ours by name, and not locked."""
    if fcntl is None:
        return
    prefix = _aside_prefix(target)
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(prefix) and re.fullmatch(_SUFFIX, name[len(prefix) :]):
                _remove_unlocked(target.parent / name)


def _remove_unlocked(path: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | _NO_LINK | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> None:
    if fcntl is None:
        return
    with suppress(OSError):  # a file system without locks: then nothing is removed either
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def lock_at_once(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another process holds it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _keep_owner(descriptor: int, existing: os.stat_result) -> None:
    """Set the owner and the permissions of the file that is replaced."""
    if fcntl is None:
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (existing.st_uid, existing.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, existing.st_uid, existing.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(existing.st_mode))


def _unwritable(target: str | PathLike[str], error: OSError) -> DataError:
    return DataError(
        f"cannot be written ({error.strerror or error})",
        file=target,
        remedy="Make room or choose another folder; the earlier file is unchanged",
    )


def read_text(path: Path) -> str:
    """Read a text file of a folder; raise a `DataError` if it is not UTF-8, or no file."""
    if path.exists() and not path.is_file():  # a pipe would make it wait
        raise DataError("is not a file", file=path, remedy="Move it out of the folder")
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
    write_text(path, json_text(value, indent) + "\n")


def write_json_lines(path: str | PathLike[str], values: Iterable[Any]) -> int:
    """Write one JSON value a line in one step; return the number of lines."""
    count = 0
    with replacing(path) as stream:
        for value in values:
            stream.write(json_text(value) + "\n")
            count += 1
    return count


def json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON; half a surrogate pair, which UTF-8 has no bytes for, is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return (
        text if text.isascii() else HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    )


def sha256_of(path: str | PathLike[str]) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes, read in blocks."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would make it wait, or be used up
        raise DataError("is not a file", file=path, remedy="Name a file, or write it again")
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def progress(
    items: Iterable[_Item], *, what: str, total: int | None = None, unit: str = "records"
) -> Iterable[_Item]:
    """Wrap an iterable in a progress bar on standard error; silent if that is not a terminal."""
    from tqdm import tqdm

    return tqdm(items, desc=what, total=total, unit=f" {unit}", disable=not sys.stderr.isatty())


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
