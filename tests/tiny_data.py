"""A small made-up data set of all four question types, for the tests.

`tiny_examples(count, seed=...)` gives `Example`s about people and films that do not exist. Each
depends on the seed and its number alone. Contexts are five short paragraphs; dates, names and
sentence positions vary, so that a model has to read. As in the real data, the question and the
answer of a comparison write a title in title case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from twowiki.data.schema import Example, Fact, Paragraph, Triple, to_official

PARAGRAPHS = 5
ONSETS = "b br c d dr f g gr h j k l m n p qu r s st t tr v w y z".split()
VOWELS = "a e i o u ae ia oe".split()
CODAS = "l m n r s th rn ll x sk".split()
COUNTRIES = {
    "Veltria": "Veltrian", "Orunda": "Orundan", "Kasmere": "Kasmeri", "Dovria": "Dovrian",
    "Halmark": "Halmarkan", "Tesk": "Teskan", "Ombria": "Ombrian", "Sundal": "Sundalese",
}  # fmt: skip
JOBS = ["painter", "film director", "politician", "composer", "poet", "engineer", "judge"]
MONTHS = (
    "January February March April May June July August September October November December"
).split()
HEADS = ["House", "Return", "Shadow", "River", "Night", "Song", "Garden", "Secret", "Last Train"]
LINKS = ["of", "of the", "and the", "in"]


class Person(NamedTuple):
    """Someone with what the paragraphs tell: dates as written, and as (year, month, day)."""

    name: str
    she: bool
    country: str
    job: str
    born: tuple[int, int, int]
    died: tuple[int, int, int]
    birthplace: str
    father: str
    mother: str


class Film(NamedTuple):
    """A film by someone."""

    title: str
    year: int
    country: str
    director: str


class Draft(NamedTuple):
    """A question with what answers it; paragraphs by title."""

    type: str
    question: str
    answer: str
    facts: list[Fact]
    evidences: list[Triple]
    paragraphs: list[Paragraph]


def tiny_examples(count: int, *, seed: int = 0) -> Iterator[Example]:
    """Give examples, a quarter of each type, in a fixed mixed order."""
    makers = (compositional, comparison, inference, bridge_comparison)
    for number in range(count):
        rng = Random(f"{seed}:{number}")
        draft = makers[number % len(makers)](rng)
        context = list(draft.paragraphs)
        while len(context) < PARAGRAPHS:
            other = describe(person(rng), rng) if rng.random() < 0.6 else show(film(rng), rng)
            if all(other.title != paragraph.title for paragraph in context):
                context.append(other)
        rng.shuffle(context)
        yield Example(
            id=f"tiny-{seed}-{number}",
            question=draft.question,
            type=draft.type,
            context=tuple(context),
            supporting_facts=tuple(draft.facts),
            evidences=tuple(draft.evidences),
            answer=draft.answer,
        )


def tiny_files(folder: Path, train: int = 24, validation: int = 9) -> list[str]:
    """Write both splits, and return the flags of a training run on them."""
    flags = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", train, 7), ("validation", validation, 8)):
        path = folder / f"{name}.json"
        records = [to_official(example) for example in tiny_examples(count, seed=seed)]
        path.write_text(json.dumps(records), encoding="utf-8")
        flags += [f"--{name}_file", str(path)]
    return flags


def compositional(rng: Random) -> Draft:
    """Ask for something about the director of a film, or about someone's parent."""
    if rng.random() < 0.5:
        first_person = person(rng)
        first = film(rng, director=first_person.name)
        subject, relation, told = first.title, "director", show(first, rng)
        asked = f"the director of film {headline(first.title)}"
        second = first_person
    else:
        second = person(rng)
        relation = "mother" if second.she else "father"
        start = person(rng, **{relation: second.name})
        subject, told = start.name, describe(start, rng)
        asked = f"the {relation} of {start.name}"
    relation_2, question, value = rng.choice(
        [
            ("date of birth", f"What is the date of birth of {asked}?", written(second.born)),
            ("date of death", f"When did {asked} die?", written(second.died)),
            ("place of birth", f"Where was {asked} born?", second.birthplace),
            ("father", f"Who is the father of {asked}?", second.father),
        ]
    )
    hops = [Triple(subject, relation, second.name), Triple(second.name, relation_2, value)]
    return chain("compositional", question, hops, [told, describe(second, rng)])


def inference(rng: Random) -> Draft:
    """Ask for a grandparent, whom the parents' paragraphs give."""
    second = person(rng)
    relation = "mother" if second.she else "father"
    start = person(rng, **{relation: second.name})
    relation_2 = rng.choice(["father", "mother"])
    side = "maternal" if second.she else "paternal"
    who = "grandmother" if relation_2 == "mother" else "grandfather"
    value = second.mother if relation_2 == "mother" else second.father
    hops = [Triple(start.name, relation, second.name), Triple(second.name, relation_2, value)]
    question = f"Who is the {side} {who} of {start.name}?"
    return chain("inference", question, hops, [describe(start, rng), describe(second, rng)])


