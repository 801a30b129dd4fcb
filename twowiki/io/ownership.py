"""Folders that a command fills: what it wrote is marked, and nothing else is removed or replaced.

`open_folder` locks a folder for one process and reads its mark, `.twowiki.json`: the command, what
identifies its run, and the names of all that it wrote. A name is listed before it is written, so a
killed run leaves nothing unlisted; a name that ends with `/` is a folder that is the run's as a
whole. A folder with files that no mark lists is refused, or, with `beside`, they stay as they are:

    with open_folder(out, "generate", settings, inputs=[dump]) as owned:
        owned.claim("report.json")
        write_json(out / "report.json", report)
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki._version import __version__
from twowiki.errors import DataError

MARK, FOLDER_LOCK = ".twowiki.json", ".twowiki.lock"
OWN = ".twowiki"  # the folder of ours below a folder that also holds files of others
_ASIDE, _STAGED = f"{MARK}.tmp", ".twowiki-staged"
_BEGIN = '{"made by": "twowiki"'
_TEMPORARY = re.compile(r"\.(.+)\.[^.]+\.tmp")
_REMEDY = "Name another folder, or move them away"


@dataclass(frozen=True)
class OwnedFolder:
    """A folder with a mark; every method reads the mark, and writes it before the files.

    Attributes:
        path: the folder.
    """

    path: Path

    def mark(self) -> dict[str, Any]:
        """Return the mark; empty where there is none.

        Raises:
            DataError: a file of this name that is not a mark.
        """
        path = self.path / MARK
        if not (path.exists() or path.is_symlink()):
            return {}
        try:
            mark = json.loads(path.read_text("utf-8"))
            files = mark["files"]
            ours = mark["made by"] == "twowiki" and not path.is_symlink()
            if ours and all(_is_inside(name) for name in files):
                return dict(mark)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        raise DataError("is not a mark of this package", file=path, remedy=_REMEDY)

    def names(self) -> list[str]:
        """Return the names that the mark lists, in the order of writing."""
        return list(self.mark().get("files", ()))

    def lists(self, name: str) -> bool:
        """Return whether the mark lists a name, or a folder around it."""
        return is_listed(name, self.names())

    def claim(self, *names: str) -> None:
        """List names before they are written; those listed already move to the end.

        Raises:
            DataError: the name exists, and the mark does not list it; or it is a link.
        """
        listed = self.names()
        for name in names:
            path = self.path / name
            there = path.exists() and not is_listed(name, listed)
            if there or not _is_plain(self.path, name):
                raise DataError("exists, and this run did not write it", file=path, remedy=_REMEDY)
        self._write([*(name for name in listed if name not in names), *names])

    def put(self, aside: Path, name: str) -> None:
        """Move a finished folder to a name; of what was there, only listed files are replaced."""
        files = [f"{name}/{inner}" for inner in names_below(aside)]
        self.discard(name)
        self.claim(*files)
        target = self.path / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside, target)
            return
        for inner in names_below(aside):
            (target / inner).parent.mkdir(parents=True, exist_ok=True)
            os.replace(aside / inner, target / inner)
        shutil.rmtree(aside)

    def discard(self, *names: str) -> None:
        """Remove what the mark lists of these names and below them, then folders left empty."""
        listed = self.names()
        gone = [one for one in listed if is_listed(one.rstrip("/"), [f"{n}/" for n in names])]
        gone += [one for one in listed if one.rstrip("/") in names and one not in gone]
        self._remove(gone)
        if gone:
            self._write([name for name in listed if name not in gone])

    def clear(self) -> None:
        """Remove everything that the mark lists."""
        self._remove(self.names())
        self._write([])

    def remove(self) -> None:
        """Remove everything that the mark lists, and the mark; `open_folder` then the folder."""
        self._remove(self.names())
        (self.path / MARK).unlink(missing_ok=True)

    def identify(self, command: str, identity: Mapping[str, Any]) -> None:
        """Note the command and what identifies its run."""
        self._write(self.names(), command=command, version=__version__, identity=dict(identity))

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Yield an empty folder of ours; what the block wrote there then replaces all before it."""
        aside = self.path / _STAGED
        self.claim(f"{_STAGED}/")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        try:
            yield aside
            new = names_below(aside)
            self.claim(*new)
            for name in new:
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(aside / name, self.path / name)
            kept = {*new, f"{_STAGED}/"}
            old = [name for name in self.names() if name not in kept]
            self._remove(old)
            self._write(new)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.path / name
            if not _is_plain(self.path, name):
                continue
            if name.endswith("/"):
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file():
                path.unlink()
            for parent in path.relative_to(self.path).parents:
                if parent != Path():
                    with suppress(OSError):  # it holds other files, or is gone
                        (self.path / parent).rmdir()

    def _write(self, names: Sequence[str], **values: Any) -> None:
        values = {"command": "", "version": __version__, "identity": {}, **self.mark(), **values}
        mark = {"made by": "twowiki", **values, "files": list(names)}
        aside = self.path / _ASIDE
        if _is_foreign_aside(aside):
            raise DataError("exists, and this run did not write it", file=aside, remedy=_REMEDY)
        aside.unlink(missing_ok=True)
        try:
            with open(aside, "x", encoding="utf-8") as stream:
                stream.write(json.dumps(mark, ensure_ascii=False) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(aside, self.path / MARK)
        except OSError:  # no room
            aside.unlink(missing_ok=True)
            raise


@contextmanager
def open_folder(
    folder: Path,
    command: str,
    identity: Mapping[str, Any],
    *,
    restart: bool = False,
    beside: bool = False,
    inputs: Iterable[Path] = (),
) -> Iterator[OwnedFolder]:
    """Hold a folder for one process, with its mark.

    Args:
        folder: made if there is none.
        command: a folder that another command filled is refused.
        identity: what identifies the run; kept in the mark.
        restart: remove first what the mark lists.
        beside: whether files of others may lie in the folder; they stay as they are.
        inputs: files that the command reads; no part of them is removed or replaced.

    Raises:
        DataError: files of others, of another command, or an input among its files; another process
            works there.
    """
    inputs = list(inputs)
    check_owner(folder, command, beside=beside, inputs=inputs)
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder):
        check_owner(folder, command, beside=beside, inputs=inputs)
        owned = OwnedFolder(folder)
        if restart:
            owned.clear()
        owned.identify(command, identity)
        yield owned
    if not (folder / MARK).exists():
        with suppress(OSError):  # it holds files of others
            folder.rmdir()


