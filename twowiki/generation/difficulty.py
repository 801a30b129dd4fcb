"""How hard is a generated data set? Shortcuts against the two-hop reader, by question type.

In: a folder with train.json, dev.json, test.json. Out: F1 of each reader, as a table and JSON. The
two-hop reader is the bound above: it follows the gold facts through the gold sentences, compares,
and learns nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.data.configs import SET_TYPES
from twowiki.data.dates import MONTH_NAMES
from twowiki.data.schema import HOTPOT_TYPES, TWO_WIKI_TYPES, Example, Triple
from twowiki.data.sources import read_examples
from twowiki.data.splits import find_splits, guess_config
from twowiki.errors import DataError
from twowiki.generation.samples import BRIDGE_TYPES, DATE_ID
from twowiki.generation.shortcuts import LATER, measure_shortcuts, render_shortcuts
from twowiki.generation.single_hop import (
    majority_answers,
    one_paragraph_answers,
    question_only_answers,
    word_f1,
)
from twowiki.metric.normalization import normalize_answer
from twowiki.models.text import bare_title

READERS = ("majority", "question only", "one paragraph", "two hops")
_MOST_EXAMPLES = 4000
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_YEAR = re.compile(r"\b(\d{3,4})\b")
_PICKS = re.compile(r"(?:which|who|was .* or .* born first|does .* or .*)\b")


def read_gold_examples(
    folder: Path, most: int | None = _MOST_EXAMPLES, config: str | None = None
) -> list[Example]:
    """Read at most so many examples with gold from a folder or a file, drawn by their ids.

    Args:
        folder: the folder, or a file.
        most: how many examples at most; None reads all.
        config: a release's name or hotpotqa; by default the name decides.

    Raises:
        DataError: no examples with gold there.
    """
    config = config or guess_config(folder)
    examples = [
        example
        for split, files in find_splits(folder, config).items()
        for file in files
        for example in read_examples(file, config, split)
        if example.has_gold
    ]
    if not examples:
        raise DataError(
            "no records with gold", file=folder, remedy="Name a folder with train.json or dev.json"
        )
    examples.sort(key=lambda one: (hashlib.md5(one.id.encode()).hexdigest(), one.id))
    return examples[:most]


def measure_difficulty(examples: Sequence[Example]) -> dict[str, Any]:
    """Measure how hard examples are: named shortcuts on all, readers on the first 4,000.

    The two-hop reader follows triples; where no example has any, it is left out.

    Returns:
        `difficulty`: each reader's F1 (0-100) by question type and over all; `shortcuts` and
        `certificate`: see `shortcuts.measure_shortcuts`.
    """
    everything, examples = examples, examples[:_MOST_EXAMPLES]
    answers = {
        "majority": majority_answers(examples),
        "question only": question_only_answers(examples),
        "one paragraph": one_paragraph_answers(examples),
    }
    if any(example.evidences for example in examples):
        answers["two hops"] = [two_hop_answer(example) for example in examples]
    scores = {
        name: [
            word_f1(text, example.answer or "")
            for text, example in zip(answers[name], examples, strict=True)
        ]
        for name in answers
    }
    report: dict[str, Any] = {}
    for kind in dict.fromkeys(("all", *TWO_WIKI_TYPES, *SET_TYPES, *HOTPOT_TYPES)):
        members = [n for n, example in enumerate(examples) if kind in ("all", example.type)]
        if members:
            report[kind] = _mean_scores(scores, members)
    chains = defaultdict(list)
    for number, example in enumerate(examples):
        if example.type == "compositional":
            chains[len(example.triples)].append(number)
    if max(chains, default=0) > 2:
        for hops in sorted(chains):
            report[f"chains of {hops} hops"] = _mean_scores(scores, chains[hops])
    learned = {name: answers[name] for name in READERS[:3]}
    return {"difficulty": report, **measure_shortcuts(everything, learned)}


def _mean_scores(scores: Mapping[str, Sequence[float]], members: Sequence[int]) -> dict[str, Any]:
    return {"samples": len(members)} | {
        name: round(100 * sum(values[number] for number in members) / len(members), 2)
        for name, values in scores.items()
    }


def render_difficulty(measured: Mapping[str, Any]) -> str:
    """Render the F1 of the readers and the ledger of shortcuts as tables of text."""
    report: Mapping[str, Mapping[str, Any]] = measured["difficulty"]
    readers = [name for name in READERS if name in report["all"]]
    lines = [f"{'F1 by reader':20}{'samples':>8}" + "".join(f"{name:>15}" for name in readers)]
    for kind, row in report.items():
        cells = "".join(f"{row[name]:>15.2f}" for name in readers)
        lines.append(f"{kind:20}{row['samples']:>8}{cells}")
    return "\n".join([*lines, render_shortcuts(measured)])


def two_hop_answer(example: Example) -> str:
    """Answer an example by its gold facts; "" where its sentences do not state them."""
    if not _is_stated(example):
        return ""
    if example.type in BRIDGE_TYPES:
        return example.triples[-1].object
    if example.type in SET_TYPES:
        return _listed_answer(example)
    values = _values(example)
    if len(values) != 2:
        return ""
    one, two = values
    question = example.question.lower()
    if not _PICKS.match(question):
        return "yes" if set(values[one]) & set(values[two]) else "no"
    relation = example.triples[-1].relation
    later = any(word in question for word in LATER)
    larger = _measure(relation, values[one]) > _measure(relation, values[two])
    best = one if larger == later else two
    named = normalize_answer(best) in normalize_answer(example.question)
    return best if named else bare_title(best)


def _listed_answer(example: Example) -> str:
    """Answer a question over listed pages by the last values of the subjects that it names."""
    relation = example.triples[-1].relation
    facts = [fact for fact in _with_ids(example) if fact.relation == relation]
    titles = [fact.title for fact in example.facts][-len(facts) :]
    question = example.question
    if relation in ("date of birth", "date of death", "publication date"):
        days = [_parse_day(triple.object) for triple in example.triples]
        best = max(days) if question.endswith(("last?", "latest?")) else min(days)
        place = days.index(best)
    elif example.type == "intersection":
        place = next((n for n, one in enumerate(facts) if n and one.object == facts[0].object), 0)
    else:
        texts = [triple.object for triple in example.triples if triple.relation == relation]
        wanted = {one.object for one, text in zip(facts, texts, strict=True) if text in question}
        return str(sum(one.object in wanted for one in facts))
    title = titles[place]
    return title if title in question else bare_title(title)


def _is_stated(example: Example) -> bool:
    """Return whether every fact's object is in a gold sentence of its subject's page."""
    pages = dict(example.context)
    stated: dict[str, str] = defaultdict(str)
    for title, sent_id in example.facts:
        sentences = pages.get(title, ())
        stated[title] += f" {sentences[sent_id]}" if sent_id < len(sentences) else ""
    # A subject may be a page's title or its label: the order of both is the same.
    subjects = list(dict.fromkeys(triple.subject for triple in example.triples))
    if len(subjects) != len(stated):
        return False
    page_of = dict(zip(subjects, stated.values(), strict=True))
    return all(triple.object in page_of[triple.subject] for triple in example.triples)


def _with_ids(example: Example) -> list[Triple]:
    """Return the facts with their objects by id, where there are ids: a country has two names."""
    if len(example.evidences_id) != len(example.triples):
        return list(example.triples)
    return [
        triple if ids.object_id in (None, DATE_ID) else triple._replace(object=ids.object_id or "")
        for triple, ids in zip(example.triples, example.evidences_id, strict=True)
    ]


def _values(example: Example) -> dict[str, list[str]]:
    """Return the values of each of the two compared, by title: over the bridge if there is one."""
    facts = _with_ids(example)
    values: dict[str, list[str]] = defaultdict(list)
    if example.type == "comparison":
        for subject, _, target in facts:
            values[subject].append(target)
        return values
    role = facts[0].relation
    films = [fact.subject for fact in facts if fact.relation == role]
    titles = [fact.title for fact in example.facts]
    people = list(dict.fromkeys(title for title in titles if title not in films))
    for film, person in zip(films[:2], people, strict=False):
        for subject, relation, target in facts:
            if relation != role and subject == person:
                values[film].append(target)
    return values


def _measure(relation: str, values: list[str]) -> tuple[int, ...]:
    """Return what is compared: a date, an age in days, or a number of values."""
    if relation in ("director", "producer"):
        return (len(values),)
    dates = [_parse_day(value) for value in values]
    if len(dates) == 2:
        (born, died) = sorted(dates)
        return ((died[0] - born[0]) * 372 + (died[1] - born[1]) * 31 + died[2] - born[2],)
    return dates[0]


def _parse_day(text: str) -> tuple[int, int, int]:
    years = _YEAR.findall(text)
    month = next((number for number, name in enumerate(MONTH_NAMES, 1) if name in text), 0)
    day = _DAY.search(text) if month else None
    return int(years[-1]) if years else 0, month, int(day[1]) if day else 0
