"""Read workers' answers back: Label Studio's exports, filled sheets, Mechanical Turk's results.

In: files of any of these kinds, told apart by their fields. Out: `Submission`s; merged into the
crowd file by question and worker, so that importing a file twice changes nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from twowiki.arc_da.conversion.crowd import Submission, crowd_record
from twowiki.arc_da.conversion.tasks import free_cell
from twowiki.arc_da.label_studio import is_export, read_annotations
from twowiki.arc_da.records import read_records
from twowiki.errors import DataError

KINDS = (
    "An export of Label Studio (JSON, JSON_MIN or CSV), a filled answers_N.csv, Mechanical Turk's "
    "results, or lines with question_id, worker_id, answers, category"
)
_TURK_FIELD = re.compile(r"(?:Input|Answer)\.(question_id|answers|category)_(\d+)(?:\.(\w+))?")


def read_submissions(path: str, *, worker: str = "") -> Iterator[Submission]:
    """Read a file's submissions; a sheet's blank rows are questions left out, and give none.

    Args:
        path: the file.
        worker: who filled the file, where it does not say.

    Raises:
        DataError: the file is of no known kind.
    """
    first = next((record for _, record in read_records(path)), None)
    if first is None:
        raise DataError("holds no answers", file=path, remedy=KINDS)
    if not isinstance(first, Mapping):
        raise DataError("is none of the known kinds", file=path, remedy=KINDS)
    if is_export(path):
        yield from _from_label_studio(path)
    elif "WorkerId" in first:
        for _, record in read_records(path):
            yield from _from_turk(record)
    elif "question_id" in first and ("answers" in first or "raw" in first):
        for number, record in read_records(path):
            yield from _from_sheet(record, path, number, worker)
    else:
        problem = f"is none of the known kinds (fields {', '.join(map(str, first))})"
        raise DataError(problem, file=path, remedy=KINDS)


def merge_submissions(
    known: Iterable[dict[str, Any]],
    given: Iterable[Submission],
    filtered: Mapping[str, Mapping[str, Any]],
    sources: Mapping[str, Mapping[str, Any]],
    key: bytes,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Merge submissions into the crowd file: one record a question and worker, the latest.

    Args:
        known: the crowd file so far.
        given: new submissions.
        filtered: the filter's records by question id (the text that was asked).
        sources: the source records by question id.
        key: secret that hides workers' ids.

    Returns:
        All records by question, then in order of arrival, and counts of what came in.
    """
    merged = {(record["question_id"], record["worker"]): record for record in known}
    counts: Counter[str] = Counter()
    for submission in given:
        asked = filtered.get(submission.question_id)
        source = sources.get(submission.question_id) if asked and asked["kept"] else None
        question = asked["question"] if asked else ""
        record = crowd_record(submission, source, question, key)
        place = (record["question_id"], record["worker"])
        before = merged.get(place)
        if before is not None and record["submitted_at"] < before["submitted_at"]:
            counts["older, left"] += 1
            continue
        counts["same" if before == record else "replaced" if before else "new"] += 1
        merged[place] = record
    order = {question_id: place for place, question_id in enumerate(filtered)}
    records = sorted(merged.values(), key=lambda record: order.get(record["question_id"], -1))
    return records, {"submissions": dict(sorted(counts.items())), **count_records(records)}


def count_records(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Count the crowd file: by status, by reason, flags, categories."""
    listed = list(records)
    return {
        "records": len(listed),
        "workers": len({record["worker"] for record in listed}),
        "status": dict(sorted(Counter(record["status"] for record in listed).items())),
        "refused": dict(
            sorted(Counter(r["reason"] for r in listed if r["status"] == "refused").items())
        ),
        "conflicts": dict(
            sorted(Counter(r["reason"] for r in listed if r["status"] == "conflict").items())
        ),
        "flags": dict(sorted(Counter(flag for r in listed for flag in r["flags"]).items())),
        "categories": dict(sorted(Counter(r["category"] or "none" for r in listed).items())),
    }


def _from_label_studio(path: str) -> Iterator[Submission]:
    for annotation in read_annotations(path):
        question = annotation.data.get("question_id")
        if not isinstance(question, str):
            remedy = "Export the project that the tasks of export-tasks were imported into"
            raise DataError("a task has no question_id", file=path, remedy=remedy)
        category = annotation.values.get("category", [""])
        yield Submission(
            question,
            annotation.annotator,
            "; ".join(annotation.values.get("answers", [])),
            category[0] if category else "",
            annotation.annotation_id,
            annotation.seconds,
            annotation.created_at,
        )


def _from_sheet(
    record: Mapping[str, Any], path: str, number: int, worker: str
) -> Iterator[Submission]:
    answers = record.get("answers", record.get("raw")) or ""
    text = "; ".join(map(str, answers)) if isinstance(answers, list) else free_cell(str(answers))
    category = str(record.get("category") or "")
    if not text.strip() and not category.strip():
        return
    who = str(record.get("worker_id") or record.get("worker") or worker)
    if not who.strip():
        remedy = "Fill the column worker_id, or name the worker with --worker"
        raise DataError(
            "nobody is named", file=path, record=number, field="worker_id", remedy=remedy
        )
    yield Submission(
        str(record["question_id"]),
        who,
        text,
        category,
        str(record.get("assignment") or ""),
        _number(record.get("seconds")),
        str(record.get("submitted_at") or ""),
    )


def _from_turk(record: Mapping[str, Any]) -> Iterator[Submission]:
    """Read one assignment: up to five questions; rejected assignments are left out."""
    if str(record.get("AssignmentStatus", "")).casefold() == "rejected":
        return
    places: dict[str, dict[str, str]] = {}
    for name, value in {**record, **_crowd_form(record)}.items():
        match = _TURK_FIELD.fullmatch(str(name))
        if match is None or value is None:
            continue
        field, place, option = match.groups()
        found = places.setdefault(place, {})
        if option is None:
            found[field] = str(value)
        elif str(value).casefold() == "true":
            found[field] = option
    for _, found in sorted(places.items()):
        text, category = found.get("answers", ""), found.get("category", "")
        if found.get("question_id") and (text.strip() or category.strip()):
            yield Submission(
                found["question_id"],
                str(record["WorkerId"]),
                text,
                category,
                str(record.get("AssignmentId") or ""),
                _number(record.get("WorkTimeInSeconds")),
                str(record.get("SubmitTime") or ""),
            )


def _crowd_form(record: Mapping[str, Any]) -> dict[str, str]:
    """Open the JSON that newer forms put into `Answer.taskAnswers`."""
    try:
        answers = json.loads(record.get("Answer.taskAnswers") or "[]")
    except ValueError:
        return {}
    opened: dict[str, str] = {}
    for entry in answers if isinstance(answers, list) else []:
        for name, value in entry.items():
            if isinstance(value, dict):
                opened |= {f"Answer.{name}.{option}": str(on) for option, on in value.items()}
            else:
                opened[f"Answer.{name}"] = str(value)
    return opened


def _number(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        return None
