"""Score, classify and choose the examples of a report, in one pass over the gold.

In: predictions and a stream of gold records. Out: `ReportFindings`. Of the gold's contexts only
those of examples that may be shown are kept. The report equals that of `twowiki.score`. Gold that
is hidden, or that lacks ids of the subset, is refused.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from twowiki.data.aliases import AliasTable
from twowiki.data.fields import parse_context
from twowiki.data.schema import Paragraph, Prediction
from twowiki.errors import DataError
from twowiki.io.json_files import Source
from twowiki.metric.diagnostics import Inspector
from twowiki.metric.error_analysis import Checked, Judge
from twowiki.metric.gold import ABSENT, HIDDEN, IN_MEMORY, GoldSet, gold_of, refuse_hidden
from twowiki.metric.gold_sources import read_subset
from twowiki.metric.hashing import GoldHash
from twowiki.metric.predictions import PredictionSet
from twowiki.metric.report import UNTYPED, Report
from twowiki.metric.results import Gold, Row, no_names
from twowiki.metric.score import assemble
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import ScoreSettings


class Shown(NamedTuple):
    """An example that a page shows; question and context are decoded when it is written."""

    gold: Gold
    prediction: Prediction
    row: Row
    outcome: str
    signs: tuple[str, ...]
    question: Any
    context: Any


class ReportFindings(NamedTuple):
    """What one pass found.

    Attributes:
        report: the scores.
        outcomes, signs: how many examples have each key, by question type and key.
        shown: the examples to show, in the gold's order.
        judge: what judges single facts and triples.
    """

    report: Report
    outcomes: Counter[tuple[str, str]]
    signs: Counter[tuple[str, str]]
    shown: list[Shown]
    judge: Judge


def collect_findings(
    predictions: PredictionSet,
    records: Iterable[Any],
    origin: Source,
    labels: Sequence[str],
    settings: ScoreSettings,
    *,
    names: AliasTable | None,
    most: int,
    seed: int,
    command: str | None = None,
) -> ReportFindings:
    """Score, classify and choose.

    Args:
        predictions: the predictions.
        records: the gold's records, a stream.
        origin: where they come from.
        labels: the names of a `type` that is a number.
        settings: the options of the metric.
        names: other names by Wikidata id.
        most: largest number of examples to show.
        seed: of their choice.
        command: the command line to keep in the report.

    Raises:
        DataError: gold that cannot be used, or that is hidden; file and record are named.
    """
    chosen = None if settings.subset is None else read_subset(settings.subset)
    scan = _Scan(predictions, settings, names, chosen, EvenSample(most, seed))
    try:
        for number, record in enumerate(records):
            scan.look(record, *gold_of(record, number, labels))
        scan.check(origin)
    except DataError as error:
        raise error.at(origin.name) if origin.name != IN_MEMORY else error from None
    report = scan.report(origin, names, chosen, command)
    return ReportFindings(report, scan.outcomes, scan.signs, scan.sample.items(), scan.judge)


class _Scan:
    """The state of one pass over the gold."""

    def __init__(
        self,
        predictions: PredictionSet,
        settings: ScoreSettings,
        names: AliasTable | None,
        chosen: Sequence[str] | None,
        sample: EvenSample[Shown],
    ) -> None:
        self.predictions, self.settings, self.sample = predictions, settings, sample
        self.scorer = Scorer(settings, no_names if names is None else names.names_of)
        self.judge = Judge(self.scorer)
        self.inspector = Inspector(coerce=settings.coerce_indices)
        self.content = GoldHash()
        self.rows: list[Row] = []
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.signs: Counter[tuple[str, str]] = Counter()
        self._wanted = None if chosen is None else set(chosen)
        self._ids: dict[str, None] = {}
        self._hidden_ids: list[str] = []
        self._count = 0
        self._lacking: Counter[str] = Counter()
        self._blank, self._has_ids = True, False

    def look(self, record: Any, gold: Gold, raw: Any) -> None:
        """Score one record and keep what the report needs of it."""
        self._ids[gold.id] = None
        unset = msgspec.UNSET
        self._lacking.update(
            name
            for name in ("answer", "supporting_facts", "evidences")
            if getattr(raw, name) is unset
        )
        self._has_ids = self._has_ids or bool(gold.answer_id or gold.evidences_id)
        self._count += 1
        hidden = raw.answer is None or raw.answer is unset
        if hidden:
            self._hidden_ids.append(gold.id)
        elif gold.answer or gold.supporting_facts or gold.evidences or raw.question is ABSENT:
            self._blank = False
        if hidden or (self._wanted is not None and gold.id not in self._wanted):
            return
        prediction = self.predictions.of(gold.id)
        row = self.scorer.score_example(prediction, gold)
        outcome, signs = self.judge.judge(prediction, gold, row)
        self.rows.append(row)
        self.inspector.look(prediction, gold, row, raw.context)
        self.content.add(gold)
        kind = gold.type or UNTYPED
        self.outcomes[kind, outcome] += 1
        self.signs.update((kind, sign) for sign in signs)
        question = record.get("question") if isinstance(record, Mapping) else raw.question
        shown = Shown(gold, prediction, row, outcome, signs, question, raw.context)
        self.sample.add(outcome, gold.id, shown)

    def check(self, origin: Source) -> None:
        """Raise for gold without records, hidden gold, and ids that are not in the gold."""
        if not self._ids:
            raise DataError("the gold has no record", remedy="Give a split with at least one")
        if len(self._hidden_ids) == self._count or (self._blank and not self._hidden_ids):
            raise DataError(HIDDEN)
        unknown = [name for name in self._wanted or () if name not in self._ids]
        if unknown:
            raise DataError(
                f"{len(unknown)} of the subset's {len(self._wanted or ())} ids are not in the gold",
                record=min(unknown),
                remedy="The subset belongs to another split, or to another data set",
            )
        wanted = self._ids if self._wanted is None else self._wanted
        hidden = [name for name in self._hidden_ids if name in wanted]
        if hidden:
            seen = [Gold(name, "", (), ()) for name in (*hidden, *(row.id for row in self.rows))]
            refuse_hidden(GoldSet(seen, (), origin, {}, False, frozenset(hidden)))

    def report(
        self,
        origin: Source,
        names: AliasTable | None,
        chosen: tuple[str, ...] | None,
        command: str | None,
    ) -> Report:
        """Put the rows into a report, as `twowiki.score` does."""
        light = [Gold(row.id, "", (), ()) for row in self.rows]
        return assemble(
            self.predictions,
            GoldSet(light, (), origin, dict(self._lacking), self._has_ids),
            replace(self.settings, by_type=True),
            self.rows,
            self.inspector,
            gold_hash=self.content.hexdigest(),
            extra=tuple([name for name in self.predictions.ids() if name not in self._ids]),
            names=names,
            chosen=chosen,
            command=command,
        )


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


def check_of(findings: ReportFindings, shown: Shown) -> Checked:
    """Return each entry of one example with whether the other side has it."""
    return findings.judge.check(shown.prediction, shown.gold)


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
