"""Contexts: each sample's gold paragraphs among distractors, ten in all, shuffled by its seed.

In: samples, the linked pages. Out: rows for the `distractors` query, then each sample's context.
A sample that cannot get enough distractors has none. Paragraphs are ranked by hashed words and
pairs of words (DrQA's tf-idf).
"""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from twowiki.data.schema import Paragraph
from twowiki.generation.samples import BRIDGE_TYPES, GeneratedSample
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import normalize
from twowiki.io.files import progress
from twowiki.models.text import bare_title

N_PARAGRAPHS = 10
NEAR, FAR = 50, 200
_SHARD = 25_000
_Ints = npt.NDArray[np.int64]
_Shard = tuple[Sequence[int], Sequence[str]]  # ids, normalized texts


def shards_of(linked: Path, size: int = _SHARD) -> Iterator[_Shard]:
    """Return the pages' ids and normalized texts, some thousands at a time."""
    for file in parquet_files(linked):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=size, columns=["qid", "norm"]):
            yield batch.column("qid").to_pylist(), batch.column("norm").to_pylist()


def nearest_pages(samples: Sequence[GeneratedSample], linked: Path) -> _Ints:
    """Return the ids of each sample's nearest pages, best first: (samples, FAR), -1 padded."""
    questions = [normalize(sample.question) for sample in samples]
    ranked = np.full((len(samples), FAR), -1, dtype=np.int64)
    rankings = rank(questions, lambda: shards_of(linked), keep=FAR)
    shown = progress(rankings, what="ranking paragraphs", total=len(samples))
    for number, found in enumerate(shown):
        ranked[number, : len(found)] = found
    return ranked


def hits_table(ranked: _Ints, numbers: Iterable[int], depth: int) -> pa.Table:
    """Return the nearest pages of some samples as rows (sample, qid, place)."""
    chosen = np.fromiter(numbers, dtype=np.int64)
    qids = ranked[chosen, :depth]
    samples = np.repeat(chosen, qids.shape[1])
    places = np.tile(np.arange(1, qids.shape[1] + 1), len(chosen))
    kept = qids.ravel() >= 0
    columns = {"sample": samples[kept], "qid": qids.ravel()[kept], "place": places[kept]}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def gold_tables(
    samples: Sequence[GeneratedSample], numbers: Iterable[int], *, typed_only: bool
) -> dict[str, pa.Table]:
    """Return the tables that the `distractors` query joins: golds, needs, answers.

    Args:
        samples: all samples.
        numbers: the ones that need distractors.
        typed_only: take only pages of the gold pages' types.
    """
    chosen = [(number, samples[number]) for number in numbers]
    golds = [(number, qid) for number, sample in chosen for qid in sample.gold]
    needs = [(number, _missing(sample), int(typed_only)) for number, sample in chosen]
    answers = sorted({(number, *pair) for number, sample in chosen for pair in _answering(sample)})
    ints, text = pa.int64(), pa.string()
    return {
        "golds": _table({"sample": ints, "qid": ints}, golds),
        "needs": _table({"sample": ints, "n_distractors": ints, "typed_only": ints}, needs),
        "answers": _table({"sample": ints, "subject_norm": text, "object_norm": text}, answers),
    }


def _missing(sample: GeneratedSample) -> int:
    """Return the number of distractors that a sample needs."""
    return N_PARAGRAPHS - len(sample.gold)


def _answering(sample: GeneratedSample) -> Iterator[tuple[str, str]]:
    """Return the pairs of names that a page which answers the question would contain."""
    for subject, _, text in sample.evidences:
        for name in (subject, bare_title(subject)):
            yield normalize(name), normalize(text)
    if sample.type in BRIDGE_TYPES:
        yield normalize(bare_title(sample.evidences[0].subject)), normalize(sample.answer)


def _table(columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    lists = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table(
        {
            name: pa.array(list(values), kind)
            for (name, kind), values in zip(columns.items(), lists, strict=True)
        }
    )


class Contexts:
    """The contexts of all samples, from the outputs of the context queries."""

    def __init__(self) -> None:
        self._picked: dict[int, list[tuple[int, int]]] = {}
        self._titles: dict[int, str] = {}
        self._sentences: dict[int, list[str]] = {}

    def add(self, distractors: Path, pages: Path) -> None:
        """Read distractors and their pages; a sample's later ones replace its earlier ones."""
        picked: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row in _rows(distractors):
            picked[row["sample"]].append((row["qid"], row["tier"]))
        self._picked |= picked
        sentences: dict[int, list[str]] = defaultdict(list)
        for row in _rows(pages):
            self._titles[row["qid"]] = row["title"]
            sentences[row["qid"]].append(row["text"])
        self._sentences |= sentences

    def short(self, samples: Sequence[GeneratedSample]) -> list[int]:
        """Return the numbers of the samples that have too few distractors."""
        return [
            number
            for number, sample in enumerate(samples)
            if len(self._picked.get(number, ())) < _missing(sample)
        ]

    def of(
        self, number: int, sample: GeneratedSample, seed: str
    ) -> tuple[tuple[Paragraph, ...], int] | None:
        """Return a sample's context and its worst tier of distractors; None if it falls short."""
        picked = self._picked.get(number, [])
        if len(picked) < _missing(sample):
            return None

        def draw(qid: int) -> tuple[str, int]:
            return hashlib.md5(f"{seed}|{sample.id}|Q{qid}".encode()).hexdigest(), qid

        members = sorted([*sample.gold, *(qid for qid, _ in picked)], key=draw)
        context = tuple(
            Paragraph(self._titles[qid], tuple(self._sentences[qid])) for qid in members
        )
        return context, max(tier for _, tier in picked)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=50_000):
            yield from batch.to_pylist()


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

    def columns(self, texts: Sequence[str]) -> tuple[_Ints, _Ints]:
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


def _counts(rows: _Ints, columns: _Ints, width: int) -> tuple[_Ints, _Ints, _Ints]:
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
    matrices: list[tuple[_Ints, Any]] = []
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
    queries: Any, matrices: list[tuple[_Ints, Any]], keep: int, smallest: list[int]
) -> Iterator[list[int]]:
    low = (1 << _ID_BITS) - 1
    for first in range(0, queries.shape[0], _BATCH):
        batch = queries[first : first + _BATCH]
        best: list[list[_Ints]] = [[] for _ in range(batch.shape[0])]
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
