"""What scoring takes and gives: the gold of one example, and its row of figures.

Figures are shares, 0-1 (the official matching may exceed 1); `report` makes percentages of means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from twowiki.errors import DataError

FIGURES = ("em", "f1", "prec", "recall")
PARTS = {"answer": "", "sp": "sp_", "evidence": "evi_", "joint": "joint_"}
KEYS = tuple(prefix + figure for prefix in PARTS.values() for figure in FIGURES)

Part = tuple[float, float, float, float]  # em, f1, precision, recall
NamesOf = Callable[[str], Iterable[str]]  # the aliases and demonyms of a Wikidata id

ALL: Part = (1.0, 1.0, 1.0, 1.0)
NONE: Part = (0.0, 0.0, 0.0, 0.0)
EMPTY: Part = (1.0, 0.0, 0.0, 0.0)  # both sides empty: equal, but with nothing in common


class Gold(NamedTuple):
    """What is true of one question, as scoring needs it; sequences stand as they were read."""

    id: str
    answer: str
    supporting_facts: Sequence[Any]
    evidences: Sequence[Any]
    type: str | None = None
    answer_id: str | None = None
    evidences_id: Sequence[Any] = ()


class Row(NamedTuple):
    """One example's figures, 0-1, in the order of `KEYS` (an optional extra figure last)."""

    id: str
    type: str | None
    figures: tuple[float, ...]
    differs: bool  # whether the official and the one-to-one matching give other evidence figures
    missing: tuple[str, ...]  # the parts of which the prediction says nothing


def part_of(found: int, said: int, true: int, *, exact: bool) -> Part:
    """Make a part's figures of counts; 0 where there is nothing to divide by.

    Args:
        found: predicted entries that are right.
        said: predicted entries.
        true: gold entries.
        exact: whether prediction and gold are equal.
    """
    precision = found / said if said else 0.0
    recall = found / true if true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return float(exact), f1, precision, recall


def no_names(_: str) -> Iterable[str]:
    """Know no other name of any id."""
    return ()


class RawNames(dict[Any, Sequence[str]]):
    """The names of each Wikidata id, looked up once; what is no id has none."""

    def __init__(self, names_of: NamesOf) -> None:
        super().__init__()
        self._names_of = names_of

    def __missing__(self, name: Any) -> Sequence[str]:
        texts = list(self._names_of(name)) if isinstance(name, str) and name else []
        if not all(isinstance(text, str) for text in texts):
            problem = "an entity's other names are not all texts"
            raise DataError(problem, record=name, field="aliases")
        self[name] = texts
        return texts


class Names(dict[Any, frozenset[str]]):
    """The same, levelled."""

    def __init__(self, names_of: NamesOf, level: Callable[[str], str]) -> None:
        super().__init__()
        self._raw, self._level = RawNames(names_of), level

    def __missing__(self, name: Any) -> frozenset[str]:
        levelled = self[name] = frozenset(map(self._level, self._raw[name]))
        return levelled
