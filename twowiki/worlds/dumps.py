"""A world as dumps: Wikidata's entity lines and Wikipedia's summaries, one entity at a time.

Out: `wikidata.json` (an array, one entity per line, as in the dumps) and `paragraphs.jsonl` (the
authors' `para_with_hyperlink` form). Offsets of mentions count characters of their sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from twowiki.io.files import progress, replacing, write_json
from twowiki.worlds.person_pages import PersonWriter
from twowiki.worlds.place_pages import PlaceWriter
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.registry import page_id, qid
from twowiki.worlds.sentences import Page
from twowiki.worlds.settings import WorldConfig
from twowiki.worlds.vocabulary import CLASSES, FEMALE_ITEM, FIRST_QID, MALE_ITEM, PROPERTIES
from twowiki.worlds.work_pages import WorkWriter
from twowiki.worlds.world import World, build_world

WIKIDATA, PARAGRAPHS, REPORT = "wikidata.json", "paragraphs.jsonl", "world.json"
_GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
_KEPT = frozenset(
    (PROPERTIES["sex"], PROPERTIES["citizenship"], PROPERTIES["country"])
)  # never missing


class Written(NamedTuple):
    """An entity line and its paragraph line (None where it has no page), and counts."""

    entity: str
    paragraph: str | None
    statements: int
    sentences: int


def write_world(config: WorldConfig, out: Path) -> dict[str, Any]:
    """Build a world and write its dumps and `world.json` into a folder; return the report."""
    world = build_world(config)
    counts: dict[str, int] = {"entities": 0, "pages": 0, "statements": 0, "sentences": 0}
    kinds: dict[str, int] = {}
    with ExitStack() as stack:
        dump = stack.enter_context(replacing(out / WIKIDATA))
        pages = stack.enter_context(replacing(out / PARAGRAPHS))
        dump.write("[\n")
        lines = progress(write_entities(world), what="writing the world", total=len(world.registry))
        for number, written in enumerate(lines):
            dump.write((",\n" if number else "") + written.entity)
            counts["entities"] += 1
            counts["statements"] += written.statements
            if written.paragraph is not None:
                pages.write(written.paragraph + "\n")
                counts["pages"] += 1
                counts["sentences"] += written.sentences
        dump.write("\n]\n")
    for number in range(len(world.registry)):
        kind = world.registry.kind(number)
        kinds[kind] = kinds.get(kind, 0) + 1
    report = {"settings": config.to_dict(), "counts": counts, "entities by kind": kinds}
    write_json(out / REPORT, report)
    return report


def write_entities(world: World) -> Iterator[Written]:
    """Yield every entity's lines: classes, then people, works, places, then what has no page."""
    writer = _Writer(world)
    for number, label in sorted({*CLASSES.values(), *_SEXES}):
        yield Written(_class_line(number, label), None, 0, 0)
    people, works, places = PersonWriter(world), WorkWriter(world), PlaceWriter(world)
    for person in range(len(world.people)):
        yield writer.lines(people.write(person))
    for work in world.works:
        yield writer.lines(works.write(work))
    for place in world.places:
        yield writer.lines(places.write(place))
    for entity, title in enumerate(world.registry.titles):
        if title is None:
            yield writer.bare(entity)


_SEXES = ((MALE_ITEM, "male"), (FEMALE_ITEM, "female"))


def _class_line(number: int, label: str) -> str:
    return _line(f"Q{number}", label, (), {}, None)


def _line(
    item: str, label: str, aliases: tuple[str, ...], claims: dict[str, list[Any]], title: str | None
) -> str:
    labels = {"en": {"language": "en", "value": label}}
    record = {
        "type": "item",
        "id": item,
        "labels": labels,
        "descriptions": {},
        "aliases": {"en": [{"language": "en", "value": name} for name in aliases]}
        if aliases
        else {},
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": title, "badges": []}} if title else {},
    }
    return msgspec.json.encode(record).decode()


class _Writer:
    """Renders pages as lines."""

    def __init__(self, world: World) -> None:
        self.world, self.registry = world, world.registry
        self.demonyms = {country.entity: country.demonym for country in world.countries}

    def lines(self, page: Page) -> Written:
        """Return the lines of an entity with a page."""
        entity = page.entity
        claims = self._claims(page)
        label, title = self.registry.labels[entity], self.registry.titles[entity]
        line = _line(qid(entity), label, self.registry.aliases.get(entity, ()), claims, title)
        record = {
            "id": page_id(entity),
            "title": title,
            "sentences": page.sentences,
            "mentions": self._mentions(page),
        }
        text = json.dumps(record, ensure_ascii=False)
        return Written(line, text, sum(map(len, claims.values())), len(page.sentences))

    def bare(self, entity: int) -> Written:
        """Return the line of an entity without a page."""
        kind = self.registry.kind(entity)
        claims = {"P31": [_statement(qid(entity), PROPERTIES["instance"], _item(CLASSES[kind][0]))]}
        line = _line(qid(entity), self.registry.labels[entity], (), claims, None)
        return Written(line, None, 1, 0)

    def _mentions(self, page: Page) -> list[dict[str, Any]]:
        return [
            {
                "id": number,
                "start": mention.start,
                "end": mention.end,
                "ref_url": self.registry.titles[mention.entity],
                "ref_ids": [qid(mention.entity)],
                "sent_idx": mention.sent_id,
            }
            for number, mention in enumerate(page.mentions)
        ]

    def _claims(self, page: Page) -> dict[str, list[Any]]:
        """Return the statements by property; some of those that the text makes are missing."""
        missing = self.world.config.missing
        chance = Chance(self.world.config.seed, "missing", page.entity)
        item = qid(page.entity)
        kind = _item(CLASSES[self.registry.kind(page.entity)][0])
        claims: dict[str, list[Any]] = {"P31": [_statement(item, PROPERTIES["instance"], kind)]}
        for number, entity, date in page.claims:
            if number not in _KEPT and chance.percent(missing):
                continue
            value = _date(date) if date else _item(-entity if entity < 0 else FIRST_QID + entity)
            statement = _statement(f"{item}-{entity}-{date}", number, value)
            claims.setdefault(f"P{number}", []).append(statement)
        if page.entity in self.demonyms:
            text = {"text": self.demonyms[page.entity], "language": "en"}
            value = ("monolingualtext", {"type": "monolingualtext", "value": text})
            claims["P1549"] = [_statement(item, PROPERTIES["demonym"], value)]
        return claims


Value = tuple[str, dict[str, Any]]


def _item(number: int) -> Value:
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return "wikibase-item", {"type": "wikibase-entityid", "value": value}


def _date(date: int) -> Value:
    return "time", {"type": "time", "value": time_value(date)}


def time_value(date: int) -> dict[str, Any]:
    """Return Wikidata's form of a date of the calendar."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    return {
        "time": f"+{year:04d}-{month:02d}-{day:02d}T00:00:00Z",
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 11 if day else 10 if month else 9,
        "calendarmodel": _GREGORIAN,
    }


def _statement(name: str, number: int, value: Value) -> dict[str, Any]:
    datatype, datavalue = value
    return {
        "mainsnak": {
            "snaktype": "value",
            "property": f"P{number}",
            "datatype": datatype,
            "datavalue": datavalue,
        },
        "type": "statement",
        "id": f"{name}$P{number}",
        "rank": "normal",
    }
