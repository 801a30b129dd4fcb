"""Candidates and samples: the question, the answer, its supporting facts and evidences.

In: one row of a `selected_*` table. Out: a `Plan` with every wording of its question, and from that
a `GeneratedSample`. A candidate that cannot be worded gives a `Drop` with its reason. Which of
several wordings is used depends on the seed and the sample alone. Pure.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from twowiki.data.relations import COUNTRY_RELATIONS, RELATIONS, RULES, TYPE_OF_CLASS, P
from twowiki.data.schema import Example, Fact, Paragraph, Triple, TripleIds
from twowiki.generation.dates import DATE_BASE
from twowiki.generation.entities import Entities, Grounded
from twowiki.generation.templates import (
    PAPER,
    Form,
    bridge_comparison_forms,
    comparison_forms,
    compositional_forms,
    fill,
    fill_all,
    inference_forms,
    is_filled,
    noun_of,
    plural_of,
)
from twowiki.generation.text import normalize, paper_case
from twowiki.models.text import bare_title

_NAMESPACE = uuid.UUID("6d1f5f5e-4a0b-5f0e-9f3c-2b7d2a1c9e11")
_COUNTRY_NAMES = {RELATIONS[number] for number in COUNTRY_RELATIONS}
DATE_ID = "date_information"
BRIDGE_TYPES = ("inference", "compositional")


class QuestionInContext(msgspec.Struct, kw_only=True):
    """What single-hop readers and splits need of a sample: the question, answer and context.

    `gold` lists the entities of the gold paragraphs, in the order of support; `chains` the
    entities that the evidences link.
    """

    id: str = msgspec.field(name="_id")
    type: str
    question: str
    answer: str
    gold: list[int]
    chains: list[list[int]]
    context: tuple[Paragraph, ...] = ()


class Provenance(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where a sample comes from: its relations, group or rule, template, statements and pages.

    `worded`: each supporting sentence has words of its relation, not the object's name alone.
    """

    relations: list[str]
    group: str = ""
    rule: int = 0
    inferred: str = ""
    check: str = ""
    worded: bool = True
    template: str = ""
    statements: list[str] = []
    pages: list[int | None] = []


class GeneratedSample(QuestionInContext, kw_only=True):
    """A question with its gold; a context and its worst tier of distractors come last."""

    answer_id: str | None
    supporting_facts: tuple[Fact, ...]
    evidences: tuple[Triple, ...]
    evidences_id: tuple[TripleIds, ...]
    provenance: Provenance
    wordings: list[str]
    tier: int = 0

    def to_example(self) -> Example:
        """Return the sample as an example of the data set."""
        return Example(
            id=self.id,
            question=self.question,
            type=self.type,
            context=self.context,
            supporting_facts=self.supporting_facts,
            evidences=self.evidences,
            evidences_id=self.evidences_id,
            answer=self.answer,
            answer_id=self.answer_id,
            entity_ids=tuple(f"Q{qid}" for qid in self.gold),
        )


class ChainCandidate(msgspec.Struct, rename={"start": "e", "bridge": "b", "end": "a"}):
    """A row of `chains`: two facts that share an entity; rule 0 is the compositional type."""

    start: int
    r1: int
    bridge: int
    r2: int
    end: int
    rule: int
    sent1: int
    norm1: str
    stmt1: str
    sent2: int
    norm2: str
    stmt2: str
    says: int
    verdict: str


class ComparisonCandidate(msgspec.Struct, rename={"group": "class"}):
    """A row of `comparison`: two entities of one group and a property of both."""

    group: int
    type: str | None
    relation: str
    kind: str
    s1: int
    s2: int
    low1: int
    low2: int
    n_shared: int


class BridgeComparisonCandidate(msgspec.Struct):
    """A row of `bridge_comparison`: two films, a person of each, and a property of both people."""

    r1: str
    r2: str
    f1: int
    h1: int
    f2: int
    h2: int
    low1: int
    low2: int
    n_shared: int


Candidate = ChainCandidate | ComparisonCandidate | BridgeComparisonCandidate


