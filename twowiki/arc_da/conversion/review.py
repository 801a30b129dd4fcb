"""Expert review as a journal of decisions, and the states that they lead to.

In: screened questions with their originals, decisions. Out: each question's state. A decision
holds what the reviewer was shown and what was left of it, so it stays as it is when answers come
late or are corrected: what no reviewer has seen joins the state unconfirmed, and a question that
is not under review any more keeps its decisions and is set aside. The journal only grows; the
release is a function of the data and the journal. `decisions.csv` holds the same records as a
table, and can be read back. A line that is not a decision is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from twowiki.arc_da.conversion.filter import SourceQuestion
from twowiki.arc_da.conversion.screening import ScreenedQuestion
from twowiki.arc_da.metric.folding import answer_key
from twowiki.errors import DataError
from twowiki.human.task_files import free_cell, to_csv
from twowiki.io.journal import Journal

NOT_UNDER_REVIEW = "does not pass the filters any more"
REJECTIONS = {
    "too_open": "too many answers would be right",
    "invalid": "the question or its facts are wrong",
    "ambiguous": "it can be read in several ways",
    "needs_options": "it cannot be answered without the options",
}
_IDENTITY = {"journal": "decisions of the review"}
_RESTORE = "Restore the file, for instance from version control"


class ReviewAnswer(msgspec.Struct, frozen=True):
    """An answer under review.

    Attributes:
        text: its wording.
        origins: out of `worker`, `mc_gold` (the original's right option), `expert`.
        workers: the workers who gave it.
        short_of: the longer answer that it shortens.
        verified: whether an expert has confirmed it.
        wordings: how else it was written.
    """

    text: str
    origins: tuple[str, ...]
    workers: tuple[str, ...] = ()
    short_of: str | None = None
    verified: bool = False
    wordings: tuple[str, ...] = ()


class ReviewState(msgspec.Struct, frozen=True):
    """What is settled about a question: `decision` is accept, reject or None."""

    question: str
    answers: tuple[ReviewAnswer, ...]
    decision: str | None = None
    reason: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The answers' wordings in order."""
        return tuple(answer.text for answer in self.answers)

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The wordings of the answers that an expert confirmed or wrote."""
        return tuple(answer.text for answer in self.answers if answer.verified)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to decide: rejected, or accepted with all answers confirmed."""
        accepted = self.decision == "accept" and all(answer.verified for answer in self.answers)
        return accepted or self.decision == "reject"

    @property
    def hash(self) -> str:
        """What a reviewer decides on, as 12 hex digits after a letter as no number has one.

        Who gave an answer does not count: one more worker with a known answer changes no decision.
        """
        answers = [(answer.text, answer.verified, answer.short_of) for answer in self.answers]
        content = json.dumps([self.question, answers, self.decision, self.reason])
        return "s" + hashlib.sha256(content.encode()).hexdigest()[:12]

    def find(self, text: str) -> ReviewAnswer | None:
        """Return the answer with exactly this wording."""
        return next((answer for answer in self.answers if answer.text == text), None)


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One reviewer's decision on one question: what was shown, and what it became."""

    seq: int
    question_id: str
    decision: Literal["accept", "reject"]
    reviewer: str
    date: str
    reason: str | None = None
    question: str
    answers: tuple[ReviewAnswer, ...]
    shown: ReviewState

    @property
    def state(self) -> ReviewState:
        """The state that the decision leads to."""
        return ReviewState(self.question, self.answers, self.decision, self.reason)

    def changes(self) -> Iterator[tuple[str, str | None, str | None]]:
        """List what the reviewer changed as (operation, before, after)."""
        shown = {answer.text: answer for answer in self.shown.answers}
        if self.question != self.shown.question:
            yield "reword_question", self.shown.question, self.question
        for answer in self.answers:
            if answer.text not in shown:
                short = answer.short_of is not None
                yield "add_short_version" if short else "add_answer", answer.short_of, answer.text
            elif answer.verified and not shown[answer.text].verified:
                yield "verify_answer", answer.text, None
        kept = {answer.text for answer in self.answers}
        for text in shown:
            if text not in kept:
                yield "remove_answer", text, None


class ReplayedReview(NamedTuple):
    """Where the decisions lead.

    Attributes:
        states: of each question under review, with the answers that came since.
        decided: states of decided questions, without the answers that came since.
        aside: decided questions that are not under review now, and why.
    """

    states: dict[str, ReviewState]
    decided: dict[str, ReviewState]
    aside: dict[str, str]


def first_state(screened: ScreenedQuestion, question: str, source: SourceQuestion) -> ReviewState:
    """Return the state before any review: workers' answers, then the original's right option.

    The right option joins an answer that is another wording of it (`folding.answer_key`).
    """
    answers = [
        ReviewAnswer(
            one.text,
            ("worker",),
            tuple(one.workers),
            wordings=tuple(text for text in one.wordings if text != one.text),
        )
        for one in screened.answers
    ]
    right = " ".join((source.key_text or "").split())
    same = [n for n, answer in enumerate(answers) if answer_key(answer.text) == answer_key(right)]
    if right and same:
        met = answers[same[0]]
        wordings = tuple(
            dict.fromkeys((*met.wordings, right) if right != met.text else met.wordings)
        )
        origins = (*met.origins, "mc_gold")
        answers[same[0]] = msgspec.structs.replace(met, origins=origins, wordings=wordings)
    elif right:
        answers.append(ReviewAnswer(right, ("mc_gold",)))
    return ReviewState(question, tuple(answers))


def replay_decisions(
    first: Mapping[str, ReviewState], decisions: Iterable[Decision]
) -> ReplayedReview:
    """Apply decisions to today's first states.

    Args:
        first: today's state of each question under review, before any decision.
        decisions: the journal's decisions in order; the last one of a question counts.
    """
    decided: dict[str, ReviewState] = {}
    seen: dict[str, set[tuple[str, ...]]] = {}
    for one in decisions:
        decided[one.question_id] = one.state
        seen.setdefault(one.question_id, set()).update(map(answer_key, one.shown.texts))
    states = {
        name: with_late_answers(decided[name], state, seen[name]) if name in decided else state
        for name, state in first.items()
    }
    aside = dict.fromkeys(sorted(decided.keys() - first.keys()), NOT_UNDER_REVIEW)
    return ReplayedReview(states, decided, aside)


def with_late_answers(
    state: ReviewState, today: ReviewState, seen: Collection[tuple[str, ...]]
) -> ReviewState:
    """Add today's answers that no reviewer has seen; known ones get today's workers.

    Args:
        state: where the decisions lead.
        today: the state before any decision, of today's answers.
        seen: keys of all answers that reviewers were shown.
    """
    given = {answer_key(answer.text): answer for answer in today.answers}
    answers = []
    for answer in state.answers:
        met = given.get(answer_key(answer.text))
        if met is not None:
            origins = tuple(dict.fromkeys((*met.origins, *answer.origins)))
            written = (met.text, *met.wordings, *answer.wordings)
            wordings = tuple(text for text in dict.fromkeys(written) if text != answer.text)
            answer = msgspec.structs.replace(
                answer, origins=origins, workers=met.workers, wordings=wordings
            )
        answers.append(answer)
    known = {*seen, *map(answer_key, state.texts)}
    late = [answer for key, answer in given.items() if key not in known]
    return msgspec.structs.replace(state, answers=(*answers, *late))


def read_decisions(path: Path) -> list[Decision]:
    """Read the journal; a last line that a killed process left half written does not count.

    Raises:
        DataError: a line is not a decision, or a number is missing or comes twice.
    """
    if not path.is_file():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    decisions = []
    for number, line in enumerate(lines):
        try:
            if number == 0:
                if msgspec.json.decode(line) != {"run": _IDENTITY}:
                    raise ValueError("it does not begin as a journal")
                continue
            decision = msgspec.json.decode(line, type=Decision)
        except (ValueError, msgspec.MsgspecError) as error:
            problem = f"line {number + 1} is not a decision of the review ({error})"
            raise DataError(problem, file=path, remedy=_RESTORE) from None
        if decision.seq != number:
            problem = f"line {number + 1} has the number {decision.seq}, not {number}"
            raise DataError(problem, file=path, remedy=_RESTORE)
        decisions.append(decision)
    return decisions


def append_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Append decisions to the journal, all of them or none."""
    Journal(path, _IDENTITY, key="seq").add(map(msgspec.to_builtins, decisions))


TABLE_COLUMNS = (
    *("question_id", "decision", "reviewer", "date", "reason"),
    *("question", "answers", "shown"),
)


def decisions_table(decisions: Iterable[Decision]) -> str:
    """Return decisions as a table (CSV); answers and what was shown are JSON in their cells."""
    rows: list[Sequence[str]] = [TABLE_COLUMNS]
    for one in decisions:
        plain = msgspec.to_builtins(one)
        cells = [json.dumps(plain[name], ensure_ascii=False) for name in ("answers", "shown")]
        texts = (one.question_id, one.decision, one.reviewer, one.date, one.reason or "")
        rows.append((*texts, one.question, *cells))
    return to_csv(rows)


def is_decisions_table(record: Any) -> bool:
    """Whether a file's first record is a row of `decisions_table`."""
    return isinstance(record, Mapping) and set(record) == set(TABLE_COLUMNS)


def parse_decisions(records: Iterable[tuple[int, Any]], path: str) -> Iterator[Decision]:
    """Read the rows of a table of decisions; their numbers are still to be given.

    Raises:
        DataError: a row is not a decision.
    """
    for number, record in records:
        cells = {name: free_cell(str(text)) for name, text in record.items()}
        try:
            nested = {name: json.loads(cells[name]) for name in ("answers", "shown")}
            reason = cells["reason"] or None
            yield msgspec.convert({**cells, **nested, "reason": reason, "seq": 0}, Decision)
        except (ValueError, KeyError, msgspec.ValidationError, RecursionError) as error:
            problem = f"is not a decision of the review ({error})"
            raise DataError(problem, file=path, record=number, remedy=_RESTORE) from None


def describe_decision(decision: Decision) -> str:
    """Return a decision as lines: what was shown, changed and decided."""
    texts = ", ".join(map(repr, decision.shown.texts))
    lines = [f"saw {decision.shown.question!r}: {texts}"]
    for operation, before, after in decision.changes():
        change = " -> ".join(repr(text) for text in (before, after) if text)
        lines.append(f"{operation} {change}")
    lines.append(decision.decision + (f" ({decision.reason})" if decision.reason else ""))
    start = f"{decision.seq:>6} {decision.date} {decision.reviewer}:"
    return "\n".join(f"{start} {line}" for line in lines)


def count_changes(decisions: Iterable[Decision]) -> Counter[str]:
    """Count the decisions and the changes in them, by operation."""
    counts: Counter[str] = Counter()
    for decision in decisions:
        counts["changed"] += 1
        counts.update(operation for operation, _, _ in decision.changes())
        shown = (decision.shown.decision, decision.shown.reason)
        counts[decision.decision] += (decision.decision, decision.reason) != shown
    return +counts
