"""Which step failed, for systems that retrieve and then read: the ranking, its use, or the answer.

In: the paragraphs that each question was asked with, the gold, and what was predicted. Out: for
each question one `Category`, the first step of the gold chain that failed, and counts by question
type. A page is used where a predicted sentence or triple is of it; a prediction without either says
nothing of its use, which is then not judged, and counted. Titles match whatever their case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from twowiki.data.hops import hops_of
from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.metric.error_analysis import Category, entries
from twowiki.metric.results import UNTYPED, ExampleResult, Gold
from twowiki.metric.tables import format_score, render_table
from twowiki.models.text import bare_title, fold

RIGHT = Category("right", "right", "the answer is right, and every page of the chain was found")
RIGHT_WITHOUT = Category(
    "right_without", "right without a page", "the answer is right, though a page was not found"
)
FIRST_NOT_FOUND = Category(
    "first_not_found", "first page not found", "a page that the question starts from"
)
FIRST_NOT_USED = Category(
    "first_not_used", "first page found, not used", "no predicted sentence or triple is of it"
)
SECOND_NOT_FOUND = Category(
    "second_not_found", "second page not found", "a page that others lead to was not found"
)
SECOND_NOT_USED = Category(
    "second_not_used", "second page found, not used", "no predicted sentence or triple is of it"
)
NOT_DRAWN = Category(
    "not_drawn", "answer not drawn", "all pages were found and used, and the answer is wrong"
)
STEPS = (
    *(RIGHT, RIGHT_WITHOUT, FIRST_NOT_FOUND, FIRST_NOT_USED),
    *(SECOND_NOT_FOUND, SECOND_NOT_USED, NOT_DRAWN),
)


class Titled(Protocol):
    """A ranking, which has titles."""

    @property
    def titles(self) -> Sequence[str]:
        """The titles, best first."""


Ranked = Mapping[str, Sequence[str]] | Mapping[str, Titled]


class Blame(NamedTuple):
    """Where a system's answers fail.

    Attributes:
        types: for each question type the number of questions at each step, by its key.
        missing: questions without a ranking; their first page counts as not found.
        not_judged: wrong answers without sentences and triples: the use of pages is not judged.
        without_gold: questions without gold pages, which are left out.
    """

    types: dict[str, dict[str, int]]
    missing: int = 0
    not_judged: int = 0
    without_gold: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The number of questions at each step."""
        return {step.key: sum(one[step.key] for one in self.types.values()) for step in STEPS}

    @property
    def n(self) -> int:
        """The number of questions."""
        return sum(self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and their shares (0-100), as JSON values."""
        return {
            "n": self.n,
            "counts": self.counts,
            "percent": _percent(self.counts),
            "by_type": {
                name: {"counts": counts, "percent": _percent(counts)}
                for name, counts in self.types.items()
            },
            "missing_rankings": self.missing,
            "use_not_judged": self.not_judged,
            "without_gold_pages": self.without_gold,
        }

    def render(self) -> str:
        """Return the table, in percent of the questions, and what was not judged."""
        groups = {"all": self.counts, **(self.types if len(self.types) > 1 else {})}
        shares = {name: _percent(counts) for name, counts in groups.items()}
        sizes = [str(sum(counts.values())) for counts in groups.values()]
        rows = [["step that failed, %", *groups], ["n", *sizes]]
        for step in STEPS:
            rows.append([step.name, *(format_score(share[step.key]) for share in shares.values())])
        notes = {
            "questions without a ranking": self.missing,
            "wrong answers without sentences and triples, whose use of pages is not judged":
            self.not_judged,
            "questions without gold pages, left out": self.without_gold,
        }  # fmt: skip
        return "\n".join([render_table(rows), *(f"{what}: {n}" for what, n in notes.items() if n)])


class BlameCounter:
    """Counts the step that failed, question by question.

    Args:
        ranked: the titles that each question was asked with, or its ranking, by its id.

    Raises:
        DataError: it is no mapping.
    """

    def __init__(self, ranked: Ranked) -> None:
        if not isinstance(ranked, Mapping):
            remedy = "Read a file with `twowiki.retrieval.read_rankings`"
            raise DataError("the rankings are not titles by question id", remedy=remedy)
        self._ranked: dict[str, Sequence[str]] = {
            name: one if isinstance(one, Sequence) else one.titles for name, one in ranked.items()
        }
        self._types: dict[str, Counter[str]] = {}
        self._missing = self._not_judged = self._without_gold = 0

    def add(self, gold: Gold, prediction: Prediction, result: ExampleResult) -> Category | None:
        """Count a question; return its step, None without gold pages."""
        hops = hops_of(gold.supporting_facts, gold.evidences, gold.type)
        if not hops:
            self._without_gold += 1
            return None
        ranked = self._ranked.get(gold.id)
        self._missing += ranked is None
        found = set(map(_plain, ranked or ()))
        used = _used(prediction)
        step = find_step(hops, found, used, right=result.metrics[0] == 1)
        self._not_judged += used is None and step is NOT_DRAWN
        self._types.setdefault(gold.type or UNTYPED, Counter())[step.key] += 1
        return step

    def finish(self, order: Callable[[str], Any]) -> Blame:
        """Return the counts, with the types in the order of these keys."""
        types = {
            name: {step.key: self._types[name][step.key] for step in STEPS}
            for name in sorted(self._types, key=order)
        }
        return Blame(types, self._missing, self._not_judged, self._without_gold)


def find_step(
    hops: Mapping[str, int], found: set[str], used: set[str] | None, *, right: bool
) -> Category:
    """Return the first step of the chain that failed.

    Args:
        hops: the hop of each gold page, by its title.
        found: the titles that were retrieved, in lower case.
        used: the titles, and subjects of triples, that the prediction is of; None if unknown.
        right: whether the answer is right.
    """
    pages = sorted(hops, key=lambda title: hops[title])
    lacking = [title for title in pages if _plain(title) not in found]
    if right:
        return RIGHT_WITHOUT if lacking else RIGHT
    first = [title for title in pages if hops[title] == hops[pages[0]]]
    for part, not_found, not_used in (
        (first, FIRST_NOT_FOUND, FIRST_NOT_USED),
        (pages[len(first) :], SECOND_NOT_FOUND, SECOND_NOT_USED),
    ):
        if any(title in lacking for title in part):
            return not_found
        if used is not None and not all(_names(title) & used for title in part):
            return not_used
    return NOT_DRAWN


def _used(prediction: Prediction) -> set[str] | None:
    """Return the titles and subjects of a prediction; None where it has neither."""
    named = [*entries(prediction.supporting_facts), *entries(prediction.evidences)]
    texts = [one[0] for one in named if isinstance(one, list | tuple) and one]
    return {_plain(text) for text in texts if isinstance(text, str)} if named else None


def _names(title: str) -> set[str]:
    return {_plain(title), _plain(bare_title(title))}


def _plain(title: str) -> str:
    return " ".join(fold(title).split())


def _percent(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {key: 100 * count / total if total else 0.0 for key, count in counts.items()}
