"""A made-up Wikidata and Wikipedia in the dumps' formats, of any size, for the generation bench.

`MadeUp(count).write(folder)` writes both dumps; `full_entity` makes an entity of real size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

HUMAN, FILM, CITY, SCHOOL, LAND, SONG = 5, 11424, 515, 9826, 6256, 7366
CLASSES = {HUMAN: "human", FILM: "film", CITY: "city", SCHOOL: "high school", LAND: "country",
           SONG: "song"}  # fmt: skip
MONTHS = (
    "January February March April May June July August September October November December"
).split()
SYLLABLES = "ba do ke mi ru sa te vo ly zan gar hel nor pim tal wex quo jud fen cor".split()


def item(prop: str, qid: int) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": qid, "id": f"Q{qid}"}
    return snak(prop, "wikibase-item", {"value": value, "type": "wikibase-entityid"})


def snak(prop: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    main = {"snaktype": "value", "property": prop, "datatype": kind, "datavalue": value}
    return {"mainsnak": main, "type": "statement", "rank": "normal", "id": f"{prop}${id(value)}"}


def moment(prop: str, year: int, month: int, day: int) -> dict[str, Any]:
    precision = 11 if day else 9
    value = {
        "time": f"+{year:04d}-{month:02d}-{day:02d}T00:00:00Z", "timezone": 0, "before": 0,
        "after": 0, "precision": precision,
        "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
    }  # fmt: skip
    return snak(prop, "time", {"value": value, "type": "time"})


def name_of(qid: int) -> str:
    parts = []
    rest = qid * 2654435761 % (1 << 32)
    for _ in range(3):
        rest, digit = divmod(rest, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
    digits = []
    number = qid
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        digits.append(SYLLABLES[digit])
    return f"{''.join(parts).title()} {''.join(digits).title()}"


class MadeUp:
    """Entities 1..count: 40% people, 20% films, the rest cities, schools, countries, songs."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self.count, self.rng, self.base = count, Random(seed), 1000

    def kind(self, number: int) -> int:
        """Give an entity's class."""
        place = number % 20
        return HUMAN if place < 8 else FILM if place < 12 else SONG if place < 14 else (
            SCHOOL if place < 16 else CITY if place < 19 or number > 4000 else LAND
        )  # fmt: skip

    def some(self, kind: int, below: int) -> int:
        """Give an entity of a kind, near the front more often, before `below` if there is one."""
        while True:
            number = int(self.rng.random() ** 2 * min(self.count, max(below, 400)))
            if self.kind(number) == kind:
                return self.base + number

    def entities(self) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Give every entity with its page's sentences."""
        for qid, label in CLASSES.items():
            yield self.record(qid, label, {}), []
        for number in range(self.count):
            yield self.entity(number)

    def record(self, qid: int, label: str, claims: dict[str, list[Any]]) -> dict[str, Any]:
        """Make an entity's record."""
        return {
            "type": "item", "id": f"Q{qid}",
            "labels": {"en": {"language": "en", "value": label}}, "descriptions": {},
            "aliases": {"en": [{"language": "en", "value": f"{label} X"}]},
            "claims": claims,
            "sitelinks": {"enwiki": {"site": "enwiki", "title": label, "badges": []}},
        }  # fmt: skip

    def entity(self, number: int) -> tuple[dict[str, Any], list[str]]:
        """Make an entity and what its page tells."""
        rng, qid, kind = self.rng, self.base + number, self.kind(number)
        label = name_of(qid)
        claims: dict[str, list[Any]] = {"P31": [item("P31", kind)]}
        told = [f"{label} is a {CLASSES[kind]}."]

        def link(prop: str, target: int, text: str, chance: float) -> None:
            if rng.random() < chance:
                claims[prop] = [item(prop, target)]
                if rng.random() < 0.6:
                    told.append(text.format(name_of(target)))

        def date(prop: str, text: str, low: int, high: int) -> None:
            year, month, day = rng.randint(low, high), rng.randint(1, 12), rng.randint(1, 28)
            claims[prop] = [moment(prop, year, month, day)]
            if rng.random() < 0.6:
                told.append(text.format(f"{day} {MONTHS[month - 1]} {year}"))

        if kind == HUMAN:
            claims["P21"] = [item("P21", 6581072 if rng.random() < 0.5 else 6581097)]
            date("P569", "Born on {}, this artist is well remembered.", 1850, 1920)
            date("P570", "The artist died on {} after a long illness.", 1930, 2010)
            link("P27", self.some(LAND, 4000), "The artist lived in {} for many years.", 0.9)
            for prop, kin in (("P22", "father"), ("P25", "mother"), ("P26", "partner")):
                link(prop, self.some(HUMAN, number), f"The {kin} was {{}}, also an artist.", 0.7)
            link("P19", self.some(CITY, number), "Early life was spent in {} by the sea.", 0.9)
            link("P69", self.some(SCHOOL, number), "Lessons were taken at {} in winter.", 0.6)
        elif kind in (FILM, SONG):
            prop = "P57" if kind == FILM else "P175"
            link(prop, self.some(HUMAN, self.count), "It is a work of {} and friends.", 0.95)
            date("P577", "It came out on {} in several towns.", 1920, 2015)
            link("P495", self.some(LAND, 4000), "It was made in {} with little money.", 0.9)
        else:
            link("P17", self.some(LAND, 4000), "It lies in {} not far from the border.", 0.95)
            date("P571", "It was established on {} by a small circle.", 1700, 1950)
        for extra in range(4):
            prop = f"P{9000 + extra}"
            value = {"value": str(rng.getrandbits(40)), "type": "string"}
            claims[prop] = [snak(prop, "external-id", value)]
        told.append("Little else is known, and the sources differ on many of the details.")
        return self.record(qid, label, claims), told

    def write(self, folder: Path) -> tuple[Path, Path, int]:
        """Write both dumps; give their paths and the number of claims."""
        wikidata, paragraphs = folder / "wikidata.json", folder / "paragraphs.jsonl"
        claims = 0
        with wikidata.open("w") as one, paragraphs.open("w") as two:
            one.write("[\n")
            for number, (record, sentences) in enumerate(self.entities()):
                claims += sum(map(len, record["claims"].values()))
                one.write(json.dumps(record) + ",\n")
                if sentences:
                    title = record["labels"]["en"]["value"]
                    page = {
                        "id": str(number),
                        "title": title,
                        "sentences": sentences,
                        "mentions": [],
                    }
                    two.write(json.dumps(page) + "\n")
            one.write("]\n")
        return wikidata, paragraphs, claims


