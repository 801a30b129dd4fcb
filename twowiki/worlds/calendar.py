"""Dates as integers: `year * 10000 + month * 100 + day`; month and day 0 where unsaid. Pure."""

from __future__ import annotations

from typing import Any

from twowiki.worlds.random_draws import Chance

NOW = 2020  # nothing happens later; who lived then has no date of death
MONTHS = (
    "January February March April May June July August September October November December"
).split()
_SHORT = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
GREGORIAN = "http://www.wikidata.org/entity/Q1985727"


def draw_date(year: int, chance: Chance, *, exact: int = 1000, months: int = 0) -> int:
    """Draw a day of a year; of a thousand `exact` keep it, `months` the month, others the year."""
    month = chance.between(1, 12)
    day = chance.between(1, _SHORT[month - 1])
    draw = chance.below(1000)
    if draw < exact:
        return year * 10000 + month * 100 + day
    return year * 10000 + (month * 100 if draw < exact + months else 0)


def year_of(date: int) -> int:
    """Give a date's year."""
    return date // 10000


def _ordinal(day: int) -> str:
    if 10 <= day <= 20:
        return f"{day}th"
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th') }"


def write_date(date: int, day_first: bool, chance: Chance) -> str:
    """Write a date in running text: as its country does, with some variety."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    if not month:
        return str(year)
    name = MONTHS[month - 1]
    if not day:
        return f"{name} {year}"
    draw = chance.below(100)
    if draw < 3:
        return f"{_ordinal(day)} {name} {year}"
    if (draw < 88) == day_first:
        return f"{day} {name} {year}"
    return f"{name} {day}, {year}"


def time_value(date: int) -> dict[str, Any]:
    """Give Wikidata's form of a date."""
    year, month, day = date // 10000, date // 100 % 100, date % 100
    return {
        "time": f"+{year:04d}-{month:02d}-{day:02d}T00:00:00Z",
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 11 if day else 10 if month else 9,
        "calendarmodel": GREGORIAN,
    }
