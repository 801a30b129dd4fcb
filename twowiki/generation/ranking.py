"""Rank paragraphs for questions, by hashed words and pairs of words (DrQA's tf-idf).

In: questions, and the pages in shards, so that memory holds some thousands of texts. Out: the ids
of the best pages of each question, the same on every machine. Each shard becomes a matrix on disk,
of the words that some question has; the matrices are mapped into memory, and several processes
count shards, then score batches of questions.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from twowiki.generation.samples import GeneratedSample
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import normalize
from twowiki.io.files import progress
from twowiki.io.processes import map_parts

NEAR, FAR = 50, 200
_SHARD = 50_000
Ints = npt.NDArray[np.int64]
_Shard = tuple[Sequence[int], Sequence[str]]  # ids, normalized texts


def shards_of(linked: Path, size: int = _SHARD) -> Iterator[_Shard]:
    """Return the pages' ids and normalized texts, some thousands at a time."""
    for file in parquet_files(linked):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=size, columns=["qid", "norm"]):
            yield batch.column("qid").to_pylist(), batch.column("norm").to_pylist()


def nearest_pages(
    samples: Sequence[GeneratedSample],
    linked: Path,
    *,
    workers: int = 1,
    folder: Path | None = None,
) -> Ints:
    """Return the ids of each sample's nearest pages, best first: (samples, FAR), -1 padded."""
    questions = [normalize(sample.question) for sample in samples]
    ranked = np.full((len(samples), FAR), -1, dtype=np.int64)
    rankings = rank(questions, lambda: shards_of(linked), keep=FAR, workers=workers, folder=folder)
    shown = progress(rankings, what="ranking paragraphs", total=len(samples))
    for number, found in enumerate(shown):
        ranked[number, : len(found)] = found
    return ranked


_BITS = 24
_MASK = np.uint64((1 << _BITS) - 1)
_ID_BITS = 30
_BATCH = 256
# Words of the templates: they say nothing about what is asked.
_FUNCTION_WORDS = frozenset(
    "a an and are at both by did do does for from have has in is of on or s the their to was were "
    "what when where which who whose why with".split()
)


_MOST_WORDS = 1 << 20


class _Hasher:
    """Hashes words, with a cache: a corpus repeats its words."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def columns(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return (text number, column) of every word and pair of words of some texts."""
        known = self._known
        if len(known) > _MOST_WORDS:
            known.clear()
        hashes: list[int] = []
        lengths = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            words = text.split()
            lengths[number] = len(words)
            for word in words:
                value = known.get(word)
                if value is None:
                    value = known[word] = zlib.crc32(word.encode())
                hashes.append(value)
        single = np.array(hashes, dtype=np.uint64)
        owner = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
        words_at = (single * np.uint64(0x9E3779B1)) >> np.uint64(7) & _MASK
        if len(single) < 2:
            return owner, words_at.astype(np.int64)
        mixed = single[:-1] * np.uint64(0x85EBCA6B) + single[1:] * np.uint64(0xC2B2AE35)
        pairs_at = (mixed >> np.uint64(9)) & _MASK
        inside = owner[:-1] == owner[1:]
        columns = np.concatenate([words_at, pairs_at[inside]]).astype(np.int64)
        return np.concatenate([owner, owner[:-1][inside]]), columns


def _counts(rows: Ints, columns: Ints, width: int) -> tuple[Ints, Ints, Ints]:
    """Count equal (row, column) pairs: rows, columns and counts, sorted."""
    keys, counts = np.unique(rows * width + columns, return_counts=True)
    return keys // width, keys % width, counts


def question_words(norm: str) -> str:
    """Drop the words that only templates use."""
    return " ".join(word for word in norm.split() if word not in _FUNCTION_WORDS)


