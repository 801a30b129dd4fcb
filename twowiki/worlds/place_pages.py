"""Summaries of countries, towns, mountains, schools, companies, papers and prizes."""

from __future__ import annotations

import msgspec

from twowiki.worlds.person_pages import TEXTS as PERSON_TEXTS
from twowiki.worlds.random_draws import NOW, Chance, write_date
from twowiki.worlds.registry import WorldPlace
from twowiki.worlds.sentences import Page, Slot
from twowiki.worlds.vocabulary import PROPERTIES, read_word_list
from twowiki.worlds.world import World


class _Texts(msgspec.Struct):
    openings: dict[str, tuple[str, ...]]
    facets: dict[str, tuple[str, ...]]
    trivia: dict[str, tuple[str, ...]]
    trivia_of: dict[str, str]
    goods: tuple[str, ...]
    numbers: tuple[str, ...]
    sides: tuple[str, ...]
    since: dict[str, str]
    where: dict[str, str]
    town: dict[str, str]


_TEXTS = read_word_list("place_pages", _Texts)
_RECORDED = {"country": 1850, "city": 1800, "village": 1800}  # what happens there, since
_LARGE = 150  # square kilometers
_STATED = {"country": 900, "founded": 720, "founder": 680, "editor": 600, "town": 350}


class PlaceWriter:
    """Writes the pages of a world's places and institutions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.editors: dict[int, int] = {}
        careers = world.careers
        for person in careers.of("journalist"):
            if careers.employer[person] >= 0:
                self.editors.setdefault(careers.employer[person], careers.entity[person])

    def write(self, place: WorldPlace) -> Page:
        """Write a place's summary, with the statements of its entity."""
        page = Page(
            self.world.registry, place.entity, Chance(self.world.config.seed, "page", place.entity)
        )
        facts = self._facts(place, page)
        slots = self._words(place, page) | facts
        page.add_sentence(_TEXTS.openings[place.kind], slots)
        self._body(place, page, slots)
        for slot in ("land", "founder", "editor"):
            fact = facts.get(slot)
            if fact is not None and page.chance.per_mille(850):
                page.add_quietly(fact.prop, (fact.entity,))
        if place.founded and all(claim[0] != PROPERTIES["founded"] for claim in page.claims):
            page.claims.append((PROPERTIES["founded"], 0, place.founded))
        return page

    def _facts(self, place: WorldPlace, page: Page) -> dict[str, Slot]:
        world, labels = self.world, self.world.registry.labels
        facts: dict[str, Slot] = {}
        country = world.countries[place.country]
        if place.kind != "country":
            # a prize is not located in a country, so that nothing asks where it is
            where = PROPERTIES["country"] if place.kind != "award" else 0
            facts["land"] = Slot(labels[country.entity], country.entity, where)
            if country.demonym not in labels[place.entity]:
                facts["nat"] = Slot(country.demonym, country.entity, where)
        if place.founded:
            day_first = world.tongues[place.country].day_first
            text = write_date(place.founded, day_first, page.chance.below(100))
            if place.founded % 100 and page.chance.per_mille(300):
                text = str(place.founded // 10000)
            text = f"on {text}" if " " in text and place.founded % 100 else f"in {text}"
            facts["founded"] = Slot(text, prop=PROPERTIES["founded"], date=place.founded)
        for slot, prop, entity in (
            ("founder", "founder", place.founder),
            ("editor", "editor", self.editors.get(place.entity, -1)),
        ):
            if entity >= 0 and place.kind != "country":
                facts[slot] = Slot(labels[entity], entity, PROPERTIES[prop])
        return facts

    def _words(self, place: WorldPlace, page: Page) -> dict[str, Slot]:
        world, chance, labels = self.world, page.chance, self.world.registry.labels
        country, label = world.countries[place.country], labels[place.entity]
        texts = {
            "T": f"{label}," if ", " in label else label,  # a church, its town, is ...
            "number": str(chance.between(12, 95)),
            "few": chance.pick(_TEXTS.numbers), "size": f"{_rounded(place):,}",
            "side": chance.pick(_TEXTS.sides), "things": chance.pick(PERSON_TEXTS.things),
            "goods": chance.pick(_TEXTS.goods),
        }  # fmt: skip
        if place.kind == "award":
            honor = label.startswith("Order ") or label.endswith(" Medal")
            texts |= {"prize": "honor"} if honor else {"prize": "prize", "jury": ""}
        if place.size >= _LARGE:
            texts["large"] = ""
        start = place.founded // 10000 if place.founded else 1900
        begun, start = start, max(start, _RECORDED.get(place.kind, 0))
        if start + 5 < NOW:
            texts["late_year"] = str(chance.between(start + 3, min(NOW, start + 90)))
        if place.founded and start < 1940:
            texts["women"] = str(chance.between(max(start + 3, 1850), 1965))
        if begun + 3 < 1899:
            texts["old_year"] = str(chance.between(begun + 2, 1899))
        slots = {name: Slot(text) for name, text in texts.items()}
        if place.town >= 0:
            slots["town"] = Slot(labels[place.town], place.town)
        if place.kind == "country":
            slots["capital"] = Slot(labels[country.cities[0]], country.cities[0])
            slots["alias"] = Slot(world.registry.aliases[place.entity][0])
        land = chance.pick(world.countries)
        town = chance.pick(land.cities)
        if town not in (place.town, place.entity):
            slots["other_town"] = Slot(labels[town], town)
        if land is not country:
            slots["other_land"] = Slot(labels[land.entity], land.entity)
        return slots

    def _body(self, place: WorldPlace, page: Page, slots: dict[str, Slot]) -> None:
        chance = page.chance
        stated = [facet for facet, odds in _STATED.items() if chance.per_mille(odds)]
        if "founded" in stated and any(prop == PROPERTIES["founded"] for prop, _, _ in page.claims):
            stated.remove("founded")
        extras = ["trivia"] * chance.weighted((20, 45, 35))
        trivia = _TEXTS.trivia[_TEXTS.trivia_of[place.kind]]
        facets = chance.shuffled(stated if self.world.config.brief else stated + extras)
        for facet in sorted(facets, key="founded".__ne__):
            if len(page.sentences) > (2 if self.world.config.brief else 6):
                break
            if facet == "trivia":
                page.add_sentence(trivia, slots)
                continue
            key = {
                "country": _TEXTS.where.get(place.kind, "country"),
                "founded": _TEXTS.since.get(place.kind, "founded"),
                "town": _TEXTS.town.get(place.kind, ""),
            }.get(facet, facet)
            if facet == "founded" and key == "opened" and chance.per_mille(300):
                key = "founded"
            if key and not (facet == "town" and any(m.entity == place.town for m in page.mentions)):
                page.add_sentence(_TEXTS.facets[key], slots)
        if self.world.config.words:
            wanted = page.draw_length(self.world.config.words)
            page.lengthen(trivia, lambda: self._words(place, page), wanted)


def _rounded(place: WorldPlace) -> int:
    """Return a size as people write it: thousands of inhabitants to the hundred."""
    return place.size // 100 * 100 if place.kind == "city" else place.size
