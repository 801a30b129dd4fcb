"""How hard is a generated data set? Shortcuts against the two-hop reader, by question type.

In: a folder with train.json, dev.json, test.json. Out: F1 of each reader, as a table and JSON.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES, to_official
from twowiki.data.sources import find_splits, read_examples
from twowiki.errors import DataError
from twowiki.generation.probes import majority, one_paragraph, question_only
from twowiki.metric.normalization import normalise_answer
from twowiki.worlds.calendar import MONTHS

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


Record = Mapping[str, Any]
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_YEAR = re.compile(r"\b(\d{3,4})\b")
_LATER = ("later", "more recently", "younger", "longer", "greater age", "more directors",
          "more producers")  # fmt: skip
_DATE_ID = "date_information"
_BRACKET = re.compile(r"\s*\([^()]*\)$")


def two_hops(record: Record) -> str:
    """Answer a record by its facts."""
    if not _stated(record):
        return ""
    evidences = record["evidences"]
    if record["type"] in ("inference", "compositional"):
        return str(evidences[-1][2])
    values = _values(record)
    if len(values) != 2:
        return ""
    one, two = values
    if not re.match(
        r"(?:which|who|was .* or .* born first|does .* or .*)\b", record["question"].lower()
    ):
        return "yes" if set(values[one]) & set(values[two]) else "no"
    measures = [_measure(record, values[name]) for name in (one, two)]
    later = any(word in record["question"].lower() for word in _LATER)
    best = one if (measures[0] > measures[1]) == later else two
    return _as_asked(best, record["question"])


def _stated(record: Record) -> bool:
    """Tell whether every fact's object stands in a gold sentence of its subject's page."""
    pages = dict(record["context"])
    said: dict[str, str] = defaultdict(str)
    for title, sent_id in record["supporting_facts"]:
        sentences = pages.get(title, ())
        said[title] += f" {sentences[sent_id]}" if sent_id < len(sentences) else ""
    # A subject may be a page's title or its label: the order of both is the same.
    subjects = list(dict.fromkeys(subject for subject, _, _ in record["evidences"]))
    if len(subjects) != len(said):
        return False
    page_of = dict(zip(subjects, said.values(), strict=True))
    return all(target in page_of[subject] for subject, _, target in record["evidences"])


def _by_id(record: Record) -> list[Any]:
    """Give the facts with their objects by id, where there are ids: a country has two names."""
    ids = record.get("evidences_id") or ()
    if len(ids) != len(record["evidences"]):
        return list(record["evidences"])
    return [
        [subject, relation, target if target_id in (None, _DATE_ID) else target_id]
        for (subject, relation, target), (_, _, target_id) in zip(
            record["evidences"], ids, strict=True
        )
    ]


def _values(record: Record) -> dict[str, list[str]]:
    """Give what each of the two compared is, by its title: over the bridge where there is one."""
    evidences = _by_id(record)
    last: dict[str, list[str]] = defaultdict(list)
    if record["type"] == "comparison":
        for subject, _, target in evidences:
            last[subject].append(target)
        return last
    role = evidences[0][1]
    films = [fact for fact in evidences if fact[1] == role]
    titles = [title for title, _ in record["supporting_facts"]]
    people = list(dict.fromkeys(title for title in titles if title not in {f[0] for f in films}))
    for place, (film, _, _) in enumerate(films[:2]):
        for subject, relation, target in evidences:
            if relation != role and place < len(people) and subject == people[place]:
                last[film].append(target)
    return last


def _measure(record: Record, values: list[str]) -> tuple[int, ...]:
    """Give what is compared: a date, an age in days, or a number of values."""
    relation = record["evidences"][-1][1]
    if relation in ("director", "producer"):
        return (len(values),)
    dates = [_date(value) for value in values]
    if len(dates) == 2:
        (born, died) = sorted(dates)
        days = (died[0] - born[0]) * 372 + (died[1] - born[1]) * 31 + died[2] - born[2]
        return (days,)
    return dates[0]


def _date(text: str) -> tuple[int, int, int]:
    years = _YEAR.findall(text)
    month = next((place for place, name in enumerate(MONTHS, 1) if name in text), 0)
    day = _DAY.search(text) if month else None
    return int(years[-1]) if years else 0, month, int(day[1]) if day else 0


def _as_asked(title: str, question: str) -> str:
    """Give a title as the question has it: with or without its bracket."""
    if normalise_answer(title) in normalise_answer(question):
        return title
    return _BRACKET.sub("", title)
