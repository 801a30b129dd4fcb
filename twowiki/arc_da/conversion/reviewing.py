"""Write the reviewer's table and read it back into the log, in a conversion's folder.

Thin: what a row means is in `review_table`, what an event does in `review`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import workspace as ws
from twowiki.arc_da.conversion.review import Event, chain
from twowiki.arc_da.conversion.review_state import (
    State,
    Step,
    apply_step,
    state_hash,
    write_state,
)
from twowiki.arc_da.conversion.review_table import (
    COLUMNS,
    Edited,
    is_edited,
    review_project,
    review_task,
    row_of_annotation,
    row_of_table,
    steps_of,
    table_row,
)
from twowiki.arc_da.conversion.tasks import to_csv
from twowiki.arc_da.conversion.workflow import Reviewed, lines, read_review
from twowiki.arc_da.conversion.workspace import Workspace
from twowiki.arc_da.label_studio import is_export, read_annotations
from twowiki.arc_da.records import read_records
from twowiki.errors import DataError


class Imported(NamedTuple):
    """What an import did; `problems` are the rows that were not carried out."""

    counts: dict[str, Any]
    problems: list[tuple[str, str]]


def export_review(
    work: Workspace, *, everything: bool = False, overwrite: bool = False
) -> dict[str, Any]:
    """Write the table and the Label Studio tasks of the questions that are not settled.

    Raises:
        DataError: a stage is missing, or the table of an earlier export was edited since.
    """
    work.require("review-export")
    review = read_review(work)
    rows = [
        table_row(
            state,
            review.sources[name],
            review.screened[name],
            review.filtered[name]["suggestion"],
        )
        for name, state in review.replay.states.items()
        if everything or not state.is_settled
    ]
    made = {
        "review.csv": to_csv([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]),
        "label_studio_tasks.json": _json([review_task(row) for row in rows]),
        "label_studio_project.json": _json(review_project()),
        "label_studio_config.xml": review_project()["label_config"],
    }
    counts = {"questions": len(review.replay.states), "exported": len(rows)}
    files = {f"{ws.REVIEW}/{name}": text for name, text in made.items()}
    fingerprint = work.fingerprint("review-export", {})
    work.commit("review-export", fingerprint, counts, files, overwrite=overwrite)
    return counts


def import_review(
    work: Workspace, path: str, *, reviewer: str, at: str, longest: int, force: bool = False
) -> Imported:
    """Append to the log what an edited table changes; rows that cannot be carried out are told.

    Args:
        work: the conversion's folder.
        path: the edited table, or an export of Label Studio.
        reviewer: who reviewed (an export names its annotators itself).
        at: time of the import, kept in the events.
        longest: words; a question whose answers are all longer needs a short version.
        force: carry out rows although another reviewer changed the question since the export.

    Raises:
        DataError: a stage is missing, the file is no table, or nobody is named.
    """
    work.require("review-import")
    review = read_review(work)
    states, events = dict(review.replay.states), list(review.events)
    carried_out: dict[str, str] = {}  # question id -> who, in this file
    counts: Counter[str] = Counter()
    problems: list[tuple[str, str]] = []
    for edited, who in _read_rows(path, reviewer):
        name = edited.question_id
        try:
            steps = _steps(edited, who, states, review, longest=longest, force=force)
            if steps and name in carried_out:
                by = carried_out[name]
                raise ValueError(f"stands twice in the file: the row by {by} was carried out")
        except ValueError as error:
            problems.append((name, str(error)))
            continue
        if not steps:
            undecided = not edited.decision and states[name].decision is None
            counts["undecided" if undecided else "unchanged"] += 1
            if not edited.decision and is_edited(edited, states[name]):
                problems.append((name, "edited, but no decision is given"))
            continue
        if states[name] != review.replay.logged.get(name):
            steps = [Step("see", after=write_state(states[name])), *steps]
        events += chain(events, name, steps, reviewer=who, at=at)
        for step in steps:
            states[name] = apply_step(states[name], step)
        carried_out[name] = who
        counts["changed"] += 1
        counts.update(step.op for step in steps if step.op != "see")
    summary = {"events": len(events), **dict(sorted(counts.items())), "problems": len(problems)}
    log = {ws.EVENTS: lines(event._asdict() for event in events)}
    work.commit("review-import", work.fingerprint("review-import", {}), summary, log)
    return Imported(summary, problems)


def _steps(
    edited: Edited,
    reviewer: str,
    states: dict[str, State],
    review: Reviewed,
    *,
    longest: int,
    force: bool,
) -> list[Step]:
    """Compare a row with the question's state, if the row was made from a state we know."""
    name = edited.question_id
    state = states.get(name)
    if state is None:
        why = review.replay.aside.get(name)
        raise ValueError(f"this question is not under review{f': it {why}' if why else ''}")
    steps = steps_of(edited, state, longest=longest)
    before = review.replay.states[name]
    if not steps or force or edited.state in (state_hash(state), state_hash(before)):
        return steps
    logged = review.replay.logged.get(name)
    if logged is not None and not steps_of(edited, logged, longest=longest):
        return []  # decided before, and answers that came since are not this row's matter
    passed = review.replay.passed.get(name, [])
    at = [place for place, (known, _) in enumerate(passed) if known == edited.state]
    others = {who for _, who in passed[at[-1] :] if who != reviewer} if at else set()
    if others:
        names = ", ".join(sorted(others))
        raise ValueError(f"changed since by {names}: export it again, or use --force")
    if not at or state_hash(before) != state_hash(logged or before):
        problem = "the table was made from other data, answers have come or changed since"
        raise ValueError(f"{problem}: export it again, or use --force")
    return steps


def _read_rows(path: str, reviewer: str) -> Iterator[tuple[Edited, str]]:
    """Read rows with who made them."""
    records = list(read_records(path))
    if not records:
        raise DataError("holds no row", file=path, remedy="Keep the rows of review.csv")
    named = "Name the reviewer with --reviewer"
    if is_export(records[0][1]):
        for number, annotation in read_annotations(records, path):
            who = (reviewer or annotation.annotator).strip()
            if not who:
                raise DataError("nobody is named", file=path, record=number, remedy=named)
            yield row_of_annotation(annotation), who
        return
    if not reviewer.strip():
        raise DataError("nobody is named", file=path, remedy=named)
    for number, record in records:
        try:
            yield row_of_table(record), reviewer.strip()
        except ValueError as error:
            remedy = "Keep the columns of review.csv"
            raise DataError(str(error), file=path, record=number, remedy=remedy) from None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def log_of(work: Workspace, question_id: str) -> list[Event]:
    """Give a question's events in order, for reading.

    Raises:
        DataError: the question is not under review, or the log does not fit the data.
    """
    review = read_review(work)
    found = [event for event in review.events if event.question_id == question_id]
    if question_id not in review.replay.states and not found:
        remedy = f"The questions under review stand in {work.path(ws.REVIEW)}"
        raise DataError("not under review", file=work.folder, record=question_id, remedy=remedy)
    return found
