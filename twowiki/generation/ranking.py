"""Rank paragraphs for questions, by hashed words and pairs of words (DrQA's tf-idf).

In: questions, and a table of pages. Out: the ids of the best pages of each question, the same on
every machine. Tasks read the table's row groups, some thousands of texts at a time, and turn each
such shard into a matrix on disk, of the words that some question has; then tasks score batches of
questions, a shard at a time, and write what they find. The engine runs the tasks in processes of
this machine or on a cluster; no process holds more than a shard.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from twowiki.generation.tables import parquet_files
from twowiki.io.files import progress, replacing

NEAR, FAR = 50, 200
_SHARD = 32_768  # pages, of some 100 words each
_PIECE = 4_096  # pages whose words are counted at a time
_MATRICES = ".ranking-"
Ints = npt.NDArray[np.int64]
RunTasks = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


class _RowGroup(NamedTuple):
    """A row group of the table of pages: the file, its number there, and its number in all."""

    file: str
    group: int
    number: int


def _row_groups(linked: Path) -> list[_RowGroup]:
    groups = (
        (str(file), group)
        for file in parquet_files(linked)
        for group in range(pq.read_metadata(file).num_row_groups)
    )
    return [_RowGroup(file, group, number) for number, (file, group) in enumerate(groups)]


def write_nearest(
    questions: Sequence[str], linked: Path, out: Path, *, run: RunTasks = map
) -> None:
    """Write the ids of each question's nearest pages, best first, in rows of FAR, -1 padded.

    Args:
        questions: normalized questions.
        linked: the table of pages.
        out: the file; the matrices are beside it for the time of the ranking.
        run: runs tasks and yields their results in order; the ids do not depend on it.
    """
    for left in out.parent.glob(f"{_MATRICES}*"):  # of a run that was killed
        shutil.rmtree(left)
    with replacing(out, "wb") as stream:
        rankings = rank(questions, linked, keep=FAR, run=run, folder=out.parent)
        shown = progress(rankings, what="ranking paragraphs", total=-(-len(questions) // _BATCH),
                         unit="batches")  # fmt: skip
        for found in shown:
            stream.write(found.tobytes())


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
    linked: Path,
    *,
    keep: int = FAR,
    run: RunTasks = map,
    folder: Path | None = None,
) -> Iterator[Ints]:
    """Rank the paragraphs for each question.

    Args:
        questions: normalized questions.
        linked: the table of pages: `qid` and `norm`, the normalized text.
        keep: the number of ids per question.
        run: runs tasks and yields their results in order; the ids do not depend on it.
        folder: where the matrices are for the time of the ranking; by default the system's.

    Yields:
        For batches of questions, the best ids in rows, best first; -1 where the collection has no
        more. Paragraphs that share no word come last, smaller ids first.
    """
    rows, columns = _Hasher().columns([question_words(text) for text in questions])
    wanted = np.unique(columns)
    place = np.full(1 << _BITS, -1, dtype=np.int32)
    place[wanted] = np.arange(len(wanted), dtype=np.int32)
    width = max(1, len(wanted))
    numbers, cols, counts = _counts(rows, place[columns].astype(np.int64), width)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_MATRICES) as scratch:
        matrices = Path(scratch).resolve()
        _save(matrices / "place.npy", place)
        del place, rows, columns
        frequency = np.zeros(width, dtype=np.int64)
        total = 0
        shards: list[str] = []
        smallest = np.zeros(0, dtype=np.int64)
        groups = _row_groups(linked)
        work = partial(_write_matrices, matrices, width, keep)
        for read in progress(run(work, groups), what="counting words", total=len(groups)):
            total += read.pages
            shards += read.shards
            smallest = np.sort(np.concatenate([smallest, read.smallest]))[:keep]
            for shard in read.shards:
                frequency += np.diff(_mapped(matrices, shard, "starts"))
        _save(matrices / "smallest.npy", smallest)
        # DrQA's idf, but never 0: in a small collection every word counts a little.
        idf = np.log((total - frequency + 0.5) / (frequency + 0.5))
        idf = np.maximum(idf, 0.01)
        weights = np.log1p(counts.astype(np.float64)) * idf[cols] ** 2
        ends = np.searchsorted(numbers, np.arange(len(questions) + 1))
        batches = (
            _Batch(first, ends[first : first + _BATCH + 1] - ends[first], cols[part], weights[part])
            for first in range(0, len(questions), _BATCH)
            for part in (slice(ends[first], ends[min(first + _BATCH, len(questions))]),)
        )
        for file in run(partial(_write_best, matrices, shards, keep), batches):
            path = matrices / file
            yield np.load(path)
            path.unlink()


class _Batch(NamedTuple):
    """Some questions as rows of a sparse matrix: starts of the rows, columns, weights."""

    number: int
    starts: Ints
    columns: Ints
    weights: npt.NDArray[np.float64]


class _Read(NamedTuple):
    """What a task has read: the names of its shards, its pages, and their smallest ids."""

    shards: list[str]
    pages: int
    smallest: Ints


_MOST_OFTEN = np.iinfo(np.uint16).max
_hasher = _Hasher()


def _save(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array as `np.save` does, which hides that a disk is full."""
    header = np.lib.format.header_data_from_array_1_0(array)
    with open(path, "wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(array.data)


def _mapped(folder: Path, shard: str, part: str) -> Any:
    return np.load(folder / f"{shard}.{part}.npy", mmap_mode="r")


def _write_matrices(folder: Path, width: int, keep: int, task: _RowGroup) -> _Read:
    """Write the matrices of a row group of pages."""
    shards: list[str] = []
    pages, smallest = 0, np.zeros(0, dtype=np.int64)
    batches = pq.ParquetFile(task.file).iter_batches(
        batch_size=_SHARD, row_groups=[task.group], columns=["qid", "norm"]
    )
    for batch in batches:
        ids = batch.column("qid").to_numpy()
        shards.append(f"{task.number}-{len(shards)}")
        _write_matrix(folder / shards[-1], width, ids, batch.column("norm").to_pylist())
        pages += len(ids)
        smallest = np.sort(np.concatenate([smallest, ids]))[:keep]
    return _Read(shards, pages, smallest)


def _write_matrix(shard: Path, width: int, ids: Ints, texts: Sequence[str]) -> None:
    """Write how often each paragraph of a shard has each column: (columns, paragraphs), sparse."""
    place = np.load(shard.with_name("place.npy"), mmap_mode="r")
    pieces = []
    for first in range(0, len(texts), _PIECE):
        owner, found = _hasher.columns(texts[first : first + _PIECE])
        at = place[found]
        kept = at >= 0
        rows, columns, numbers = _counts(owner[kept], at[kept].astype(np.int64), width)
        pieces.append(
            (
                (rows + first).astype(np.int32),
                columns.astype(np.int32),
                np.minimum(numbers, _MOST_OFTEN).astype(np.uint16),
            )
        )
    docs, cols, counts = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.argsort(cols, kind="stable")
    starts = np.zeros(width + 1, dtype=np.uint32)
    np.cumsum(np.bincount(cols, minlength=width), out=starts[1:])
    for part, array in (
        ("ids", ids),
        ("starts", starts),
        ("docs", docs[order]),
        ("counts", counts[order]),
    ):
        _save(shard.with_name(f"{shard.name}.{part}.npy"), array)


def _write_best(folder: Path, shards: Sequence[str], keep: int, batch: _Batch) -> str:
    """Write the ids of the best paragraphs of each question of a batch; return the file's name."""
    from scipy import sparse

    columns, places = np.unique(batch.columns, return_inverse=True)
    size = len(batch.starts) - 1
    queries = sparse.csr_matrix(
        (batch.weights, places, batch.starts), shape=(size, max(1, len(columns)))
    )
    low = (1 << _ID_BITS) - 1
    best = [np.zeros(0, dtype=np.int64) for _ in range(size)]
    for shard in shards:
        ids = _mapped(folder, shard, "ids")
        scores = queries @ _rows_of_matrix(folder, shard, columns, len(ids))
        for row in range(size):
            part = slice(scores.indptr[row], scores.indptr[row + 1])
            points = np.rint(scores.data[part] * 1e4).astype(np.int64)
            keys = np.concatenate(
                [best[row], (points << _ID_BITS) | (low - ids[scores.indices[part]])]
            )
            best[row] = np.partition(keys, len(keys) - keep)[-keep:] if len(keys) > keep else keys
    smallest = np.load(folder / "smallest.npy")
    found = np.full((size, keep), -1, dtype=np.int64)
    for row, keys in enumerate(best):
        known = low - (np.sort(keys)[::-1] & low)
        rest = smallest[~np.isin(smallest, known)] if len(known) < keep else smallest[:0]
        ranked = np.concatenate([known, rest])[:keep]
        found[row, : len(ranked)] = ranked
    name = f"best-{batch.number}.npy"
    _save(folder / name, found)
    return name


def _rows_of_matrix(folder: Path, shard: str, columns: Ints, size: int) -> Any:
    """Return the weights of some columns in a shard's paragraphs: only these are read."""
    from scipy import sparse

    starts = _mapped(folder, shard, "starts")
    first = starts[columns].astype(np.int64)
    lengths = starts[columns + 1].astype(np.int64) - first
    ends = np.cumsum(lengths)
    at = np.repeat(first - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    weights = np.log1p(_mapped(folder, shard, "counts")[at].astype(np.float64))
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    docs = _mapped(folder, shard, "docs")[at]
    return sparse.csr_matrix((weights, docs, starts), shape=(max(1, len(columns)), size))
