"""Films, songs, albums, bands, books, shows, candy: who made them, and when.

In: people with careers, companies. Out: `CreativeWork`s. The makers of a work are alive and of
working age; a film comes out within its director's and its producers' careers.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from twowiki.worlds.careers import Careers
from twowiki.worlds.institutions import Standing
from twowiki.worlds.names import Titler, Tongue
from twowiki.worlds.people import People
from twowiki.worlds.random_draws import Chance, draw_date
from twowiki.worlds.registry import Country, Registry
from twowiki.worlds.settings import WorldConfig
from twowiki.worlds.vocabulary import read_word_list


class CreativeWork(NamedTuple):
    """A work: its kind, country (its number), date, genre, and who did what, by role."""

    entity: int
    kind: str
    country: int
    date: int
    genre: str
    roles: dict[str, tuple[int, ...]]


class _Rule(msgspec.Struct):
    """Whose work it is, the earliest year, the word in its title's bracket, how exact its date."""

    makers: tuple[str, ...]
    earliest: int
    bracket: str
    exact: int


class _Rules(msgspec.Struct):
    genres: tuple[str, ...]
    kinds: dict[str, _Rule]


_RULES = read_word_list("works", _Rules)
_ALWAYS_BRACKETED = 90  # per mille
_PUBLISHERS = ("Publishing", "Books", "Press")
_FIRST_RECORD_PRODUCERS = 1930
_FOOD_MAKERS = ("Foods", "Sons", "Brothers", "Works")