class Drop(NamedTuple):
    """Why a candidate gives no sample."""

    reason: str


class Style(NamedTuple):
    """How questions are worded and drawn: "paper" or "clean", and the seed."""

    wording: str
    seed: str


class Wording(NamedTuple):
    """A form with what fills it, and its answer ("" takes the last object)."""

    form: Form
    slots: Mapping[str, str]
    answer: str

    def question(self, style: Style) -> str:
        """Return the question."""
        return fill(self.form, self.slots, style.wording) or ""


class Plan(NamedTuple):
    """A candidate made ready: its facts, its gold pages, and every wording of its question.

    `titled` names subjects by their pages' titles instead of their labels; `swapped` holds the
    wordings with the two names in the other order; `order` the figures that are compared.
    """

    type: str
    gold: list[int]
    facts: list[Grounded]
    titled: bool
    wordings: list[Wording]
    swapped: list[Wording]
    chains: list[list[int]]
    provenance: Provenance
    order: tuple[int, int] = (0, 0)


def slots_of(entities: Entities, style: Style, *qids: int) -> list[str]:
    """Return the names of entities as a question of that style writes them."""
    paper = style.wording == PAPER
    names = [entities.slot(qid, brackets=paper) for qid in qids]
    return [paper_case(name) for name in names] if paper else names


def plan_chain(row: ChainCandidate, entities: Entities, style: Style) -> Plan | Drop:
    """Prepare an inference or compositional candidate."""
    r1, r2 = RELATIONS[row.r1], RELATIONS[row.r2]
    facts = [
        Grounded(row.start, r1, row.bridge, row.norm1, row.bridge, row.sent1, row.stmt1),
        Grounded(row.bridge, r2, row.end, row.norm2, row.says, row.sent2, row.stmt2),
    ]
    slots = dict.fromkeys(("1", "x"), slots_of(entities, style, row.start)[0])
    provenance = Provenance(relations=[r1, r2])
    if row.rule:
        word = _inferred_word(row, entities)
        forms = inference_forms(word, style.wording)
        classes = entities.classes(row.end) if row.end in entities else []
        slots["answertype"] = classes[0] if classes else ""
        provenance.rule, provenance.inferred = row.rule, word
        provenance.check = row.verdict if RULES[row.rule - 1].direct else "always holds"
    else:
        forms = _compositional_forms(row, r1, r2, entities, style)
    wordings = [Wording(form, slots, "") for form in forms if is_filled(form, slots)]
    if not wordings:
        return Drop("no_template")
    pair = [row.start, row.bridge]
    question_type = "inference" if row.rule else "compositional"
    return Plan(question_type, pair, facts, False, wordings, [], [pair], provenance)


def _compositional_forms(
    row: ChainCandidate, r1: str, r2: str, entities: Entities, style: Style
) -> list[Form]:
    first = r1
    if r1 == "spouse":
        spouses = {P["father"]: "husband", P["mother"]: "wife"}
        first = spouses.get(entities.entity(row.bridge).parent, "spouse")
    forms = compositional_forms(first, r2, entities.entity(row.start).type, style.wording)
    if r2 != "country of citizenship" or style.wording == PAPER:
        return forms
    # A nationality where the page writes one, a country where it names that.
    names = entities.names(row.end)
    adjective = any(name.kind == "demonym" and name.norm == row.norm2 for name in names)
    return [form for form in forms if ("nationality" in form.text) == adjective] or forms


def _inferred_word(row: ChainCandidate, entities: Entities) -> str:
    """Return the word of the rule's relation: by Wikidata's statement, then by sex if known."""
    rule = RULES[row.rule - 1]
    contradicted = row.verdict == "contradicted" and rule.otherwise
    word = rule.otherwise if contradicted else rule.word
    male, slash, female = word.partition("/")
    if not slash:
        return word
    parent = entities.entity(row.end).parent if row.end in entities else 0
    return {P["father"]: male, P["mother"]: female}.get(parent, f"{male} or {female}")


