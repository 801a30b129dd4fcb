"""Evidence: predicted triples against gold triples, by text, by ids and names, under two matchings.

In: a prediction's triples and a `Gold`. Out: em, f1, precision and recall. Strings are compared
levelled (case, ASCII punctuation, blanks); relations have no other names. Version 1.0 compares
sets of texts. Version 1.1 counts predicted triples that spell any gold triple by any name, gold
duplicates apart: `official` keeps that, `one_to_one` pairs them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from twowiki.errors import DataError
from twowiki.metric.normalization import Remembered, leveller, normalise_name, odd_triples, start_of
from twowiki.metric.results import (
    ALL,
    EMPTY,
    Gold,
    Names,
    NamesOf,
    Part,
    RawNames,
    no_names,
    part_of,
)
from twowiki.metric.settings import ScoreSettings

Triples = Sequence[tuple[str, ...]]
_NO_IDS = (None, None, None)


class EvidenceScorer:
    """Scores the evidence of examples under one `ScoreSettings`.

    Args:
        settings: the variant of the metric.
        names_of: gives the aliases and demonyms of a Wikidata id.
    """

    def __init__(self, settings: ScoreSettings, names_of: NamesOf = no_names) -> None:
        self._level: Callable[[str], str] = leveller(normalise_name, fold=settings.unicode)
        self._relation = Remembered(self._level)
        self._names = Names(names_of, self._level)
        self._raw_names = RawNames(names_of)
        self._start = _unknown_start if settings.unicode else start_of
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

        The case: no two gold triples share relation and subject, predicted triples differ, and
        each either stands in the gold to the letter, or spells a gold triple that no other one
        claims, or spells none. The two matchings agree then.
        """
        try:
            if not prediction or not self._apart(true):
                return None
            if prediction == true:
                return ALL
            rest = [triple for triple in prediction if triple not in true]
            found = len(prediction) - len(rest)
            if len(rest) > 1 and not self._apart(rest):
                return None
            if found > 1 and len({*map(tuple, prediction)}) < len(prediction):
                return None
            claimed: set[int] = set()
            for triple in rest:
                golds = self._spelled(triple, true, ids)
                if any(number in claimed or true[number] in prediction for number in golds):
                    return None
                claimed.update(golds[:1])
        except (TypeError, ValueError, AttributeError):
            return None
        return _counted(found + len(claimed), len(prediction), len(true))

    def _apart(self, triples: Sequence[Any]) -> bool:
        """Tell whether triples of texts differ in relation and subject when levelled."""
        relation_of, start = self._relation, self._start
        heads = set()
        for subject, relation, object_ in triples:
            if type(subject) is not str or type(object_) is not str:
                return False
            heads.add((relation_of[relation], start(subject)))
        known = len(heads) == len(triples) and not any(first == "" for _, first in heads)
        if known or len({relation for relation, _ in heads}) == len(triples):
            return True
        level = self._level
        return len({(level(one[0]), relation_of[one[1]]) for one in triples}) == len(triples)

    def _spelled(self, triple: Any, true: Sequence[Any], ids: Sequence[Any]) -> list[int]:
        """Give the numbers of the gold triples that an unlevelled one spells, by any name."""
        said_subject, said_relation, said_object = triple
        relation_of, found = self._relation, []
        wanted = relation_of[said_relation]
        for number, (subject, relation, object_) in enumerate(true):
            if relation_of[relation] == wanted:
                subject_id, _, object_id = ids[number] if ids else _NO_IDS
                if (
                    subject == said_subject or self._names_it(said_subject, subject, subject_id)
                ) and (object_ == said_object or self._names_it(said_object, object_, object_id)):
                    found.append(number)
        return found

    def _names_it(self, said: str, text: str, name: Any) -> bool:
        """Tell whether a text is the gold's, or another name of its id, when levelled."""
        start, form = self._start(said), None
        for other in (text, *self._raw_names[name]):
            first = self._start(other)
            if first == start or not first or not start:
                form = form or self._level(said)
                if self._level(other) == form:
                    return True
        return False

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


def _unknown_start(_: str) -> str:
    """Know no text's start: folding may change it."""
    return ""


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
        except (TypeError, ValueError, LookupError):
            problem = "not a list of [subject id, relation, object id]"
    if problem:
        raise DataError(
            problem,
            record=gold.id,
            field="evidences_id",
            remedy="Mend the gold record, or empty its evidences_id",
        )


def maximum_matching(choices: Sequence[Sequence[int]]) -> int:
    """Count the most pairs that can be made when each side takes part at most once.

    Grows the matching along shortest augmenting paths, without recursion, so that thousands of
    entries on a side are no danger.

    Args:
        choices: for each entry of the left side, the entries of the right side it may be paired
            with, by number.

    Returns:
        The size of a maximum matching.
    """
    left_of: dict[int, int] = {}
    return sum(_augment(start, choices, left_of) for start in range(len(choices)))


def _augment(start: int, choices: Sequence[Sequence[int]], left_of: dict[int, int]) -> bool:
    """Pair one more left entry, re-pairing others where that frees a place."""
    came_from: dict[int, int] = {}  # right entry -> left entry that reached it
    right_of: dict[int, int] = {}  # left entry -> right entry it holds, on this search's paths
    waiting = deque([start])
    while waiting:
        left = waiting.popleft()
        for right in choices[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right in left_of:
                holder = left_of[right]
                right_of[holder] = right
                waiting.append(holder)
                continue
            while True:
                left = came_from[right]
                left_of[right] = left
                if left == start:
                    return True
                right = right_of[left]
    return False
