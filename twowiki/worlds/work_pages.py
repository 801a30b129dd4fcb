"""Summaries of films, songs, books, shows and sweets."""

from __future__ import annotations

from functools import cache

import msgspec

from twowiki.worlds.random_draws import NOW, Chance, write_date
from twowiki.worlds.sentences import Page, Slot
from twowiki.worlds.vocabulary import OCCUPATIONS, PROPERTIES, read_word_list
from twowiki.worlds.works import CreativeWork
from twowiki.worlds.world import World


class _Texts(msgspec.Struct):
    openings: dict[str, tuple[str, ...]]
    facets: dict[str, tuple[str, ...]]
    trivia: dict[str, tuple[str, ...]]
    trivia_of: dict[str, str]
    subjects: dict[str, str]
    kinds: dict[str, str]
    issued: dict[str, str]
    origin: dict[str, str]
    loose: tuple[str, ...]
    numbers: tuple[str, ...]
    music: tuple[str, ...]


_TEXTS = read_word_list("work_pages", _Texts)
# facet: how often (per mille) it is stated, where it is known
_STATED = {
    "director": 900, "producer": 620, "composer": 520, "performer": 900, "editor": 620,
    "publisher": 620, "creator": 600, "presenter": 750, "part": 900, "founder": 600,
    "founded": 700, "manufacturer": 900, "released": 560, "origin": 380, "cast": 450,
    "studio": 180,
}  # fmt: skip
_ROLES = ("director", "producer", "composer", "performer", "editor", "publisher", "creator",
          "presenter", "part", "founder", "manufacturer", "author", "studio")  # fmt: skip
# Roles with several values; the text must name them all, so that their numbers can be compared.
_COUNTED = ("director", "producer")
_TRACKS = ("seven", "eight", "nine", "ten", "11", "12", "13", "14")
_FIRST_CHARTS, _FIRST_LONG_FILMS = 1940, 1915


@cache
def _trades_of(year: int) -> tuple[str, ...]:
    """Return the occupations that stories of a year are about: nobody was on television in 1910."""
    return tuple(
        trade.label for trade in OCCUPATIONS.values() if trade.earliest + 35 <= max(year, 1780)
    )


