"""How an audit reads text: names and dates in it, whatever their spelling, and what is around them.

Nothing here is shared with the generation of questions, so that an audit of generated data is an
independent check of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from twowiki.data.dates import DATE, MONTH_NAMES
from twowiki.models.text import bare_title

_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2212"
_QUOTES = {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'}
_DASHES = str.maketrans(dict.fromkeys(_HYPHENS, "-") | _QUOTES)
_SCARS = (
    (re.compile(r"\s+"), " "),
    (re.compile(r" ([,.;:)\]])"), r"\1"),
    (re.compile(r"([(\[]) "), r"\1"),
    (re.compile(r"(?<=[a-z])- (?=[A-Z])"), "-"),
)
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!\s*(?:BC|AD))")
_YEAR = re.compile(r"(?:\b(\d{1,4})\s(BC|AD|CE)|AD\s(\d{1,4})|\b(\d{3,4})\b)")
_LEAD = re.compile(r" ?\(|, | (?:is|was|are|were) ")
_ABOUT = re.compile(r"\b(?:before|after|about|circa|ca?|fl|by|or|between|baptized)\b", re.I)
_WORK_YEAR = re.compile(r"\b(?:is|was) (?:an?|the)(?: \w+)? (1[89]\d\d|20\d\d)\b")
_TITLE_YEAR = re.compile(r"\((1[89]\d\d|20\d\d) [\w ]*\)$")


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Return a text in one typography: dashes, quotes, spaces; traces of tokenization removed."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    for pattern, other in _SCARS:
        text = pattern.sub(other, text)
    return text.strip()


def name_key(text: str) -> str:
    """Return what two spellings of a name share: no bracket, case, accents or typography."""
    folded = unicodedata.normalize("NFKD", bare_title(plain(text)).casefold())
    return "".join(letter for letter in folded if not unicodedata.combining(letter))


def places_of(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a plain name stands in a plain text as whole words, whatever its case."""
    if name:
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            yield found.span()


class Days(NamedTuple):
    """A date as the first and the last day that it may mean: year * 10000 + month * 100 + day."""

    first: int
    last: int

    @property
    def year(self) -> int:
        """The year of the first day; negative before Christ."""
        return self.first // 10000

    @property
    def words(self) -> str:
        """The date as year, year-month or year-month-day."""
        month, day = self.first // 100 % 100, self.first % 100
        if self.first == self.last:
            return f"{self.year}-{month:02}-{day:02}"
        return f"{self.year}-{month:02}" if self.last - self.first < 100 else str(self.year)

    def contains(self, other: Days) -> bool:
        """Return whether the other date is a day, month or year of this one."""
        return self.first <= other.first and other.last <= self.last

    def overlaps(self, other: Days) -> bool:
        """Return whether both may be the same day."""
        return self.first <= other.last and other.first <= self.last


@lru_cache(maxsize=4096)
def parse_days(text: str) -> Days | None:
    """Return the date that a whole text is, None if it is none or has no year."""
    text = plain(text)
    if DATE.fullmatch(text) is None:
        return None
    year = _YEAR.search(text)
    if year is None:
        return None
    number = int(next(part for part in (year[1], year[3], year[4]) if part))
    number = -number if year[2] == "BC" else number
    month = next((n for n, name in enumerate(MONTH_NAMES, 1) if name in text), 0)
    day = _DAY.search(text[: year.start()] + text[year.end() :]) if month else None
    if day is not None:
        both = number * 10000 + month * 100 + int(day[1])
        return Days(both, both)
    if month:
        return Days(number * 10000 + month * 100 + 1, number * 10000 + month * 100 + 31)
    return Days(number * 10000 + 101, number * 10000 + 1231)


def dates_in(text: str) -> Iterator[tuple[Days, str]]:
    """Yield the dates with a year that a plain text writes, each with its words."""
    for found in DATE.finditer(text):
        days = parse_days(found[0])
        if days is not None:
            yield days, found[0]


def lead_name(sentence: str) -> int:
    """Return where the name at the start of a page's first sentence ends; 0 if nothing ends it."""
    found = _LEAD.search(sentence)
    return found.start() if found else 0


def life_in(sentence: str) -> tuple[Days | None, Days | None]:
    """Return birth and death as the bracket of a page's first sentence writes them.

    A bracket that hedges ("before 953", "c. 1510") gives neither.
    """
    for bracket in re.findall(r"\(([^()]*)\)", plain(sentence)):
        if _ABOUT.search(bracket):
            continue
        parts = re.split(r" ?- ?", bracket)
        dates = [next((days for days, _ in dates_in(part)), None) for part in parts]
        if len(dates) == 2 and all(dates):
            return dates[0], dates[1]
        if len(dates) == 1 and dates[0] is not None and re.search(r"\bborn\b", bracket):
            return dates[0], None
    return None, None


def work_year(title: str, sentence: str) -> int | None:
    """Return the year of a film, album or the like, from its title's bracket or first sentence."""
    found = _TITLE_YEAR.search(plain(title)) or _WORK_YEAR.search(plain(sentence))
    return int(found[1]) if found else None
