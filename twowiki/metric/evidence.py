"""Evidence: predicted triples against gold triples, by text and by alias, under two matchings.

In: a prediction's triples and a `Gold`. Out: em, f1, precision and recall. Texts are compared
normalized (case, ASCII punctuation, spaces); relations have no aliases. Version 1.0 compares sets
of texts. Version 1.1 counts the predicted triples that match a gold triple under any alias, and
gold duplicates separately: the matching `official` keeps that, `one_to_one` pairs triples. A gold
triple that is not three texts, and ids that do not belong to their triples, are refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from twowiki.errors import DataError
from twowiki.metric.normalization import (
    CachedNormalizer,
    malformed_triples,
    normalize_name,
    normalizer,
    start_of,
)
from twowiki.metric.results import (
    ALL,
    EMPTY,
    AliasesOf,
    AliasLookup,
    Gold,
    NormalizedAliases,
    PartScore,
    no_aliases,
    score_counts,
)
from twowiki.metric.settings import ScoreSettings

Triples = Sequence[tuple[str, ...]]
_NO_IDS = (None, None, None)


class EvidenceScorer:
    """Scores the evidence of examples under one `ScoreSettings`.

    Args:
        settings: the options of the score.
        aliases_of: returns the aliases and demonyms of a Wikidata id.
    """

    def __init__(self, settings: ScoreSettings, aliases_of: AliasesOf = no_aliases) -> None:
        self._normalize: Callable[[str], str] = normalizer(normalize_name, fold=settings.unicode)
        self._relation = CachedNormalizer(self._normalize)
        self._aliases = NormalizedAliases(aliases_of, self._normalize)
        self._alias_texts = AliasLookup(aliases_of)
        self._start = _uncertain_start if settings.unicode else start_of
        self._by_ids = settings.version != "1.0"
        self._official = settings.matching == "official"
        self._both_empty = ALL if settings.strict else EMPTY

    def score(self, prediction: Sequence[Any], gold: Gold) -> tuple[PartScore, PartScore]:
        """Return the scores under the matching of the settings, and under the other one."""
        ids = gold.evidences_id if self._by_ids else ()
        if ids:
            _check_ids(gold)
        plain_case = self._score_plain_case(prediction, gold.evidences, ids)
        if plain_case is not None:
            return plain_case, plain_case
        predicted, triples = self._predicted_triples(prediction), self._gold_triples(gold)
        if not predicted and not triples:
            return self._both_empty, self._both_empty
        same = predicted.intersection(triples)
        if not self._by_ids:
            part = _score_matches(len(same), len(predicted), len(set(triples)))
            return part, part
        by_alias = [self._matches(one, triples, ids) for one in predicted.difference(same)]
        by_alias = [numbers for numbers in by_alias if numbers]
        official = _score_matches(len(same) + len(by_alias), len(predicted), len(triples))
        if len(set(triples)) == len(triples) and _fits(by_alias, list(map(triples.index, same))):
            return official, official
        paired = self._one_to_one(predicted, triples, ids)
        return (official, paired) if self._official else (paired, official)

    def _score_plain_case(
        self, prediction: Sequence[Any], gold: Sequence[Any], ids: Sequence[Any]
    ) -> PartScore | None:
        """Score the most common case without normalizing every text; return None in others.

        The case: no two gold triples share relation and subject, predicted triples differ, and
        each is either literally in the gold, or matches a gold triple that no other one matches,
        or matches none. The two matchings agree then.
        """
        try:
            if not prediction or not self._are_distinct(gold):
                return None
            if prediction == gold:
                return ALL
            rest = [triple for triple in prediction if triple not in gold]
            found = len(prediction) - len(rest)
            if len(rest) > 1 and not self._are_distinct(rest):
                return None
            if found > 1 and len({*map(tuple, prediction)}) < len(prediction):
                return None
            claimed: set[int] = set()
            for triple in rest:
                numbers = self._raw_matches(triple, gold, ids)
                if any(number in claimed or gold[number] in prediction for number in numbers):
                    return None
                claimed.update(numbers[:1])
        except (TypeError, ValueError, AttributeError):
            return None
        return _score_matches(found + len(claimed), len(prediction), len(gold))

    def _are_distinct(self, triples: Sequence[Any]) -> bool:
        """Return whether triples of texts differ in relation and subject when normalized."""
        relation_of, start = self._relation, self._start
        heads = set()
        for subject, relation, object_ in triples:
            if type(subject) is not str or type(object_) is not str:
                return False
            heads.add((relation_of[relation], start(subject)))
        certain = len(heads) == len(triples) and not any(first == "" for _, first in heads)
        if certain or len({relation for relation, _ in heads}) == len(triples):
            return True
        normalize = self._normalize
        return len({(normalize(one[0]), relation_of[one[1]]) for one in triples}) == len(triples)

    def _raw_matches(self, triple: Any, gold: Sequence[Any], ids: Sequence[Any]) -> list[int]:
        """Return the numbers of the gold triples that a raw triple matches under any alias."""
        subject, relation, object_ = triple
        relation_of, numbers = self._relation, []
        wanted = relation_of[relation]
        for number, (gold_subject, gold_relation, gold_object) in enumerate(gold):
            if relation_of[gold_relation] == wanted:
                subject_id, _, object_id = ids[number] if ids else _NO_IDS
                if (
                    gold_subject == subject or self._is_alias(subject, gold_subject, subject_id)
                ) and (gold_object == object_ or self._is_alias(object_, gold_object, object_id)):
                    numbers.append(number)
        return numbers

    def _is_alias(self, text: str, gold: str, entity_id: Any) -> bool:
        """Return whether a text is the gold's, or an alias of its id, when normalized."""
        start, form = self._start(text), None
        for other in (gold, *self._alias_texts[entity_id]):
            first = self._start(other)
            if first == start or not first or not start:
                form = form or self._normalize(text)
                if self._normalize(other) == form:
                    return True
        return False

    def _predicted_triples(self, triples: Sequence[Any]) -> set[tuple[str, ...]]:
        normalize, relation_of = self._normalize, self._relation
        try:
            return {
                (normalize(subject), relation_of[relation], normalize(object_))
                for subject, relation, object_ in triples
            }
        except (TypeError, ValueError, AttributeError):
            return malformed_triples(triples, normalize)

    def _gold_triples(self, gold: Gold) -> list[tuple[str, ...]]:
        normalize = self._normalize
        try:
            return [
                (normalize(subject), self._relation[relation], normalize(object_))
                for subject, relation, object_ in gold.evidences
            ]
        except (TypeError, ValueError, AttributeError):
            raise DataError(
                f"a gold triple is not three texts: {list(gold.evidences)!r}",
                record=gold.id,
                field="evidences",
                remedy="Write [subject, relation, object]",
            ) from None

    def _matches(self, triple: tuple[str, ...], gold: Triples, ids: Sequence[Any]) -> list[int]:
        """Return the numbers of the gold triples that a normalized one matches by any alias."""
        if len(triple) != 3:
            return []
        subject, relation, object_ = triple
        numbers = []
        for number, other in enumerate(gold):
            subject_id, _, object_id = ids[number] if ids else _NO_IDS
            if (
                relation == other[1]
                and (subject == other[0] or subject in self._aliases[subject_id])
                and (object_ == other[2] or object_ in self._aliases[object_id])
            ):
                numbers.append(number)
        return numbers

    def _one_to_one(
        self, predicted: set[tuple[str, ...]], gold: Triples, ids: Sequence[Any]
    ) -> PartScore:
        """Match every gold triple at most once; equal gold triples count once."""
        positions = {triple: position for position, triple in enumerate(dict.fromkeys(gold))}
        choices = [
            [positions[gold[number]] for number in self._matches(triple, gold, ids)]
            for triple in predicted
        ]
        return _score_matches(maximum_bipartite_matching(choices), len(predicted), len(positions))


