"""Contexts: each sample's gold paragraphs among distractors, ten in all, shuffled by its seed.

In: samples, the linked pages. Out: rows for the `distractors` query, then each sample's context.
A sample that cannot get enough distractors is dropped with its reason.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from twowiki.files import progress
from twowiki.generation.retrieval import Shard, rank
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import bare_title, normalize

PARAGRAPHS = 10
NEAR, FAR = 50, 200
_SHARD = 25_000


def shards_of(linked: Path, size: int = _SHARD) -> Iterator[Shard]:
    """Give the pages' ids and normalised texts, some thousands at a time."""
    for file in parquet_files(linked):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=size, columns=["qid", "norm"]):
            yield batch.column("qid").to_pylist(), batch.column("norm").to_pylist()


def nearest(samples: Sequence[Mapping[str, Any]], linked: Path) -> npt.NDArray[np.int64]:
    """Give for each sample the ids of its nearest pages, best first: (samples, FAR), -1 padded."""
    questions = [normalize(sample["question"]) for sample in samples]
    ranked = np.full((len(samples), FAR), -1, dtype=np.int64)
    found_of = rank(questions, lambda: shards_of(linked), keep=FAR)
    shown = progress(found_of, what="ranking paragraphs", total=len(samples))
    for number, found in enumerate(shown):
        ranked[number, : len(found)] = found
    return ranked


def hits_table(ranked: npt.NDArray[np.int64], numbers: Iterable[int], depth: int) -> pa.Table:
    """Give the nearest pages of some samples as rows (sample, qid, place)."""
    chosen = np.fromiter(numbers, dtype=np.int64)
    qids = ranked[chosen, :depth]
    samples = np.repeat(chosen, qids.shape[1])
    places = np.tile(np.arange(1, qids.shape[1] + 1), len(chosen))
    kept = qids.ravel() >= 0
    columns = {"sample": samples[kept], "qid": qids.ravel()[kept], "place": places[kept]}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def gold_tables(
    samples: Sequence[Mapping[str, Any]], numbers: Iterable[int], *, typed_only: bool
) -> dict[str, pa.Table]:
    """Give the tables that the `distractors` query joins: golds, needs, answers.

    Args:
        samples: all samples.
        numbers: the ones that need distractors.
        typed_only: take pages of the gold pages' types alone.
    """
    chosen = [(number, samples[number]) for number in numbers]
    golds = [(number, qid) for number, sample in chosen for qid in sample["gold"]]
    needs = [
        (number, PARAGRAPHS - len(sample["gold"]), int(typed_only)) for number, sample in chosen
    ]
    answers = sorted({(number, *pair) for number, sample in chosen for pair in _answering(sample)})
    ints, text = pa.int64(), pa.string()
    return {
        "golds": _table({"sample": ints, "qid": ints}, golds),
        "needs": _table({"sample": ints, "n_distractors": ints, "typed_only": ints}, needs),
        "answers": _table({"sample": ints, "subject_norm": text, "object_norm": text}, answers),
    }


def _answering(sample: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the pairs of words that a page which answers the question would hold."""
    for subject, _, text in sample["evidences"]:
        for name in (subject, bare_title(subject)):
            yield normalize(name), normalize(text)
    if sample["type"] in ("inference", "compositional"):
        yield normalize(bare_title(sample["evidences"][0][0])), normalize(sample["answer"])


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

    def short(self, samples: Sequence[Mapping[str, Any]]) -> list[int]:
        """Give the samples that have too few distractors."""
        return [
            number
            for number, sample in enumerate(samples)
            if len(self._picked.get(number, ())) < PARAGRAPHS - len(sample["gold"])
        ]

    def of(
        self, number: int, sample: Mapping[str, Any], seed: str
    ) -> tuple[list[list[Any]], int] | None:
        """Give a sample's context and its worst tier of distractors; None if it falls short."""
        gold = sample["gold"]
        picked = self._picked.get(number, [])
        if len(picked) < PARAGRAPHS - len(gold):
            return None
        members = [*gold, *(qid for qid, _ in picked)]
        members.sort(
            key=lambda qid: (hashlib.md5(f"{seed}|{sample['id']}|Q{qid}".encode()).hexdigest(), qid)
        )
        context = [[self._titles[qid], self._sentences[qid]] for qid in members]
        return context, max(tier for _, tier in picked)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=50_000):
            yield from batch.to_pylist()
