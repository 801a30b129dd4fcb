"""Write a made-up release of the real one's size and shape: gold, other names, predictions.

12,576 questions in the four types' real proportions, ten paragraphs each (about 59 MB), a line of
names for each Wikidata id (about 17 MB), and a middling system's predictions, right about half of
the time. The same seed writes the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

TYPES = {"comparison": 3040, "inference": 1549, "compositional": 5236, "bridge_comparison": 2751}
DEV_SIZE = sum(TYPES.values())
SYLLABLES = (
    "ba be bram da des dru el far gre hav il kel lan lor mar mol nor or pel ra sa tav ul vel šo né"
).split()
WORDS = (
    "the a of in was and born film by his her directed american from is an at company school first "
    "1907 1951 march august city known for writer actor album member served based located famous "
    "(born novel) \u2013 release title, work. series team family; moved played early later best"
).split()
ENDINGS = ("", "", "", "", "", "", "", " (film)", " (1951 film)", " Jr.")
HOPS = ("director", "father", "mother", "spouse", "performer", "composer")
ENDS = ("place of birth", "country of citizenship", "date of birth", "date of death", "employer")
ALIAS_LINES = 128_000


class Release(NamedTuple):
    """Where the three files of a made-up release lie."""

    predictions: Path
    gold: Path
    aliases: Path


def name(rng: Random) -> str:
    words = ["".join(rng.choices(SYLLABLES, k=rng.choice((2, 2, 3)))).title() for _ in range(2)]
    return " ".join(words) + rng.choice(ENDINGS)


def date(rng: Random) -> str:
    return (
        f"{rng.randint(1, 28)} {rng.choice(('March', 'May', 'August'))} {rng.randint(1850, 1999)}"
    )


def paragraph(rng: Random, title: str) -> list[Any]:
    lengths = [rng.randint(6, 30) for _ in range(rng.choice((1, 2, 3, 3, 4, 6)))]
    return [title, [f"{title} " + " ".join(rng.choices(WORDS, k=size)) + "." for size in lengths]]


def some_id(rng: Random) -> str:
    return f"Q{rng.randint(1, ALIAS_LINES)}"


def triple(rng: Random, subject: str, relation: str) -> tuple[list[str], list[str]]:
    dated = relation.startswith("date")
    end, end_id = (date(rng), "date_information") if dated else (name(rng), some_id(rng))
    return [subject, relation, end], [some_id(rng), relation, end_id]


def example(rng: Random, kind: str, number: int) -> dict[str, Any]:
    titles = [name(rng) for _ in range(10)]
    gold = titles[: 4 if kind == "bridge_comparison" else 2]
    hop, end = rng.choice(HOPS), rng.choice(ENDS)
    relations = {"comparison": (end, end), "bridge_comparison": (hop, hop, end, end)}.get(
        kind, (hop, end)
    )
    pairs = [triple(rng, title, relation) for title, relation in zip(gold, relations, strict=True)]
    compared = kind.endswith("comparison")
    with_ids = not compared or end == "country of citizenship"
    answer, answer_id = (gold[0].title(), None) if compared else (pairs[-1][0][2], pairs[-1][1][2])
    if compared and rng.random() < 0.4:
        answer = rng.choice(("yes", "no"))
    context = [paragraph(rng, title) for title in titles]
    facts = [[text[0], rng.randrange(len(text[1]))] for text in context[: len(gold)]]
    return {
        "_id": f"{rng.getrandbits(80):020x}{number:012x}",
        "type": kind,
        "question": f"Which is the {end} of the {hop} of {gold[0].title()}?",
        "context": rng.sample(context, 10),
        "entity_ids": "_".join(some_id(rng) for _ in gold),
        "supporting_facts": facts,
        "evidences": [strings for strings, _ in pairs],
        "answer": answer,
        "evidences_id": [ids for _, ids in pairs] if with_ids else [],
        "answer_id": answer_id if with_ids and answer_id != "date_information" else None,
    }


def names_of(rng: Random, number: int) -> dict[str, Any]:
    """Give few names to most ids, a dozen to some, as the released file does."""
    count = rng.choices((0, 1, 2, 3, 12), weights=(8, 22, 24, 22, 24))[0]
    aliases = [name(rng) for _ in range(count)]
    return {
        "Q_id": f"Q{number}",
        "aliases": aliases,
        "demonyms": [name(rng)] if count == 12 else [],
    }


def predict(rng: Random, gold: dict[str, Any], known: dict[str, Any]) -> tuple[str, Any, Any]:
    """Answer as a middling system: right, partly right, by another name, or wrong."""
    chance = rng.random()
    answer = gold["answer"]
    other = known.get(gold["answer_id"])
    if chance > 0.5:
        answer = rng.choice((name(rng), "yes", answer.split()[0], f"the {answer}", date(rng)))
    elif chance > 0.4 and other:
        answer = rng.choice(other)
    facts = [fact for fact in gold["supporting_facts"] if rng.random() > 0.15]
    if rng.random() < 0.3:
        text = rng.choice(gold["context"])
        facts.append([text[0], rng.randrange(len(text[1]))])
    triples = []
    for place, strings in enumerate(gold["evidences"]):
        said = list(strings)
        if rng.random() < 0.3:
            ids = gold["evidences_id"][place][2] if gold["evidences_id"] else None
            said[2] = rng.choice(known[ids]) if ids in known and rng.random() < 0.3 else name(rng)
        if rng.random() > 0.1:
            triples.append(said)
    return answer, facts, triples


def write_release(folder: Path, size: int = DEV_SIZE, seed: int = 13) -> Release:
    """Write the three files; a smaller size keeps the proportions of types, not of aliases."""
    rng = Random(seed)
    kinds = rng.sample([kind for kind, count in TYPES.items() for _ in range(count)], DEV_SIZE)
    gold = [example(rng, kind, number) for number, kind in enumerate(kinds[:size])]
    lines = [names_of(rng, number) for number in range(1, ALIAS_LINES + 1)]
    known = {line["Q_id"]: line["aliases"] for line in lines if line["aliases"]}
    blocks: dict[str, dict[str, Any]] = {"answer": {}, "sp": {}, "evidence": {}}
    for record in gold:
        for block, value in zip(blocks.values(), predict(rng, record, known), strict=True):
            block[record["_id"]] = value
    release = Release(
        *(folder / name for name in ("predictions.json", "dev.json", "id_aliases.json"))
    )
    release.predictions.write_text(json.dumps(blocks), encoding="utf-8")
    release.gold.write_text(json.dumps(gold, ensure_ascii=False), encoding="utf-8")
    with release.aliases.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return release
