"""Names of nobles for the people of made-up questions, as real questions of kinship have them.

Of the release's questions by inference rules four in five are about nobles ("Louis II, Count of
Blois"); in fictional worlds nearly everybody has given names and a surname. A copy of a question
has the people of one surname as a house: with numbers, ranks and a seat, in its title, its
evidence and all its paragraphs alike.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Record = dict[str, Any]
KIN = ("father", "mother", "spouse", "child", "sibling")
RANKS = (
    ("Duke", "Count", "Prince", "Earl", "Baron", "Margrave", "Landgrave", "Viscount", "King"),
    ("Duchess", "Countess", "Princess", "Baroness", "Queen", "Landgravine", "Electress"),
)
NUMBERS = ("I", "II", "III", "IV", "V", "VI")
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")
# share of names in a hundred, and how they are written
FORMS = (
    (
        (20, "{given} {number}, {rank} of {seat}"),
        (15, "{given} {number} of {seat}"),
        (20, "{all} {surname}, {ordinal} {rank} of {seat}"),
        (10, "{rank} {given} of {seat}"),
        (7, "{given} of {seat}"),
        (6, "{given} {number}"),
        (5, "Sir {all} {surname}"),
        (17, "{all} {surname}"),
    ),
    (
        (30, "{given} of {seat}"),
        (15, "{rank} {given} of {seat}"),
        (15, "{given} {surname}, {rank} of {seat}"),
        (10, "{rank} {given}"),
        (30, "{all} {surname}"),
    ),
)
_PERSON = re.compile(r"\bborn\b|\(\d|\bdied\b| son of | daughter of ")
_WORK = re.compile(r"\b(film|book|song|novel|album|company|university|school)\b")
_SHE, _HE = re.compile(r"\b(she|her|daughter)\b", re.I), re.compile(r"\b(he|his|son of)\b", re.I)
_PLAIN, _RANKED = 0.6, 0.2  # people with one given name; mentions with another rank before them
_DOUBLE = 0.3  # houses of two seats


class House(NamedTuple):
    """The people of a question: their new names, and what their own pages call them briefly."""

    names: Mapping[str, str]
    short: Mapping[str, str]
    female: Mapping[str, bool]


def noble_copies(
    records: Iterable[Record], seats: Sequence[str], *, copies: int, seed: int
) -> Iterator[Record]:
    """Yield copies of questions with other names; a question that names no people has none."""
    chance = random.Random(seed)
    for record in records:
        for number in range(copies):
            copy = noble_copy(record, seats, chance)
            if copy is not None:
                yield copy | {"_id": f"{record['_id']}-noble{number}"}


def seats_of(records: Iterable[Record]) -> list[str]:
    """Return the towns of questions, of those whose names are one word."""
    return sorted({name for record in records for name in _seats(record)})


def noble_copy(record: Record, seats: Sequence[str], chance: random.Random) -> Record | None:
    """Return a copy of a question whose people are nobles; None where that does not work out."""
    people = _people(record)
    if not people:
        return None
    house = _draw_names(people, seats, chance)
    rename = _Renaming(house, chance)
    titles = {title: rename.text(_bare(title)) + title[len(_bare(title)) :]
              for title, _ in record["context"]}  # fmt: skip
    if len(set(titles.values())) < len(titles):
        return None
    context = [
        [titles[title], [rename.text(one, page=_bare(title)) for one in sentences]]
        for title, sentences in record["context"]
    ]
    evidences = [[rename.text(one), relation, rename.text(other)]
                 for one, relation, other in record["evidences"]]  # fmt: skip
    written = " ".join(sentence for _, sentences in context for sentence in sentences)
    if any(other not in written for _, relation, other in evidences if relation in KIN):
        return None
    facts = [[titles[title], number] for title, number in record["supporting_facts"]]
    texts = {name: rename.text(record[name]) for name in ("question", "answer")}
    return {**record, **texts, "context": context, "evidences": evidences,
            "supporting_facts": facts}  # fmt: skip


def is_of_kin(record: Record) -> bool:
    """Return whether a question's evidence has a relation of kinship."""
    return any(relation in KIN for _, relation, _ in record["evidences"])


