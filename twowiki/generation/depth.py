"""Chains of three and more hops: compositional questions of a chosen depth.

In: the facts that stand in the summaries of their subjects. Out: samples of the type compositional
whose evidences are the steps of a chain. No page of a chain names what a later step leads to, so
that no hop can be left out.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from twowiki.data.relations import RELATIONS, SECOND_RELATIONS, P
from twowiki.generation.dates import DATE_BASE
from twowiki.generation.entities import Entities, Grounded
from twowiki.generation.samples import (
    Drop,
    GeneratedSample,
    Plan,
    Provenance,
    Style,
    Wording,
    render_question,
)
from twowiki.generation.tables import read_rows
from twowiki.generation.templates import Form, chain_forms, fill, phrases_of
from twowiki.generation.text import normalize

_TRIES = 40  # chains that are looked at for each one that is wanted
Chain = list[Grounded]


def find_deep_chains(grounded: Path, hops: int, most: int, seed: str) -> dict[int, list[Chain]]:
    """Return chains of 3 to `hops` steps, some more of each length than are wanted."""
    facts: dict[int, list[Grounded]] = defaultdict(list)
    for row in read_rows(grounded):
        if row["n_values"] == 1:
            relation = RELATIONS[row["p"]]
            facts[row["s"]].append(
                Grounded(row["s"], relation, row["o"], row["norm"], row["says"], row["sent_id"],
                         row["stmt_id"])
            )  # fmt: skip
    starts = [fact for rows in facts.values() for fact in rows if phrases_of(fact.relation)]
    return {length: list(_chains(starts, facts, length, most, seed))
            for length in range(3, hops + 1)}  # fmt: skip


def _chains(
    starts: Sequence[Grounded],
    facts: Mapping[int, list[Grounded]],
    length: int,
    most: int,
    seed: str,
) -> Iterator[Chain]:
    found = 0
    for start in sorted(starts, key=lambda fact: _draw(seed, length, [fact])):
        chain: Chain = [start]
        passed = {start.subject, start.object}
        while len(chain) < length:
            last = len(chain) == length - 1
            nexts = [
                fact
                for fact in facts.get(chain[-1].object, ())
                if fact.object not in passed
                and (fact.relation in SECOND_RELATIONS if last else bool(phrases_of(fact.relation)))
            ]
            if not nexts:
                break
            chain.append(min(nexts, key=lambda fact: _draw(seed, length, [*chain, fact])))
            passed.add(chain[-1].object)
        if len(chain) == length:
            yield chain
            found += 1
            if found >= 3 * most + _TRIES:
                return


def _draw(seed: str, length: int, chain: Chain) -> str:
    steps = "|".join(f"{fact.subject},{fact.relation},{fact.object}" for fact in chain)
    return hashlib.md5(f"{seed}|depth|{length}|{steps}".encode()).hexdigest()


def entities_of(chains: Mapping[int, Sequence[Chain]]) -> set[int]:
    """Return the entities that chains name; a last object may be a date."""
    facts = (fact for group in chains.values() for chain in group for fact in chain)
    return {qid for fact in facts for qid in (fact.subject, fact.object) if qid < DATE_BASE}


def deep_samples(
    chains: Mapping[int, Sequence[Chain]], entities: Entities, style: Style, most: int
) -> list[GeneratedSample]:
    """Word chains; return at most so many samples of each length."""
    samples: list[GeneratedSample] = []
    questions: set[str] = set()
    for group in chains.values():
        kept = 0
        for chain in group:
            plan = _plan(chain, entities, style)
            sample = plan if isinstance(plan, Drop) else render_question(plan, entities, style)
            if isinstance(sample, Drop) or sample.question.casefold() in questions:
                continue
            questions.add(sample.question.casefold())
            samples.append(sample)
            kept += 1
            if kept == most:
                break
    return samples


def _plan(chain: Chain, entities: Entities, style: Style) -> Plan | Drop:
    gold = [fact.subject for fact in chain]
    if any(entities.entity(qid).title is None for qid in gold):
        return Drop("no_page")
    texts = [normalize(" ".join(entities.sentences(qid))) for qid in gold]
    for place, text in enumerate(texts):
        if any(fact.norm in text for fact in chain[place + 1 :]):
            return Drop("a_hop_can_be_left_out")
    words = [_word(fact, entities) for fact in chain[:-1]]
    kind = entities.entity(gold[0]).type
    forms = chain_forms(words, chain[-1].relation, kind, style.wording)
    name = entities.slot(gold[0], brackets=False)
    wordings = [_filled(form, name, style) for form in forms]
    wordings = [wording for wording in wordings if wording.question]
    if not wordings:
        return Drop("no_template")
    provenance = Provenance(relations=[fact.relation for fact in chain])
    links = [[one, two] for one, two in pairwise(gold)]
    return Plan("compositional", gold, chain, False, wordings, [], links, provenance)


def _filled(form: Form, name: str, style: Style) -> Wording:
    return Wording(form.id, fill(form, {"1": name, "x": name}, style.wording) or "", "")


def _word(fact: Grounded, entities: Entities) -> str:
    """Return the word of a step: husband or wife where the sex is known."""
    if fact.relation != "spouse":
        return fact.relation
    spouses = {P["father"]: "husband", P["mother"]: "wife"}
    return spouses.get(entities.entity(fact.object).parent, "spouse")