class Works:
    """Makes works of all kinds; everything drawn for one depends on the seed and its number."""

    def __init__(
        self, config: WorldConfig, people: People, careers: Careers, tongues: list[Tongue],
        countries: list[Country], registry: Registry, standing: Standing,
    ) -> None:  # fmt: skip
        self.config, self.people, self.careers = config, people, careers
        self.tongues, self.countries, self.registry = tongues, countries, registry
        self.standing = standing
        self.titler = Titler()
        self.bands: list[CreativeWork] = []
        self._taken: set[tuple[str, str, int, int]] = set()

    def build(self) -> list[CreativeWork]:
        """Make them all."""
        films, people = self.config.films, self.config.people
        counts = {
            "band": 20 + people // 60, "film": films - films // 14, "animated film": films // 14,
            "album": 12 + films // 4, "song": 16 + films // 2, "literary work": 24 + people // 40,
            "written work": 12 + people // 90, "television program": 16 + people // 90,
            "candy": 12 + people // 150,
        }  # fmt: skip
        works = []
        for kind, count in counts.items():
            makers = self.careers.of(*_RULES.kinds[kind].makers)
            for number in range(count if makers else 0):
                work = self._make(kind, number, makers)
                works.append(work)
                if kind == "band":
                    self.bands.append(work)
        if works:
            self._settle(works)
        return works

    def _settle(self, works: list[CreativeWork]) -> None:
        """Decide the titles of the works; some have a bracket that none would need."""
        first = works[0].entity

        def brackets_of(entity: int) -> tuple[str, ...]:
            work = works[entity - first]
            bracket, year = _RULES.kinds[work.kind].bracket, work.date // 10000
            demonym = self.countries[work.country].demonym
            return bracket, f"{year} {bracket}", f"{year} {demonym} {bracket}"

        always = [
            work.entity
            for work in works
            if Chance(self.config.seed, "bracket", work.entity).per_mille(_ALWAYS_BRACKETED)
        ]
        self.registry.settle([work.entity for work in works], brackets_of, always)

    def _make(self, kind: str, number: int, makers: list[int]) -> CreativeWork:
        rule = _RULES.kinds[kind]
        chance = Chance(self.config.seed, kind, number)
        maker, year = self._maker(rule, makers, chance)
        home = self.people.country[maker]
        country = chance.below(len(self.countries)) if chance.per_mille(300) else home
        towns = [self.registry.labels[town] for town in self.countries[country].cities]
        for _ in range(10):
            title, town = self.titler.coin(kind, self.tongues[country], towns, year, chance)
            if (kind, title, year, country) not in self._taken:
                break
        self._taken.add((kind, title, year, country))
        inside = self.countries[country].cities[towns.index(town)] if town else -1
        entity = self.registry.add(kind, title, waits=True, inside=(inside,) if town else ())
        date = draw_date(year, chance, exact=rule.exact, months=60)
        roles = self._roles(kind, maker, year, chance)
        genre = chance.pick(_RULES.genres)
        if genre == "musical" and year < 1930:
            genre = "drama"
        return CreativeWork(entity, kind, country, date, genre, roles)

    def _maker(self, rule: _Rule, makers: list[int], chance: Chance) -> tuple[int, int]:
        """Draw a maker and a year of their working life."""
        for _ in range(40):
            maker = chance.pick(makers)
            first = max(rule.earliest, self.people.birth_year(maker) + 23)
            last = min(self.people.active_until(maker), self.people.birth_year(maker) + 70)
            if first <= last:
                return maker, chance.between(first, last)
        maker = max(makers, key=self.people.active_until)
        return maker, max(self.people.birth_year(maker) + 20, self.people.active_until(maker) - 5)

    def _at_work(self, year: int, chance: Chance, *occupations: str) -> int:
        """Draw somebody who worked that year; -1 if hardly anybody did."""
        pool = self.careers.of(chance.pick(occupations))
        for _ in range(25 if pool else 0):
            person = chance.pick(pool)
            if 22 <= year - self.people.birth_year(person) <= 70 and (
                self.people.active_until(person) >= year
            ):
                return person
        return -1

    def _people_at_work(
        self, year: int, count: int, chance: Chance, *occupations: str, but: tuple[int, ...] = ()
    ) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for _ in range(count):
            person = self._at_work(year, chance, *occupations)
            if person >= 0 and person not in but:
                found[self.careers.entity[person]] = None
        return tuple(found)

    def _company(
        self, kind: str, country: int, year: int, chance: Chance, names: tuple[str, ...] = ("",)
    ) -> tuple[int, ...]:
        """Draw a company of that time: of the country, or else of another one.

        Args:
            kind: the kind of company.
            country: the country's number.
            year: when it had to exist.
            chance: to draw from.
            names: what its name ends in, so that it makes such things.
        """
        for lands in ((country,), range(len(self.countries))):
            fitting = [place for land in lands for place in self.standing[kind].get(land, ())
                       if 0 < place.founded // 10000 <= year
                       and self.registry.labels[place.entity].endswith(names)]  # fmt: skip
            if fitting:
                return (chance.pick(fitting).entity,)
        return ()

    def _roles(
        self, kind: str, maker: int, year: int, chance: Chance
    ) -> dict[str, tuple[int, ...]]:
        made_by = (self.careers.entity[maker],)
        home = self.people.country[maker]
        several = 2 if chance.per_mille(90) else 1
        roles: dict[str, tuple[int, ...]] = {}
        if kind in ("film", "animated film"):
            roles["director"] = made_by
            if chance.per_mille(60):
                second = self._people_at_work(year, 1, chance, "director", but=(maker,))
                roles["director"] = made_by + second
            roles["producer"] = self._people_at_work(year, several, chance, "producer")
            roles["composer"] = self._people_at_work(year, 1, chance, "composer")
            roles["cast"] = self._people_at_work(year, 3, chance, "actor", "actor", "singer")
            roles["studio"] = self._company("studio", home, year, chance)
        elif kind in ("song", "album"):
            roles["performer"] = made_by
            playing = [band for band in self.bands[-400:] if band.date // 10000 <= year]
            if playing and chance.per_mille(330):
                roles["performer"] = (chance.pick(playing).entity,)
            roles["composer"] = self._people_at_work(year, 1, chance, "composer", "songwriter")
            if year >= _FIRST_RECORD_PRODUCERS:
                trades = ("producer", "musician")
                roles["producer"] = self._people_at_work(year, several, chance, *trades)
        elif kind == "band":
            roles["part"] = made_by
            roles["founder"] = made_by if chance.per_mille(300) else ()
        elif kind in ("literary work", "written work"):
            roles["author"] = made_by
            roles["editor"] = self._people_at_work(year, 1, chance, "journalist", "historian")
            roles["publisher"] = self._company("business", home, year, chance, _PUBLISHERS)
            roles["creator"] = made_by if chance.per_mille(300) else ()
        elif kind == "television program":
            roles["creator"] = made_by
            roles["presenter"] = self._people_at_work(year, 1, chance, "presenter", but=(maker,))
        else:
            roles["manufacturer"] = self._company("business", home, year, chance, _FOOD_MAKERS)
        return {role: who for role, who in roles.items() if who}
