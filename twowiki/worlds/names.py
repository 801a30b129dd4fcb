"""Names for people, places and works of a world, and titles that no two pages share.

A person's name may be shared, as in life; a page's title never is: the second one gets a bracket.
"""

from __future__ import annotations

from collections.abc import Iterable

from twowiki.worlds.chance import Chance
from twowiki.worlds.syllables import (
    FLAVOURS,
    Flavour,
    coin_given,
    coin_land,
    coin_place,
    coin_surname,
)


class Titles:
    """The titles given so far."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __contains__(self, title: str) -> bool:
        return title in self._given

    def give(self, label: str, brackets: Iterable[str], *, always: bool = False) -> str:
        """Give a page its title: the label, or with the first bracket that makes it unlike others.

        Args:
            label: the page's name.
            brackets: what may stand in the bracket, best first.
            always: use a bracket even where none is needed.
        """
        if not always and label not in self._given:
            self._given.add(label)
            return label
        for bracket in brackets:
            title = f"{label} ({bracket})"
            if title not in self._given:
                self._given.add(title)
                return title
        number = 2
        while f"{label} ({number})" in self._given:
            number += 1
        title = f"{label} ({number})"
        self._given.add(title)
        return title


class Tongue:
    """The names of one country.

    Args:
        seed: the world's.
        country: its number there.
        people: how many names of people will be asked for, about.
    """

    def __init__(self, seed: str, country: int, people: int) -> None:
        chance = Chance(seed, "tongue", country)
        whole = FLAVOURS[country % len(FLAVOURS)]
        self.flavour: Flavour = whole._replace(
            given=tuple(chance.shuffled(whole.given)[:12]),
            onsets=tuple(chance.shuffled(whole.onsets)[:12]),
            codas=tuple(chance.shuffled(whole.codas)[:8]),
        )
        self.day_first = self.flavour.day_first
        self.land, self.demonym = coin_land(whole, chance)
        count = max(12, people // 7)
        self.surnames = _distinct(count, lambda: coin_surname(self.flavour, chance))
        wanted = min(90, max(16, people // 5))
        self.given = [
            _distinct(wanted, lambda female=female: coin_given(self.flavour, chance, female))
            for female in (0, 1)
        ]

    def place(self, chance: Chance) -> str:
        """Coin a name for a place."""
        return coin_place(self.flavour, chance)


def _distinct(count: int, coin: object) -> list[str]:
    """Coin distinct names, fewer where the syllables run out."""
    found: dict[str, None] = {}
    for _ in range(count * 4):
        found[coin()] = None  # type: ignore[operator]
        if len(found) == count:
            break
    return list(found)
