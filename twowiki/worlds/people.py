"""Families over generations: births, marriages, children, deaths, in the order of the years.

In: settings and countries. Out: `People`, one column per fact. Parents are older than their
children, mothers alive at their birth, spouses of similar age and never siblings.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque

from twowiki.worlds.random_draws import NOW, Chance, draw_date, year_of
from twowiki.worlds.registry import Country
from twowiki.worlds.settings import WorldConfig

FIRST_YEAR, LAST_YEAR = 1745, 1996
NOBODY = -1


class People:
    """Everyone, by number from 0. Dates as in `calendar`; 0 is no date, -1 nobody or nowhere."""

    def __init__(self) -> None:
        self.female = array("b")
        self.born = array("i")
        self.died = array("i")
        self.father = array("i")
        self.mother = array("i")
        self.country = array("b")
        self.birthplace = array("i")
        self.spouse = array("i")
        self.second_spouse = array("i")
        self.wed = array("i")
        self.children: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.born)

    def birth_year(self, person: int) -> int:
        """Return the year of birth."""
        return year_of(self.born[person])

    def last_year(self, person: int) -> int:
        """Return the year of death, or the present."""
        return year_of(self.died[person]) if self.died[person] else NOW

    def active_until(self, person: int) -> int:
        """Return the last year in which somebody may have worked: they were alive all year."""
        return year_of(self.died[person]) - 1 if self.died[person] else NOW

    def siblings(self, person: int) -> list[int]:
        """Return full and half siblings, in the order of their birth."""
        found: dict[int, None] = {}
        for parent in (self.father[person], self.mother[person]):
            found.update(dict.fromkeys(self.children.get(parent, ()), None))
        found.pop(person, None)
        return sorted(found)

    def add(self, female: int, born: int, died: int, country: int, birthplace: int) -> int:
        """Add a person without relatives; return the number."""
        self.female.append(female)
        self.born.append(born)
        self.died.append(died)
        self.country.append(country)
        self.birthplace.append(birthplace)
        for column in (self.father, self.mother, self.spouse, self.second_spouse):
            column.append(NOBODY)
        self.wed.append(0)
        return len(self.born) - 1


def build_people(config: WorldConfig, countries: list[Country]) -> People:
    """Simulate a population from 1745 on until it has the number of people of the settings."""
    return _Population(config, countries).live()


class _Population:
    def __init__(self, config: WorldConfig, countries: list[Country]) -> None:
        self.config, self.countries, self.people = config, countries, People()
        self.births: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.weddings: dict[int, list[int]] = defaultdict(list)
        self.waiting: dict[tuple[int, int], deque[int]] = defaultdict(deque)

    def live(self) -> People:
        quota, total = 0, self.config.people
        weights = [_share(year) for year in range(FIRST_YEAR, LAST_YEAR + 1)]
        reached = 0
        for year, weight in zip(range(FIRST_YEAR, LAST_YEAR + 1), weights, strict=True):
            reached += weight
            quota = total * reached // sum(weights)
            self._bear(year, total)
            while len(self.people) < quota:
                self._settle(year)
            for person in self.weddings.pop(year, ()):
                self._court(person, year)
        while len(self.people) < total:
            self._settle(LAST_YEAR)
        return self.people

    def _draws(self) -> Chance:
        return Chance(self.config.seed, "person", len(self.people))

    def _add(self, year: int, country: Country, chance: Chance) -> int:
        died = _death(year, chance)
        old = year < 1850
        exact, months = (600, 80) if old else (850, 30)
        town = chance.pick(country.cities if chance.per_mille(800) else country.villages)
        person = self.people.add(
            chance.below(2), draw_date(year, chance, exact=exact, months=months),
            draw_date(died, chance, exact=exact, months=months) if died <= NOW else 0,
            country.place, town,
        )  # fmt: skip
        if chance.per_mille(840) and died >= year + 30:
            self.weddings[year + chance.between(21, 33)].append(person)
        return person

    def _settle(self, year: int) -> None:
        """Add somebody whose family is unknown."""
        chance = self._draws()
        self._add(year, chance.pick(self.countries), chance)

    def _bear(self, year: int, total: int) -> None:
        people = self.people
        for father, mother in self.births.pop(year, ()):
            if len(people) >= total:
                return
            chance = self._draws()
            country = self.countries[people.country[father if chance.per_mille(850) else mother]]
            child = self._add(year, country, chance)
            people.father[child], people.mother[child] = father, mother
            for parent in (father, mother):
                people.children.setdefault(parent, []).append(child)

    def _court(self, person: int, year: int) -> None:
        """Marry somebody who waits for a spouse, or wait."""
        people = self.people
        if people.last_year(person) <= year + 1:
            return
        chance = Chance(self.config.seed, "court", person, year)
        country = people.country[person]
        if chance.per_mille(130):
            country = chance.below(len(self.countries))
        queue = self.waiting[country, 1 - people.female[person]]
        for _ in range(len(queue)):
            other = queue.popleft()
            if people.last_year(other) <= year + 1 or year - people.birth_year(other) > 55:
                continue
            if self._suits(person, other, chance):
                self._marry(person, other, year, chance)
                return
            queue.append(other)
        self.waiting[people.country[person], people.female[person]].append(person)

    def _suits(self, one: int, two: int, chance: Chance) -> bool:
        people = self.people
        if abs(people.birth_year(one) - people.birth_year(two)) > 14 or one == two:
            return False
        if people.spouse[one] == two:
            return False
        kin = {people.father[one], people.mother[one]} - {NOBODY}
        if kin & {people.father[two], people.mother[two], two}:
            return False
        return chance.per_mille(700)

    def _marry(self, one: int, two: int, year: int, chance: Chance) -> None:
        people = self.people
        for person, other in ((one, two), (two, one)):
            if people.spouse[person] == NOBODY:
                people.spouse[person] = other
                people.wed[person] = year
            else:
                people.second_spouse[person] = other
        father, mother = (two, one) if people.female[one] else (one, two)
        end = min(people.last_year(one), people.last_year(two), people.birth_year(mother) + 44)
        born = year
        for _ in range(chance.weighted((14, 16, 22, 20, 13, 9, 6))):
            born += chance.between(1, 4)
            if born >= end:
                break
            self.births[born].append((father, mother))
        self._part(one, two, max(year, born) + chance.between(1, 6), chance)

    def _part(self, one: int, two: int, earliest: int, chance: Chance) -> None:
        """Let widowed and divorced people look for a second spouse, once."""
        people = self.people
        ended = min(people.last_year(one), people.last_year(two))
        divorced = chance.per_mille(120) and earliest < ended
        for person in (one, two):
            free = earliest if divorced else ended + 1
            alive = people.last_year(person) > free + 2
            young = free - people.birth_year(person) < 52
            if alive and young and people.second_spouse[person] == NOBODY and chance.per_mille(750):
                self.weddings[free + chance.between(1, 3)].append(person)


def _share(year: int) -> int:
    """Return a year's weight among all births: low long ago, high from 1860 on."""
    if year < 1860:
        return 12 + (year - FIRST_YEAR) // 8
    return 60 if year < 1980 else 30


def _death(year: int, chance: Chance) -> int:
    """Draw the year of death; past the present it is unknown."""
    draw = chance.below(100)
    if draw < 9:
        life = chance.between(24, 45)
    elif draw < 40:
        life = chance.between(45, 68)
    else:
        life = chance.between(62, 78) + chance.below(22)
    return year + life
