"""The distinct sentences or paragraphs of an index, on disk in parts: written once, read by number.

In: a corpus. Out: a `SentenceStore`. A journal lists the parts that are complete, so that an
interrupted build continues after them. Duplicates (sentences of equal letters and digits, whatever
case and punctuation; paragraphs of one id) are dropped by 64-bit hashes in sorted arrays: eight
bytes per entry, whatever the corpus's size. A corpus without a usable entry is refused, and so is a
store of another corpus.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from twowiki.errors import DataError
from twowiki.io.files import progress, replacing
from twowiki.io.journal import Journal
from twowiki.retrieval.corpora import Sentence, SentenceCorpus
from twowiki.retrieval.corpus import Document
from twowiki.retrieval.paragraphs import ParagraphCorpus

PART_SIZE = 100_000  # sentences of a part
PARTS_FILE = "parts.jsonl"
_OPEN_PARTS = 64  # files kept open at a time

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Entry = Sentence | Document
TextCorpus = SentenceCorpus | ParagraphCorpus


class HashSet:
    """A set of hashes that only grows, in sorted arrays of doubling sizes."""

    def __init__(self) -> None:
        self.arrays: list[Hashes] = []

    def add(self, values: Hashes) -> None:
        """Add values; they must be new and distinct."""
        self.arrays.append(np.sort(values))
        while len(self.arrays) > 1 and len(self.arrays[-2]) <= 2 * len(self.arrays[-1]):
            last = self.arrays.pop()
            self.arrays[-1] = np.sort(np.concatenate([self.arrays[-1], last]))

    def contains(self, values: Hashes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for each value whether it was added before."""
        found = np.zeros(len(values), dtype=bool)
        for array in self.arrays:
            positions = np.searchsorted(array, values)
            positions[positions == len(array)] = 0
            found |= array[positions] == values if len(array) else False
        return found


class SentenceStore:
    """The complete parts of a folder, read by sentence number.

    Args:
        folder: where `fill_store` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = (folder / PARTS_FILE).read_text("utf-8").splitlines()[1:]
        self.parts: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.starts = np.cumsum([0, *(part["sentences"] for part in self.parts)])
        self._open: OrderedDict[int, tuple[IO[bytes], Any]] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, number: int) -> Entry:
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        stream, offsets = self._open_part(part)
        position = number - int(self.starts[part])
        stream.seek(int(offsets[position]))
        return _decode(stream.read(int(offsets[position + 1] - offsets[position])))

    def entries(self, start: int = 0) -> Iterator[Entry]:
        """Yield all entries from a number on, in order."""
        for part in range(len(self.parts)):
            if self.starts[part + 1] > start:
                with (self.folder / f"{part:05}.jsonl").open("rb") as stream:
                    lines = islice(stream, max(0, start - int(self.starts[part])), None)
                    yield from map(_decode, lines)

    def content(self) -> str:
        """Return a hash of all sentences."""
        texts = json.dumps([part["content"] for part in self.parts])
        return hashlib.sha256(texts.encode()).hexdigest()

    def dropped(self, corpus: TextCorpus) -> dict[str, int]:
        """Return by reason how many sentences of a corpus, read to its end, are not here."""
        duplicates = self.parts[-1]["read"] - len(self)
        counts = [*sorted(corpus.dropped.items()), ("duplicate", duplicates)]
        return {reason: count for reason, count in counts if count}

    def close(self) -> None:
        """Close open files."""
        while self._open:
            self._open.popitem()[1][0].close()

    def _open_part(self, part: int) -> tuple[IO[bytes], Any]:
        if part not in self._open:
            if len(self._open) >= _OPEN_PARTS:
                self._open.popitem(last=False)[1][0].close()
            path = self.folder / f"{part:05}.jsonl"
            offsets = np.load(self.folder / f"{part:05}.offsets.npy", mmap_mode="r")
            size = path.stat().st_size
            if len(offsets) != self.parts[part]["sentences"] + 1 or int(offsets[-1]) != size:
                remedy = "Index the corpus again with --restart"
                raise DataError("the file has another length", file=path, remedy=remedy)
            stream = path.open("rb")
            self._open[part] = stream, offsets
        self._open.move_to_end(part)
        return self._open[part]


def fill_store(
    corpus: TextCorpus,
    folder: Path,
    *,
    part: int = PART_SIZE,
    identity: Mapping[str, Any] | None = None,
) -> SentenceStore:
    """Write the distinct entries of a corpus; parts that are complete already are kept.

    Args:
        corpus: the sentences.
        folder: where to write.
        part: sentences read for each part.
        identity: what the store depends on; a folder with another identity is refused.

    Raises:
        DataError: the corpus has no sentence, or the folder has another identity.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / PARTS_FILE, identity or {}, key="part")
    seen = HashSet()
    for number in range(len(journal.records)):
        seen.add(np.load(folder / f"{number:05}.hashes.npy"))
    done = max((record["read"] for record in journal.records.values()), default=0)
    entries: Iterator[Entry] = iter(corpus)
    stream = iter(progress(entries, what="reading"))
    for _ in islice(stream, done):
        pass  # read again and skipped: one cannot start in the middle of a compressed file
    while block := list(islice(stream, part)):
        done += len(block)
        kept, hashes = _distinct(block, seen)
        seen.add(hashes)
        number = len(journal.records)
        content = _write_part(folder, number, kept, hashes)
        journal.add([{"part": number, "sentences": len(kept), "read": done, "content": content}])
    store = SentenceStore(folder)
    if not len(store):
        reasons = ", ".join(f"{count} {reason}" for reason, count in corpus.dropped.items())
        problem = f"has no usable text ({reasons or 'it is empty'})"
        raise DataError(problem, file=corpus.files[0])
    return store


def _distinct(block: list[Entry], seen: HashSet) -> tuple[list[Entry], Hashes]:
    """Return the first of equal entries, in order, and their hashes."""
    hashes = np.fromiter(map(_hash, block), dtype=np.uint64, count=len(block))
    first = np.zeros(len(block), dtype=bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    fresh = first & ~seen.contains(hashes)
    return [block[position] for position in np.flatnonzero(fresh)], hashes[fresh]


def _hash(entry: Entry) -> int:
    key = entry.key.encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def _write_part(folder: Path, number: int, kept: list[Entry], hashes: Hashes) -> str:
    """Write a part; return the hash of its entries."""
    lines = [f"{json.dumps(one, ensure_ascii=False)}\n".encode("utf-8", "replace") for one in kept]
    offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    with replacing(folder / f"{number:05}.jsonl", "wb") as stream:
        stream.writelines(lines)
    for name, array in (("offsets", offsets), ("hashes", hashes)):
        with replacing(folder / f"{number:05}.{name}.npy", "wb") as stream:
            np.save(stream, array)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def _decode(line: bytes) -> Entry:
    values = json.loads(line)
    if len(values) == 2:
        return Sentence(*values)
    document, title, text, starts = values
    return Document(document, title, text, tuple(starts))
