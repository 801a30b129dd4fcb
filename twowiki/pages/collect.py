"""Score, classify and choose the examples of a report, in one pass over the gold.

In: predictions and a stream of gold records. Out: `ReportFindings`. Of the gold's contexts only
those of examples that may be shown are kept. The report equals that of `twowiki.score`. Gold that
is hidden, or that lacks ids of the subset, is refused.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from twowiki.data.fields import parse_context
from twowiki.data.schema import Paragraph, Prediction
from twowiki.errors import DataError
from twowiki.metric.error_analysis import ErrorClassifier, MatchedEntries
from twowiki.metric.report import Report
from twowiki.metric.results import UNTYPED, ExampleResult, Gold
from twowiki.metric.score import ScoreRun


class Shown(NamedTuple):
    """An example that a page shows; question and context are decoded when it is written."""

    gold: Gold
    prediction: Prediction
    result: ExampleResult
    outcome: str
    error_types: tuple[str, ...]
    question: Any
    context: Any


class ReportFindings(NamedTuple):
    """What one pass found.

    Attributes:
        report: the scores.
        outcomes, error_types: how many examples have each key, by question type and key.
        shown: the examples to show, in the gold's order.
        classifier: matches single facts and triples.
    """

    report: Report
    outcomes: Counter[tuple[str, str]]
    error_types: Counter[tuple[str, str]]
    shown: list[Shown]
    classifier: ErrorClassifier


def collect_findings(
    run: ScoreRun, *, most: int, seed: int, command: str | None = None
) -> ReportFindings:
    """Score, classify and choose.

    Args:
        run: predictions and gold, not yet scored.
        most: largest number of examples to show.
        seed: of their choice.
        command: the command line to keep in the report.

    Raises:
        DataError: gold that cannot be used, or that is hidden; file and record are named.
    """
    classifier = ErrorClassifier(run.scorer)
    outcomes: Counter[tuple[str, str]] = Counter()
    errors: Counter[tuple[str, str]] = Counter()
    sample: EvenSample[Shown] = EvenSample(most, seed)
    for gold, record, prediction, result in run:
        outcome, error_types = classifier.classify(prediction, gold, result)
        type_ = gold.type or UNTYPED
        outcomes[type_, outcome] += 1
        errors.update((type_, error) for error in error_types)
        shown = Shown(
            gold, prediction, result, outcome, error_types, record.question, record.context
        )
        sample.add(outcome, gold.id, shown)
    return ReportFindings(run.finish(command), outcomes, errors, sample.items(), classifier)


def question_of(shown: Shown) -> str:
    """Return an example's question, empty if the gold has none."""
    value = shown.question
    if isinstance(value, msgspec.Raw):
        value = msgspec.json.decode(value) if bytes(value) else ""
    return value if isinstance(value, str) else ""


def paragraphs_of(shown: Shown) -> list[Paragraph]:
    """Return an example's paragraphs; none if the gold has no readable context."""
    context = shown.context
    try:
        if isinstance(context, msgspec.Raw):
            context = msgspec.json.decode(context) if bytes(context) else None
        if hasattr(context, "as_py"):
            context = context.as_py()
        return [Paragraph(*one) for one in parse_context(context)] if context else []
    except (DataError, msgspec.DecodeError):
        return []


def check_of(findings: ReportFindings, shown: Shown) -> MatchedEntries:
    """Return each entry of one example with whether the other side has it."""
    return findings.classifier.match_entries(shown.prediction, shown.gold)


_Item = TypeVar("_Item")


class EvenSample(Generic[_Item]):
    """Keep up to `most` items, spread evenly over their groups.

    Args:
        most: how many items come out at the end.
        seed: of the random draws; an item's draw depends on the seed and its key alone.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._seed = most, seed
        # group -> a heap of (minus the random draw, minus the position, item): large draws fall out
        self._groups: dict[str, list[tuple[int, int, _Item]]] = {}
        self._count = 0

    def add(self, group: str, key: str, item: _Item) -> None:
        """Add an item; it may fall out again."""
        self._count += 1
        seeded = f"{self._seed}:{key}".encode("utf-8", "surrogatepass")
        drawn = int.from_bytes(hashlib.blake2b(seeded, digest_size=8).digest(), "big")
        kept = self._groups.setdefault(group, [])
        if len(kept) < self._most:
            heapq.heappush(kept, (-drawn, -self._count, item))
        elif self._most:
            heapq.heappushpop(kept, (-drawn, -self._count, item))

    def items(self) -> list[_Item]:
        """Return the kept items, in the order in which they were added."""
        queues = [sorted(kept, reverse=True) for _, kept in sorted(self._groups.items())]
        chosen: list[tuple[int, int, _Item]] = []
        for turn in range(max(map(len, queues), default=0)):
            chosen += [queue[turn] for queue in queues if turn < len(queue)]
        return [item for _, _, item in sorted(chosen[: self._most], key=lambda one: -one[1])]
