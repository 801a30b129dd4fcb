"""Dates as integers: `year * 10000 + month * 100 + day`; month and day 0 where unknown. Pure."""

from __future__ import annotations

from twowiki.data.dates import MONTH_NAMES
from twowiki.generation.dates import ordinal
from twowiki.worlds.random_draws import Chance

NOW = 2020  # nothing happens later; people who are alive then have no date of death
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


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


def write_date(date: int, day_first: bool, chance: Chance) -> str:
    """Write a date in running text: as its country does, with some variety."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    if not month:
        return str(year)
    name = MONTH_NAMES[month - 1]
    if not day:
        return f"{name} {year}"
    draw = chance.below(100)
    if draw < 3:
        return f"{ordinal(day)} {name} {year}"
    if (draw < 88) == day_first:
        return f"{day} {name} {year}"
    return f"{name} {day}, {year}"
