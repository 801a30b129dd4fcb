"""Made-up dumps in the real formats, for tests: entities and pages, written as the dumps are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from twowiki.builder.generate import generate

HUMAN, FILM, FEMALE, MALE = 5, 11424, 6581072, 6581097
GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"


def statement(prop: str, value: object, rank: str = "normal", **extra: Any) -> dict[str, Any]:
    """Make a statement: an int is an item, a str "+1907-03-05/11" a time, None has no value."""
    snak: dict[str, Any] = {"snaktype": "value", "property": prop}
    if isinstance(value, int):
        snak["datatype"] = "wikibase-item"
        item = {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"}
        snak["datavalue"] = {"value": item, "type": "wikibase-entityid"}
    elif isinstance(value, str) and prop == "P1549":
        text = {"text": value, "language": "en"}
        snak["datavalue"] = {"value": text, "type": "monolingualtext"}
    elif isinstance(value, str):
        time, _, precision = value.partition("/")
        calendar = extra.pop("calendar", GREGORIAN)
        moment = {"time": f"{time}T00:00:00Z", "timezone": 0, "before": 0, "after": 0,
                  "precision": int(precision or 11), "calendarmodel": calendar}  # fmt: skip
        snak["datavalue"] = {"value": moment, "type": "time"}
        snak["datatype"] = "time"
    else:
        snak["snaktype"] = "somevalue"
        snak["datatype"] = "wikibase-item"
    return {"mainsnak": snak, "type": "statement", "rank": rank, **extra}


def entity(
    qid: int,
    label: str | None,
    claims: Mapping[str, Sequence[Any]] | None = None,
    *,
    title: str | None = None,
    aliases: Iterable[str] = (),
    language: str = "en",
) -> dict[str, Any]:
    """Make an entity; values that are no statements yet become normal ones."""
    given = {
        prop: [value if isinstance(value, dict) else statement(prop, value) for value in values]
        for prop, values in (claims or {}).items()
    }
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {language: {"language": language, "value": label}} if label else {},
        "descriptions": {},
        "aliases": {"en": [{"language": "en", "value": name} for name in aliases]},
        "claims": given,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": title, "badges": []}} if title else {},
    }


class Dumps:
    """A Wikidata and a Wikipedia that grow entity by entity."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self.pages: list[dict[str, Any]] = []

    def add(
        self,
        qid: int,
        label: str | None,
        sentences: Sequence[str] = (),
        claims: Mapping[str, Sequence[Any]] | None = None,
        *,
        title: str | None = None,
        **more: Any,
    ) -> int:
        """Add an entity, and its page if it has sentences; give its number."""
        name = title or (label if sentences else None)
        self.entities.append(entity(qid, label, claims, title=name, **more))
        if sentences:
            self.page(name or "", sentences)
        return qid

    def page(self, title: str, sentences: Sequence[str]) -> None:
        """Add a page."""
        number = str(5000 + len(self.pages))
        record = {"id": number, "title": title, "sentences": list(sentences), "mentions": []}
        self.pages.append(record)

    def filler(self, first: int = 90_000, humans: int = 12, films: int = 12) -> Dumps:
        """Add people and films that state nothing, as distractors."""
        for number in range(humans):
            name = f"Filler Person {chr(65 + number)}"
            self.add(first + number, name, [f"{name} was a baker."], {"P31": [HUMAN]})
        for number in range(films):
            name = f"Filler Reel {chr(65 + number)}"
            self.add(first + 500 + number, name, [f"{name} is a film."], {"P31": [FILM]})
        return self

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both dumps; give their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(entity, ensure_ascii=False) for entity in self.entities)
        wikidata, paragraphs = folder / "wikidata.json", folder / "paragraphs.jsonl"
        wikidata.write_text(f"[\n{lines}\n]\n", "utf-8")
        rows = "".join(json.dumps(page, ensure_ascii=False) + "\n" for page in self.pages)
        paragraphs.write_text(rows, "utf-8")
        return wikidata, paragraphs


def make(
    dumps: Dumps | tuple[Path, Path],
    folder: Path,
    *,
    workers: int = 1,
    engine: str = "duckdb",
    **settings: Any,
) -> dict[str, Any]:
    """Generate from dumps into `folder / "out"`; give the report."""
    wikidata, paragraphs = dumps.write(folder) if isinstance(dumps, Dumps) else dumps
    settings.setdefault("limit_per_type", None)
    dumps_and_settings = {"wikidata": wikidata, "paragraphs": paragraphs, **settings}
    return generate(folder / "out", workers=workers, engine=engine, **dumps_and_settings)


def samples_of(folder: Path) -> list[dict[str, Any]]:
    """Read all samples of a run with their provenance."""
    out = folder / "out"
    lines = (out / "provenance.jsonl").read_text("utf-8").split("\n")
    notes = [json.loads(line) for line in lines if line]
    known = {note["_id"]: note for note in notes}
    records = [
        record
        for name in ("train", "dev", "test")
        for record in json.loads((out / f"{name}.json").read_text("utf-8"))
    ]
    return [known[record["_id"]] | record for record in records]


def by_relations(folder: Path) -> Counter[str]:
    """Count a run's samples by type and relations."""
    return Counter(
        f"{sample['type']} {'+'.join(sample['relations'])}" for sample in samples_of(folder)
    )
