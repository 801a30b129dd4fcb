"""Audit of gold: which questions have gold that does not stand inspection, and why.

In: examples of any data of this kind, as a stream. Out: an `Audit`: for each kind of fault its
ids, each with what was found. Every check reads the record alone. A finding is a reason to look,
not a verdict: docs/audit.md has the share of false alarms of each kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from twowiki.data.audit_answers import (
    check_chain,
    check_first_paragraph,
    check_namesakes,
    check_several,
    check_wording,
)
from twowiki.data.audit_dates import check_comparison, check_dates
from twowiki.data.audit_support import (
    Finding,
    check_answer_in_support,
    check_objects,
    check_sentences,
)
from twowiki.data.schema import Example
from twowiki.errors import DataError, nearest, printable

FAULTS = {
    "object_not_in_support": "triples whose object is not in their supporting sentences",
    "object_in_longer_name": "objects that stand there only inside a longer name",
    "object_in_own_name": "objects that stand there only inside the subject's own name",
    "coarse_object": "dates that are coarser than the supporting sentence",
    "answer_not_in_support": "answers in no supporting sentence (data without triples)",
    "answer_not_in_chain": "answers that are not what the last triple says",
    "answer_in_first_paragraph": "answers that the first page gives away",
    "answer_against_dates": "comparisons whose answer the dates as written contradict",
    "undecided_comparison": "comparisons that the dates as written do not decide",
    "dates_contradict": "dates that contradict each other or a triple",
    "several_answers": "relations for which the text names a second value",
    "namesake_in_context": "pages of one name in the context, and no bracket in the question",
    "namesake_of_bridge": "pages of one name, of which the question leads to one",
    "broken_support": "supporting sentences of one to three words",
    "support_past_end": "supporting sentence ids past the paragraph's end",
    "support_title_missing": "supporting titles that the context lacks",
    "noun_twice": "questions that name the kind of a thing twice",
}
# which field of a record an amendment of each kind is likely to change
AMENDED_FIELD = {
    **dict.fromkeys(FAULTS, "supporting_facts"),
    **dict.fromkeys(("coarse_object", "dates_contradict", "several_answers"), "evidences"),
    **dict.fromkeys(
        ("answer_not_in_chain", "answer_not_in_support", "answer_against_dates"), "answer"
    ),
    **dict.fromkeys(
        (
            "undecided_comparison",
            "answer_in_first_paragraph",
            "namesake_in_context",
            "namesake_of_bridge",
            "noun_twice",
        ),
        "question",
    ),
}
_CHECKS = (
    check_sentences, check_objects, check_answer_in_support, check_chain, check_comparison,
    check_dates, check_several, check_namesakes, check_wording,
)  # fmt: skip


class Case(NamedTuple):
    """One finding: the question, its type, and what was found."""

    id: str
    type: str
    found: str


@dataclass
class Audit:
    """What an audit found.

    Attributes:
        records: the number of examples with gold, by question type.
        hidden: the number of examples without gold, which are passed over.
        cases: kind -> its findings, in the order of the data.
        flagged: the number of examples with any finding.
        shown: a few examples of each kind, for a page.
    """

    records: Counter[str] = field(default_factory=Counter)
    hidden: int = 0
    cases: dict[str, list[Case]] = field(default_factory=dict)
    flagged: int = 0
    shown: dict[str, list[tuple[Example, str]]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of examples that were audited."""
        return self.records.total()

    @classmethod
    def joined(cls, audits: Iterable[Audit]) -> Audit:
        """Return several audits as one."""
        whole = cls()
        for one in audits:
            whole.records.update(one.records)
            whole.hidden += one.hidden
            whole.flagged += one.flagged
            for kind, cases in one.cases.items():
                whole.cases.setdefault(kind, []).extend(cases)
            for kind, examples in one.shown.items():
                whole.shown.setdefault(kind, []).extend(examples)
        return whole

    def ids(self, kind: str) -> list[str]:
        """Return the ids of a kind, each once."""
        return list(dict.fromkeys(case.id for case in self.cases.get(kind, ())))

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON values, kinds in a fixed order."""
        return {
            "records": self.total,
            "by_type": dict(self.records),
            "without_gold": self.hidden,
            "flagged": self.flagged,
            "findings": {
                kind: {
                    "what": what,
                    "records": len(self.ids(kind)),
                    "share": len(self.ids(kind)) / max(1, self.total),
                    "by_type": dict(Counter(t for _, t in _questions(self.cases[kind]))),
                    "cases": [case._asdict() for case in self.cases[kind]],
                }
                for kind, what in FAULTS.items()
                if kind in self.cases
            },
        }

    def render(self, most: int = 3) -> str:
        """Return a table for people, with the first cases of each kind."""
        share = 100 * self.flagged / max(1, self.total)
        lines = [f"{self.total:,} questions, {self.flagged:,} with a finding ({share:.1f} %)"]
        if self.hidden:
            lines.append(f"{self.hidden:,} without gold were passed over")
        for kind, what in FAULTS.items():
            if kind not in self.cases:
                continue
            ids = self.ids(kind)
            lines.append(f"{len(ids):>7,} {100 * len(ids) / self.total:>5.1f} %  {kind}: {what}")
            lines += [f"{'':17}{case.id}: {case.found}" for case in self.cases[kind][:most]]
        return printable("\n".join(lines))


def audit(
    examples: Iterable[Example],
    *,
    kinds: Sequence[str] = (),
    names_of: Callable[[str], Iterable[str]] | None = None,
    shown: int = 0,
) -> Audit:
    """Check the gold of examples, one after the other.

    Args:
        examples: the questions with their gold and contexts; those without gold are counted.
        kinds: the kinds of fault to look for, of `FAULTS`; none = all.
        names_of: returns the other names of a Wikidata id, for answers in the first page.
        shown: how many examples of each kind to keep, the first ones.

    Raises:
        DataError: an unknown kind.
    """
    for kind in kinds:
        if kind not in FAULTS:
            near = nearest(kind, FAULTS)
            remedy = f"Did you mean {near}?" if near else f"Known: {', '.join(FAULTS)}"
            raise DataError(f"unknown kind of fault {kind!r}", remedy=remedy)
    checks = (*_CHECKS, partial(check_first_paragraph, names_of=names_of))
    result = Audit()
    for example in examples:
        if not example.has_gold:
            result.hidden += 1
            continue
        result.records[example.type or "untyped"] += 1
        # a question that its context does not answer has no gold in it to check
        wanted = checks if example.answerable is not False else (check_namesakes, check_wording)
        found = list(_distinct(one for check in wanted for one in check(example)))
        found = [one for one in found if not kinds or one[0] in kinds]
        result.flagged += bool(found)
        for kind, text in found:
            cases = result.cases.setdefault(kind, [])
            cases.append(Case(example.id, example.type or "untyped", text))
            if len(kept := result.shown.setdefault(kind, [])) < shown:
                kept.append((example, text))
    return result


def _distinct(found: Iterable[Finding]) -> Iterator[Finding]:
    yield from dict.fromkeys(found)


def _questions(cases: Iterable[Case]) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys((case.id, case.type) for case in cases)
