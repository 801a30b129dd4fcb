"""What scoring takes and returns: the gold of one example, and its metrics.

Metrics of one example are shares, 0-1 (the official matching may exceed 1); `report` turns means
into percentages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Example
from twowiki.errors import DataError

MEASURES = ("em", "f1", "prec", "recall")
PARTS = {"answer": "", "sp": "sp_", "evidence": "evi_", "joint": "joint_"}
UNTYPED = "untyped"  # where a question has no type
METRIC_NAMES = tuple(prefix + measure for prefix in PARTS.values() for measure in MEASURES)

PartScore = tuple[float, float, float, float]  # em, f1, precision, recall
AliasesOf = Callable[[str], Iterable[str]]  # the aliases and demonyms of a Wikidata id

ALL: PartScore = (1.0, 1.0, 1.0, 1.0)
NONE: PartScore = (0.0, 0.0, 0.0, 0.0)
EMPTY: PartScore = (1.0, 0.0, 0.0, 0.0)  # both sides empty: equal, but with nothing in common


class Gold(NamedTuple):
    """The gold of one question, as scoring needs it; sequences are kept as they were read."""

    id: str
    answer: str
    supporting_facts: Sequence[Any]
    evidences: Sequence[Any]
    type: str | None = None
    answer_id: str | None = None
    evidences_id: Sequence[Any] = ()
    answer_aliases: Sequence[str] = ()  # other right answers, of layouts that list them

    @classmethod
    def of(cls, example: Example) -> Gold:
        """Return the gold of an example; a hidden answer becomes an empty text."""
        return cls(
            example.id,
            example.answer or "",
            example.facts,
            example.triples,
            example.type,
            example.answer_id,
            example.evidences_id,
            example.answer_aliases or (),
        )


class ExampleResult(NamedTuple):
    """The metrics of one example, 0-1, in the order of `METRIC_NAMES` (an optional one last)."""

    id: str
    type: str | None
    metrics: tuple[float, ...]
    differs: bool  # whether the official and the one-to-one matching score the evidence differently
    missing: tuple[str, ...]  # the parts that the prediction leaves out


def score_counts(found: int, predicted: int, gold: int, *, exact: bool) -> PartScore:
    """Return the metrics of a part from counts; 0 where there is nothing to divide by.

    Args:
        found: number of predicted entries that are right.
        predicted: number of predicted entries.
        gold: number of gold entries.
        exact: whether prediction and gold are equal.
    """
    precision = found / predicted if predicted else 0.0
    recall = found / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return float(exact), f1, precision, recall


def no_aliases(_: str) -> Iterable[str]:
    """Return no aliases, whatever the id."""
    return ()


class AliasLookup(dict[Any, Sequence[str]]):
    """The aliases of each Wikidata id, looked up once; what is not an id has none."""

    def __init__(self, aliases_of: AliasesOf) -> None:
        super().__init__()
        self._aliases_of = aliases_of

    def __missing__(self, entity_id: Any) -> Sequence[str]:
        has_id = isinstance(entity_id, str) and entity_id
        texts = list(self._aliases_of(entity_id)) if has_id else []
        if not all(isinstance(text, str) for text in texts):
            problem = "an entity's aliases are not all texts"
            raise DataError(problem, record=entity_id, field="aliases")
        self[entity_id] = texts
        return texts


class NormalizedAliases(dict[Any, frozenset[str]]):
    """The same, normalized."""

    def __init__(self, aliases_of: AliasesOf, normalize: Callable[[str], str]) -> None:
        super().__init__()
        self._lookup, self._normalize = AliasLookup(aliases_of), normalize

    def __missing__(self, entity_id: Any) -> frozenset[str]:
        aliases = self[entity_id] = frozenset(map(self._normalize, self._lookup[entity_id]))
        return aliases