def check_owner(
    folder: Path, command: str, *, beside: bool = False, inputs: Iterable[Path] = ()
) -> None:
    """Raise a `DataError` where `open_folder` would; nothing is written or locked."""
    if folder.exists() and not folder.is_dir():
        raise DataError("is a file, not a folder", file=folder, remedy="Name another folder")
    owned = OwnedFolder(folder)
    mark = owned.mark()
    if mark.get("files") and mark.get("command") not in ("", command):
        problem = f"holds what `{mark.get('command')}` wrote"
        raise DataError(problem, file=folder, remedy="Name another folder")
    for path in inputs:
        _check_input(folder, path, mark.get("files", ()))
    lock = folder / FOLDER_LOCK
    if lock.is_symlink() or (lock.exists() and (not lock.is_file() or lock.stat().st_size)):
        raise DataError("is not a lock of this package", file=lock, remedy=_REMEDY)
    others = foreign_files(folder, mark.get("files", ()))
    first = next(others, None)
    if first is not None and (not beside or first == _ASIDE):
        raise DataError(f"it holds files of others, such as {first!r}", file=folder, remedy=_REMEDY)


def _check_input(folder: Path, path: Path, listed: Iterable[str]) -> None:
    base, real = folder.resolve(), path.resolve()
    inside = real.relative_to(base).as_posix() if base in real.parents else ""
    listed = list(listed)
    around = inside and any(name.startswith(f"{inside}/") for name in listed)
    if real == base or around or (inside and is_listed(inside, listed)):
        problem = f"an input, {path}, is among the files that this run may replace"
        raise DataError(problem, file=folder, remedy="Name another folder")


def foreign_files(folder: Path, listed: Iterable[str]) -> Iterator[str]:
    """Yield the names below a folder that are in no list; folders with a mark keep their own."""
    listed = list(listed)
    if _is_foreign_aside(folder / _ASIDE):
        yield _ASIDE
    yield from _foreign(folder, "", listed, frozenset(listed), _tops(listed))


def _foreign(
    folder: Path, start: str, listed: list[str], exact: frozenset[str], around: frozenset[str]
) -> Iterator[str]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        name = start + path.name
        if not start and path.name in (MARK, FOLDER_LOCK, _ASIDE):
            continue
        if path.is_dir() and not path.is_symlink():
            if f"{name}/" in exact or (path / MARK).is_file():
                continue
            inner = _foreign(path, f"{name}/", listed, exact, around)
            if name in around or any(path.iterdir()):
                yield from inner
            else:
                yield name
        elif path.is_symlink() or name not in exact:
            temporary = _TEMPORARY.fullmatch(path.name)
            if path.is_symlink() or not (temporary and start + temporary[1] in exact):
                yield name


def _tops(listed: Iterable[str]) -> frozenset[str]:
    """Return every folder around a listed name."""
    return frozenset(
        parent.as_posix() for name in listed for parent in Path(name).parents if parent != Path()
    )


def _is_foreign_aside(path: Path) -> bool:
    if not path.is_file():
        return path.exists() or path.is_symlink()
    begin = path.read_bytes()[: len(_BEGIN)]
    return path.is_symlink() or not _BEGIN.encode().startswith(begin)


def is_listed(name: str, listed: Iterable[str]) -> bool:
    """Return whether a list has a name, or a folder (`name/`) that is it or around it."""
    return any(
        one.rstrip("/") == name.rstrip("/") or (one.endswith("/") and name.startswith(one))
        for one in listed
    )


def names_below(folder: Path) -> list[str]:
    """Return the names of all files below a folder, relative to it, sorted."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )


def _is_inside(name: str) -> bool:
    parts = Path(name).parts
    return bool(parts) and not Path(name).is_absolute() and ".." not in parts


def _is_plain(folder: Path, name: str) -> bool:
    """Return whether no part of a name is a link, which would lead elsewhere."""
    path = folder
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            return False
    return True


def _is_same_file(path: Path, lock: Any) -> bool:
    descriptor = getattr(getattr(lock, "_context", None), "lock_file_fd", None)
    try:
        return descriptor is None or os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the lock file is removed while it is held."""
    from filelock import FileLock, Timeout

    path = folder / FOLDER_LOCK
    while True:
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            problem = "another process is working in this folder"
            remedy = "Wait until it has ended, or name another folder"
            raise DataError(problem, file=folder, remedy=remedy) from None
        if _is_same_file(path, lock):  # else the process before has just removed it
            break
        lock.release()
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()
