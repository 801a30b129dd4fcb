"""Questions over listed pages of fictional worlds: intersections, counts and superlatives.

In: the facts that stand in the summaries of their subjects. Out: samples of the types intersection
("which of A, B and C was born in the same place as the director of film D?") and count ("how many
of A, B and C were born in Oru?", "which of A, B and C came out last?"). The list closes the set, so
that there is one answer; the evidences are a triple for each page. Listed people are of one
country and share no surname with each other, so that names do not give the answer away.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from twowiki.data.relations import RELATIONS, P
from twowiki.generation.dates import DATE_BASE, WikidataDate, date_of_key, interval
from twowiki.generation.entities import Entities, Grounded
from twowiki.generation.faults import UNWORDED
from twowiki.generation.review import Reviewer
from twowiki.generation.samples import (
    Drop,
    GeneratedSample,
    Plan,
    Provenance,
    Style,
    Wording,
    render_question,
    slots_of,
)
from twowiki.generation.tables import read_rows
from twowiki.generation.templates import (
    Form,
    chain_phrase,
    fill,
    is_filled,
    listed_forms,
    listed_relations,
    noun_of,
    plural_of,
)
from twowiki.generation.text import normalize

_SHORTEST, _LONGEST = 3, 5  # names in a list
_TRIES = 12  # candidates for each question that is wanted
_FORMS = {"intersection": ("intersection",), "count": ("count", "superlative")}  # by type
_LANDS = (P["country of citizenship"], P["country of origin"])
_BRIDGES = ("director", "producer", "composer")


class ListedSet(NamedTuple):
    """A candidate: the facts of the listed pages, those that match, and what they match.

    Attributes:
        form: "intersection", "count" or "superlative".
        members: a fact of each listed page, in the order of the question.
        matching: the subjects that the question is about; of a superlative the answer alone.
        other: the fact of the page that an intersection compares with.
        bridge: the fact that leads to that page, where the question does not name it.
    """

    form: str
    members: tuple[Grounded, ...]
    matching: tuple[int, ...]
    other: Grounded | None = None
    bridge: Grounded | None = None

    @property
    def facts(self) -> list[Grounded]:
        """All facts, in the order of the evidences."""
        return [*(fact for fact in (self.bridge, self.other) if fact is not None), *self.members]


Candidates = Mapping[str, Sequence[Sequence[ListedSet]]]  # by form, one list a relation


class _Facts:
    """The facts with a single value, by relation: of each subject, by value, and by country."""

    def __init__(self, tables: Mapping[str, Path], seed: str) -> None:
        self.seed = seed
        kinds = {row["qid"]: row["type"] for row in read_rows(tables["types"])}
        forms = (form for forms in _FORMS.values() for form in forms)
        wanted = {name for form in forms for name in listed_relations(form)}
        lands: dict[int, int] = {}
        found: dict[str, list[Grounded]] = defaultdict(list)
        self.leading: dict[int, list[Grounded]] = defaultdict(list)
        for row in read_rows(tables["grounded"]):
            relation = RELATIONS[row["p"]]
            if row["p"] in _LANDS:
                lands.setdefault(row["s"], row["o"])
            if row["n_values"] != 1:
                continue
            fact = Grounded(row["s"], relation, row["o"], row["norm"], row["says"],
                            row["sent_id"], row["stmt_id"])  # fmt: skip
            if relation in wanted and fact.subject in kinds:
                found[relation].append(fact)
            if relation in _BRIDGES and noun_of(kinds.get(fact.subject, "")) == "film":
                self.leading[fact.object].append(fact)
        self.kind_of = {
            fact.subject: noun_of(kinds[fact.subject]) for rows in found.values() for fact in rows
        }
        self.by_relation = {
            relation: sorted(rows, key=self.draw) for relation, rows in found.items()
        }
        self.by_value: dict[tuple[str, int], list[Grounded]] = defaultdict(list)
        self.by_land: dict[tuple[str, str, int], list[Grounded]] = defaultdict(list)
        for relation, rows in self.by_relation.items():
            for fact in rows:
                self.by_value[relation, fact.object].append(fact)
                self.by_land[self._pool(fact, lands)].append(fact)
        self.lands = lands

    def _pool(self, fact: Grounded, lands: Mapping[int, int]) -> tuple[str, str, int]:
        return fact.relation, self.kind_of[fact.subject], lands.get(fact.subject, 0)

    def near(self, fact: Grounded) -> list[Grounded]:
        """Return facts of the same relation about pages of the same kind and country."""
        pool = self.by_land[self._pool(fact, self.lands)]
        start = self.number(fact, "near") % len(pool)
        return pool[start:] + pool[:start]

    def agreeing(self, fact: Grounded) -> list[Grounded]:
        """Return the other facts with the same value about pages of the same kind."""
        kind = self.kind_of[fact.subject]
        same = self.by_value[fact.relation, fact.object]
        return [one for one in same if one != fact and self.kind_of[one.subject] == kind]

    def draw(self, fact: Grounded) -> str:
        """Return what facts are ordered by."""
        return self._hash(fact, "order")

    def number(self, fact: Grounded, what: str) -> int:
        """Draw a number for a fact."""
        return int(self._hash(fact, what)[:8], 16)

    def _hash(self, fact: Grounded, what: str) -> str:
        text = f"{self.seed}|listed|{what}|{fact.subject},{fact.relation},{fact.object}"
        return hashlib.md5(text.encode()).hexdigest()


def find_listed(tables: Mapping[str, Path], most: int, seed: str) -> Candidates:
    """Return candidates by form and relation, more than are wanted.

    Args:
        tables: the run's tables, `grounded` and `types` among them.
        most: samples wanted of each type.
        seed: what the draws depend on.
    """
    facts = _Facts(tables, seed)
    found = {}
    for form in (form for forms in _FORMS.values() for form in forms):
        relations = listed_relations(form)
        wanted = _TRIES * most // len(relations) + 1
        found[form] = [list(islice(_candidates(form, name, facts), wanted)) for name in relations]
    return found


def _candidates(form: str, relation: str, facts: _Facts) -> Iterator[ListedSet]:
    for start in facts.by_relation.get(relation, ()):
        if not listed_forms(form, relation, facts.kind_of[start.subject]):
            continue
        size = _SHORTEST + facts.number(start, "size") % (_LONGEST - _SHORTEST + 1)
        made = {
            "intersection": _intersection,
            "count": _count,
            "superlative": _superlative,
        }[form](start, size, facts)
        if made is not None:
            yield made


def _intersection(start: Grounded, size: int, facts: _Facts) -> ListedSet | None:
    same = facts.agreeing(start)
    if not same:
        return None
    led_to = [fact for fact in same if fact.subject in facts.leading]
    bridged = bool(led_to) and facts.number(start, "bridge") % 2 == 1
    choice = led_to if bridged else same
    other = choice[facts.number(start, "other") % len(choice)]
    rest = _others(start, size - 1, facts, {start.object}, {other.subject})
    if len(rest) < size - 1:
        return None
    bridge = None
    if bridged:
        bridges = facts.leading[other.subject]
        bridge = bridges[facts.number(start, "film") % len(bridges)]
    members = sorted([start, *rest], key=lambda fact: facts.number(fact, str(other.subject)))
    return ListedSet("intersection", tuple(members), (start.subject,), other, bridge)


def _count(start: Grounded, size: int, facts: _Facts) -> ListedSet | None:
    wanted = 1 + facts.number(start, "count") % size
    same = facts.agreeing(start)
    rest = _others(start, size - wanted, facts, {start.object}, set())
    if len(same) < wanted - 1 or len(rest) < size - wanted:
        return None
    place = facts.number(start, "same") % max(1, len(same))
    matching = [start, *(same[place:] + same[:place])[: wanted - 1]]
    members = sorted([*matching, *rest], key=lambda fact: facts.number(fact, str(start.subject)))
    return ListedSet("count", tuple(members), tuple(fact.subject for fact in matching))


def _superlative(start: Grounded, size: int, facts: _Facts) -> ListedSet | None:
    rest = _others(start, size - 1, facts, set(), set())
    if len(rest) < size - 1:
        return None
    members = sorted([start, *rest], key=lambda fact: facts.number(fact, str(start.subject)))
    return ListedSet("superlative", tuple(members), ())


def _others(
    start: Grounded, count: int, facts: _Facts, values: set[int], subjects: set[int]
) -> list[Grounded]:
    """Return facts near the first one whose values are not among these, of other subjects."""
    used = {start.subject, *subjects}
    found: list[Grounded] = []
    for fact in facts.near(start):
        if len(found) == count:
            break
        if fact.object not in values and fact.subject not in used:
            found.append(fact)
            used.add(fact.subject)
    return found


def entities_of_lists(candidates: Candidates) -> set[int]:
    """Return the entities that candidates name; an object may be a date."""
    rows = (row for groups in candidates.values() for group in groups for row in group)
    facts = (fact for row in rows for fact in row.facts)
    return {qid for fact in facts for qid in (fact.subject, fact.object) if qid < DATE_BASE}


def listed_samples(
    candidates: Candidates,
    entities: Entities,
    style: Style,
    most: int,
    reviewer: Reviewer,
) -> list[GeneratedSample]:
    """Word candidates; return at most so many samples of each type, of its relations in turn."""
    samples: list[GeneratedSample] = []
    known: set[tuple[frozenset[int], str]] = set()
    for forms in _FORMS.values():
        rows = [group for form in forms for group in candidates.get(form, ())]
        found = [_worded(group, entities, style, reviewer, known) for group in rows]
        turns = (one for turn in zip_longest(*found) for one in turn if one is not None)
        samples += islice(turns, most)
    return samples


def _worded(
    rows: Sequence[ListedSet],
    entities: Entities,
    style: Style,
    reviewer: Reviewer,
    known: set[tuple[frozenset[int], str]],
) -> Iterator[GeneratedSample]:
    """Yield the samples of candidates; of the same pages and relation the first one alone."""
    for row in rows:
        key = frozenset(fact.subject for fact in row.facts), row.members[0].relation
        sample = (
            Drop("duplicate_question") if key in known else _sample(row, entities, style, reviewer)
        )
        if not isinstance(sample, Drop):
            known.add(key)
            yield sample


def _sample(
    row: ListedSet, entities: Entities, style: Style, reviewer: Reviewer
) -> GeneratedSample | Drop:
    """Return the sample of a candidate, or why there is none."""
    if any(entities.entity(fact.subject).title is None for fact in row.facts):
        return Drop("no_page")
    plan = _plan(row, entities, style)
    if isinstance(plan, Drop):
        return plan
    reviewed = reviewer.review_facts(plan)
    if isinstance(reviewed, Drop):
        return reviewed
    if not reviewed.provenance.worded:
        return Drop(UNWORDED)
    if _is_given_away(row, entities):
        return Drop("given_away")
    return render_question(reviewed, entities, style)


def _is_given_away(row: ListedSet, entities: Entities) -> bool:
    """Whether a page names a value that it does not have, or people share a surname."""
    subjects = [fact.subject for fact in (*row.members, row.other) if fact is not None]
    if entities.entity(subjects[0]).type == "human":
        surnames = [entities.entity(qid).label.split()[-1] for qid in subjects]
        if len(set(surnames)) < len(surnames):
            return True
    texts = {
        fact.subject: normalize(" ".join(entities.sentences(fact.subject))) for fact in row.facts
    }
    if row.form == "superlative":
        return False
    value = next(fact for fact in row.members if fact.subject in row.matching)
    names = [name.norm for name in entities.names(value.object)]
    apart = [fact.subject for fact in row.members if fact.object != value.object]
    apart += [row.bridge.subject] if row.bridge is not None else []
    return any(name in texts[qid] for qid in apart for name in names)


def _plan(row: ListedSet, entities: Entities, style: Style) -> Plan | Drop:
    gold = [fact.subject for fact in row.facts]
    relation = row.members[0].relation
    kind = entities.entity(row.members[0].subject).type
    names = slots_of(entities, style, *(fact.subject for fact in row.members))
    if any(mark in name for name in names for mark in (",", " and ")) or len(set(names)) < len(
        names
    ):
        return Drop("no_plain_list")
    x = _compared_with(row, entities, style)
    slots = {"list": f"{', '.join(names[:-1])} and {names[-1]}", "x": x, "types": plural_of(kind)}
    wordings = []
    for form in listed_forms(row.form, relation, noun_of(kind)):
        answer = _answer(row, names, form.pick)
        if answer and is_filled(form, slots):
            wordings.append(Wording(form, slots, answer))
    if not wordings:
        return Drop("no_template")
    provenance = Provenance(relations=[fact.relation for fact in row.facts])
    question_type = next(name for name, forms in _FORMS.items() if row.form in forms)
    return Plan(question_type, gold, row.facts, False, wordings, [], [sorted(gold)], provenance)


def _compared_with(row: ListedSet, entities: Entities, style: Style) -> str:
    """Return the name, or the phrase, that the listed pages are compared with; "" for none."""
    if row.form == "superlative":
        return ""
    if row.other is None:
        value = next(fact for fact in row.members if fact.subject in row.matching).object
        entity = entities.entity(value)
        name = slots_of(entities, style, value)[0] if entity.title is not None else entity.label
        return f"the {name}" if name.startswith("University of ") else name
    if row.bridge is None:
        return slots_of(entities, style, row.other.subject)[0]
    start = row.bridge.subject
    phrase = Form("", chain_phrase([row.bridge.relation], entities.entity(start).type))
    return fill(phrase, {"x": slots_of(entities, style, start)[0]}, style.wording) or ""


def _answer(row: ListedSet, names: Sequence[str], pick: str) -> str:
    """Return the answer; "" where the dates do not decide it."""
    if row.form == "count":
        return str(len(row.matching))
    if row.form == "intersection":
        place = [fact.subject for fact in row.members].index(row.matching[0])
        return names[place]
    spans = [interval(WikidataDate(*date_of_key(fact.says)[:4])) for fact in row.members]
    if pick == "high":
        spans = [(-high, -low) for low, high in spans]
    best = min(range(len(spans)), key=lambda place: spans[place])
    rest = (low for place, (low, _) in enumerate(spans) if place != best)
    return names[best] if spans[best][1] < min(rest) else ""