def rank(
    questions: Sequence[str],
    shards: Callable[[], Iterable[_Shard]],
    *,
    keep: int = 200,
    workers: int = 1,
    folder: Path | None = None,
) -> Iterator[list[int]]:
    """Rank the paragraphs for each question.

    Args:
        questions: normalized questions.
        shards: returns an iterator of (ids, normalized texts); called once.
        keep: the number of ids per question, where the collection has as many.
        workers: processes; the ids do not depend on it.
        folder: where the matrices are for the time of the ranking; by default the system's.

    Yields:
        The best ids, best first. Paragraphs that share no word come last, smaller ids first.
    """
    rows, columns = _Hasher().columns([question_words(text) for text in questions])
    wanted = np.unique(columns)
    place = np.full(1 << _BITS, -1, dtype=np.int32)
    place[wanted] = np.arange(len(wanted), dtype=np.int32)
    width = max(1, len(wanted))
    numbers, cols, counts = _counts(rows, place[columns].astype(np.int64), width)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".ranking-") as scratch:
        matrices = Path(scratch)
        np.save(matrices / "place.npy", place)
        del place, rows, columns
        frequency = np.zeros(width, dtype=np.int64)
        total = shard_count = 0
        smallest: list[int] = []

        def numbered() -> Iterator[tuple[int, _Shard]]:
            nonlocal total, smallest
            for number, (ids, texts) in enumerate(shards()):
                total += len(ids)
                smallest = sorted([*smallest, *ids])[:keep]
                yield number, (ids, texts)

        for number in map_parts(partial(_write_matrix, matrices, width), numbered(), workers):
            frequency += np.diff(_mapped(matrices, number, "starts"))
            shard_count += 1
        # DrQA's idf, but never 0: in a small collection every word counts a little.
        idf = np.log((total - frequency + 0.5) / (frequency + 0.5))
        idf = np.maximum(idf, 0.01)
        weights = np.log1p(counts.astype(np.float64)) * idf[cols] ** 2
        ends = np.searchsorted(numbers, np.arange(len(questions) + 1))
        work = partial(_best_of_batch, matrices, shard_count, keep)
        batches = (
            _Batch(ends[first : first + _BATCH + 1] - ends[first], cols[part], weights[part])
            for first in range(0, len(questions), _BATCH)
            for part in (slice(ends[first], ends[min(first + _BATCH, len(questions))]),)
        )
        for found in map_parts(work, batches, workers):
            for ids in found:
                have = set(ids) if len(ids) < keep else set()
                rest = (qid for qid in smallest if qid not in have)
                yield [*ids, *(list(rest)[: keep - len(ids)] if len(ids) < keep else ())]


class _Batch(NamedTuple):
    """Some questions as rows of a sparse matrix: starts of the rows, columns, weights."""

    starts: Ints
    columns: Ints
    weights: npt.NDArray[np.float64]


_MOST_OFTEN = np.iinfo(np.uint16).max
_hasher = _Hasher()


def _mapped(folder: Path, number: int, part: str) -> Any:
    return np.load(folder / f"{number}.{part}.npy", mmap_mode="r")


def _write_matrix(folder: Path, width: int, shard: tuple[int, _Shard]) -> int:
    """Write how often each paragraph of a shard has each column: (columns, paragraphs), sparse."""
    number, (ids, texts) = shard
    owner, found = _hasher.columns(texts)
    at = np.load(folder / "place.npy", mmap_mode="r")[found]
    kept = at >= 0
    docs, cols, counts = _counts(owner[kept], at[kept].astype(np.int64), width)
    order = np.argsort(cols, kind="stable")
    starts = np.zeros(width + 1, dtype=np.int64)
    np.cumsum(np.bincount(cols, minlength=width), out=starts[1:])
    for part, array in (
        ("ids", np.array(ids, dtype=np.int64)),
        ("starts", starts),
        ("docs", docs[order].astype(np.int32)),
        ("counts", np.minimum(counts[order], _MOST_OFTEN).astype(np.uint16)),
    ):
        np.save(folder / f"{number}.{part}.npy", array)
    return number


def _best_of_batch(folder: Path, shard_count: int, keep: int, batch: _Batch) -> list[list[int]]:
    """Return the ids of the best paragraphs of each question of a batch."""
    from scipy import sparse

    columns, places = np.unique(batch.columns, return_inverse=True)
    size = len(batch.starts) - 1
    queries = sparse.csr_matrix(
        (batch.weights, places, batch.starts), shape=(size, max(1, len(columns)))
    )
    low = (1 << _ID_BITS) - 1
    best: list[list[Ints]] = [[] for _ in range(size)]
    for number in range(shard_count):
        ids = _mapped(folder, number, "ids")
        scores = queries @ _rows_of_matrix(folder, number, columns, len(ids))
        for row in range(size):
            part = slice(scores.indptr[row], scores.indptr[row + 1])
            points = np.rint(scores.data[part] * 1e4).astype(np.int64)
            keys = (points << _ID_BITS) | (low - ids[scores.indices[part]])
            if len(keys) > keep:
                keys = np.partition(keys, len(keys) - keep)[-keep:]
            best[row].append(keys)
    found = []
    for keys_of in best:
        keys = np.sort(np.concatenate(keys_of) if keys_of else np.zeros(0, np.int64))[::-1]
        found.append((low - (keys[:keep] & low)).tolist())
    return found


def _rows_of_matrix(folder: Path, number: int, columns: Ints, size: int) -> Any:
    """Return the weights of some columns in a shard's paragraphs: only these are read."""
    from scipy import sparse

    starts = _mapped(folder, number, "starts")
    first = starts[columns]
    lengths = starts[columns + 1] - first
    ends = np.cumsum(lengths)
    at = np.repeat(first - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    weights = np.log1p(_mapped(folder, number, "counts")[at].astype(np.float64))
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    docs = _mapped(folder, number, "docs")[at]
    return sparse.csr_matrix((weights, docs, starts), shape=(max(1, len(columns)), size))