def comparison(rng: Random) -> Draft:
    """Compare two people by date or country, or two films by year."""
    if rng.random() < 0.3:
        films = film(rng), film(rng)
        years = [f.year for f in films]
        first = years.index(min(years))
        names = [headline(f.title) for f in films]
        question = f"Which film came out first, {names[0]} or {names[1]}?"
        hops = [Triple(f.title, "publication date", str(f.year)) for f in films]
        told = [show(f, rng) for f in films]
        return pair("comparison", question, names[first], hops, told)
    people = person(rng), person(rng)
    names = [p.name for p in people]
    told = [describe(p, rng) for p in people]
    kind = rng.randrange(3)
    if kind == 0:
        same = people[0].country == people[1].country
        question = f"Are {names[0]} and {names[1]} of the same nationality?"
        hops = [Triple(p.name, "country of citizenship", COUNTRIES[p.country]) for p in people]
        return pair("comparison", question, "yes" if same else "no", hops, told)
    dates = [p.born if kind == 1 else p.died for p in people]
    verb, relation = (("was born", "date of birth"), ("died", "date of death"))[kind - 1]
    question = f"Who {verb} first, {names[0]} or {names[1]}?"
    hops = [Triple(n, relation, written(date)) for n, date in zip(names, dates, strict=True)]
    return pair("comparison", question, names[dates.index(min(dates))], hops, told)


def bridge_comparison(rng: Random) -> Draft:
    """Compare the directors of two films."""
    people = person(rng), person(rng)
    films = [film(rng, director=p.name) for p in people]
    names = [headline(f.title) for f in films]
    told = [show(f, rng) for f in films] + [describe(p, rng) for p in people]
    hops = [Triple(f.title, "director", f.director) for f in films]
    if rng.random() < 0.4:
        same = people[0].country == people[1].country
        question = f"Are the directors of {names[0]} and {names[1]} from the same country?"
        hops += [Triple(p.name, "country of citizenship", COUNTRIES[p.country]) for p in people]
        return pair("bridge_comparison", question, "yes" if same else "no", hops, told)
    born = rng.random() < 0.5
    dates = [p.born if born else p.died for p in people]
    verb = "was born" if born else "died"
    question = f"Which film has the director who {verb} earlier, {names[0]} or {names[1]}?"
    relation = "date of birth" if born else "date of death"
    hops += [Triple(p.name, relation, written(d)) for p, d in zip(people, dates, strict=True)]
    return pair("bridge_comparison", question, names[dates.index(min(dates))], hops, told)


def chain(kind: str, question: str, hops: list[Triple], told: list[Paragraph]) -> Draft:
    """Finish a question whose answer is the last hop's object."""
    return pair(kind, question, hops[-1].object, hops, told)


def pair(kind: str, question: str, answer: str, hops: list[Triple], told: list[Paragraph]) -> Draft:
    """Finish a question: the facts are the sentences that hold the hops' objects."""
    facts = []
    for hop, paragraph in zip(hops, told, strict=True):
        holding = (i for i, text in enumerate(paragraph.sentences) if hop.object in text)
        facts.append(Fact(paragraph.title, next(holding)))
    return Draft(kind, question, answer, facts, hops, told)


def person(rng: Random, *, father: str | None = None, mother: str | None = None) -> Person:
    """Invent someone, with given parents if so asked."""
    born = (rng.randrange(1850, 1960), rng.randrange(12), rng.randrange(1, 29))
    died = (born[0] + rng.randrange(25, 90), rng.randrange(12), rng.randrange(1, 29))
    family = word(rng)
    return Person(
        f"{word(rng)} {family}",
        rng.random() < 0.5,
        rng.choice(list(COUNTRIES)[: rng.choice((3, 8))]),
        rng.choice(JOBS),
        born,
        died,
        word(rng),
        father or f"{word(rng)} {family}",
        mother or f"{word(rng)} {word(rng)}",
    )


def film(rng: Random, *, director: str | None = None) -> Film:
    """Invent a film; the title sometimes has its year behind it."""
    year = rng.randrange(1930, 2015)
    title = f"{rng.choice(HEADS)} {rng.choice(LINKS)} {word(rng)}"
    if rng.random() < 0.2:
        title += f" ({year} film)"
    return Film(title, year, rng.choice(list(COUNTRIES)), director or f"{word(rng)} {word(rng)}")


def describe(who: Person, rng: Random) -> Paragraph:
    """Write a person's paragraph."""
    he, his = ("She", "daughter") if who.she else ("He", "son")
    opening = (
        f"{who.name} ({written(who.born)} – {written(who.died)}) was a "
        f"{COUNTRIES[who.country]} {who.job}."
    )
    family = f"the {his} of {who.father} and {who.mother}"
    second = rng.choice(
        [
            f"{he} was born in {who.birthplace}, {family}.",
            f"{he} was {family}, and was born in {who.birthplace}.",
        ]
    )
    return Paragraph(who.name, (opening, second))


def show(what: Film, rng: Random) -> Paragraph:
    """Write a film's paragraph."""
    name = what.title.partition(" (")[0]
    opening = rng.choice(
        [
            f"{name} is a {what.year} {COUNTRIES[what.country]} film directed by {what.director}.",
            f"{name} is a film of {what.year} by the director {what.director}.",
        ]
    )
    closing = rng.choice(
        ["It was shot in colour.", f"The music is by {word(rng)} {word(rng)}.", "It was a success."]
    )
    return Paragraph(what.title, (opening, closing))


def written(date: tuple[int, int, int]) -> str:
    """Write a date: (1901, 4, 7) as "7 May 1901"."""
    year, month, day = date
    return f"{day} {MONTHS[month]} {year}"


def headline(title: str) -> str:
    """Write a title as questions do: every word with a capital."""
    return " ".join(part[:1].upper() + part[1:] for part in title.split(" "))


def word(rng: Random) -> str:
    """Invent a name of two or three syllables."""
    syllables = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(rng.choice((1, 2, 2)))]
    return (
        "".join(syllables) + rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)
    ).title()
