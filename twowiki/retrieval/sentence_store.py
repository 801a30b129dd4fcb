"""The distinct sentences of an index, in parts on disk: written once, found by number.

Parts are finished one by one, so that a build that was cut off goes on. Duplicates (equal letters
and digits, whatever case and punctuation) are dropped with 64-bit hashes in sorted arrays: eight
bytes a sentence, whatever the corpus's size.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from twowiki.errors import DataError
from twowiki.io.files import progress, replacing, write_json
from twowiki.retrieval.analysis import plain_key
from twowiki.retrieval.corpora import Corpus, Sentence

PART = 100_000  # sentences of a part
_OPEN_PARTS = 64  # files kept open at a time

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


class Seen:
    """A set of hashes that only grows, in sorted arrays of doubling sizes."""

    def __init__(self) -> None:
        self.arrays: list[Hashes] = []

    def add(self, values: Hashes) -> None:
        """Take values in; they must be new and distinct."""
        self.arrays.append(np.sort(values))
        while len(self.arrays) > 1 and len(self.arrays[-2]) <= 2 * len(self.arrays[-1]):
            last = self.arrays.pop()
            self.arrays[-1] = np.sort(np.concatenate([self.arrays[-1], last]))

    def known(self, values: Hashes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell for each value whether it was taken in before."""
        found = np.zeros(len(values), dtype=bool)
        for array in self.arrays:
            places = np.searchsorted(array, values)
            places[places == len(array)] = 0
            found |= array[places] == values if len(array) else False
        return found


class Store:
    """The finished parts of a folder, read by sentence number.

    Args:
        folder: where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = [json.loads(path.read_text("utf-8")) for path in _finished(folder)]
        self.starts = np.cumsum([0, *(note["sentences"] for note in self.notes)])
        self._open: OrderedDict[int, tuple[IO[bytes], Any]] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, number: int) -> Sentence:
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        stream, offsets = self._part(part)
        place = number - int(self.starts[part])
        stream.seek(int(offsets[place]))
        return _parsed(stream.read(int(offsets[place + 1] - offsets[place])))

    def sentences(self, start: int = 0) -> Iterator[Sentence]:
        """Read all sentences from a number on, in order."""
        for part in range(len(self.notes)):
            if self.starts[part + 1] <= start:
                continue
            with (self.folder / f"{part:05}.txt").open("rb") as stream:
                yield from map(
                    _parsed, islice(stream, max(0, start - int(self.starts[part])), None)
                )

    def content(self) -> str:
        """Hash what the store holds."""
        texts = json.dumps([note["content"] for note in self.notes])
        return hashlib.sha256(texts.encode()).hexdigest()

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            self._open.popitem()[1][0].close()

    def _part(self, part: int) -> tuple[IO[bytes], Any]:
        if part not in self._open:
            if len(self._open) >= _OPEN_PARTS:
                self._open.popitem(last=False)[1][0].close()
            stream = (self.folder / f"{part:05}.txt").open("rb")
            offsets = np.load(self.folder / f"{part:05}.offsets.npy", mmap_mode="r")
            self._open[part] = stream, offsets
        self._open.move_to_end(part)
        return self._open[part]


def fill_store(corpus: Corpus, folder: Path, *, part: int = PART) -> Store:
    """Write a corpus's distinct sentences; parts that are there already are left as they are.

    Raises:
        DataError: the corpus holds no sentence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notes = [json.loads(path.read_text("utf-8")) for path in _finished(folder)]
    seen = Seen()
    for number in range(len(notes)):
        seen.add(np.load(folder / f"{number:05}.hashes.npy"))
    done = notes[-1]["read"] if notes else 0
    stream = iter(progress(corpus, what="reading sentences"))
    for _ in islice(stream, done):
        pass  # read again, not looked at: a packed file has no middle to begin at
    number, read = len(notes), done
    while block := list(islice(stream, part)):
        read += len(block)
        kept, hashes = _distinct(block, seen)
        seen.add(hashes)
        _write_part(folder, number, kept, hashes, read)
        number += 1
    store = Store(folder)
    if not len(store):
        left_out = ", ".join(f"{count} {reason}" for reason, count in corpus.dropped.items())
        problem = f"holds no usable sentence ({left_out or 'it is empty'})"
        raise DataError(problem, file=corpus.files[0])
    return store


def _distinct(block: list[Sentence], seen: Seen) -> tuple[list[Sentence], Hashes]:
    """Keep the first of equal sentences, in order, and give their hashes."""
    hashes = np.fromiter(map(_hash, block), dtype=np.uint64, count=len(block))
    first = np.zeros(len(block), dtype=bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    fresh = first & ~seen.known(hashes)
    return [block[place] for place in np.flatnonzero(fresh)], hashes[fresh]


def _hash(sentence: Sentence) -> int:
    key = plain_key(sentence.text) or sentence.text
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")


def _write_part(folder: Path, number: int, kept: list[Sentence], hashes: Hashes, read: int) -> None:
    lines = [_written(sentence) for sentence in kept]
    offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    with replacing(folder / f"{number:05}.txt", "wb") as stream:
        stream.writelines(lines)
    for name, array in (("offsets", offsets), ("hashes", hashes)):
        with replacing(folder / f"{number:05}.{name}.npy", "wb") as stream:
            np.save(stream, array)
    content = hashlib.sha256(b"".join(lines)).hexdigest()
    note = {"sentences": len(kept), "read": read, "content": content}
    write_json(folder / f"{number:05}.json", note)


def _finished(folder: Path) -> list[Path]:
    """Give the notes of the parts that are done, up to the first that is missing."""
    paths: list[Path] = []
    while (path := folder / f"{len(paths):05}.json").is_file():
        paths.append(path)
    return paths


def _written(sentence: Sentence) -> bytes:
    return f"{sentence.text}\t{sentence.title}\n".encode("utf-8", "replace")


def _parsed(line: bytes) -> Sentence:
    text, _, title = line.decode().rstrip("\n").partition("\t")
    return Sentence(text, title)


def dropped_counts(store: Store, corpus: Corpus) -> dict[str, int]:
    """Say how many sentences of a corpus, read to its end, the store lacks, by reason."""
    duplicates = store.notes[-1]["read"] - len(store)
    counted = [*sorted(corpus.dropped.items()), ("duplicate", duplicates)]
    return {reason: count for reason, count in counted if count}
