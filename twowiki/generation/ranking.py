"""Rank paragraphs for questions, by hashed words and pairs of words (DrQA's tf-idf).

In: questions, and the pages in shards, so that memory holds some thousands of texts. Out: the ids
of the best pages of each question, the same on every machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from twowiki.generation.samples import GeneratedSample
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import normalize
from twowiki.io.files import progress

NEAR, FAR = 50, 200
_SHARD = 25_000
Ints = npt.NDArray[np.int64]
_Shard = tuple[Sequence[int], Sequence[str]]  # ids, normalized texts


def shards_of(linked: Path, size: int = _SHARD) -> Iterator[_Shard]:
    """Return the pages' ids and normalized texts, some thousands at a time."""
    for file in parquet_files(linked):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=size, columns=["qid", "norm"]):
            yield batch.column("qid").to_pylist(), batch.column("norm").to_pylist()


def nearest_pages(samples: Sequence[GeneratedSample], linked: Path) -> Ints:
    """Return the ids of each sample's nearest pages, best first: (samples, FAR), -1 padded."""
    questions = [normalize(sample.question) for sample in samples]
    ranked = np.full((len(samples), FAR), -1, dtype=np.int64)
    rankings = rank(questions, lambda: shards_of(linked), keep=FAR)
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


class _Hasher:
    """Hashes words, with a cache: a corpus repeats its words."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def columns(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return (text number, column) of every word and pair of words of some texts."""
        known = self._known
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
    questions: Sequence[str], shards: Callable[[], Iterable[_Shard]], *, keep: int = 200
) -> Iterator[list[int]]:
    """Rank the paragraphs for each question.

    Args:
        questions: normalized questions.
        shards: returns an iterator of (ids, normalized texts); called once.
        keep: the number of ids per question, where the collection has as many.

    Yields:
        The best ids, best first. Paragraphs that share no word come last, smaller ids first.
    """
    from scipy import sparse

    hasher = _Hasher()
    rows, columns = hasher.columns([question_words(text) for text in questions])
    wanted = np.unique(columns)
    place = np.full(1 << _BITS, -1, dtype=np.int32)
    place[wanted] = np.arange(len(wanted), dtype=np.int32)
    width = max(1, len(wanted))
    matrices: list[tuple[Ints, Any]] = []
    frequency = np.zeros(width, dtype=np.int64)
    total = 0
    smallest: list[int] = []
    for ids, texts in shards():
        owner, found = hasher.columns(texts)
        at = place[found]
        kept = at >= 0
        docs, cols, counts = _counts(owner[kept], at[kept].astype(np.int64), width)
        frequency += np.bincount(cols, minlength=width)
        total += len(ids)
        smallest = sorted([*smallest, *ids])[:keep]
        weights = np.log1p(counts.astype(np.float64))
        matrix = sparse.csr_matrix((weights, (cols, docs)), shape=(width, len(ids)))
        matrices.append((np.array(ids, dtype=np.int64), matrix))
    # DrQA's idf, but never 0: in a small collection every word counts a little.
    idf = np.log((total - frequency + 0.5) / (frequency + 0.5))
    idf = np.maximum(idf, 0.01)
    numbers, cols, counts = _counts(rows, place[columns].astype(np.int64), width)
    weights = np.log1p(counts.astype(np.float64)) * idf[cols] ** 2
    queries = sparse.csr_matrix((weights, (numbers, cols)), shape=(len(questions), width))
    yield from _ranked(queries, matrices, keep, smallest)


def _ranked(
    queries: Any, matrices: list[tuple[Ints, Any]], keep: int, smallest: list[int]
) -> Iterator[list[int]]:
    low = (1 << _ID_BITS) - 1
    for first in range(0, queries.shape[0], _BATCH):
        batch = queries[first : first + _BATCH]
        best: list[list[Ints]] = [[] for _ in range(batch.shape[0])]
        for ids, matrix in matrices:
            scores = batch @ matrix
            for row in range(batch.shape[0]):
                part = slice(scores.indptr[row], scores.indptr[row + 1])
                points = np.rint(scores.data[part] * 1e4).astype(np.int64)
                keys = (points << _ID_BITS) | (low - ids[scores.indices[part]])
                if len(keys) > keep:
                    keys = np.partition(keys, len(keys) - keep)[-keep:]
                best[row].append(keys)
        for keys_of in best:
            keys = np.sort(np.concatenate(keys_of) if keys_of else np.zeros(0, np.int64))[::-1]
            ranked = [int(qid) for qid in low - (keys[:keep] & low)]
            if len(ranked) < keep:
                have = set(ranked)
                ranked += [qid for qid in smallest if qid not in have][: keep - len(ranked)]
            yield ranked
