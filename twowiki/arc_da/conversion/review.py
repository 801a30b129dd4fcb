"""Expert review as an append-only log of events, and the state that the log leads to.

In: screened questions with their originals, events. Out: each question's state. The log is the
only memory: replaying it on the same data gives the same states, so the release is a function of
the data and the log. Each event carries the hash of the one before, so a changed log is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.filtering import key_text
from twowiki.arc_da.scoring import answer_tokens
from twowiki.errors import DataError

REASONS = {
    "too_open": "too many answers would be right",
    "invalid": "the question or its facts are wrong",
    "ambiguous": "it can be read in several ways",
    "needs_options": "it cannot be answered without the options",
}
OPERATIONS = (
    *("accept", "reject", "reword_question", "verify_answer", "remove_answer"),
    *("add_answer", "add_short_version"),
)
_FIELDS = ("seq", "at", "reviewer", "question_id", "op", "before", "after", "reason", "previous")


class Answer(NamedTuple):
    """An answer under review.

    Attributes:
        text: its wording.
        origins: out of `worker`, `mc_gold` (the original's right option), `expert`.
        workers: the workers who gave it.
        short_of: the longer answer that it shortens.
        verified: whether an expert has confirmed it.
    """

    text: str
    origins: tuple[str, ...]
    workers: tuple[str, ...] = ()
    short_of: str | None = None
    verified: bool = False


class State(NamedTuple):
    """What is settled about a question: `decision` is accept, reject or None."""

    question: str
    answers: tuple[Answer, ...]
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

    def find(self, text: str) -> Answer | None:
        """Give the answer with exactly this wording."""
        return next((answer for answer in self.answers if answer.text == text), None)


class Event(NamedTuple):
    """One step of the review; `previous` is the hash of the line before."""

    seq: int
    at: str
    reviewer: str
    question_id: str
    op: str
    before: str | None = None
    after: str | None = None
    reason: str | None = None
    previous: str = ""


class Step(NamedTuple):
    """A change not yet in the log."""

    op: str
    before: str | None = None
    after: str | None = None
    reason: str | None = None


class Replay(NamedTuple):
    """Where a log leads: states, and for each question the states that it passed, by whom."""

    states: dict[str, State]
    passed: dict[str, list[tuple[str, str]]]


def first_state(screened: Mapping[str, Any], question: str, source: Mapping[str, Any]) -> State:
    """Make the state before any review: workers' answers, then the original's right option.

    The right option joins an answer that differs from it in case, articles and punctuation alone.
    """
    answers = [
        Answer(entry["text"], ("worker",), tuple(entry["workers"])) for entry in screened["answers"]
    ]
    right = " ".join((key_text(source) or "").split())
    if right:
        key = answer_tokens(right)
        same = [place for place, a in enumerate(answers) if answer_tokens(a.text) == key]
        if same:
            met = answers[same[0]]
            answers[same[0]] = met._replace(origins=(*met.origins, "mc_gold"))
        else:
            answers.append(Answer(right, ("mc_gold",)))
    return State(question, tuple(answers))


def state_hash(state: State) -> str:
    """Name a state in 12 hex digits."""
    content = json.dumps(state, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def apply_step(state: State, step: Step) -> State:
    """Carry out one step.

    Raises:
        ValueError: the step does not fit the state (its `before` is not there, and the like).
    """
    op, before, after, reason = step
    if op == "accept":
        if not state.answers:
            raise ValueError("no answer is left, so it cannot be accepted")
        return state._replace(decision="accept", reason=None)
    if op == "reject":
        if reason not in REASONS:
            raise ValueError(f"a rejection needs a reason out of {', '.join(REASONS)}")
        return state._replace(decision="reject", reason=reason)
    if op == "reword_question":
        if before != state.question or not after:
            raise ValueError("the question has another wording")
        return state._replace(question=after)
    if op in ("verify_answer", "remove_answer"):
        return _touch(state, op, before)
    if op in ("add_answer", "add_short_version"):
        if not after or state.find(after) is not None:
            raise ValueError("the new answer is empty or already there")
        known = None if before is None else state.find(before)
        if known is None and (before is not None or op == "add_short_version"):
            raise ValueError("the answer that it rewords or shortens is not there")
        new = Answer(after, ("expert",), short_of=before, verified=True)
        if known is not None and op == "add_answer":
            new = known._replace(text=after, origins=_joined(known.origins), verified=True)
        return state._replace(answers=(*state.answers, new))
    raise ValueError(f"unknown operation {op!r}")


def replay(first: Mapping[str, State], events: Iterable[Event]) -> Replay:
    """Apply a log to the first states.

    Raises:
        DataError: a line was changed or is out of order, or does not fit the data.
    """
    states = dict(first)
    passed: dict[str, list[tuple[str, str]]] = {}
    expected, previous = 1, ""
    for event in events:
        if event.seq != expected or event.previous != previous:
            problem = "the log was changed: its chain of hashes breaks here"
            raise DataError(problem, record=f"seq {event.seq}", remedy="Restore the log")
        state = states.get(event.question_id)
        if state is None:
            problem = f"the question {event.question_id} is not under review"
            remedy = "The log belongs to other data; restore the screened file"
            raise DataError(problem, record=f"seq {event.seq}", remedy=remedy)
        passed.setdefault(event.question_id, []).append((state_hash(state), event.reviewer))
        try:
            step = Step(event.op, event.before, event.after, event.reason)
            states[event.question_id] = apply_step(state, step)
        except ValueError as error:
            problem = f"does not fit {event.question_id}: {error}"
            raise DataError(problem, record=f"seq {event.seq}", field=event.op) from None
        expected, previous = expected + 1, event_hash(event)
    return Replay(states, passed)


def chain(
    log: Sequence[Event], question_id: str, steps: Iterable[Step], *, reviewer: str, at: str
) -> list[Event]:
    """Make events of steps, to be put at the log's end."""
    new: list[Event] = []
    for step in steps:
        last = new[-1] if new else (log[-1] if log else None)
        new.append(
            Event(
                1 if last is None else last.seq + 1,
                at,
                reviewer,
                question_id,
                *step,
                previous="" if last is None else event_hash(last),
            )
        )
    return new


def event_hash(event: Event) -> str:
    """Hash an event with its link to the one before (16 hex digits)."""
    content = json.dumps(event._asdict(), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def parse_event(raw: Mapping[str, Any]) -> Event:
    """Read a line of the log.

    Raises:
        DataError: a field is missing or unknown, or has another type.
    """
    seq = raw.get("seq")
    if set(raw) != set(_FIELDS) or not isinstance(seq, int):
        raise DataError(f"an event has exactly the fields {', '.join(_FIELDS)}")
    if raw["op"] not in OPERATIONS:
        raise DataError(f"unknown operation {raw['op']!r}", record=f"seq {seq}", field="op")
    for name in _FIELDS[1:]:
        optional = name in ("before", "after", "reason")
        if not isinstance(raw[name], str) and not (optional and raw[name] is None):
            raise DataError("must be text", record=f"seq {seq}", field=name)
    return Event(**raw)


def _joined(origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*origins, "expert")))


def _touch(state: State, op: str, text: str | None) -> State:
    if text is None or state.find(text) is None:
        raise ValueError(f"the answer {text!r} is not there")
    if op == "remove_answer":
        kept = tuple(answer for answer in state.answers if answer.text != text)
        return state._replace(answers=kept)
    answers = tuple(
        answer._replace(verified=True) if answer.text == text else answer
        for answer in state.answers
    )
    return state._replace(answers=answers)