def _uncertain_start(_: str) -> str:
    """Return "", for no text's start is certain where folding may change it."""
    return ""


def _score_matches(matches: int, predicted: int, gold: int) -> PartScore:
    return score_counts(matches, predicted, gold, exact=matches == predicted == gold)


def _fits(choices: Sequence[Sequence[int]], taken: Sequence[int]) -> bool:
    """Return whether each can have a gold triple of its own, taking the first that is free."""
    used = set(taken)
    for numbers in choices:
        free = next((number for number in numbers if number not in used), None)
        if free is None:
            return False
        used.add(free)
    return True


def _check_ids(gold: Gold) -> None:
    """Raise if the ids do not belong to the triples."""
    triples, ids, problem = gold.evidences, gold.evidences_id, ""
    if len(ids) != len(triples):
        problem = f"{len(ids)} id triples for {len(triples)} evidences"
    else:
        try:
            for number, (_, relation, _) in enumerate(ids):
                if relation != triples[number][1]:
                    problem = f"{ids[number]!r} does not belong to {triples[number]!r}"
                    break
        except (TypeError, ValueError, LookupError):
            problem = "not a list of [subject id, relation, object id]"
    if problem:
        raise DataError(
            problem,
            record=gold.id,
            field="evidences_id",
            remedy="Correct the gold record, or empty its evidences_id",
        )


def maximum_bipartite_matching(choices: Sequence[Sequence[int]]) -> int:
    """Return the size of a maximum matching of a bipartite graph.

    The matching grows along shortest augmenting paths, without recursion, so that it may have
    thousands of entries on a side.

    Args:
        choices: for each entry of the left side, the numbers of the entries of the right side
            that it may be paired with.
    """
    left_of: dict[int, int] = {}
    return sum(_augment(start, choices, left_of) for start in range(len(choices)))


def _augment(start: int, choices: Sequence[Sequence[int]], left_of: dict[int, int]) -> bool:
    """Pair one more left entry, pairing others anew where that frees one."""
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
