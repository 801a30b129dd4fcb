"""Noble houses: lines of people who are named by rank and seat ("Otto II, Duke of Harikent").

In: families, cities, the share of nobles. Out: `Houses`, which names the members of a house: the
heads of a reigning one by number and rank, of a peerage by surname and rank, others by their seat.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from twowiki.generation.dates import ordinal
from twowiki.worlds.people import NOBODY, People
from twowiki.worlds.random_draws import Chance
from twowiki.worlds.registry import Country, Registry
from twowiki.worlds.settings import WorldConfig

_REIGNING = (("Count", "Countess"), ("Duke", "Duchess"), ("Prince", "Princess"),
             ("Margrave", "Margravine"), ("King", "Queen"))  # fmt: skip
_PEERS = (("Baron", "Baroness"), ("Earl", "Countess"), ("Viscount", "Viscountess"),
          ("Marquess", "Marchioness"), ("Duke", "Duchess"))  # fmt: skip
_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


class House(NamedTuple):
    """A noble line: its number, the entity of its seat, its rank, whether it reigns."""

    number: int
    seat: int
    rank: tuple[str, str]
    reigns: bool


class NobleName(NamedTuple):
    """What a noble is called: the page's title, in short, and by other names."""

    full: str
    short: str
    aliases: tuple[str, ...]


class Houses:
    """Who belongs to which house; nobody where the share of nobles is 0.

    Args:
        config: the share of those without a known father who found a house.
        people: families, fathers before their children.
        countries: whose cities are the seats.
        registry: names the seats.
    """

    def __init__(
        self, config: WorldConfig, people: People, countries: list[Country], registry: Registry
    ) -> None:
        self.of: dict[int, House] = {}
        self._config, self._people, self._registry = config, people, registry
        self._heads: set[int] = set()
        self._named: Counter[tuple[int, str]] = Counter()
        for person in range(len(people)) if config.nobles else ():
            self._join(person, countries)

    def _join(self, person: int, countries: list[Country]) -> None:
        """Add somebody to the father's house, or let them found one."""
        people, father = self._people, self._people.father[person]
        if father != NOBODY:
            if father in self.of:
                self.of[person] = self.of[father]
                sons = (child for child in people.children[father] if not people.female[child])
                if father in self._heads and next(sons, NOBODY) == person:
                    self._heads.add(person)
            return
        chance = Chance(self._config.seed, "house", person)
        if chance.percent(self._config.nobles):
            reigns = chance.per_mille(600)
            seat = chance.pick(countries[people.country[person]].cities)
            rank = chance.pick(_REIGNING if reigns else _PEERS)
            self.of[person] = House(person, seat, rank, reigns)
            if not people.female[person]:
                self._heads.add(person)

    def name(self, person: int, given: str, surname: str, chance: Chance) -> NobleName:
        """Name a member of a house; a head's number is one more than that of the last."""
        house = self.of[person]
        female = self._people.female[person]
        seat, rank = self._registry.labels[house.seat], house.rank[female]
        if person in self._heads:
            called = given if house.reigns else ""
            self._named[house.number, called] += 1
            number = self._named[house.number, called]
            if house.reigns:
                short = f"{given} {_roman(number)}"
                return NobleName(f"{short}, {rank} of {seat}", given, (f"{short} of {seat}", short))
            own = f"{given} {surname}"
            return NobleName(f"{own}, {ordinal(number)} {rank} of {seat}", surname, (own,))
        if not house.reigns:
            style = ("Lady " if female else "Lord ") if chance.per_mille(300) else ""
            return NobleName(f"{style}{given} {surname}", surname, ())
        own = f"{given} of {seat}"
        style = ("", "Princess" if female else "Prince", rank)[chance.weighted((5, 3, 2))]
        return NobleName(f"{style} {own}".strip(), given, (own,) if style else ())


def _roman(number: int) -> str:
    """Write a number below 40 in Roman digits."""
    digits = ""
    for value, digit in _ROMAN:
        while number >= value:
            digits, number = digits + digit, number - value
    return digits
