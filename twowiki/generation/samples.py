"""Candidates to samples: the question, the answer, its supporting facts and evidences.

A candidate that cannot be asked gives a `Drop` with its reason. Which of several forms is asked
depends on the seed and the sample alone. Pure.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.data.relations import COUNTRY_RELATIONS, RELATIONS, RULES, TYPE_OF_CLASS, P
from twowiki.generation.dates import DATE_BASE
from twowiki.generation.entities import Grounded, World
from twowiki.generation.templates import (
    PAPER,
    Form,
    bridge_comparison_forms,
    comparison_forms,
    compositional_forms,
    fill,
    inference_forms,
    noun_of,
    plural_of,
)
from twowiki.generation.text import normalize, paper_case

_NAMESPACE = uuid.UUID("6d1f5f5e-4a0b-5f0e-9f3c-2b7d2a1c9e11")
_COUNTRY_NAMES = {RELATIONS[number] for number in COUNTRY_RELATIONS}
DATE_ID = "date_information"


class Drop(NamedTuple):
    """Why a candidate gives no sample."""

    reason: str


class Style(NamedTuple):
    """How questions are worded and drawn: "paper" or "clean", and the seed."""

    wording: str
    seed: str


class Sample(NamedTuple):
    """A question with its gold; `gold` lists the pages of its context, in the order of support."""

    id: str
    type: str
    question: str
    answer: str
    answer_id: str | None
    supporting_facts: list[list[Any]]
    evidences: list[list[str]]
    evidences_id: list[list[str]]
    gold: list[int]
    chains: list[list[int]]
    provenance: dict[str, Any]
    wordings: list[str]


class Wording(NamedTuple):
    """A form filled: its id, the question, and its answer ("" takes the last object)."""

    form: str
    question: str
    answer: str


class Plan(NamedTuple):
    """A candidate made ready: its facts, its gold pages, and every wording of its question."""

    type: str
    gold: list[int]
    facts: list[Grounded]
    titled: bool
    wordings: list[Wording]
    turned: list[Wording]  # the same with the two names changed round
    chains: list[list[int]]
    notes: dict[str, Any]


def _slots(world: World, style: Style, *qids: int) -> list[str]:
    paper = style.wording == PAPER
    names = [world.slot(qid, brackets=paper) for qid in qids]
    return [paper_case(name) for name in names] if paper else names


def plan_chain(row: Mapping[str, Any], world: World, style: Style) -> Plan | Drop:
    """Prepare an inference or compositional candidate (a row of `chains`)."""
    start, bridge, last = row["e"], row["b"], row["a"]
    r1, r2 = RELATIONS[row["r1"]], RELATIONS[row["r2"]]
    facts = [
        Grounded(start, r1, bridge, row["norm1"], bridge, row["sent1"], row["stmt1"]),
        Grounded(bridge, r2, last, row["norm2"], row["says"], row["sent2"], row["stmt2"]),
    ]
    slots = dict.fromkeys(("1", "x"), _slots(world, style, start)[0])
    notes: dict[str, Any] = {"relations": [r1, r2]}
    if row["rule"]:
        word = _inferred_word(row, world)
        forms = inference_forms(word, style.wording)
        classes = world.classes(last) if last in world else []
        slots["answertype"] = classes[0] if classes else ""
        sure = not RULES[row["rule"] - 1].direct
        check = "always holds" if sure else row["verdict"]
        notes |= {"rule": row["rule"], "inferred": word, "check": check}
        kind = "inference"
    else:
        first = r1
        if r1 == "spouse":
            first = {P["father"]: "husband", P["mother"]: "wife"}.get(
                world.entity(bridge).parent, "spouse"
            )
        forms = compositional_forms(first, r2, world.entity(start).type, style.wording)
        if r2 == "country of citizenship" and style.wording != PAPER:
            forms = _fitting(forms, row, world)
        kind = "compositional"
    wordings = _filled(forms, slots, style)
    if not wordings:
        return Drop("no_template")
    return Plan(kind, [start, bridge], facts, False, wordings, [], [[start, bridge]], notes)


def _fitting(forms: list[Form], row: Mapping[str, Any], world: World) -> list[Form]:
    """Ask for a nationality where the page writes one, for a country where it names that."""
    names = world.names(row["a"])
    adjective = any(name.kind == "demonym" and name.norm == row["norm2"] for name in names)
    return [form for form in forms if ("nationality" in form.text) == adjective] or forms


def _inferred_word(row: Mapping[str, Any], world: World) -> str:
    """Give the word of the rule's relation: by Wikidata's statement, then by sex if known."""
    rule = RULES[row["rule"] - 1]
    contradicted = row["verdict"] == "contradicted" and rule.otherwise
    word = rule.otherwise if contradicted else rule.word
    male, slash, female = word.partition("/")
    if not slash:
        return word
    parent = world.entity(row["a"]).parent if row["a"] in world else 0
    return {P["father"]: male, P["mother"]: female}.get(parent, f"{male} or {female}")


def _filled(forms: Sequence[Form], slots: Mapping[str, str], style: Style) -> list[Wording]:
    filled = [(form.id, fill(form, slots, style.wording)) for form in forms]
    return [Wording(form, question, "") for form, question in filled if question]


def plan_comparison(row: Mapping[str, Any], world: World, style: Style) -> Plan | Drop:
    """Prepare a comparison candidate (a row of `comparison`)."""
    pair = [row["s1"], row["s2"]]
    names = ("date of birth", "date of death") if row["kind"] == "age" else (row["relation"],)
    facts = [fact for qid in pair for name in names for fact in world.grounded(qid, name)]
    kind = row["type"] or TYPE_OF_CLASS.get(row["class"], "")
    forms = comparison_forms(row["relation"], kind, style.wording)
    one, two = _slots(world, style, *pair)
    shown = kind or _type_said(world, pair)
    slots = {"1": one, "2": two, "type": noun_of(shown), "types": plural_of(shown)}
    wordings = _compared(forms, slots, row, style, one, two)
    if not wordings:
        return Drop("no_template")
    notes = {"relations": list(names), "group": f"Q{row['class']}"}
    turned = _compared(forms, slots | {"1": two, "2": one}, row, style, one, two)
    return Plan("comparison", pair, facts, True, wordings, turned, [pair], notes)


def _type_said(world: World, pair: Sequence[int]) -> str:
    """Give the type that both pages' first sentences name, where Wikidata's class has no noun."""
    texts = [normalize(world.sentences(qid)[0]) for qid in pair]
    for kind in _SAID:
        if all(normalize(noun_of(kind)) in text for text in texts):
            return kind
    return ""


_SAID = ("high school", "railway station", "university", "school", "museum", "airport", "village",
         "mountain", "river", "island", "lake", "church building", "business", "building",
         "magazine", "newspaper")  # fmt: skip


def _compared(
    forms: Sequence[Form],
    slots: Mapping[str, str],
    row: Mapping[str, Any],
    style: Style,
    one: str,
    two: str,
) -> list[Wording]:
    """Fill forms; the answer of one that picks is the low or the high entity's name."""
    low, high = (one, two) if row["low1"] < row["low2"] else (two, one)
    wordings = []
    for form in forms:
        question = fill(form, slots, style.wording)
        if question is None:
            continue
        if form.pick:
            answer = low if form.pick == "low" else high
        else:
            answer = "yes" if row["n_shared"] else "no"
        wordings.append(Wording(form.id, question, answer))
    return wordings


