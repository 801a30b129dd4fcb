"""Do the dates of two linked entities contradict each other? A director dead before the film.

In: days from Wikidata, else years from the pages' first sentences. Out: whether a fact cannot be
true. What is close to a bound is let pass: films come out after a director's death. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from twowiki.data.relations import P
from twowiki.generation.dates import year_of_day

_MAKERS = {"director", "producer", "composer", "performer", "creator"}
_PRESENT = {"director", "producer", "performer"}  # who cannot be adapted after their death
_POSTHUMOUS, _YOUNGEST_MAKER = 3, 4  # years
_YOUNGEST_PARENT, _OLDEST_PARENT, _SIBLINGS_APART = 10, 90, 60
_LIFE = re.compile(r"\(([^()]*\d{3,4}[^()]*)\)")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_RELEASE = re.compile(r"\b(?:is|was) an? (?:[\w-]+ )?(\d{4})\b")
_DEAD = re.compile(r"[–—-]|died|death")


class Years(NamedTuple):
    """The years that bound an entity: its beginning and end as (earliest, latest), or None."""

    begins: tuple[int, int] | None
    ends: tuple[int, int] | None
    is_person: bool = False


def years_of(days: Mapping[int, tuple[int, int]], first_sentence: str) -> Years:
    """Return when an entity began and ended.

    Args:
        days: first and last day by Wikidata's property.
        first_sentence: of its page; read where Wikidata has no date.
    """

    def stated(*relations: str) -> tuple[int, int] | None:
        for relation in relations:
            if P[relation] in days:
                low, high = days[P[relation]]
                return year_of_day(low), year_of_day(high)
        return None

    begins = stated("date of birth", "publication date", "inception")
    ends = stated("date of death")
    released = _RELEASE.search(first_sentence)
    life = _LIFE.search(first_sentence)
    if begins is None and released:
        begins = (int(released[1]), int(released[1]))
    if life and not released and (begins is None or ends is None):
        years = [int(year) for year in _YEAR.findall(life[1])]
        if len(years) == 2 and _DEAD.search(life[1]):
            begins = begins or (years[0], years[0])
            ends = ends or (years[1], years[1])
        elif len(years) == 1 and life[1].lstrip().startswith("born"):
            begins = begins or (years[0], years[0])
    return Years(begins, ends, P["date of birth"] in days or (bool(life) and not released))


def contradicts(relation: str, subject: Years, target: Years) -> bool:
    """Whether the years of two entities rule out that the subject has the target so."""
    if relation in _MAKERS:
        too_late = relation in _PRESENT and _after(subject.begins, target.ends, _POSTHUMOUS)
        least = _YOUNGEST_MAKER if target.is_person else -_POSTHUMOUS
        return too_late or _before(subject.begins, target.begins, least)
    if relation == "child":
        relation, subject, target = "father", target, subject
    if relation in ("father", "mother"):
        return (
            _before(subject.begins, target.begins, _YOUNGEST_PARENT)
            or _after(subject.begins, target.begins, _OLDEST_PARENT)
            or _after(subject.begins, target.ends, 1)
        )
    if relation == "spouse":
        return _after(subject.begins, target.ends, 0) or _after(target.begins, subject.ends, 0)
    if relation == "sibling":
        return _after(subject.begins, target.begins, _SIBLINGS_APART) or _after(
            target.begins, subject.begins, _SIBLINGS_APART
        )
    return False


def ends_before_it_begins(years: Years) -> bool:
    """Whether an entity's own dates are in the wrong order."""
    return _after(years.begins, years.ends, 0)


def _after(one: tuple[int, int] | None, two: tuple[int, int] | None, most: int) -> bool:
    """Whether `one` is surely more than some years after `two`."""
    return one is not None and two is not None and one[0] > two[1] + most


def _before(one: tuple[int, int] | None, two: tuple[int, int] | None, least: int) -> bool:
    """Whether `one` surely comes less than some years after `two`."""
    return one is not None and two is not None and one[1] < two[0] + least
