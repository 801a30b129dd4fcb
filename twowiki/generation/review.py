"""A last look at a candidate's facts: the best sentence for each, and the faults that drop it.

In: a plan, and the entities that it names. Out: the plan with the supporting sentences that state
its facts best, or a `Drop` with the fault. Every fault can be allowed. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import msgspec

from twowiki.generation.dates import DATE_BASE, WikidataDate, date_of_key, interval
from twowiki.generation.entities import Entities, Grounded
from twowiki.generation.faults import (
    AGREEING,
    COARSE,
    CONTRADICTION,
    ELSEWHERE,
    ORDER,
    SEVERAL,
    SPELLING,
    UNCERTAIN,
    UNWORDED,
)  # fmt: skip
from twowiki.generation.lives import Years, contradicts, ends_before_it_begins, years_of
from twowiki.generation.rivals import names_several, page_names_several
from twowiki.generation.samples import Drop, Plan
from twowiki.generation.support import (
    COUNTRIES,
    ObjectName,
    SubjectPage,
    best_hit,
    is_coarse,
)
from twowiki.generation.text import without_accents

_UNSURE_BEFORE = re.compile(
    r"(?:\bca?\.|\bcirca|\babout|\baround|\bprobably|\bpossibly|\bperhaps|\bbefore|\bafter|\bby|"
    r"\bbetween|\bfl\.|\bearly|\blate|\bor|\?)[ (]*$", re.IGNORECASE,
)  # fmt: skip
_UNSURE_AFTER = re.compile(r"^ ?(?:or \d|/ ?\d|\?|s\b)")
_ALIKE = 0.72


class Reviewer:
    """Reviews plans; pages and facts that several candidates share are read once.

    Args:
        entities: what the plans name.
        allowed: the faults that do not drop a candidate.
        worded: whether the relation's own words choose the sentence.
    """

    def __init__(self, entities: Entities, allowed: Sequence[str], *, worded: bool) -> None:
        self.entities, self._allowed, self._worded = entities, frozenset(allowed), worded
        self.page = lru_cache(maxsize=100_000)(self._read_page)
        self._support = lru_cache(maxsize=500_000)(self._find_support)
        self._years = lru_cache(maxsize=500_000)(self._find_years)
        self._unsure = lru_cache(maxsize=500_000)(self._is_unsure)

    def review(self, plan: Plan) -> Plan | Drop:
        """Choose the sentences of a plan's facts; drop it for its first fault."""
        reviewed = self.review_facts(plan)
        if isinstance(reviewed, Drop):
            return reviewed
        for fault in self._faults(plan, reviewed.facts):
            if fault not in self._allowed:
                return Drop(fault)
        if not reviewed.provenance.worded and UNWORDED not in self._allowed:
            return Drop(UNWORDED)
        return reviewed

    def review_facts(self, plan: Plan) -> Plan | Drop:
        """Choose the sentences of a plan's facts; drop it for the first fault of one alone."""
        facts, all_worded = [], True
        values = Counter((fact.subject, fact.relation) for fact in plan.facts)
        for fact in plan.facts:
            found, worded, faults = self._support(fact, plan.titled)
            facts.append(found)
            all_worded = all_worded and worded
            for fault in faults:
                known = fault in (SEVERAL, ELSEWHERE) and values[fact.subject, fact.relation] > 1
                if not known and fault not in self._allowed:
                    return Drop(fault)
        provenance = msgspec.structs.replace(plan.provenance, worded=all_worded)
        return plan._replace(facts=facts, provenance=provenance)

    def _faults(self, plan: Plan, facts: Sequence[Grounded]) -> Iterator[str]:
        if any(self._contradicted(fact) for fact in facts):
            yield CONTRADICTION
        if not plan.titled:
            if self._is_spelled(facts[0].subject, facts[-1]):
                yield SPELLING
        elif any(word.answer == "no" for word in plan.wordings):
            if self._may_agree(plan, facts):
                yield AGREEING
        elif facts[-1].object >= DATE_BASE:
            yield from self._date_faults(plan, facts)

    # ---- one fact

    def _read_page(self, qid: int) -> SubjectPage:
        entity = self.entities.entity(qid)
        own = dict.fromkeys((entity.label, self.entities.title(qid), self.entities.bare(qid)))
        return SubjectPage(self.entities.sentences(qid), own)

    def _find_support(self, fact: Grounded, titled: bool) -> tuple[Grounded, bool, list[str]]:
        """Return a fact with its best sentence, whether that is in words, and its faults."""
        page = self.page(fact.subject)
        if fact.object >= DATE_BASE:
            sentence = page.sentences[fact.sent_id]
            coarse = is_coarse(sentence, fact.norm, months=not titled)
            return fact, True, [COARSE] if coarse else []
        names = self._names(fact)
        hit = best_hit(page.hits(fact.relation, names), names, worded=self._worded)
        if hit is None:
            return fact, False, []
        sentence = page.sentences[hit.sent_id]
        faults = [hit.fault] if hit.fault else []
        place = hit.first, hit.last, fact.relation
        if hit.worded and names_several(sentence, *place):
            faults.append(SEVERAL)
        if page_names_several(page.sentences, hit.sent_id, *place):
            faults.append(ELSEWHERE)
        return fact._replace(sent_id=hit.sent_id, norm=hit.norm), hit.worded, faults

    def _names(self, fact: Grounded) -> list[ObjectName]:
        names = [
            ObjectName(name.text, name.norm, name.kind == "demonym")
            for name in self.entities.names(fact.object)
            if name.kind != "demonym" or fact.relation in COUNTRIES
        ]
        return names or [ObjectName(fact.norm.strip(), fact.norm, False)]

    def _find_years(self, qid: int) -> Years:
        known = qid in self.entities and self.entities.entity(qid).page_id is not None
        sentences = self.entities.sentences(qid) if known else []
        return years_of(self.entities.days(qid), sentences[0] if sentences else "")

    def _contradicted(self, fact: Grounded) -> bool:
        own = self._years(fact.subject)
        if fact.object >= DATE_BASE:
            return ends_before_it_begins(own)
        return contradicts(fact.relation, own, self._years(fact.object))

    # ---- several facts

    def _is_spelled(self, start: int, last: Grounded) -> bool:
        """Whether the first paragraph has the answer in another spelling."""
        if last.object >= DATE_BASE:
            return False
        page = self.page(start)
        words = [without_accents(word) for line in page.sentences for word in line.words]
        text = f" {' '.join(words)} "
        return last.relation not in COUNTRIES and any(
            _occurs(without_accents(name.norm).split(), words, text) for name in self._names(last)
        )

    def _may_agree(self, plan: Plan, facts: Sequence[Grounded]) -> bool:
        """Whether one side's sentence names the other side's value too."""
        sides = [fact for fact in facts if fact.relation == plan.provenance.relations[-1]]
        return any(
            one.subject != two.subject
            and any(
                hit.sent_id == one.sent_id and not hit.fault
                for hit in self.page(one.subject).hits(two.relation, self._names(two))
            )
            for one in sides
            for two in sides
        )

    def _date_faults(self, plan: Plan, facts: Sequence[Grounded]) -> Iterator[str]:
        """Check that the dates as a reader takes them are in the order that was computed."""
        dates = [fact for fact in facts if fact.object >= DATE_BASE]
        half = len(dates) // 2
        one, two = (_read_span(part) for part in (dates[:half], dates[half:]))
        low, high = plan.order
        ordered = one[1] < two[0] if low < high else two[1] < one[0]
        if not ordered:
            yield ORDER
        if any(map(self._unsure, dates)) and _years_apart(one, two) <= 10:
            yield UNCERTAIN

    def _is_unsure(self, fact: Grounded) -> bool:
        sentence = self.page(fact.subject).sentences[fact.sent_id]
        for first, last in sentence.find(fact.norm.split())[:1]:
            start, end = sentence.span(first, last)
            before, after = sentence.text[:start], sentence.text[end:]
            return bool(_UNSURE_BEFORE.search(before) or _UNSURE_AFTER.match(after))
        return False