def plan_bridge_comparison(row: Mapping[str, Any], world: World, style: Style) -> Plan | Drop:
    """Prepare a bridge-comparison candidate (a row of `bridge_comparison`)."""
    films, people = [row["f1"], row["f2"]], [row["h1"], row["h2"]]
    facts = [
        fact
        for film, human in zip(films, people, strict=True)
        for fact in world.grounded(film, row["r1"])
        if fact.object == human
    ]
    facts += [fact for human in people for fact in world.grounded(human, row["r2"])]
    one, two = _slots(world, style, *films)
    forms = bridge_comparison_forms(row["r1"], row["r2"], style.wording)
    wordings = _compared(forms, {"1": one, "2": two}, row, style, one, two)
    turned = _compared(forms, {"1": two, "2": one}, row, style, one, two)
    chains = [[film, human] for film, human in zip(films, people, strict=True)]
    notes = {"relations": [row["r1"], row["r2"]]}
    gold = films + people
    return Plan("bridge_comparison", gold, facts, True, wordings, turned, chains, notes)


def answers_of(plan: Plan) -> list[str]:
    """Give the distinct answers that a plan's wordings have, in order ("" for a bridge type)."""
    return list(dict.fromkeys(wording.answer for wording in plan.wordings))


def realise(plan: Plan, world: World, style: Style, answer: str | None = None) -> Sample | Drop:
    """Ask one of a plan's wordings and write its gold.

    Args:
        plan: the candidate.
        world: its entities.
        style: wording and seed.
        answer: ask one that has this answer; by default any.
    """
    wanted = [word for word in plan.wordings if answer is None or word.answer == answer]
    identity = "|".join(
        [plan.type, *(f"Q{qid}" for qid in plan.gold), *plan.notes["relations"],
         *(_object_id(fact) for fact in plan.facts)]
    )  # fmt: skip
    draw = int(hashlib.md5(f"{style.seed}|form|{identity}".encode()).hexdigest()[:12], 16)
    form, question, answer = wanted[draw % len(wanted)]
    sample_id = uuid.uuid5(_NAMESPACE, f"{style.seed}|{identity}|{answer}").hex
    wordings = [word.question for word in wanted + plan.turned if word.answer == answer]
    objects = [world.written(fact) for fact in plan.facts]
    if any(text is None for text in objects):
        return Drop("object_not_in_its_sentence")
    name = world.title if plan.titled else (lambda qid: world.entity(qid).label)
    evidences = [
        [name(fact.subject), fact.relation, str(text)]
        for fact, text in zip(plan.facts, objects, strict=True)
    ]
    support = _support(plan, world)
    answered_by = None
    if not answer:
        answer, answered_by = str(objects[-1]), _object_id(plan.facts[-1])
        answered_by = None if answered_by == DATE_ID else answered_by
    elif answer not in ("yes", "no"):
        answered_by = f"Q{_entity_answered(plan, question, answer, world, style)}"
    notes = plan.notes | {
        "template": form,
        "statements": [fact.statement for fact in plan.facts],
        "pages": [world.entity(qid).page_id for qid in plan.gold],
    }
    return Sample(
        sample_id, plan.type, question, answer, answered_by, support, evidences,
        _evidence_ids(plan), plan.gold, plan.chains, notes, wordings,
    )  # fmt: skip


def _object_id(fact: Grounded) -> str:
    return DATE_ID if fact.object >= DATE_BASE else f"Q{fact.object}"


def _entity_answered(plan: Plan, question: str, answer: str, world: World, style: Style) -> int:
    one, two = plan.gold[:2]
    return one if answer == _slots(world, style, one)[0] else two


def _support(plan: Plan, world: World) -> list[list[Any]]:
    """Give the sentences of the facts in the order of the gold pages, each once."""
    order = {qid: place for place, qid in enumerate(plan.gold)}
    pairs = sorted({(order[fact.subject], fact.sent_id) for fact in plan.facts})
    return [[world.title(plan.gold[place]), sent_id] for place, sent_id in pairs]


def _evidence_ids(plan: Plan) -> list[list[str]]:
    """Give the ids as the release does: all of bridge types, of comparisons only countries'."""
    if plan.titled and plan.facts[-1].relation not in _COUNTRY_NAMES:
        return []
    return [[f"Q{fact.subject}", fact.relation, _object_id(fact)] for fact in plan.facts]
