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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.review_state import (
    State,
    Step,
    apply_step,
    parse_state,
    state_hash,
    with_late,
)
from twowiki.arc_da.conversion.screening import answer_key
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
