"""Chains of three and more hops: compositional questions of a chosen depth.

In: the facts that stand in the summaries of their subjects. Out: samples of the type compositional
whose evidences are the steps of a chain. No page of a chain names what a later step leads to, so
that no hop can be left out.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

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
from twowiki.generation.spool import RecordStore
from twowiki.generation.tables import buckets_of, count_rows, iter_rows, rows_by
from twowiki.generation.templates import chain_forms, is_filled, phrases_of
from twowiki.generation.text import normalize

_STARTS_AT_ONCE = 200_000
_TRIES = 40  # chains that are looked at for each one that is wanted
Chain = list[Grounded]


def find_deep_chains(
    grounded: Path, hops: int, most: int, seed: str, folder: Path
) -> dict[int, list[Chain]]:
    """Return chains of 3 to `hops` steps, some more of each length than are wanted.

    The facts are in a file of `folder` meanwhile.
    """
    buckets = [rows_by(bucket, "s") for bucket in buckets_of(grounded).values()]
    rows = heapq.merge(*buckets or [rows_by(grounded, "s")], key=itemgetter(0))
    facts = RecordStore(folder, ((subject, list(_facts(group))) for subject, group in rows),
                        list[Grounded])  # fmt: skip
    return {length: list(_chains(grounded, facts, length, most, seed))
            for length in range(3, hops + 1)}  # fmt: skip


def _facts(rows: Iterable[Mapping[str, Any]]) -> Iterator[Grounded]:
    """Yield the facts whose relation has one value."""
    for row in rows:
        if row["n_values"] == 1:
            yield Grounded(
                row["s"], RELATIONS[row["p"]], row["o"], row["norm"], row["says"], row["sent_id"],
                row["stmt_id"],
            )  # fmt: skip


def _starts(grounded: Path, length: int, seed: str) -> Iterator[Grounded]:
    """Yield the facts that a chain may start with, in the order of the draw, a share at a time."""
    shares = max(1, count_rows(grounded) // _STARTS_AT_ONCE)
    for share in range(shares):
        drawn = (
            (_draw(seed, length, [fact]), fact)
            for fact in _facts(iter_rows(grounded))
            if phrases_of(fact.relation)
        )
        own = [one for one in drawn if int(one[0][:8], 16) * shares >> 32 == share]
        yield from (fact for _, fact in sorted(own))


def _chains(
    grounded: Path, facts: RecordStore[list[Grounded]], length: int, most: int, seed: str
) -> Iterator[Chain]:
    found = 0
    for start in _starts(grounded, length, seed):
        chain: Chain = [start]
        passed = {start.subject, start.object}
        while len(chain) < length:
            last = len(chain) == length - 1
            nexts = [
                fact
                for fact in facts.get(chain[-1].object) or ()
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
    slots = dict.fromkeys(("1", "x"), entities.slot(gold[0], brackets=False))
    wordings = [Wording(form, slots, "") for form in forms if is_filled(form, slots)]
    if not wordings:
        return Drop("no_template")
    provenance = Provenance(relations=[fact.relation for fact in chain])
    links = [[one, two] for one, two in pairwise(gold)]
    return Plan("compositional", gold, chain, False, wordings, [], links, provenance)


def _word(fact: Grounded, entities: Entities) -> str:
    """Return the word of a step: husband or wife where the sex is known."""
    if fact.relation != "spouse":
        return fact.relation
    spouses = {P["father"]: "husband", P["mother"]: "wife"}
    return spouses.get(entities.entity(fact.object).parent, "spouse")
