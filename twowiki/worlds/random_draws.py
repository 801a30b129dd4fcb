"""Random draws by integers alone: the same on every machine and Python. Pure.

A `Chance` is named by its seed and the thing it draws for, so that the draws for one thing do not
depend on those for another. Dates are integers: `year * 10000 + month * 100 + day`, with month and
day 0 where unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from twowiki.data.dates import MONTH_NAMES

NOW = 2020  # nothing happens later; people who are alive then have no date of death
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_T = TypeVar("_T")
_MASK = (1 << 64) - 1


class Chance:
    """A stream of draws.

    Args:
        key: what the draws are for: the seed, then names and numbers.
    """

    __slots__ = ("_state",)

    def __init__(self, *key: object) -> None:
        text = "|".join(map(str, key)).encode()
        self._state = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")

    def below(self, size: int) -> int:
        """Draw an integer from 0 to `size - 1` (splitmix64)."""
        self._state = mixed = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((mixed ^ (mixed >> 31)) * size) >> 64

    def between(self, low: int, high: int) -> int:
        """Draw an integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def per_mille(self, odds: int) -> bool:
        """Draw true with a probability in per mille."""
        return self.below(1000) < odds

    def percent(self, odds: int) -> bool:
        """Draw true with a probability in percent."""
        return self.below(100) < odds

    def pick(self, items: Sequence[_T]) -> _T:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def pick_early(self, items: Sequence[_T]) -> _T:
        """Draw one of the items, early ones more often: a few surnames are common."""
        size = len(items)
        return items[min(self.below(size), self.below(size))]

    def weighted(self, weights: Sequence[int]) -> int:
        """Draw a position in the list, each in proportion to its weight."""
        left = self.below(sum(weights))
        for place, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return place
        raise AssertionError("weights are positive")

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """Return the items in a drawn order."""
        mixed = list(items)
        for place in range(len(mixed) - 1, 0, -1):
            other = self.below(place + 1)
            mixed[place], mixed[other] = mixed[other], mixed[place]
        return mixed


def draw_date(year: int, chance: Chance, *, exact: int = 1000, months: int = 0) -> int:
    """Draw a day of a year; per mille, `exact` keep it, `months` the month, others the year."""
    month = chance.between(1, 12)
    day = chance.between(1, _DAYS[month - 1])
    draw = chance.below(1000)
    if draw < exact:
        return year * 10000 + month * 100 + day
    return year * 10000 + (month * 100 if draw < exact + months else 0)


def year_of(date: int) -> int:
    """Return a date's year."""
    return date // 10000


def write_date(date: int, day_first: bool, style: int) -> str:
    """Write a date in running text: as its country does, with some variety by page.

    Args:
        date: the date.
        day_first: whether the country writes the day before the month.
        style: 0 to 99, drawn once for a page.
    """
    year, month, day = date // 10000, date // 100 % 100, date % 100
    if not month:
        return str(year)
    name = MONTH_NAMES[month - 1]
    if not day:
        return f"{name} {year}"
    if (style < 88) == day_first:
        return f"{day} {name} {year}"
    return f"{name} {day}, {year}"
