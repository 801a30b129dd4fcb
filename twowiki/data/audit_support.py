"""Audit of supporting sentences: is what a triple says in them, and does it stand there by itself?

Each check yields a kind and what was found. A triple's sentences are the supporting ones of its
subject's page. An object inside a longer name ("London" in "Tower of London") or inside the name
of the page's own subject is no support. Kinds that two readers would dispute are left out: a
title before a person's name, an adjective of a nation before another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from twowiki.data.audit_text import (
    Days,
    dates_in,
    lead_name,
    name_key,
    parse_days,
    places_of,
    plain,
)
from twowiki.data.dates import MONTH_NAMES
from twowiki.data.schema import Example, Fact, Triple
from twowiki.models.text import bare_title

Finding = tuple[str, str]  # kind, what was found
SHORT_SENTENCE = 3  # words of a sentence that is a scrap at most
_NATIONS = ("country of citizenship", "country of origin", "country", "ethnic group", "religion")
# before a name, these belong to no longer name
_OPENERS = frozenset(
    "a an and as at born by da daughter during for from her his in it its mother near of on or "
    "other she he son the their then they to under while who whose wife with brother sister father "
    "husband widow he's located set both directed written starring featuring after before".split()
)
_TITLES = frozenset(
    "king queen prince princess emperor empress sultan pharaoh duke duchess count countess earl "
    "baron lord lady sir dame saint st st. pope bishop archbishop cardinal rev. reverend dr dr. mr "
    "mr. mrs. ms. miss professor president general colonel captain major lieutenant sheikh emir "
    "tsar judge senator governor director actor actress singer composer producer filmmaker pilot "
    "margrave landgrave elector infante infanta archduke archduchess caliph khan shah".split()
)
# an adjective before a person's name is no part of it
_NATIONALITIES = frozenset(
    "american british english scottish welsh irish french german italian spanish portuguese dutch "
    "belgian swiss austrian swedish danish norwegian finnish icelandic russian soviet polish czech "
    "hungarian romanian bulgarian greek turkish serbian croatian ukrainian canadian mexican "
    "brazilian argentine australian indian pakistani bangladeshi chinese japanese korean thai "
    "filipino indonesian iranian israeli egyptian african byzantine roman ottoman".split()
)
_SUFFIXES = frozenset(("jr", "jr.", "sr", "sr."))
_FREE = _OPENERS | _TITLES | _NATIONALITIES
_JOINERS = r"(?:of|de|di|von|van|del|della|da|du|la|of the|de la|and)"


class Supported(NamedTuple):
    """A triple with the supporting sentences of its subject's page, by sentence id."""

    triple: Triple
    title: str
    sentences: Sequence[tuple[int, str]]


def facts_of(example: Example) -> tuple[Fact, ...]:
    """Return the supporting facts; none where the data has no such part."""
    return example.supporting_facts or ()


def triples_of(example: Example) -> tuple[Triple, ...]:
    """Return the triples; none where the data has no such part."""
    return example.evidences or ()


def supported_triples(example: Example) -> Iterator[Supported]:
    """Yield each triple with the page of its subject, and that page's supporting sentences.

    A subject is a page's title, its label without a bracket, or a shorter label: then the order of
    subjects and pages decides.
    """
    titles = list(dict.fromkeys(fact.title for fact in facts_of(example)))
    subjects = list(dict.fromkeys(triple.subject for triple in triples_of(example)))
    in_order = dict(zip(subjects, titles, strict=True)) if len(subjects) == len(titles) else {}
    by_name = {name_key(title): title for title in reversed(titles)}
    pages = {title: sentences for title, sentences in reversed(example.context)}
    for triple in triples_of(example):
        title = triple.subject if triple.subject in titles else None
        title = title or by_name.get(name_key(triple.subject)) or in_order.get(triple.subject)
        facts = [fact for fact in facts_of(example) if title in (None, fact.title)]
        found = [
            (fact.sent_id, plain(pages[fact.title][fact.sent_id]))
            for fact in facts
            if fact.title in pages and 0 <= fact.sent_id < len(pages[fact.title])
        ]
        yield Supported(triple, title or "", found)