def plan_comparison(row: ComparisonCandidate, entities: Entities, style: Style) -> Plan | Drop:
    """Prepare a comparison candidate."""
    pair = [row.s1, row.s2]
    names = ["date of birth", "date of death"] if row.kind == "age" else [row.relation]
    facts = [fact for qid in pair for name in names for fact in entities.grounded(qid, name)]
    entity_type = row.type or TYPE_OF_CLASS.get(row.group, "")
    forms = comparison_forms(row.relation, entity_type, style.wording)
    shown = entity_type or _type_in_text(entities, pair)
    slots = {"type": noun_of(shown), "types": plural_of(shown)}
    wordings, swapped = _compared(forms, slots, row, slots_of(entities, style, *pair))
    if not wordings:
        return Drop("no_template")
    provenance = Provenance(relations=names, group=f"Q{row.group}")
    order = row.low1, row.low2
    return Plan("comparison", pair, facts, True, wordings, swapped, [pair], provenance, order)


_TYPES_IN_TEXT = (
    "high school", "railway station", "university", "school", "museum", "airport", "village",
    "mountain", "river", "island", "lake", "church building", "business", "building",
    "magazine", "newspaper",
)  # fmt: skip


def _type_in_text(entities: Entities, pair: Sequence[int]) -> str:
    """Return the type that both pages' first sentences name, for a class without a noun."""
    texts = [normalize(entities.sentences(qid)[0]) for qid in pair]
    for entity_type in _TYPES_IN_TEXT:
        if all(normalize(noun_of(entity_type)) in text for text in texts):
            return entity_type
    return ""


def _compared(
    forms: Sequence[Form],
    slots: Mapping[str, str],
    row: ComparisonCandidate | BridgeComparisonCandidate,
    names: Sequence[str],
) -> tuple[list[Wording], list[Wording]]:
    """Return forms with the two names in this order and in the other one.

    A form that picks is answered by the name of the low or the high entity, others by yes or no.
    """
    one, two = names
    low, high = (one, two) if row.low1 < row.low2 else (two, one)
    answers = {"low": low, "high": high, "": "yes" if row.n_shared else "no"}
    in_order, swapped = ({"1": one, "2": two, **slots}, {"1": two, "2": one, **slots})
    usable = [form for form in forms if is_filled(form, in_order)]
    return (
        [Wording(form, in_order, answers[form.pick]) for form in usable],
        [Wording(form, swapped, answers[form.pick]) for form in usable],
    )


def plan_bridge_comparison(
    row: BridgeComparisonCandidate, entities: Entities, style: Style
) -> Plan | Drop:
    """Prepare a bridge-comparison candidate."""
    films, people = [row.f1, row.f2], [row.h1, row.h2]
    chains = [[film, person] for film, person in zip(films, people, strict=True)]
    facts = [
        fact
        for film, person in chains
        for fact in entities.grounded(film, row.r1)
        if fact.object == person
    ]
    facts += [fact for person in people for fact in entities.grounded(person, row.r2)]
    forms = bridge_comparison_forms(row.r1, row.r2, style.wording)
    wordings, swapped = _compared(forms, {}, row, slots_of(entities, style, *films))
    provenance = Provenance(relations=[row.r1, row.r2])
    gold, order = films + people, (row.low1, row.low2)
    return Plan(
        "bridge_comparison", gold, facts, True, wordings, swapped, chains, provenance, order
    )


def answers_of(plan: Plan) -> list[str]:
    """Return the distinct answers of a plan's wordings, in order ("" for a bridge type)."""
    return list(dict.fromkeys(wording.answer for wording in plan.wordings))


