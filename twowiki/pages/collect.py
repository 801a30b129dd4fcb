"""Score, classify and choose the examples of a report, in one pass over the gold.

In: predictions of one system or several, and a stream of gold records. Out: `ReportFindings`: the
report of each system, equal to that of `twowiki.score`, counts of outcomes and errors, and a packed
row for every question. Of the gold's contexts only those of examples that may be shown are kept.
Gold that is hidden, or that lacks ids of the subset, is refused.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from twowiki.data.fields import parse_context
from twowiki.data.schema import Paragraph, Prediction
from twowiki.errors import DataError
from twowiki.metric.error_analysis import ErrorClassifier, MatchedEntries
from twowiki.metric.report import Report
from twowiki.metric.results import UNTYPED, ExampleResult, Gold
from twowiki.metric.score import ScoreRun
from twowiki.pages.rows import HopCounter, RowPacker, make_row


class Assessment(NamedTuple):
    """What one system predicted for an example, its scores, and what is wrong with it."""

    prediction: Prediction
    result: ExampleResult
    outcome: str
    error_types: tuple[str, ...]


class Shown(NamedTuple):
    """An example that a page shows; question and context are decoded when it is written.

    Attributes:
        gold: its gold.
        systems: what each system made of it.
        question, context: as they were read.
        row: the number of its row.
    """

    gold: Gold
    systems: tuple[Assessment, ...]
    question: Any
    context: Any
    row: int


class SystemFindings(NamedTuple):
    """What one pass found of one system.

    Attributes:
        name: what the page calls it.
        report: the scores.
        outcomes, error_types: how many examples have each key, by question type and key.
        classifier: matches single facts and triples.
        hops: gold triples and sentences that were found, by hop.
        made_by: the run whose model predicted, where the file names it.
    """

    name: str
    report: Report
    outcomes: Counter[tuple[str, str]]
    error_types: Counter[tuple[str, str]]
    classifier: ErrorClassifier
    hops: HopCounter
    made_by: Mapping[str, Any]

    @property
    def right(self) -> list[tuple[bool, bool]]:
        """Whether the answer, and the whole chain, of each question is right."""
        whole = "joint_em" if self.report.metrics["joint_em"] is not None else "em"
        column = self.report.metric_names.index(whole)
        return [(one.metrics[0] == 1.0, one.metrics[column] == 1.0) for one in self.report.results]


class ReportFindings(NamedTuple):
    """What one pass found.

    Attributes:
        systems: what it found of each system.
        shown: the examples to show, in the gold's order.
        rows: a row for every question, packed.
        packed: how many rows there are; of very large gold those after them are left out.
    """

    systems: tuple[SystemFindings, ...]
    shown: list[Shown]
    rows: str
    packed: int

    @property
    def report(self) -> Report:
        """The report of the first system."""
        return self.systems[0].report

    @property
    def outcomes(self) -> Counter[tuple[str, str]]:
        """The outcomes of the first system."""
        return self.systems[0].outcomes


class _System:
    """One system while the gold goes by."""

    def __init__(self, name: str, run: ScoreRun) -> None:
        self.name, self.run = name, run
        self.classifier = ErrorClassifier(run.scorer)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.errors: Counter[tuple[str, str]] = Counter()
        self.hops = HopCounter()

    def judge(self, gold: Gold, prediction: Prediction, result: ExampleResult) -> Assessment:
        """Classify one example and count it."""
        judged = Assessment(prediction, result, *self.classifier.classify(prediction, gold, result))
        kind = gold.type or UNTYPED
        self.outcomes[kind, judged.outcome] += 1
        self.errors.update((kind, error) for error in judged.error_types)
        return judged

    def matched(self, gold: Gold, judged: Assessment) -> MatchedEntries:
        """Return each entry of one example with whether the other side has it."""
        return self.classifier.match_entries(judged.prediction, gold)

    def finish(self, command: str | None) -> SystemFindings:
        """Return what was found."""
        return SystemFindings(
            self.name,
            self.run.finish(command),
            self.outcomes,
            self.errors,
            self.classifier,
            self.hops,
            self.run.predictions.made_by,
        )


def collect_findings(
    run: ScoreRun,
    *others: ScoreRun,
    most: int,
    seed: int,
    command: str | None = None,
    names: Sequence[str] = (),
) -> ReportFindings:
    """Score, classify and choose.

    Args:
        run: predictions and gold, not yet scored.
        *others: those of further systems, on readers of the same gold in step with the first.
        most: largest number of examples to show.
        seed: of their choice.
        command: the command line to keep in the report.
        names: what the page calls the systems; by default their files' names.

    Raises:
        DataError: gold that cannot be used, or that is hidden; file and record are named.
    """
    runs = (run, *others)
    given = names or system_names([one.predictions.source.name for one in runs])
    systems = [_System(name, one) for name, one in zip(given, runs, strict=True)]
    sample: EvenSample[Shown] = EvenSample(most, seed)
    packer = RowPacker()
    for number, (shown, matched) in enumerate(_judge_all(systems)):
        if packer.takes(number):
            packer.append(make_row(shown, question_of(shown), matched))
        sample.add(_group_of(shown), shown.gold.id, shown)
    found = [_with_row(one, systems, packer) for one in sample.items()]
    finished = tuple(system.finish(command) for system in systems)
    rows = packer.finish(
        systems=[system.name for system in finished], metrics=finished[0].report.metric_names
    )
    return ReportFindings(finished, found, rows, packer.count)


def _with_row(shown: Shown, systems: Sequence[_System], packer: RowPacker) -> Shown:
    """Return an example with the number of its row, which is added if it was left out."""
    if packer.takes(shown.row):
        return shown
    pairs = zip(systems, shown.systems, strict=True)
    matched = [system.matched(shown.gold, judged) for system, judged in pairs]
    packer.append(make_row(shown, question_of(shown), matched))
    return shown._replace(row=packer.count - 1)


def _judge_all(systems: Sequence[_System]) -> Iterator[tuple[Shown, list[MatchedEntries]]]:
    """Yield each example with what each system made of it, and which entries are right."""
    for number, scored in enumerate(zip(*(system.run for system in systems), strict=True)):
        gold, record, _, _ = scored[0]
        judged = tuple(
            system.judge(gold, prediction, result)
            for system, (_, _, prediction, result) in zip(systems, scored, strict=True)
        )
        matched = []
        for system, one in zip(systems, judged, strict=True):
            matched.append(system.matched(gold, one))
            system.hops.add(gold, matched[-1])
        yield Shown(gold, judged, record.question, record.context, number), matched


def _group_of(shown: Shown) -> str:
    """Return the group of an example, of which as many are shown as of the others."""
    if len(shown.systems) == 1:
        return shown.systems[0].outcome
    return "".join(str(int(one.outcome == "all_right")) for one in shown.systems)


def system_names(files: Sequence[str]) -> list[str]:
    """Return a short name for each file: its own, with its folder's where several are equal."""
    paths = [PurePath(file) for file in files]
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [f"{path.parent.name}/{path.name}" if path.parent.name else path.name
                 for path in paths]  # fmt: skip
    repeated = Counter(names)
    return [
        name if repeated[name] == 1 else f"{name} ({number})"
        for number, name in enumerate(names, 1)
    ]


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