def check_sentences(example: Example) -> Iterator[Finding]:
    """Find supporting sentences that are not there, or are scraps."""
    pages = {title: sentences for title, sentences in reversed(example.context)}
    for title, sent_id in facts_of(example):
        if title not in pages:
            yield "support_title_missing", f"no paragraph {title!r}"
        elif not 0 <= sent_id < len(pages[title]):
            length = len(pages[title])
            yield "support_past_end", f"sentence {sent_id} of {title!r}, which has {length}"
        elif len(pages[title][sent_id].split()) <= SHORT_SENTENCE:
            yield "broken_support", f"{title!r}, sentence {sent_id}: {pages[title][sent_id]!r}"


def check_objects(example: Example) -> Iterator[Finding]:
    """Find triples whose object is not in their supporting sentences, or not by itself."""
    for one in supported_triples(example):
        if one.sentences:
            days = parse_days(one.triple.object)
            yield from _check_name(one) if days is None else _check_date(one, days)


def check_answer_in_support(example: Example) -> Iterator[Finding]:
    """Find answers that stand in no supporting sentence, in data without triples."""
    answer = plain(example.answer or "")
    if triples_of(example) or not answer or answer.lower() in ("yes", "no", "noanswer"):
        return
    pages = dict(example.context)
    facts = facts_of(example)
    text = [pages[t][n] for t, n in facts if t in pages and 0 <= n < len(pages[t])]
    words = plain(" ".join([*text, *(fact.title for fact in facts)]))
    if len(text) == len(facts) > 0 and not any(places_of(name_key(answer), name_key(f"{words} ."))):
        yield "answer_not_in_support", repr(example.answer)


def _check_date(one: Supported, days: Days) -> Iterator[Finding]:
    relation, written = one.triple.relation, [d for _, s in one.sentences for d in dates_in(s)]
    finer = [text for found, text in written if days.contains(found) and found != days]
    if any(found == days for found, _ in written):
        return
    if finer:
        yield "coarse_object", f"{relation}: {one.triple.object!r}, the text has {finer[0]!r}"
    else:
        wider = [text for found, text in written if found.contains(days)]
        note = f", the text has {wider[0]!r}" if wider else ""
        yield "object_not_in_support", f"{relation}: {one.triple.object!r}{note}"


def _check_name(one: Supported) -> Iterator[Finding]:
    triple = one.triple
    names = dict.fromkeys((plain(triple.object), plain(bare_title(triple.object))))
    marks = [
        _mark(one, sent_id, sentence, place)
        for name in names
        for sent_id, sentence in one.sentences
        for place in places_of(name, sentence)
    ]
    found = f"{triple.relation}: {triple.object!r}"
    if not marks:
        folded = any(
            any(places_of(name_key(triple.object), name_key(f"{sentence} .")))
            for _, sentence in one.sentences
        )
        if not folded:
            yield "object_not_in_support", found
    elif all(marks):
        own = next((mark for mark in marks if mark == "own"), None)
        longer = next((mark for mark in marks if mark != "own"), "")
        if longer:
            yield "object_in_longer_name", f"{found} in {longer!r}"
        elif own:
            yield "object_in_own_name", f"{found} in the name {one.title or triple.subject!r}"


def _mark(one: Supported, sent_id: int, sentence: str, place: tuple[int, int]) -> str:
    """Return "" for an object that stands by itself, "own" in the subject's name, or the name."""
    start, end = place
    own = [(0, lead_name(sentence))] if sent_id == 0 else []
    for name in (one.title, one.triple.subject, bare_title(one.title)):
        own += places_of(plain(name), sentence)
    if any(first <= start and end <= last and (start, end) != (first, last) for first, last in own):
        return "own"
    if one.triple.relation in _NATIONS or not sentence[start].isupper():
        return ""  # an adjective or a common noun belongs to no name
    return _longer_name(sentence, start, end)


def _longer_name(sentence: str, start: int, end: int) -> str:
    """Return the name that a stretch of a sentence is a part of; "" if it is whole."""
    after = re.match(r"[ -]([A-Z][\w'.]*)", sentence[end:])
    if after and after[1].lower() not in _SUFFIXES and after[1] not in MONTH_NAMES:
        return sentence[start:end] + after[0]
    before = re.search(r"([\w'.]+)([ -])$", sentence[:start])
    if before and before[1][0].isupper() and before[1].lower() not in _FREE:
        return sentence[before.start() : end]
    joined = re.search(rf"([A-Z][\w']+) {_JOINERS} $", sentence[:start])
    if joined and joined[1].lower() not in _FREE and " and " not in joined[0]:
        return sentence[joined.start() : end]
    return ""