def _read_span(facts: Sequence[Grounded]) -> tuple[int, int]:
    """Return the days that a reader takes one date, or the days between two, to be."""
    spans = [_interval_of(fact.says) for fact in facts]
    (low, high), *rest = spans
    return (rest[0][0] - high, rest[0][1] - low) if rest else (low, high)


@lru_cache(maxsize=1 << 16)
def _interval_of(key: int) -> tuple[int, int]:
    return interval(WikidataDate(*date_of_key(key)[:4]))


def _years_apart(one: tuple[int, int], two: tuple[int, int]) -> float:
    return max(two[0] - one[1], one[0] - two[1]) / 365.25


def _occurs(name: Sequence[str], words: Sequence[str], text: str) -> bool:
    """Whether words have a name without regard to accents, spaces and single letters."""
    joined, size = "".join(name), len(name)
    if len(joined) < 4:
        return False
    if f" {' '.join(name)} " in text or (size > 1 and len(joined) > 7 and f" {joined} " in text):
        return True
    windows = (words[first : first + size] for first in range(len(words) - size + 1))
    return size > 1 and any(
        all(map(_is_alike, window, name)) for window in windows if set(window) & set(name)
    )


def _is_alike(word: str, other: str) -> bool:
    """Whether two words may be spellings of one name ("Rajeev", "Rajiv"); short ones are equal."""
    if word == other or min(len(word), len(other)) < 5 or word[:2] != other[:2]:
        return word == other
    return SequenceMatcher(None, word, other).ratio() >= _ALIKE
