"""Read workers' answers back: Label Studio's exports, filled sheets, Mechanical Turk's results.

In: files of any of these kinds, told apart by their fields. Out: `Submission`s; merged into the
crowd file by question and worker, so that importing a file twice changes nothing.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from twowiki.arc_da.conversion.crowd import Submission, crowd_record
from twowiki.arc_da.conversion.tasks import free_cell
from twowiki.arc_da.label_studio import is_export, read_annotations
from twowiki.arc_da.records import person_of_field, read_records, text_of_field
from twowiki.errors import DataError

KINDS = (
    "An export of Label Studio (JSON, JSON_MIN or CSV), a filled answers_N.csv, Mechanical Turk's "
    "results, or lines with question_id, worker_id, answers, category"
)
_TURK_FIELD = re.compile(r"(Input|Answer)\.(question_id|answers|category)_(\d+)(?:\.(\w+))?")


def read_submissions(path: str, *, worker: str = "") -> Iterator[Submission]:
    """Read a file's submissions; a sheet's blank rows are questions left out, and give none.

    Args:
        path: the file.
        worker: who filled the file, where it does not say.

    Raises:
        DataError: the file is of no known kind.
    """
    records = list(read_records(path))
    if not records:
        raise DataError("holds no answers", file=path, remedy=KINDS)
    for number, record in records:
        if not isinstance(record, Mapping):
            raise DataError("is none of the known kinds", file=path, record=number, remedy=KINDS)
    first = records[0][1]
    if is_export(first):
        yield from _from_label_studio(records, path)
    elif "WorkerId" in first:
        for number, record in records:
            yield from _from_turk(record, path, number)
    elif "question_id" in first and ("answers" in first or "raw" in first):
        for number, record in records:
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


def _from_label_studio(records: Iterable[tuple[int, Any]], path: str) -> Iterator[Submission]:
    for number, annotation in read_annotations(records, path):
        question = annotation.data.get("question_id")
        if not isinstance(question, str) or not question.strip():
            remedy = "Export the project that the tasks of export-tasks were imported into"
            problem = "a task has no question_id"
            raise DataError(problem, file=path, record=number, remedy=remedy)
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
    field = "raw" if "raw" in record and "answers" not in record else "answers"
    if field not in record:
        problem, remedy = "is missing", "Write '' where a question was left out"
        raise DataError(problem, file=path, record=number, field=field, remedy=remedy)
    text = _typed(record[field], path, number, field)
    category = _typed(record.get("category"), path, number, "category")
    if not text.strip() and not category.strip():
        return
    who = (
        person_of_field(record, "worker_id", path, number)
        or person_of_field(record, "worker", path, number)
        or worker
    )
    if not who.strip():
        remedy = "Fill the column worker_id, or name the worker with --worker"
        raise DataError(
            "nobody is named", file=path, record=number, field="worker_id", remedy=remedy
        )
    yield Submission(
        free_cell(text_of_field(record, "question_id", path, number)),
        who,
        text,
        category,
        str(record.get("assignment") or ""),
        _number(record.get("seconds")),
        str(record.get("submitted_at") or ""),
    )


def _typed(value: Any, path: str, number: int, field: str) -> str:
    """Give what a person typed: a text, a number, or a list of texts; null is nothing."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return "; ".join(value)
    if value is None or isinstance(value, str):
        return free_cell(value or "")
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return str(value)
    remedy = "Write a text, or a list of texts"
    raise DataError("must be text", file=path, record=number, field=field, remedy=remedy)


def _from_turk(record: Mapping[str, Any], path: str, number: int) -> Iterator[Submission]:
    """Read one assignment: up to five questions; rejected assignments are left out."""
    if str(record.get("AssignmentStatus") or "").casefold() == "rejected":
        return
    places: dict[str, dict[str, str]] = {}
    for name, value in {**record, **_crowd_form(record, path, number)}.items():
        match = _TURK_FIELD.fullmatch(str(name))
        if match is None or value is None:
            continue
        side, field, place, option = match.groups()
        found = places.setdefault(place, {})
        if option is None:  # inputs were written for HTML, see `tasks`
            found[field] = html.unescape(str(value)) if side == "Input" else str(value)
        elif str(value).casefold() == "true":
            found[field] = option
    for _, found in sorted(places.items()):
        text, category = found.get("answers", ""), found.get("category", "")
        if not text.strip() and not category.strip():
            continue
        if not found.get("question_id"):
            remedy = "Keep the columns Input.question_id_1 ... of the results"
            raise DataError("an answer without its question", file=path, record=number,
                            field="Input.question_id", remedy=remedy)  # fmt: skip
        yield Submission(
            found["question_id"],
            text_of_field(record, "WorkerId", path, number),
            text,
            category,
            str(record.get("AssignmentId") or ""),
            _number(record.get("WorkTimeInSeconds")),
            str(record.get("SubmitTime") or ""),
        )


def _crowd_form(record: Mapping[str, Any], path: str, number: int) -> dict[str, str]:
    """Open the JSON that newer forms put into `Answer.taskAnswers`."""
    field = "Answer.taskAnswers"
    try:
        answers = json.loads(record.get(field) or "[]")
    except (TypeError, ValueError):
        answers = None
    if not isinstance(answers, list) or not all(isinstance(entry, dict) for entry in answers):
        remedy = "Keep Mechanical Turk's results as they came"
        raise DataError(
            "must be a list of objects", file=path, record=number, field=field, remedy=remedy
        )
    opened: dict[str, str] = {}
    for entry in answers:
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
