"""Objects on disk instead of in memory: each is written once and read when it is needed.

In: objects of one type that msgspec knows, and a folder. Out: the same objects by number, or by an
id. The file has no name, so that nothing of it is left however the process ends.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

_T = TypeVar("_T")
_N = TypeVar("_N")
_READ_AGAIN = 1 << 14  # records that are kept once they are read
_WRITTEN_AT_ONCE = 1 << 20


class Spool(Generic[_T]):
    """Objects in the order in which they were added; 8 bytes of memory each.

    Args:
        folder: where the file is.
        shape: the type of the objects.
    """

    def __init__(self, folder: Path, shape: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, name = tempfile.mkstemp(dir=folder, prefix=".spool-")
        with suppress(PermissionError):  # Windows removes no open file
            os.unlink(name)
        weakref.finalize(self, os.close, self._file)
        self._ends = array("q", [0])
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(shape).decode
        self._unwritten = bytearray()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, record: _T) -> int:
        """Add an object; return its number."""
        data = self._encode(record)
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
        record: _T = self._decode(os.read(self._file, end - start))
        return record


class Waiting(Generic[_T]):
    """A queue of objects, first in, first out: all but the newest one are in a spool."""

    def __init__(self, spool: Spool[_T]) -> None:
        self._spool, self._numbers = spool, deque[int]()
        self._newest: list[_T] = []  # one at most: many are taken before the next one comes

    def __bool__(self) -> bool:
        return bool(self._newest or self._numbers)

    def __iter__(self) -> Iterator[_T]:
        yield from (self._spool[number] for number in self._numbers)
        yield from self._newest

    def append(self, record: _T) -> None:
        """Put an object at the end."""
        self._numbers.extend(map(self._spool.add, self._newest))
        self._newest = [record]

    def popleft(self) -> _T:
        """Take the first object."""
        return self._spool[self._numbers.popleft()] if self._numbers else self._newest.pop()


class RecordStore(Generic[_T]):
    """Objects by id.

    Args:
        folder: where the file is.
        records: ids, ascending, with their objects.
        shape: the type of the objects.
    """

    def __init__(self, folder: Path, records: Iterable[tuple[int, _T]], shape: Any) -> None:
        self._spool: Spool[_T] = Spool(folder, shape)
        self._ids = array("q")
        for key, record in records:
            self._ids.append(key)
            self._spool.add(record)
        self.get = self.getter(None)

    def getter(self, nothing: _N) -> Callable[[int], _T | _N]:
        """Return a function from an id to its object, which keeps those that were read last.

        Args:
            nothing: what an id without an object gives.
        """

        def read(key: int) -> _T | _N:
            place = self._place(key)
            return nothing if place is None else self._spool[place]

        return lru_cache(_READ_AGAIN)(read)

    def __contains__(self, key: int) -> bool:
        return self._place(key) is not None

    def _place(self, key: int) -> int | None:
        place = bisect_left(self._ids, key)
        return place if place < len(self._ids) and self._ids[place] == key else None
