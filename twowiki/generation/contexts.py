"""Contexts: each sample's gold paragraphs among distractors, ten in all, shuffled by its seed.

In: samples, the linked pages. Out: rows for the `distractors` query, then each sample's context.
A sample that cannot get enough distractors has none.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from twowiki.data.schema import Paragraph
from twowiki.generation.ranking import Ints
from twowiki.generation.samples import BRIDGE_TYPES, GeneratedSample
from twowiki.generation.tables import parquet_files
from twowiki.generation.text import normalize
from twowiki.models.text import bare_title

_normalized = lru_cache(maxsize=1 << 16)(normalize)  # names that many samples share


def hits_table(ranked: Ints, numbers: Iterable[int], depth: int) -> pa.Table:
    """Return the nearest pages of some samples as rows (sample, qid, place)."""
    chosen = np.fromiter(numbers, dtype=np.int64)
    qids = ranked[chosen, :depth]
    samples = np.repeat(chosen, qids.shape[1])
    places = np.tile(np.arange(1, qids.shape[1] + 1), len(chosen))
    kept = qids.ravel() >= 0
    columns = {"sample": samples[kept], "qid": qids.ravel()[kept], "place": places[kept]}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def gold_tables(
    samples: Sequence[GeneratedSample], numbers: Iterable[int], size: int, *, typed_only: bool
) -> dict[str, pa.Table]:
    """Return the tables that the `distractors` query joins: golds, needs, answers, named.

    Args:
        samples: all samples.
        numbers: the ones that need distractors.
        size: the number of paragraphs of a context.
        typed_only: take only pages of the gold pages' types.
    """
    chosen = [(number, samples[number]) for number in numbers]
    golds = [(number, qid) for number, sample in chosen for qid in sample.gold]
    needs = [(number, _missing(sample, size), int(typed_only)) for number, sample in chosen]
    answers = sorted({(number, *pair) for number, sample in chosen for pair in _answering(sample)})
    named = sorted({(number, name) for number, sample in chosen for name in _named(sample)})
    ints, text = pa.int64(), pa.string()
    return {
        "golds": _table({"sample": ints, "qid": ints}, golds),
        "needs": _table({"sample": ints, "n_distractors": ints, "typed_only": ints}, needs),
        "named": _table({"sample": ints, "name_norm": text}, named),
        "answers": _table({"sample": ints, "subject_norm": text, "object_norm": text}, answers),
    }


def _missing(sample: GeneratedSample, size: int) -> int:
    """Return the number of distractors that a sample needs."""
    return max(0, size - len(sample.gold))


def _answering(sample: GeneratedSample) -> Iterator[tuple[str, str]]:
    """Return the pairs of names that a page which answers the question would contain."""
    for subject, _, text in sample.evidences:
        for name in (subject, bare_title(subject)):
            yield _normalized(name), _normalized(text)
    if sample.type in BRIDGE_TYPES:
        yield _normalized(bare_title(sample.evidences[0].subject)), _normalized(sample.answer)


def _named(sample: GeneratedSample) -> Iterator[str]:
    """Return the names that no other page of the context may have.

    A page that the question names with its bracket shares its name with none.
    """
    question = normalize(sample.question)
    for title in {fact.title for fact in sample.supporting_facts}:
        whole, bare = _normalized(title), _normalized(bare_title(title))
        yield whole if whole in question else bare
    for triple in sample.evidences:
        if _normalized(triple.subject) not in question:
            yield _normalized(bare_title(triple.subject))


def _table(columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    lists = list(zip(*rows, strict=True)) or [()] * len(columns)
    return pa.table(
        {
            name: pa.array(list(values), kind)
            for (name, kind), values in zip(columns.items(), lists, strict=True)
        }
    )


class Contexts:
    """The contexts of all samples, of `size` paragraphs, from the outputs of the queries."""

    def __init__(self, size: int) -> None:
        self._size = size
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
            if len(self._picked.get(number, ())) < _missing(sample, self._size)
        ]

    def of(
        self, number: int, sample: GeneratedSample, seed: str
    ) -> tuple[tuple[Paragraph, ...], int] | None:
        """Return a sample's context and its worst tier of distractors; None if it falls short."""
        picked = self._picked.get(number, [])
        if len(picked) < _missing(sample, self._size):
            return None

        def draw(qid: int) -> tuple[str, int]:
            return hashlib.md5(f"{seed}|{sample.id}|Q{qid}".encode()).hexdigest(), qid

        members = sorted([*sample.gold, *(qid for qid, _ in picked)], key=draw)
        context = tuple(
            Paragraph(self._titles[qid], tuple(self._sentences[qid])) for qid in members
        )
        return context, max((tier for _, tier in picked), default=0)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=50_000):
            yield from batch.to_pylist()
