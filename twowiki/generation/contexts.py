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

import pyarrow as pa
import pyarrow.parquet as pq

from twowiki.generation.retrieval import Shard, rank
from twowiki.generation.tables import parquet_files, write_part
from twowiki.generation.text import bare_title, normalize

PARAGRAPHS = 10
_SHARD = 25_000
_SAMPLES_A_PART = 20_000


def shards_of(linked: Path, size: int = _SHARD) -> Iterator[Shard]:
    """Give the pages' ids and normalised texts, some thousands at a time."""
    for file in parquet_files(linked):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=size, columns=["qid", "norm"]):
            yield batch.column("qid").to_pylist(), batch.column("norm").to_pylist()


def write_hits(samples: Sequence[Mapping[str, Any]], linked: Path, out: Path) -> None:
    """Write for each sample its nearest paragraphs, best first."""
    questions = [normalize(sample["question"]) for sample in samples]
    rows: tuple[list[int], list[int], list[int]] = ([], [], [])
    part = 0
    for number, ranked in enumerate(rank(questions, lambda: shards_of(linked))):
        rows[0].extend([number] * len(ranked))
        rows[1].extend(ranked)
        rows[2].extend(range(1, len(ranked) + 1))
        if (number + 1) % _SAMPLES_A_PART == 0:
            _write_hits(rows, out, part)
            rows, part = ([], [], []), part + 1
    _write_hits(rows, out, part)


def _write_hits(rows: tuple[list[int], ...], out: Path, part: int) -> None:
    table = pa.table(
        {name: pa.array(column, pa.int64()) for name, column in zip(("sample", "qid", "place"), rows, strict=True)}
    )
    write_part(out, f"part-{part:05d}", table)


def gold_tables(samples: Sequence[Mapping[str, Any]]) -> dict[str, pa.Table]:
    """Give the tables that the `distractors` query joins: golds, needs, answers."""
    golds = [(number, qid) for number, sample in enumerate(samples) for qid in sample["gold"]]
    needs = [(number, PARAGRAPHS - len(sample["gold"])) for number, sample in enumerate(samples)]
    answers = sorted(
        {
            (number, normalize(name), normalize(text))
            for number, sample in enumerate(samples)
            for subject, _, text in sample["evidences"]
            for name in (subject, bare_title(subject))
        }
        | {
            (number, normalize(bare_title(sample["evidences"][0][0])), normalize(sample["answer"]))
            for number, sample in enumerate(samples)
            if sample["type"] in ("inference", "compositional")
        }
    )
    ints, text = pa.int64(), pa.string()
    return {
        "golds": _table({"sample": ints, "qid": ints}, golds),
        "needs": _table({"sample": ints, "n_distractors": ints}, needs),
        "answers": _table({"sample": ints, "subject_norm": text, "object_norm": text}, answers),
    }


def _table(columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    lists = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table(
        {name: pa.array(list(values), kind) for (name, kind), values in zip(columns.items(), lists, strict=True)}
    )


class Contexts:
    """The contexts of all samples.

    Args:
        distractors: the output of the `distractors` query.
        pages: the output of the `context_pages` query.
    """

    def __init__(self, distractors: Path, pages: Path) -> None:
        self._picked: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row in _rows(distractors):
            self._picked[row["sample"]].append((row["qid"], row["tier"]))
        self._titles: dict[int, str] = {}
        self._sentences: dict[int, list[str]] = defaultdict(list)
        for row in _rows(pages):
            self._titles[row["qid"]] = row["title"]
            self._sentences[row["qid"]].append(row["text"])

    def of(
        self, number: int, sample: Mapping[str, Any], seed: str
    ) -> tuple[list[list[Any]], int] | None:
        """Give a sample's context and its worst tier of distractors; None if it falls short.

        """
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
