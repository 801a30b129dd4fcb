"""Audit of dates: do those that a question's pages write allow what its triples say?

Years are compared with room for what really happens: a film some years after its director's death
is common, one after decades is another person of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from twowiki.data.audit_support import Finding, supported_triples, triples_of
from twowiki.data.audit_text import Days, life_in, name_key, parse_days, plain, work_year
from twowiki.data.schema import Example
from twowiki.models.text import bare_title

YEARS_AFTER_DEATH = 5  # in which a work may still come out
YOUNGEST_MAKER, YOUNGEST_PARENT = 5, 9  # years of age
_MAKERS = ("director", "producer", "composer", "performer", "screenwriter", "editor", "creator")
_DATED = ("date of birth", "date of death", "publication date", "inception")
_PICKS = ("which", "who ", "was ", "were ")
_LATER = re.compile(r"\b(?:later|more recently|younger|latest|newer)\b")
_LONGER = re.compile(r"\b(?:longer|greater age)\b")


class Life(NamedTuple):
    """A person's birth and death, as far as they are known."""

    birth: Days | None = None
    death: Days | None = None


def lives_of(example: Example) -> dict[str, Life]:
    """Return the lives that triples and the first sentences of pages give, by the page's title."""
    lives = {
        title: Life(*life_in(sentences[0]))
        for title, sentences in reversed(example.context)
        if sentences
    }
    for one in supported_triples(example):
        life, days = lives.get(one.title, Life()), parse_days(one.triple.object)
        if one.triple.relation == "date of birth" and days is not None:
            lives[one.title] = life._replace(birth=days)
        elif one.triple.relation == "date of death" and days is not None:
            lives[one.title] = life._replace(death=days)
    return lives


def check_dates(example: Example) -> Iterator[Finding]:
    """Find dates that contradict each other, or what a triple says."""
    lives, pages = lives_of(example), dict(example.context)
    found = list(supported_triples(example))
    for number, one in enumerate(found):
        triple, lead = one.triple, (pages.get(one.title) or ("",))[0]
        # the page of the object is that of a later triple: a grandson may have the same name
        later = (
            other.title for other in found[number + 1 :] if other.triple.subject == triple.object
        )
        page = next(later, triple.object)
        life = lives.get(one.title)
        other = None if page == one.title else lives.get(page)
        fault = None
        if triple.relation in ("date of birth", "date of death"):
            fault = _against_lead(triple.relation, triple.object, lead) or _in_order(life)
        elif triple.relation in _MAKERS and other is not None:
            fault = _work_against(other, work_year(one.title or triple.subject, lead))
        elif life is not None and other is not None:
            fault = _family_against(triple.relation, life, other)
        if fault:
            statement = f"{triple.subject!r}, {triple.relation} {triple.object!r}"
            yield "dates_contradict", f"{statement}: {fault}"


def _family_against(relation: str, life: Life, other: Life) -> str | None:
    if relation in ("father", "mother"):
        return _parent_against(life, other, relation)
    if relation == "child":
        return _parent_against(other, life, "parent")
    return _apart(life, other) or _apart(other, life) if relation == "spouse" else None


def check_comparison(example: Example) -> Iterator[Finding]:
    """Find comparisons of dates whose answer the dates as written contradict, or do not decide."""
    question = _without_names(example)
    dated = [triple for triple in triples_of(example) if triple.relation in _DATED]
    values = [parse_days(triple.object) for triple in dated]
    relations = {triple.relation for triple in dated}
    if not question.startswith(_PICKS) or len(dated) != 2 or len(relations) != 1:
        return
    one, two = values
    if one is None or two is None or _LONGER.search(question):
        return
    if one.overlaps(two):
        yield "undecided_comparison", f"{dated[0].object!r} and {dated[1].object!r}"
        return
    later = _LATER.search(question) is not None
    number = 0 if (one.first > two.first) == later else 1
    best = dated[number].subject
    if name_key(example.answer or "") not in map(name_key, _named_by(example, best, number)):
        yield (
            "answer_against_dates",
            f"{example.answer!r}, but {dated[0].object!r} and {dated[1].object!r} say {best!r}",
        )


def _without_names(example: Example) -> str:
    """Return the question in lower case without the names of the triples, which may hold words."""
    question = plain(example.question).lower()
    for triple in triples_of(example):
        for name in (triple.subject, bare_title(triple.subject)):
            question = question.replace(plain(name).lower(), "_")
    return question


def _named_by(example: Example, best: str, number: int) -> list[str]:
    """Return what an answer may name: the dated one, or over a bridge the work of that person."""
    bridges = [triple for triple in triples_of(example) if triple.relation not in _DATED]
    works = [one.subject for one in bridges if name_key(one.object) == name_key(best)]
    if not works and len(bridges) == 2:  # another name of the person: the order tells
        works = [bridges[number].subject]
    return [best, *works]


def _against_lead(relation: str, text: str, lead: str) -> str | None:
    written = life_in(lead)[0 if relation == "date of birth" else 1]
    days = parse_days(text)
    if written is None or days is None or days.overlaps(written):
        return None
    return f"the page's first sentence has {written.words}"


def _in_order(life: Life | None) -> str | None:
    if life is None or life.birth is None or life.death is None:
        return None
    return "death before birth" if life.death.last < life.birth.first else None


def _work_against(maker: Life, year: int | None) -> str | None:
    if year is None:
        return None
    if maker.death is not None and year > maker.death.year + YEARS_AFTER_DEATH:
        return f"of {year}, {year - maker.death.year} years after a death in {maker.death.year}"
    if maker.birth is not None and year < maker.birth.year + YOUNGEST_MAKER:
        return f"of {year}, by someone born in {maker.birth.year}"
    return None


def _parent_against(child: Life, parent: Life, relation: str) -> str | None:
    if child.birth is None:
        return None
    year, room = child.birth.year, 0 if relation == "mother" else 1
    if parent.birth is not None and year < parent.birth.year + YOUNGEST_PARENT:
        return f"born in {year} to someone born in {parent.birth.year}"
    if parent.death is not None and year > parent.death.year + room:
        return f"born in {year} to someone who died in {parent.death.year}"
    return None


def _apart(one: Life, other: Life) -> str | None:
    if one.death is None or other.birth is None or one.death.last >= other.birth.first:
        return None
    return f"a death in {one.death.year}, before a birth in {other.birth.year}"
