"""Schools, companies, papers, museums and others: who founded them, where and when.

In: named people and towns. Out: more `WorldPlace`s. A founder was an adult and alive on the day.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from twowiki.worlds.careers import Careers
from twowiki.worlds.names import Tongue
from twowiki.worlds.people import NOBODY, People
from twowiki.worlds.random_draws import NOW, Chance, draw_date
from twowiki.worlds.registry import Country, Registry, WorldPlace
from twowiki.worlds.settings import WorldConfig
from twowiki.worlds.vocabulary import OCCUPATIONS, read_word_list


class _Kind(msgspec.Struct):
    """How many there are (a few, and one for so many people), their names, their founders.

    In names: t a town, s a surname, g a given name, n a coined name; `earliest` the first year;
    `founded` how many of a hundred have a known founder.
    """

    few: int
    people: int
    names: tuple[str, ...]
    founders: tuple[str, ...]
    earliest: int
    founded: int


_KINDS = read_word_list("institutions", dict[str, _Kind])
# words in names of companies and airports, and since when there are such
_SINCE = {"Motors": 1900, "International": 1945}
_BUILT = ("church", "building")  # nobody knows on which day
Standing = dict[str, dict[int, list[WorldPlace]]]


class Institutions:
    """Makes institutions; `standing` has them by kind and country."""

    def __init__(
        self, config: WorldConfig, people: People, careers: Careers, tongues: list[Tongue],
        countries: list[Country], registry: Registry,
    ) -> None:  # fmt: skip
        self.config, self.people, self.careers = config, people, careers
        self.tongues, self.countries, self.registry = tongues, countries, registry
        self.standing: Standing = defaultdict(lambda: defaultdict(list))
        self._taken: set[tuple[int, str]] = set()

    def build(self, places: list[WorldPlace]) -> Standing:
        """Make all kinds and add them to `places`; return them by kind and country."""
        for kind, rule in _KINDS.items():
            founders = self.careers.of(*rule.founders) if rule.founders else []
            for number in range(rule.few + self.config.people // rule.people):
                place = self._make(kind, rule, number, founders)
                places.append(place)
                self.standing[kind][place.country].append(place)
        made = {place.entity: place for kind in self.standing.values()
                for near in kind.values() for place in near}  # fmt: skip

        def brackets_of(entity: int) -> tuple[str, ...]:
            place = made[entity]
            town = self.registry.labels[place.town]
            land = self.registry.labels[self.countries[place.country].entity]
            return place.kind, town, land, f"{place.kind} in {town}", f"{place.kind} in {land}"

        self.registry.settle(sorted(made), brackets_of)
        return self.standing

    def _make(self, kind: str, rule: _Kind, number: int, founders: list[int]) -> WorldPlace:
        chance = Chance(self.config.seed, kind, number)
        founder = NOBODY
        if founders and chance.percent(rule.founded):
            founder = self._founder(rule, founders, chance)
        country = number % len(self.countries)
        if founder == NOBODY:
            year = chance.between(rule.earliest, max(rule.earliest, 1995) if rule.earliest > 1900
                                  else chance.pick((1860, 1920, 1990)))  # fmt: skip
        else:
            country = self.people.country[founder]
            year = self._year(rule, founder, chance)
        town, label = self._place(rule, country, founder, year, chance)
        entity = self.registry.add(
            kind, label, waits=True, inside=(town,) if self.registry.labels[town] in label else ()
        )
        founded = _founded(kind, year, chance) if chance.per_mille(940) else 0
        person = self.careers.entity[founder] if founder != NOBODY else NOBODY
        return WorldPlace(entity, kind, country, town, founded, person, chance.between(3, 900))

    def _place(
        self, rule: _Kind, country: int, founder: int, year: int, chance: Chance
    ) -> tuple[int, str]:
        """Draw a town and a name that nothing else there has, if there is one."""
        towns = self.countries[country]
        for _ in range(20):
            town = chance.pick(towns.cities if chance.per_mille(850) else towns.villages)
            label = self._name(rule, country, town, founder, year, chance)
            if (town, label) not in self._taken:
                break
        self._taken.add((town, label))
        return town, label

    def _founder(self, rule: _Kind, founders: list[int], chance: Chance) -> int:
        """Draw somebody who was an adult in a year when such an institution existed."""
        for _ in range(10):
            person = chance.pick_early(founders)
            start = self.people.birth_year(person) + 24
            if max(start, rule.earliest) <= min(self.people.last_year(person), start + 35, NOW - 3):
                return person
        return NOBODY

    def _year(self, rule: _Kind, founder: int, chance: Chance) -> int:
        start = self.people.birth_year(founder) + 24
        last = min(self.people.last_year(founder) - 1, start + 35, NOW - 3)
        first = max(start, rule.earliest)
        return chance.between(first, max(first, last))

    def _name(
        self, rule: _Kind, country: int, town: int, founder: int, year: int, chance: Chance
    ) -> str:
        tongue = self.tongues[country]
        surname = chance.pick_early(tongue.surnames)
        if founder != NOBODY and chance.per_mille(400):
            surname = self.careers.surnames[founder]
        forms = [
            form
            for form in rule.names
            if all(year >= since or word not in form for word, since in _SINCE.items())
        ]
        name = chance.pick(forms).format(
            t=self.registry.labels[town],
            s=surname,
            g=chance.pick(tongue.given[chance.below(2)]),
            n=tongue.place(chance),
        )
        return name[:1].upper() + name[1:]


def _founded(kind: str, year: int, chance: Chance) -> int:
    if kind in _BUILT:
        return draw_date(year, chance, exact=0)
    return draw_date(year, chance, exact=250, months=60)


# who wins the prizes of a trade
_WINNERS = {
    " Film Award": ("director", "producer", "actor", "screenwriter", "composer"),
    " Book Prize": ("novelist", "poet", "journalist", "historian", "screenwriter"),
}


def found_awards(
    config: WorldConfig, tongues: list[Tongue], countries: list[Country], registry: Registry,
    places: list[WorldPlace],
) -> dict[int, list[WorldPlace]]:  # fmt: skip
    """Make prizes; return them by country."""
    forms = ("{s} Prize", "{s} Medal", "Order of {n}", "{d} Film Award", "{d} Book Prize",
             "{n} Award", "Golden {n}")  # fmt: skip
    awards: dict[int, list[WorldPlace]] = defaultdict(list)
    for number in range(24 + config.people // 160):
        chance = Chance(config.seed, "award", number)
        country = number % len(countries)
        tongue = tongues[country]
        label = chance.pick(forms).format(
            s=chance.pick_early(tongue.surnames), n=tongue.place(chance),
            d=countries[country].demonym,
        )  # fmt: skip
        land = countries[country].entity
        entity = registry.add(
            "award", label, ("award", registry.labels[land]),
            inside=(land,) if countries[country].demonym in label else (),
        )  # fmt: skip
        earliest = 1920 if label.endswith(" Film Award") else 1850
        founded = draw_date(chance.between(earliest, 1990), chance, exact=0)
        place = WorldPlace(entity, "award", country, -1, founded, -1, chance.between(1, 40))
        places.append(place)
        awards[country].append(place)
    return awards


def give_awards(
    config: WorldConfig, people: People, careers: Careers, awards: dict[int, list[WorldPlace]],
    registry: Registry,
) -> None:  # fmt: skip
    """Draw the people who won a prize that existed in their time."""
    winners = {
        place.entity: trades
        for ending, trades in _WINNERS.items()
        for near in awards.values()
        for place in near
        if registry.labels[place.entity].endswith(ending)
    }
    for person in range(len(people)):
        chance = Chance(config.seed, "prize", person)
        if not chance.per_mille(240):
            continue
        born, last = people.birth_year(person), people.last_year(person)
        near = [
            place for place in awards[people.country[person]]
            if place.founded // 10000 + 1 < min(last, born + 60)
            and careers.occupation[person][0] in winners.get(place.entity, OCCUPATIONS)
        ]  # fmt: skip
        if near:
            careers.award[person] = chance.pick(near).entity
