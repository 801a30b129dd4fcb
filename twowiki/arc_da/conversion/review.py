"""Expert review as an append-only log of events, and the state that the log leads to.

In: screened questions with their originals, events. Out: each question's state. The log is the
only memory: replaying it on the same data gives the same states, so the release is a function of
the data and the log. Each event carries the hash of the one before, so a changed log is noticed.

A `see` event holds what the reviewer was shown; the steps after it are carried out on that, not on
today's answers, so answers that come late or are corrected never break the log. Answers that no
reviewer has seen join the state unconfirmed. A question that is not under review any more keeps
its events, and is set aside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.filter import key_text
from twowiki.arc_da.conversion.screening import answer_key
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.errors import DataError

OPERATIONS = (
    *("accept", "reject", "reword_question", "verify_answer", "remove_answer"),
    *("add_answer", "add_short_version", "see"),
)
NOT_UNDER_REVIEW = "does not pass the filters any more"
NOT_THESE_ANSWERS = "was reviewed on other answers than today's; review it again"
_RESTORE = "Restore the log"
_FIELDS = ("seq", "at", "reviewer", "question_id", "op", "before", "after", "reason", "previous")


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


class Replay(NamedTuple):
    """Where a log leads.

    Attributes:
        states: of each question under review, with the answers that came since.
        passed: for each question the hashes of the states that it passed, and by whom.
        logged: states without the answers that came since.
        aside: questions whose events are not carried out, and why.
    """

    states: dict[str, State]
    passed: dict[str, list[tuple[str, str]]]
    logged: dict[str, State]
    aside: dict[str, str]


def replay(first: Mapping[str, State], events: Iterable[Event]) -> Replay:
    """Apply a log to the first states.

    Args:
        first: today's state of each question under review, before any event.
        events: the log.

    Raises:
        DataError: a line was changed or is out of order.
    """
    logged: dict[str, State] = {}
    seen: dict[str, set[tuple[str, ...]]] = {}
    passed: dict[str, list[tuple[str, str]]] = {}
    misfit: set[str] = set()
    touched: set[str] = set()
    for event in _chained(events):
        touched.add(event.question_id)
        name, state = event.question_id, logged.get(event.question_id)
        try:
            if event.op == "see":
                logged[name] = parse_state(event.after or "")
                seen.setdefault(name, set()).update(map(answer_key, logged[name].texts))
                misfit.discard(name)
                continue
            if name in misfit or (state is None and name not in first):
                continue
            if state is None:  # a log without `see` events: it was written on these answers
                state = first[name]
                seen[name] = set(map(answer_key, state.texts))
            step = Step(event.op, event.before, event.after, event.reason)
            passed.setdefault(name, []).append((state_hash(state), event.reviewer))
            logged[name] = apply_step(state, step)
        except ValueError:
            misfit.add(name)
            logged.pop(name, None)
    states = {
        name: with_late(logged[name], state, seen[name]) if name in logged else state
        for name, state in first.items()
    }
    aside = dict.fromkeys(sorted(misfit), NOT_THESE_ANSWERS)
    aside |= dict.fromkeys(sorted(touched - first.keys()), NOT_UNDER_REVIEW)
    return Replay(states, passed, logged, aside)


def _chained(events: Iterable[Event]) -> Iterator[Event]:
    expected, previous = 1, ""
    for event in events:
        if event.seq != expected or event.previous != previous:
            problem = "the log was changed: its chain of hashes breaks here"
            raise DataError(problem, record=f"seq {event.seq}", remedy=_RESTORE)
        yield event
        expected, previous = expected + 1, event_hash(event)


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


def describe_event(event: Event) -> str:
    """Write an event as a line for reading."""
    change = " -> ".join(repr(text) for text in (event.before, event.after) if text)
    if event.op == "see":
        shown = parse_state(event.after or "")
        change = f"{shown.question!r}: {', '.join(map(repr, shown.texts))}"
    why = f" ({event.reason})" if event.reason else ""
    return f"{event.seq:>6} {event.at} {event.reviewer}: {event.op} {change}{why}"


def parse_event(raw: Mapping[str, Any]) -> Event:
    """Read a line of the log.

    Raises:
        DataError: a field is missing or unknown, or has another type.
    """
    seq = raw.get("seq")
    if set(raw) != set(_FIELDS) or not isinstance(seq, int):
        raise DataError(f"an event has exactly the fields {', '.join(_FIELDS)}", remedy=_RESTORE)
    if raw["op"] not in OPERATIONS:
        problem = f"unknown operation {raw['op']!r}"
        raise DataError(problem, record=f"seq {seq}", field="op", remedy=_RESTORE)
    for name in _FIELDS[1:]:
        optional = name in ("before", "after", "reason")
        if not isinstance(raw[name], str) and not (optional and raw[name] is None):
            raise DataError("must be text", record=f"seq {seq}", field=name, remedy=_RESTORE)
    if raw["op"] == "see":
        try:
            parse_state(raw["after"] or "")
        except ValueError as error:
            raise DataError(
                str(error), record=f"seq {seq}", field="after", remedy=_RESTORE
            ) from None
    return Event(**raw)


REASONS = {
    "too_open": "too many answers would be right",
    "invalid": "the question or its facts are wrong",
    "ambiguous": "it can be read in several ways",
    "needs_options": "it cannot be answered without the options",
}


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


class Step(NamedTuple):
    """A change not yet in the log."""

    op: str
    before: str | None = None
    after: str | None = None
    reason: str | None = None


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
    """Name what a reviewer decides on by 12 hex digits, after a letter as no number has one.

    Who gave an answer does not count: one more worker with a known answer changes no decision.
    """
    answers = [(answer.text, answer.verified, answer.short_of) for answer in state.answers]
    content = json.dumps([state.question, answers, state.decision, state.reason])
    return "s" + hashlib.sha256(content.encode()).hexdigest()[:12]


def write_state(state: State) -> str:
    """Write a state as the text that a `see` event holds."""
    answers = [answer._asdict() for answer in state.answers]
    return json.dumps({**state._asdict(), "answers": answers}, ensure_ascii=False)


def parse_state(text: str) -> State:
    """Read what `write_state` wrote.

    Raises:
        ValueError: it is something else.
    """
    try:
        raw = json.loads(text)
        answers = tuple(
            Answer(**{**entry, "origins": tuple(entry["origins"]),
                      "workers": tuple(entry["workers"])})
            for entry in raw["answers"]
        )  # fmt: skip
        return State(**{**raw, "answers": answers})
    except (ValueError, TypeError, KeyError):
        raise ValueError("what the reviewer saw cannot be read") from None


def apply_step(state: State, step: Step) -> State:
    """Carry out one step.

    Raises:
        ValueError: the step does not fit the state (its `before` is not there, and the like).
    """
    op, before, after, reason = step
    if op == "see":
        return parse_state(after or "")
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


def with_late(state: State, today: State, seen: Collection[tuple[str, ...]]) -> State:
    """Add today's answers that no reviewer has seen; known ones get today's workers.

    Args:
        state: where the log leads.
        today: the state before any event, of today's answers.
        seen: keys of all answers that reviewers were shown.
    """
    given = {answer_key(answer.text): answer for answer in today.answers}
    answers = []
    for answer in state.answers:
        met = given.get(answer_key(answer.text))
        if met is not None:
            origins = tuple(dict.fromkeys((*met.origins, *answer.origins)))
            answer = answer._replace(origins=origins, workers=met.workers)
        answers.append(answer)
    known = {*seen, *map(answer_key, state.texts)}
    late = [answer for key, answer in given.items() if key not in known]
    return state._replace(answers=(*answers, *late))


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
