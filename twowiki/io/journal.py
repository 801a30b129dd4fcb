"""A file of finished records, so that interrupted work resumes where it stopped.

The first line holds what the records depend on; each further line is one record. The records of a
batch are written and flushed together. A line that a killed process left half written is dropped;
a journal of other work is refused, never mixed in and never emptied without `restart`. A file that
is no journal is never emptied. One process holds a journal at a time.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import IO, Any

from twowiki.errors import DataError
from twowiki.io.files import check_writable, json_text, lock_at_once


class Journal:
    """The records of one run, by their key.

    Args:
        path: the file.
        identity: what the records depend on, as a JSON object.
        key: the field that names a record.
        restart: discard what an earlier run wrote.

    Attributes:
        records: the finished records, by key, in the order of the file.

    Raises:
        DataError: the file belongs to another run (the first difference is named), is no journal,
            or another process writes it.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        identity: Mapping[str, Any],
        *,
        key: str,
        restart: bool = False,
    ) -> None:
        self.path, self.key = Path(path), key
        mine = json.loads(json.dumps(identity))
        self._stream = _open_held(self.path)
        data = self._stream.read()
        found, end = _whole_lines(data)
        if not _is_journal(data, found):
            problem = "belongs to another run (it is not a journal)"
            raise DataError(problem, file=path, remedy="Choose another file, or move it away")
        if restart:
            found, end = [], 0
        if found:
            _check_identity(path, found[0], mine)
        self._stream.truncate(end)
        if not found:
            self._append([{"run": mine}])
        self.records: dict[str, dict[str, Any]] = {one[key]: one for one in found[1:]}

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._stream.close()

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write a batch of records, all of it or (if the process dies) none that counts."""
        listed = [dict(record) for record in records]
        self._append(listed)
        self.records |= {record[self.key]: record for record in listed}

    def close(self) -> None:
        """Let other processes write the file."""
        self._stream.close()

    def _append(self, records: Iterable[Mapping[str, Any]]) -> None:
        left = memoryview(b"".join(map(_line, records)))
        while left:
            left = left[self._stream.write(left) :]
        os.fsync(self._stream.fileno())


def check_journal(path: str | PathLike[str], known: Mapping[str, Any]) -> None:
    """Raise where a journal belongs to another run, as far as that is known before the work.

    Raises:
        DataError: a value of `known` is another one there.
    """
    if not os.path.isfile(path):
        return
    with open(path, "rb") as stream:
        found, _ = _whole_lines(stream.readline())
    theirs = found[0].get("run") if found else None
    if isinstance(theirs, Mapping):
        mine = json.loads(json.dumps({name: known[name] for name in known if name in theirs}))
        _check_identity(path, {"run": {name: theirs[name] for name in mine}}, mine)


def _check_identity(
    path: str | PathLike[str], found: Mapping[str, Any], mine: Mapping[str, Any]
) -> None:
    if found != {"run": mine}:
        raise DataError(
            f"belongs to another run ({_difference(found, mine)})",
            file=path,
            remedy="Choose another file, or start over with --restart",
        )


def _open_held(path: Path) -> IO[bytes]:
    """Open a file, new or old, for one process."""
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = open(path, "ab+", buffering=0)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and lock_at_once(stream.fileno()):
        stream.seek(0)
        return stream
    regular = path.is_file()
    stream.close()
    if regular:
        remedy = "Wait until it has ended, or choose another file"
        raise DataError("another process is writing it", file=path, remedy=remedy)
    raise DataError("is not a file", file=path, remedy="Choose another file")


def _is_journal(data: bytes, lines: list[dict[str, Any]]) -> bool:
    """Return whether a file is empty or begins as a journal, be it half a line."""
    begin = _line({"run": {}})[:8]
    return "run" in lines[0] if lines else data[:8] == begin[: len(data)]


def _line(record: Mapping[str, Any]) -> bytes:
    return f"{json_text(record)}\n".encode()


def _whole_lines(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the records that were written whole, and where they end."""
    lines: list[dict[str, Any]] = []
    end = 0
    for line in data.splitlines(keepends=True):
        try:
            value = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            break
        lines.append(value)
        end += len(line)
    return lines, end


def _difference(found: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    theirs = found.get("run")
    if not isinstance(theirs, Mapping):
        return "it is not a journal"
    for name in dict.fromkeys([*mine, *theirs]):
        if theirs.get(name) != mine.get(name):
            return f"{name} was {_short(theirs.get(name))}, and is {_short(mine.get(name))}"
    return "its first line differs"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