class WorkWriter:
    """Writes the pages of a world's works."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.people_from = world.careers.entity[0] if len(world.people) else 0

    def write(self, work: CreativeWork) -> Page:
        """Write a work's summary, with the statements of its entity."""
        page = Page(
            self.world.registry, work.entity, Chance(self.world.config.seed, "page", work.entity)
        )
        facts = self._facts(work, page)
        slots = self._words(work, page) | facts
        page.add_sentence(self._openings(work, slots), slots)
        self._body(work, page, slots)
        self._add_quiet(work, page)
        return page

    def _openings(self, work: CreativeWork, slots: dict[str, Slot]) -> tuple[str, ...]:
        """Return the openings that fit the time: films were silent until 1929."""
        openings = _TEXTS.openings[work.kind]
        if work.date // 10000 > 1929:
            openings = tuple(text for text in openings if "silent" not in text)
        several = "director2" in slots
        if "studio_town" not in slots:
            openings = tuple(text for text in openings if "studio" not in text)
        return tuple(
            text for text in openings
            if not several or "{director}" not in text or "{director2}" in text
        )  # fmt: skip

    def _name(self, page: Page, entity: int, prop: int) -> Slot:
        registry = self.world.registry
        text, others = registry.labels[entity], registry.aliases.get(entity, ())
        if others and page.chance.percent(self.world.config.aliases):
            text = page.chance.pick(others)
        return Slot(text, entity, prop)

    def _facts(self, work: CreativeWork, page: Page) -> dict[str, Slot]:
        world, chance = self.world, page.chance
        facts: dict[str, Slot] = {}
        for role in _ROLES:
            who = work.roles.get(role, ())
            for place, entity in enumerate(who[:2]):
                name = role if place == 0 else f"{role}{place + 1}"
                facts[name] = self._name(page, entity, PROPERTIES.get(role, 0))
        country = world.countries[work.country]
        place = PROPERTIES["origin"]
        facts["nat"] = Slot(country.demonym, country.entity, place)
        facts["land"] = Slot(world.registry.labels[country.entity], country.entity, place)
        year = work.date // 10000
        prop = PROPERTIES["founded"] if work.kind == "band" else PROPERTIES["released"]
        facts["year"] = Slot(str(year), prop=prop, date=work.date)
        facts["founded"] = facts["year"]._replace(text=f"in {year}")
        if work.date % 100:
            day_first = world.tongues[work.country].day_first
            text = write_date(work.date, day_first, chance.below(100))
            facts["released"] = Slot(text, prop=prop, date=work.date)
        return facts

    def _words(self, work: CreativeWork, page: Page) -> dict[str, Slot]:
        """Return the words that state nothing, by slot."""
        world, chance = self.world, page.chance
        labels = world.registry.labels
        year = work.date // 10000
        texts = {
            "T": labels[work.entity], "genre": work.genre, "music": chance.pick(_TEXTS.music),
            "number": str(chance.between(11, 60)), "few": chance.pick(_TEXTS.numbers),
            "minutes": str(chance.between(72, 158 if work.kind == "film" else 105)),
            "short": str(chance.between(20, 60)), "tracks": chance.pick(_TRACKS),
            "kind": _TEXTS.kinds.get(work.kind, ""),
        }  # fmt: skip
        texts["trade"], texts["trade2"] = chance.shuffled(_trades_of(year))[:2]
        if work.kind == "song":
            texts["song"] = ""
        if "presenter" not in work.roles:
            texts["story"] = ""
        if year + 2 < NOW:
            texts["late_year"] = str(chance.between(year + 1, min(NOW, year + 70)))
        if year >= _FIRST_CHARTS:
            texts["chart"] = texts["few"]
        if year < _FIRST_LONG_FILMS:
            texts["minutes"] = str(chance.between(12, 48))
        label = labels[work.entity]
        texts["be"] = "are" if label.startswith("The ") and label.endswith("s") else "is"
        slots = {name: Slot(text) for name, text in texts.items()}
        for place, entity in enumerate(work.roles.get("cast", ()), 1):
            slots[f"cast{place}"] = Slot(labels[entity], entity, PROPERTIES["cast"])
        land, town = chance.pick(world.countries), 0
        town = chance.pick(land.cities)
        slots["other_town"] = Slot(labels[town], town)
        if not labels[work.entity].startswith("Live in "):  # that names where it was recorded
            slots["studio_town"] = slots["other_town"]
        if land.place != work.country:
            slots["other_land"] = Slot(labels[land.entity], land.entity)
        person = self._contemporary(work.roles, year, chance)
        if person >= 0:
            slots["friend"] = Slot(labels[self.people_from + person], self.people_from + person)
        return slots

    def _contemporary(self, roles: dict[str, tuple[int, ...]], year: int, chance: Chance) -> int:
        """Draw somebody who was an adult that year and has no part in a work; -1 for nobody."""
        people = self.world.people
        for _ in range(12):
            person = chance.below(len(people))
            fits = 22 <= year - people.birth_year(person) <= 75 and year < people.last_year(person)
            if fits and all(self.people_from + person not in who for who in roles.values()):
                return person
        return -1

    def _body(self, work: CreativeWork, page: Page, slots: dict[str, Slot]) -> None:
        chance = page.chance
        stated = [
            facet
            for facet, odds in _STATED.items()
            if facet in _TEXTS.facets and chance.per_mille(odds)
        ]
        if chance.per_mille(150):  # a summary with little in it
            stated = stated[:2]
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        trivia = _TEXTS.trivia[_TEXTS.trivia_of[work.kind]]
        facets = chance.shuffled(stated if self.world.config.brief else stated + extras)
        for facet in sorted(facets, key=lambda facet: facet not in ("released", "founded")):
            if len(page.sentences) > (2 if self.world.config.brief else 5):
                break
            local = slots | {"S": Slot(self._subject(work, chance))}
            fact = slots.get(facet)
            if fact is not None and page.fits(fact) and self._is_loose(chance):
                page.add_sentence(_TEXTS.loose, local | {"x": fact})
            elif facet == "trivia":
                page.add_sentence(trivia, local)
            elif facet == "released" and work.kind in _TEXTS.issued:
                page.add_sentence(_TEXTS.facets[_TEXTS.issued[work.kind]], local)
            elif facet == "origin":
                page.add_sentence(_TEXTS.facets[_TEXTS.origin.get(work.kind, "origin")], local)
            elif facet == "composer" and "film" in work.kind:
                page.add_sentence(_TEXTS.facets["score"] + _TEXTS.facets["composer"], local)
            elif f"{facet}2" in slots:
                if facet == "producer":
                    page.add_sentence(_TEXTS.facets["producers"], local)
            elif facet == "studio" and work.kind == "animated film":
                page.add_sentence(_TEXTS.facets["drawn"], local)
            elif self._says_when(work, page, facet):
                page.add_sentence(_TEXTS.facets[facet], local)
        if self.world.config.words:
            wanted = page.draw_length(self.world.config.words)
            page.lengthen(trivia, lambda: self._words(work, page), wanted)

    def _says_when(self, work: CreativeWork, page: Page, facet: str) -> bool:
        """Return whether a facet suits the kind: bands are formed (once), others released."""
        if facet == "founded":
            claimed = {prop for prop, _, _ in page.claims}
            return work.kind == "band" and PROPERTIES["founded"] not in claimed
        return facet != "released" or work.kind != "band"

    def _is_loose(self, chance: Chance) -> bool:
        return chance.percent(self.world.config.mismatch)

    def _subject(self, work: CreativeWork, chance: Chance) -> str:
        draw = chance.below(10)
        if draw < 4:
            return "It" if work.kind != "band" else "The band"
        label = self.world.registry.labels[work.entity]
        own = f'"{label}"' if work.kind == "song" else label
        return _TEXTS.subjects[work.kind] if draw < 8 else own

    def _add_quiet(self, work: CreativeWork, page: Page) -> None:
        """Add statements that the summary leaves out, all values of what questions compare."""
        chance = page.chance
        for role, who in work.roles.items():
            if role in PROPERTIES and chance.per_mille(800 if role not in _COUNTED else 950):
                page.add_quietly(PROPERTIES[role], who)
        if chance.per_mille(800):
            country = self.world.countries[work.country]
            page.add_quietly(PROPERTIES["origin"], (country.entity,))
        prop = PROPERTIES["founded"] if work.kind == "band" else PROPERTIES["released"]
        if all(claim[0] != prop for claim in page.claims):
            page.claims.append((prop, 0, work.date))
