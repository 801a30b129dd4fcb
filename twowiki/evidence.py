"""Evidence: predicted triples against gold triples, by text, by ids and names, under two matchings.

In: a prediction's triples and a `Gold`. Out: em, f1, precision and recall. Strings are compared
levelled (case, ASCII punctuation, blanks); relations have no other names. Version 1.0 compares
sets of texts. Version 1.1 counts predicted triples that spell any gold triple by any name, gold
duplicates apart: `official` keeps that, `one_to_one` pairs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twowiki.errors import DataError
from twowiki.malformed import odd_triples
from twowiki.matching import maximum_matching
from twowiki.normalization import Remembered, leveller, normalise_name
from twowiki.rows import ALL, EMPTY, Gold, Names, NamesOf, Part, no_names, part_of
from twowiki.signature import Settings

Triples = Sequence[tuple[str, ...]]
_NO_IDS = (None, None, None)


class EvidenceScorer:
    """Scores the evidence of examples under one `Settings`.

    Args:
        settings: the variant of the metric.
        names_of: gives the aliases and demonyms of a Wikidata id.
    """

    def __init__(self, settings: Settings, names_of: NamesOf = no_names) -> None:
        self._level: Callable[[str], str] = leveller(normalise_name, fold=settings.unicode)
        self._relation = Remembered(self._level)
        self._names = Names(names_of, self._level)
        self._by_ids = settings.version != "1.0"
        self._official = settings.matching == "official"
        self._both_empty = ALL if settings.strict else EMPTY

    def score(self, prediction: Sequence[Any], gold: Gold) -> tuple[Part, Part]:
        """Compare triples: under the matching that was asked for, and under the other one."""
        ids = gold.evidences_id if self._by_ids else ()
        if ids:
            _check_ids(gold)
        plain_case = self._score_unlevelled(prediction, gold.evidences, ids)
        if plain_case is not None:
            return plain_case, plain_case
        said, true = self._said(prediction), self._true(gold)
        if not said and not true:
            return self._both_empty, self._both_empty
        same = said.intersection(true)
        if not self._by_ids:
            part = _counted(len(same), len(said), len(set(true)))
            return part, part
        by_name = [self._golds_of(triple, true, ids) for triple in said.difference(same)]
        by_name = [golds for golds in by_name if golds]
        official = _counted(len(same) + len(by_name), len(said), len(true))
        if len(set(true)) == len(true) and _fits(by_name, list(map(true.index, same))):
            return official, official
        paired = self._one_to_one(said, true, ids)
        return (official, paired) if self._official else (paired, official)

    def _score_unlevelled(
        self, prediction: Sequence[Any], true: Sequence[Any], ids: Sequence[Any]
    ) -> Part | None:
        """Settle the commonest case without levelling every text; None where it does not hold.

        The case: on both sides no two triples share relation and subject, and a predicted triple
        either stands in the gold to the letter, or spells no gold triple by any name.
        """
        try:
            if not prediction or not self._apart(true):
                return None
            if prediction == true:
                return ALL
            if not self._apart(prediction):
                return None
            rest = [triple for triple in prediction if triple not in true]
            for triple in rest:
                for number, spelling in enumerate(true):
                    if self._spells(triple, spelling, ids[number] if ids else _NO_IDS):
                        return None
        except (TypeError, ValueError, AttributeError):
            return None
        return _counted(len(prediction) - len(rest), len(prediction), len(true))

    def _apart(self, triples: Sequence[Any]) -> bool:
        """Tell whether triples of texts differ in relation and subject when levelled."""
        relation_of, level = self._relation, self._level
        relations = set()
        for subject, relation, object_ in triples:
            if type(subject) is not str or type(object_) is not str:
                return False
            relations.add(relation_of[relation])
        if len(relations) == len(triples):
            return True
        heads = {(level(subject), relation_of[relation]) for subject, relation, _ in triples}
        return len(heads) == len(triples)

    def _spells(self, triple: Any, true: Any, ids: Any) -> bool:
        """Tell whether two unlevelled triples are one, by any name."""
        subject, relation, object_ = triple
        return (
            self._relation[relation] == self._relation[true[1]]
            and (object_ == true[2] or self._names_it(object_, true[2], ids[2]))
            and (subject == true[0] or self._names_it(subject, true[0], ids[0]))
        )

    def _names_it(self, said: str, text: str, name: Any) -> bool:
        form = self._level(said)
        return form == self._level(text) or (name is not None and form in self._names[name])

    def _said(self, triples: Sequence[Any]) -> set[tuple[str, ...]]:
        level, relation_of = self._level, self._relation
        try:
            return {
                (level(subject), relation_of[relation], level(object_))
                for subject, relation, object_ in triples
            }
        except (TypeError, ValueError, AttributeError):
            return odd_triples(triples, level)

    def _true(self, gold: Gold) -> list[tuple[str, ...]]:
        level = self._level
        try:
            return [
                (level(subject), self._relation[relation], level(object_))
                for subject, relation, object_ in gold.evidences
            ]
        except (TypeError, ValueError, AttributeError):
            raise DataError(
                f"a gold triple is not three texts: {list(gold.evidences)!r}",
                record=gold.id,
                field="evidences",
                remedy="Write [subject, relation, object]",
            ) from None

    def _golds_of(self, triple: tuple[str, ...], true: Triples, ids: Sequence[Any]) -> list[int]:
        """Give the numbers of the gold triples that a predicted one spells, by any name."""
        if len(triple) != 3:
            return []
        subject, relation, object_ = triple
        found = []
        for number, spelling in enumerate(true):
            subject_id, _, object_id = ids[number] if ids else _NO_IDS
            if (
                relation == spelling[1]
                and (subject == spelling[0] or subject in self._names[subject_id])
                and (object_ == spelling[2] or object_ in self._names[object_id])
            ):
                found.append(number)
        return found

    def _one_to_one(self, said: set[tuple[str, ...]], true: Triples, ids: Sequence[Any]) -> Part:
        """Match every gold triple at most once; gold triples of one spelling are one."""
        numbers = {triple: place for place, triple in enumerate(dict.fromkeys(true))}
        choices = [
            [numbers[true[found]] for found in self._golds_of(triple, true, ids)] for triple in said
        ]
        return _counted(maximum_matching(choices), len(said), len(numbers))


def _counted(matches: int, said: int, true: int) -> Part:
    return part_of(matches, said, true, exact=matches == said == true)


def _fits(choices: Sequence[Sequence[int]], taken: Sequence[int]) -> bool:
    """Tell whether each can have a gold triple of its own, by taking the first that is free."""
    used = set(taken)
    for golds in choices:
        free = next((number for number in golds if number not in used), None)
        if free is None:
            return False
        used.add(free)
    return True


def _check_ids(gold: Gold) -> None:
    """Refuse gold whose ids do not belong to its triples."""
    triples, ids, problem = gold.evidences, gold.evidences_id, ""
    if len(ids) != len(triples):
        problem = f"{len(ids)} id triples for {len(triples)} evidences"
    else:
        try:
            for place, (_, relation, _) in enumerate(ids):
                if relation != triples[place][1]:
                    problem = f"{ids[place]!r} does not belong to {triples[place]!r}"
                    break
        except (TypeError, ValueError, IndexError):
            problem = "not a list of [subject id, relation, object id]"
    if problem:
        raise DataError(
            problem,
            record=gold.id,
            field="evidences_id",
            remedy="Mend the gold record, or empty its evidences_id",
        )
