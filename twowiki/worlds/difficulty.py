"""How hard is a generated data set? Shortcuts against the two-hop reader, by question type.

In: a folder with train.json, dev.json, test.json. Out: F1 of each reader, as a table and JSON.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.normalization import normalise_answer
from twowiki.schema import TWO_WIKI_TYPES, to_official
from twowiki.sources import find_splits, read_examples
from twowiki.worlds.probes import Record, majority, one_paragraph, question_only
from twowiki.worlds.two_hops import two_hops

MOST = 4000
READERS = ("majority", "question only", "one paragraph", "two hops")


def answer_f1(said: str, true: str) -> float:
    """Give the words' F1 of two answers; yes and no count as a whole."""
    one, two = normalise_answer(said).split(), normalise_answer(true).split()
    if {"yes", "no"} & {said, true}:
        return float(one == two)
    same = sum((Counter(one) & Counter(two)).values())
    return 2 * same / (len(one) + len(two)) if same else 0.0


def read_records(folder: Path, most: int = MOST) -> list[Record]:
    """Read up to so many records with gold from a folder, drawn by their ids.

    Raises:
        DataError: no records with gold there.
    """
    records = [
        to_official(example)
        for split, files in find_splits(folder).items()
        for file in files
        for example in read_examples(file, split=split)
        if example.has_gold
    ]
    if not records:
        raise DataError(
            "no records with gold", file=folder, remedy="Give a folder with train.json or dev.json"
        )
    records.sort(key=lambda r: (hashlib.md5(r["_id"].encode()).hexdigest(), r["_id"]))
    return list(records[:most])


def measure_difficulty(records: Sequence[Record]) -> dict[str, Any]:
    """Give each reader's F1 (0-100) by question type and over all."""
    said = {
        "majority": majority(records),
        "question only": question_only(records),
        "one paragraph": one_paragraph(records),
        "two hops": [two_hops(record) for record in records],
    }
    rows = {
        name: [answer_f1(text, r["answer"]) for text, r in zip(said[name], records, strict=True)]
        for name in READERS
    }
    report: dict[str, Any] = {}
    for kind in ("all", *TWO_WIKI_TYPES):
        members = [n for n, record in enumerate(records) if kind in ("all", record["type"])]
        if members:
            report[kind] = {"samples": len(members)} | {
                name: round(100 * sum(rows[name][n] for n in members) / len(members), 2)
                for name in READERS
            }
    return report


def render_difficulty(report: dict[str, Any]) -> str:
    """Render the figures as a table of text."""
    lines = [f"{'F1 by reader':20}{'samples':>8}" + "".join(f"{name:>15}" for name in READERS)]
    for kind, row in report.items():
        figures = "".join(f"{row[name]:>15.2f}" for name in READERS)
        lines.append(f"{kind:20}{row['samples']:>8}{figures}")
    return "\n".join(lines)
