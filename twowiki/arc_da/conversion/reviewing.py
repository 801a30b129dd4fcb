"""Write the reviewer's table and read it back into the log, in a conversion's folder.

Thin: what a row means is in `review_table`, what an event does in `review`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.conversion import workspace as ws
from twowiki.arc_da.conversion.review import Event, State, apply_step, chain, state_hash
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
from twowiki.arc_da.conversion.workflow import Reviewed, read_review
from twowiki.arc_da.conversion.workspace import Workspace
from twowiki.arc_da.label_studio import is_export, read_annotations
from twowiki.arc_da.records import read_records
from twowiki.errors import DataError
from twowiki.files import write_json_lines


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
    work.replace_folder("review-export", made, overwrite=overwrite)
    counts = {"questions": len(review.replay.states), "exported": len(rows)}
    work.finish("review-export", work.fingerprint("review-export", {}), counts, made)
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
    counts: Counter[str] = Counter()
    problems: list[tuple[str, str]] = []
    for edited, who in _read_rows(path, reviewer):
        try:
            steps = _steps(edited, who, states, review, longest=longest, force=force)
        except ValueError as error:
            problems.append((edited.question_id, str(error)))
            continue
        if not steps:
            undecided = not edited.decision and states[edited.question_id].decision is None
            counts["undecided" if undecided else "unchanged"] += 1
            if not edited.decision and is_edited(edited, states[edited.question_id]):
                problems.append((edited.question_id, "edited, but no decision is given"))
            continue
        for step in steps:
            states[edited.question_id] = apply_step(states[edited.question_id], step)
        events += chain(events, edited.question_id, steps, reviewer=who, at=at)
        counts["changed"] += 1
        counts.update(f"{step.op}" for step in steps)
    if len(events) > len(review.events) or not work.path(ws.EVENTS).exists():
        write_json_lines(work.path(ws.EVENTS), (event._asdict() for event in events))
    summary = {"events": len(events), **dict(sorted(counts.items())), "problems": len(problems)}
    work.finish("review-import", work.fingerprint("review-import", {}), summary)
    return Imported(summary, problems)


def _steps(
    edited: Edited,
    reviewer: str,
    states: dict[str, State],
    review: Reviewed,
    *,
    longest: int,
    force: bool,
) -> Sequence[Any]:
    """Compare a row with the question's state, if the row was made from a state we know."""
    state = states.get(edited.question_id)
    if state is None:
        raise ValueError("this question is not under review")
    steps = steps_of(edited, state, longest=longest)
    if not steps or force or edited.state == state_hash(state):
        return steps
    passed = review.replay.passed.get(edited.question_id, [])
    at = [place for place, (name, _) in enumerate(passed) if name == edited.state]
    if not at:
        raise ValueError("the table was made from other data: export it again")
    others = {who for _, who in passed[at[-1] :] if who != reviewer}
    if others:
        names = ", ".join(sorted(others))
        raise ValueError(f"changed since by {names}: export it again, or use --force")
    return steps


def _read_rows(path: str, reviewer: str) -> Iterator[tuple[Edited, str]]:
    """Read rows with who made them."""
    first = next((record for _, record in read_records(path)), None)
    if first is None:
        raise DataError("holds no row", file=path)
    if is_export(path):
        for annotation in read_annotations(path):
            yield row_of_annotation(annotation), reviewer or annotation.annotator
        return
    if not reviewer.strip():
        raise DataError("nobody is named", file=path, remedy="Name the reviewer with --reviewer")
    for number, record in read_records(path):
        try:
            yield row_of_table(record), reviewer
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
    if question_id not in review.replay.states:
        raise DataError("not under review", file=work.folder, record=question_id)
    return [event for event in review.events if event.question_id == question_id]