class _Renaming:
    def __init__(self, house: House, chance: random.Random) -> None:
        self.house, self.chance = house, chance
        self.names = sorted(house.names, key=len, reverse=True)
        every = "|".join(map(re.escape, self.names))
        self.pattern = re.compile(rf"(?<!\w)({every})(?!\w)")

    def text(self, text: str, *, page: str | None = None) -> str:
        """Rename a text; on a page, surnames and other ranks too."""
        numbers = {name: number for number, name in enumerate(self.names)}

        def mark(found: re.Match[str]) -> str:
            return found[0] if _goes_on(found) else f"\0{numbers[found[1]]}\0"

        def shorten(found: re.Match[str]) -> str:
            return found[0] if _goes_on(found) else self.house.short[page or ""]

        marked = self.pattern.sub(mark, text)
        if page in self.house.short:
            surname = re.escape(page.split()[-1])
            marked = re.sub(rf"(?<!\w){surname}(?!\w)", shorten, marked)

        def back(found: re.Match[str]) -> str:
            old = self.names[int(found[1])]
            new = self.house.names[old]
            plain = new == old or new.split()[0] in {"Sir", *RANKS[0], *RANKS[1]}
            inside = page is not None and found.start() > 3
            if not inside or plain or self.chance.random() > _RANKED:
                return new
            return f"{self.chance.choice(RANKS[self.house.female[old]])} {new}"

        return re.sub("\0(\\d+)\0", back, marked)


def _goes_on(found: re.Match[str]) -> bool:
    """Return whether a name is the end of a longer one, of somebody who is not known."""
    before = found.string[: found.start()].split()
    return len(before) > 1 and before[-1].istitle() and before[-1].isalpha()


def _draw_names(people: Mapping[str, bool], seats: Sequence[str], chance: random.Random) -> House:
    house: dict[str, str] = {}
    names: dict[str, str] = {}
    short: dict[str, str] = {}
    for name, female in people.items():
        *given, surname = name.split()
        seat = chance.choice(seats)
        if chance.random() < _DOUBLE:
            seat = f"{seat}-{chance.choice(seats)}"
        seat = house.setdefault(surname, seat)
        first = given[0] if chance.random() < _PLAIN else " ".join(given)
        shares, forms = zip(*FORMS[female], strict=True)
        for _ in range(20):
            form = chance.choices(forms, shares)[0]
            new = form.format(
                given=first, all=" ".join(given), surname=surname, seat=seat,
                number=chance.choice(NUMBERS), ordinal=chance.choice(ORDINALS),
                rank=chance.choice(RANKS[female]),
            )  # fmt: skip
            if new not in names.values():
                break
        names[name] = new
        if "{surname}" not in form:
            short[name] = first
    return House(names, short, people)


def _people(record: Record) -> dict[str, bool]:
    """Return the people of a question, and whether they are women."""
    found = {}
    for title, sentences in record["context"]:
        name, first = _bare(title), sentences[0] if sentences else ""
        plain = "," not in name and len(name.split()) > 1
        if plain and _PERSON.search(first) and not _WORK.search(first[:200]):
            text = " ".join(sentences)[len(name) :]
            is_he = _HE.search(first[len(name) :])
            found[name] = bool(_SHE.search(text[:400])) and not is_he
    for one, relation, other in record["evidences"]:
        for name in (one, other) if relation in KIN else ():
            if "," not in name and len(name.split()) > 1:
                found.setdefault(name, relation == "mother" and name == other)
    return found


def _seats(record: Record) -> Iterator[str]:
    """Yield names of towns that are one word."""
    for _, relation, place in record["evidences"]:
        if relation in ("place of birth", "place of death"):
            last = place.split()[-1]
            if last.isalpha() and last.istitle():
                yield last


def _bare(title: str) -> str:
    return re.sub(r"\s\([^()]*\)$", "", title)
