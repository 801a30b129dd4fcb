"""A row for every question of a report: what a page sorts, filters and offers for download. Pure.

In: an example with what each system made of it. Out: a list of JSON values, one per question, and
all of them packed into a text (deflate, then base64) that the page's script unpacks. Texts and
lists are cut to a bounded length, and control characters are replaced.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from twowiki.data.hops import hops_of, hops_of_subjects
from twowiki.metric.error_analysis import MatchedEntries, entries
from twowiki.metric.results import UNTYPED, Gold
from twowiki.pages.evidence import as_text

if TYPE_CHECKING:
    from twowiki.pages.collect import Assessment, Shown

MOST_ROWS = 20_000  # of a page; the tables count all questions
_MOST_ENTRIES = 50  # of a list in a row
_encode = msgspec.json.Encoder().encode


class HopCounter:
    """Counts the gold triples and sentences that a system found, by the hop that they belong to.

    Attributes:
        found, total: by ("evidence" or "sp", hop), from hop 1.
    """

    def __init__(self) -> None:
        self.found: Counter[tuple[str, int]] = Counter()
        self.total: Counter[tuple[str, int]] = Counter()

    def add(self, gold: Gold, matched: MatchedEntries) -> None:
        """Count one example."""
        triples = [(triple, hit) for triple, hit in matched.gold_triples if _is_triple(triple)]
        links = [(str(subject), str(last)) for (subject, _, last), _ in triples]
        depths = hops_of_subjects(links, gold.type)
        for (subject, _), (_, hit) in zip(links, triples, strict=True):
            self._count("evidence", depths[subject], hit)
        facts = [(fact, hit) for fact, hit in matched.gold_facts if len(fact) == 2]
        pages = hops_of([fact for fact, _ in facts], [triple for triple, _ in triples], gold.type)
        for fact, hit in facts:
            self._count("sp", pages[str(fact[0])], hit)

    def _count(self, part: str, hop: int, hit: bool) -> None:
        self.total[part, hop] += 1
        self.found[part, hop] += hit

    def share(self, part: str, hop: int) -> float | None:
        """Return the percentage that was found; None where there is nothing of this hop."""
        total = self.total[part, hop]
        return 100 * self.found[part, hop] / total if total else None

    @property
    def hops(self) -> list[int]:
        """The hops that occur."""
        return sorted({hop for _, hop in self.total})


def make_row(shown: Shown, question: str, matched: Sequence[MatchedEntries]) -> list[Any]:
    """Return the row of an example: its gold, then a list for each system.

    Args:
        shown: the example.
        question: its question.
        matched: for each system, which entries are right.
    """
    gold = shown.gold
    return [
        as_text(gold.id),
        gold.type or UNTYPED,
        as_text(question, 1000),
        _short(gold.answer),
        _list(gold.supporting_facts),
        _list(gold.evidences),
        *(_system_row(*both) for both in zip(shown.systems, matched, strict=True)),
    ]


def _system_row(judged: Assessment, matched: MatchedEntries) -> list[Any]:
    """Return what a system predicted, its outcome, errors and scores, and what is right of it.

    The last value has a digit for each entry, 1 for right: gold facts, predicted facts, gold
    triples, predicted triples.
    """
    prediction = judged.prediction
    marks = (matched.gold_facts, matched.predicted_facts,
             matched.gold_triples, matched.predicted_triples)  # fmt: skip
    return [
        _short(prediction.answer),
        None if prediction.supporting_facts is None else _list(prediction.supporting_facts),
        None if prediction.evidences is None else _list(prediction.evidences),
        judged.outcome,
        list(judged.error_types),
        [_percent(value) for value in judged.result.metrics],
        ",".join("".join("01"[hit] for _, hit in one[:_MOST_ENTRIES]) for one in marks),
    ]


def _percent(value: float) -> float:
    """Return a score of 0-100 with two decimals, as an integer where it is one."""
    rounded = round(100 * value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def _short(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _list(value: Any) -> list[Any]:
    """Return facts or triples as lists of texts and numbers."""
    return [
        [part if type(part) is int and abs(part) < 2**53 else as_text(part) for part in one[:3]]
        if isinstance(one, list | tuple)
        else as_text(one)
        for one in entries(value)[:_MOST_ENTRIES]
    ]


def _is_triple(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 3


class RowPacker:
    """Packs rows one after the other, so that they are never held as they are.

    Args:
        most: how many rows there may be; after them only rows of examples that are shown.
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self.count = 0
        self._most = most
        self._packer = zlib.compressobj(6)
        self._parts = [self._packer.compress(b'{"rows":[')]

    def takes(self, number: int) -> bool:
        """Return whether the row of a question has a place among the first ones."""
        return number < self._most

    def append(self, row: Sequence[Any]) -> None:
        """Add a row."""
        self._parts.append(self._packer.compress((b"," if self.count else b"") + _encode(row)))
        self.count += 1

    def finish(self, **more: Any) -> str:
        """Return all rows, and further values by name, as base64 of deflated JSON."""
        values: Mapping[str, Any] = more
        end = b"]" + b"".join(b"," + _encode(key) + b":" + _encode(one)
                              for key, one in values.items()) + b"}"  # fmt: skip
        self._parts += [self._packer.compress(end), self._packer.flush()]
        return base64.b64encode(b"".join(self._parts)).decode("ascii")