def render_question(
    plan: Plan, entities: Entities, style: Style, answer: str | None = None
) -> GeneratedSample | Drop:
    """Draw one of a plan's wordings and write its gold.

    Args:
        plan: the candidate.
        entities: the entities that it names.
        style: wording and seed.
        answer: draw a wording with this answer; by default any.
    """
    wanted = [word for word in plan.wordings if answer is None or word.answer == answer]
    identity = _identity(plan)
    draw = int(hashlib.md5(f"{style.seed}|form|{identity}".encode()).hexdigest()[:12], 16)
    drawn = wanted[draw % len(wanted)]
    question, answer = drawn.question(style), drawn.answer
    sample_id = uuid.uuid5(_NAMESPACE, f"{style.seed}|{identity}|{answer}").hex
    if _has_namesakes(plan, entities, question):
        return Drop("namesakes_in_gold")
    evidences = _evidences(plan, entities)
    if not evidences:
        return Drop("object_not_in_its_sentence")
    wordings = [*_questions(wanted, answer, style), *_questions(plan.swapped, answer, style)]
    answer_id = None
    if not answer:
        answer, answer_id = evidences[-1].object, _object_id(plan.facts[-1])
        answer_id = None if answer_id == DATE_ID else answer_id
    elif answer not in ("yes", "no"):
        named = (qid for qid in plan.gold if slots_of(entities, style, qid)[0] == answer)
        answer_id = next((f"Q{qid}" for qid in named), None)  # a number names nothing
    return GeneratedSample(
        id=sample_id,
        type=plan.type,
        question=question,
        answer=answer,
        answer_id=answer_id,
        supporting_facts=_support(plan, entities),
        evidences=evidences,
        evidences_id=_evidence_ids(plan),
        gold=plan.gold,
        chains=plan.chains,
        provenance=msgspec.structs.replace(
            plan.provenance,
            template=drawn.form.id,
            statements=[fact.statement for fact in plan.facts],
            pages=[entities.entity(qid).page_id for qid in plan.gold],
        ),
        wordings=wordings,
    )


def _questions(wordings: Sequence[Wording], answer: str, style: Style) -> list[str]:
    """Return the questions with an answer; all wordings are filled with the same."""
    forms = [word.form for word in wordings if word.answer == answer]
    return fill_all(forms, wordings[0].slots, style.wording) if forms else []


def _has_namesakes(plan: Plan, entities: Entities, question: str) -> bool:
    """Return whether two gold pages share a name, and the question does not tell them apart."""
    names = [
        title if title in question else bare_title(title)
        for title in (entities.title(qid) for qid in plan.gold)
    ]
    return len({name.casefold() for name in names}) < len(names)


def _identity(plan: Plan) -> str:
    """Name a plan by its type, entities, relations and objects, for draws and ids."""
    objects = (_object_id(fact) for fact in plan.facts)
    gold = (f"Q{qid}" for qid in plan.gold)
    return "|".join([plan.type, *gold, *plan.provenance.relations, *objects])


def _object_id(fact: Grounded) -> str:
    return DATE_ID if fact.object >= DATE_BASE else f"Q{fact.object}"


def _evidences(plan: Plan, entities: Entities) -> tuple[Triple, ...]:
    """Return the facts as their sentences write them; nothing if one sentence does not."""
    evidences = []
    for fact in plan.facts:
        text = entities.written(fact)
        if text is None:
            return ()
        qid = fact.subject
        subject = entities.title(qid) if plan.titled else entities.entity(qid).label
        evidences.append(Triple(subject, fact.relation, text))
    return tuple(evidences)


def _support(plan: Plan, entities: Entities) -> tuple[Fact, ...]:
    """Return the sentences of the facts in the order of the gold pages, each once."""
    order = {qid: place for place, qid in enumerate(plan.gold)}
    pairs = sorted({(order[fact.subject], fact.sent_id) for fact in plan.facts})
    return tuple(Fact(entities.title(plan.gold[place]), sent_id) for place, sent_id in pairs)


def _evidence_ids(plan: Plan) -> tuple[TripleIds, ...]:
    """Return the ids as the release has them: all of bridge types, of comparisons countries'."""
    if plan.titled and plan.facts[-1].relation not in _COUNTRY_NAMES:
        return ()
    return tuple(
        TripleIds(f"Q{fact.subject}", fact.relation, _object_id(fact)) for fact in plan.facts
    )
