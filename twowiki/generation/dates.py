"""Wikidata's points in time: parsing, ordering by intervals of days, written forms. Pure.

A date keeps its precision; no day or month is invented. Julian dates stay as Wikidata's JSON has
them, which is how Wikipedia prints them; only the ordering converts.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import NamedTuple

from twowiki.data.dates import MONTH_NAMES
from twowiki.generation.text import normalize

DAY, MONTH, YEAR = 11, 10, 9
JULIAN = 1985786
_TIME = re.compile(r"^([+-]?)(\d{1,16})-(\d\d)-(\d\d)T")
_LARGEST_YEAR = 99_999
DATE_BASE = 10**15
_DAY_BEFORE_AD_1 = 1_721_425


class WikidataDate(NamedTuple):
    """A point in time; month and day are 0 where the precision has none; 44 BC is -44."""

    year: int
    month: int
    day: int
    precision: int
    julian: bool = False

    @property
    def key(self) -> int:
        """The integer that names this date, above every entity's id."""
        when = ((self.year + 100_000) * 13 + self.month) * 32 + self.day
        return DATE_BASE + (when * 16 + self.precision) * 2 + int(self.julian)

    def at(self, precision: int) -> WikidataDate:
        """Return the same date with a lower precision."""
        if precision >= self.precision:
            return self
        month = self.month if precision >= MONTH else 0
        return WikidataDate(self.year, month, 0, precision, self.julian)


def date_of_key(key: int) -> WikidataDate:
    """Return the date that a key names."""
    rest, julian = divmod(key - DATE_BASE, 2)
    when, precision = divmod(rest, 16)
    months, day = divmod(when, 32)
    year, month = divmod(months, 13)
    return WikidataDate(year - 100_000, month, day, precision, bool(julian))


def parse_wikidata_time(time: str, precision: int, calendar: str = "") -> WikidataDate | None:
    """Parse a Wikidata time; None below year precision, past year 99999 or with no such day."""
    match = _TIME.match(time)
    if match is None or precision < YEAR:
        return None
    year = int(match[2]) * (-1 if match[1] == "-" else 1)
    month, day = int(match[3]), int(match[4])
    if year == 0 or abs(year) > _LARGEST_YEAR or month > 12 or day > 31:
        return None
    exact = min(precision, DAY)
    if exact == DAY and day == 0:
        exact = MONTH
    if exact >= MONTH and month == 0:
        exact = YEAR
    julian = calendar.rstrip("/").endswith(f"Q{JULIAN}")
    date = WikidataDate(year, month, day, DAY, julian).at(exact)
    if date.precision == DAY and day > _days_in(date):
        return None
    return date


def _days_in(date: WikidataDate) -> int:
    if date.month != 2:
        return 30 if date.month in (4, 6, 9, 11) else 31
    year = date.year if date.year > 0 else date.year + 1
    leap = year % 4 == 0 and (date.julian or year % 100 != 0 or year % 400 == 0)
    return 29 if leap else 28


def _day_number(year: int, month: int, day: int, julian: bool) -> int:
    """Return the Julian Day Number; the year is historical (no year 0)."""
    shifted = (year if year > 0 else year + 1) + 4800 - (14 - month) // 12
    months = (month + 9) % 12
    number = day + (153 * months + 2) // 5 + 365 * shifted + shifted // 4
    return number - 32083 if julian else number - shifted // 100 + shifted // 400 - 32045


def interval(date: WikidataDate) -> tuple[int, int]:
    """Return the first and last day that the date may mean, as Julian Day Numbers."""
    year, month, day, precision, julian = date
    if precision == DAY:
        number = _day_number(year, month, day, julian)
        return number, number
    first = _day_number(year, month or 1, 1, julian)
    if precision == MONTH and month < 12:
        return first, _day_number(year, month + 1, 1, julian) - 1
    following = year + 1 if year != -1 else 1
    return first, _day_number(following, 1, 1, julian) - 1


def year_of_day(day: int) -> int:
    """Return the year of a Julian Day Number, in the Gregorian calendar; exact from AD 1 on."""
    ordinal_day = day - _DAY_BEFORE_AD_1
    if 1 <= ordinal_day <= datetime.date.max.toordinal():
        return datetime.date.fromordinal(ordinal_day).year
    return int((ordinal_day - 1) // 365.2425) + 1


def ordinal(day: int) -> str:
    """Return a day with its ending: "1st", "22nd"."""
    if 10 <= day % 100 <= 20:
        return f"{day}th"
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th') }"


def _year_forms(date: WikidataDate) -> list[str]:
    if date.year > 0:
        early = [f"AD {date.year}", f"{date.year} AD"] if date.year < 1000 else []
        return [str(date.year), *early] if date.year > 99 else early
    return [f"{-date.year} {era}" for era in ("BC", "BCE", "B.C.", "B.C.E.")]


def _month_names(month: int) -> tuple[str, ...]:
    name = MONTH_NAMES[month - 1]
    short = {5: (), 6: ("Jun",), 9: ("Sept", "Sep")}.get(month, (name[:3],))
    return (name, *short)


def _day_forms(date: WikidataDate, year: str) -> Iterator[str]:
    for name in _month_names(date.month):
        yield f"{date.day} {name} {year}"
        yield f"{name} {date.day} {year}"
        yield f"{ordinal(date.day)} {name} {year}"
        yield f"{ordinal(date.day)} of {name} {year}"
        yield f"{name} {ordinal(date.day)} {year}"
        yield f"{year} {name} {date.day}"
        yield f"{year} {date.day} {name}"
    yield f"{year} {date.month:02d} {date.day:02d}"
    yield f"{date.day:02d} {_month_names(date.month)[0]} {year}"
    yield f"{_month_names(date.month)[0]} {date.day:02d} {year}"


def _month_forms(date: WikidataDate, year: str) -> Iterator[str]:
    for name in _month_names(date.month):
        yield f"{name} {year}"
        yield f"{name} of {year}"
        yield f"{year} {name}"


class WrittenForm(NamedTuple):
    """A date as a text may write it: normalized words, and the date that those words mean."""

    norm: str
    says: WikidataDate


def written_forms(date: WikidataDate) -> list[WrittenForm]:
    """Return every written form of a date, at its own precision first, then of its year alone.

    A day's month alone is left out: it is part of every other day of that month. Nothing under
    three digits is a year: "in 12 of them" is not a date.
    """
    forms: dict[str, WikidataDate] = {}
    for precision in dict.fromkeys((date.precision, YEAR)):
        coarse = date.at(precision)
        for year in _year_forms(coarse):
            if precision == DAY:
                texts = list(_day_forms(coarse, year))
            else:
                texts = list(_month_forms(coarse, year)) if precision == MONTH else [year]
            for text in texts:
                forms.setdefault(normalize(text), coarse)
        if precision == DAY and 0 < coarse.year < 100:
            for text in _day_forms(coarse, str(coarse.year)):
                forms.setdefault(normalize(text), coarse)
    return [WrittenForm(norm, says) for norm, says in forms.items()]
