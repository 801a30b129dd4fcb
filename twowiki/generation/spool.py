"""Objects on disk instead of in memory: each is written once and read when it is needed.

In: objects that can be pickled, and a folder. Out: the same objects by number, or by an id. The
file has no name, so that nothing of it is left however the process ends.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

_T = TypeVar("_T")
_READ_AGAIN = 4096  # records that are kept once they are read
_WRITTEN_AT_ONCE = 1 << 20


class Spool(Generic[_T]):
    """Objects in the order in which they were added; 8 bytes of memory each."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, name = tempfile.mkstemp(dir=folder, prefix=".spool-")
        with suppress(PermissionError):  # Windows removes no open file
            os.unlink(name)
        weakref.finalize(self, os.close, self._file)
        self._ends = array("q", [0])
        self._unwritten = bytearray()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, record: _T) -> int:
        """Add an object; return its number."""
        data = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        self._unwritten += data
        self._ends.append(self._ends[-1] + len(data))
        if len(self._unwritten) > _WRITTEN_AT_ONCE:
            self._write()
        return len(self) - 1

    def _write(self) -> None:
        os.lseek(self._file, 0, os.SEEK_END)
        with memoryview(self._unwritten) as view:
            done = 0
            while done < len(view):
                done += os.write(self._file, view[done:])
        self._unwritten.clear()

    def __getitem__(self, number: int) -> _T:
        start, end = self._ends[number], self._ends[number + 1]
        if end > self._ends[-1] - len(self._unwritten):
            self._write()
        os.lseek(self._file, start, os.SEEK_SET)
        record: _T = pickle.loads(os.read(self._file, end - start))
        return record


class Waiting(Generic[_T]):
    """A queue of objects in a spool, first in, first out."""

    def __init__(self, spool: Spool[_T]) -> None:
        self._spool, self._numbers = spool, deque[int]()

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def __iter__(self) -> Iterator[_T]:
        return (self._spool[number] for number in self._numbers)

    def append(self, record: _T) -> None:
        """Put an object at the end."""
        self._numbers.append(self._spool.add(record))

    def popleft(self) -> _T:
        """Take the first object."""
        return self._spool[self._numbers.popleft()]


class RecordStore(Generic[_T]):
    """Objects by id.

    Args:
        folder: where the file is.
        records: ids, ascending, with their objects.
    """

    def __init__(self, folder: Path, records: Iterable[tuple[int, _T]]) -> None:
        self._spool: Spool[_T] = Spool(folder)
        self._ids = array("q")
        for key, record in records:
            self._ids.append(key)
            self._spool.add(record)
        self.get = lru_cache(_READ_AGAIN)(self._read)

    def __contains__(self, key: int) -> bool:
        return self._place(key) is not None

    def _place(self, key: int) -> int | None:
        place = bisect_left(self._ids, key)
        return place if place < len(self._ids) and self._ids[place] == key else None

    def _read(self, key: int) -> _T | None:
        """Return the object of an id, or None."""
        place = self._place(key)
        return None if place is None else self._spool[place]