def full_entity(rng: Random, number: int) -> dict[str, Any]:
    """Make an entity of a real one's size: a hundred languages, references, external ids."""
    languages = [f"l{place}" for place in range(rng.randint(20, 100))]
    label = name_of(1000 + number)
    texts = {code: {"language": code, "value": f"{label} {code}"} for code in languages}
    claims: dict[str, list[Any]] = {}

    def add(prop: str, statement: dict[str, Any]) -> None:
        reference = {
            "hash": f"{rng.getrandbits(160):040x}",
            "snaks": {"P248": [item("P248", 36578)["mainsnak"]]}, "snaks-order": ["P248"],
        }  # fmt: skip
        claims.setdefault(prop, []).append(
            statement | {"references": [reference] * rng.randint(0, 3)}
        )

    for prop in ("P31", "P21", "P22", "P25", "P27", "P19", "P106", "P69", "P166"):
        add(prop, item(prop, rng.randint(1, 10**8)))
    for prop in ("P569", "P570"):
        add(prop, moment(prop, rng.randint(1800, 2000), 5, 6))
    for place in range(rng.randint(10, 40)):
        prop = f"P{2000 + place}"
        add(prop, snak(prop, "external-id", {"value": f"{rng.getrandbits(60)}", "type": "string"}))
    sites = {
        f"{code}wiki": {"site": f"{code}wiki", "title": label, "badges": []} for code in languages
    }
    return {
        "type": "item", "id": f"Q{1000 + number}",
        "labels": {"en": {"language": "en", "value": label}, **texts}, "descriptions": texts,
        "aliases": {code: [{"language": code, "value": f"{label} alias"}] for code in languages},
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": label, "badges": []}, **sites},
    }  # fmt: skip
