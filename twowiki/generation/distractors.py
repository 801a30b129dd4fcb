"""What the `distractors` query joins: the nearest pages of samples, and what may not be among them.

In: samples, and the file of the pages nearest to each. Out: a part of each of five tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twowiki.generation.ranking import FAR, Ints
from twowiki.generation.samples import BRIDGE_TYPES, GeneratedSample
from twowiki.generation.tables import write_part
from twowiki.generation.text import normalize
from twowiki.models.text import bare_title

_normalized = lru_cache(maxsize=1 << 16)(normalize)  # names that many samples share


SAMPLES_AT_ONCE = 2_000
Numbered = Sequence[tuple[int, GeneratedSample]]


def write_inputs(
    chosen: Numbered, ranked: Path, folder: Path, size: int, *, depth: int, typed_only: bool
) -> None:
    """Write what the `distractors` query joins, of some samples: a part of each of five tables.

    Args:
        chosen: samples with their numbers.
        ranked: the file of the pages nearest to each sample.
        folder: holds the tables.
        size: the number of paragraphs of a context.
        depth: so many of the nearest pages are looked at.
        typed_only: take only pages of the gold pages' types.
    """
    part = f"part-{chosen[0][0]:09d}" if chosen else "part-none"
    numbers = np.array([number for number, _ in chosen], dtype=np.int64)
    tables = _gold_tables(chosen, size, typed_only=typed_only)
    tables["hits"] = _hits_table(numbers, _nearest(ranked, numbers)[:, :depth])
    for name, table in tables.items():
        write_part(folder / name, part, table)


def _nearest(ranked: Path, numbers: Ints) -> Ints:
    """Read the rows of some samples: ids of pages, -1 where there are fewer."""
    rows = np.full((len(numbers), FAR), -1, dtype=np.int64)
    with open(ranked, "rb") as stream:
        for row, number in zip(rows, numbers.tolist(), strict=True):
            stream.seek(number * row.nbytes)
            row[:] = np.frombuffer(stream.read(row.nbytes), dtype=np.int64)
    return rows


def _hits_table(numbers: Ints, qids: Ints) -> pa.Table:
    """Return the nearest pages of samples as rows (sample, qid, place)."""
    samples = np.repeat(numbers, qids.shape[1])
    places = np.tile(np.arange(1, qids.shape[1] + 1), len(numbers))
    kept = qids.ravel() >= 0
    columns = {"sample": samples[kept], "qid": qids.ravel()[kept], "place": places[kept]}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def _gold_tables(chosen: Numbered, size: int, *, typed_only: bool) -> dict[str, pa.Table]:
    """Return the tables golds, needs, answers and named of some samples."""
    golds = [(number, qid) for number, sample in chosen for qid in sample.gold]
    needs = [
        (number, distractors_needed(sample, size), int(typed_only)) for number, sample in chosen
    ]
    answers = sorted({(number, *pair) for number, sample in chosen for pair in _answering(sample)})
    named = sorted({(number, name) for number, sample in chosen for name in _named(sample)})
    ints, text = pa.int64(), pa.string()
    return {
        "golds": _table({"sample": ints, "qid": ints}, golds),
        "needs": _table({"sample": ints, "n_distractors": ints, "typed_only": ints}, needs),
        "named": _table({"sample": ints, "name_norm": text}, named),
        "answers": _table({"sample": ints, "subject_norm": text, "object_norm": text}, answers),
    }


def distractors_needed(sample: GeneratedSample, size: int) -> int:
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
