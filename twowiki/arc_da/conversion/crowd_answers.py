"""One worker's answers to one question: cut, categorised, checked, with a reason where refused.

In: what a worker typed and ticked. Out: a record of the crowd file. Nothing typed is lost: `raw`
keeps it. `don't know` and `?` are never answers; a text and a category that contradict each other
are a conflict, kept and not counted.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.crowd_tasks import free_cell
from twowiki.arc_da.conversion.filter import key_text
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.errors import DataError
from twowiki.human.label_studio import is_export, read_annotations
from twowiki.io.files import write_text
from twowiki.io.records import person_of_field, read_records, text_of_field

CATEGORIES = {
    "single": "One clear answer",
    "one_concept": "One idea, several wordings",
    "several": "A few different answers (2 to 4)",
    "many": "Very many answers",
    "dont_know": "I do not know",
    "nonsense": "It makes no sense without choices",
}
STATUSES = ("answered", "dont_know", "nonsense", "conflict", "refused")
MOST_ANSWERS = 5
MOST_CHARACTERS = 200
_DONT_KNOW = frozenset(
    ("dont know", "i dont know", "do not know", "i do not know", "idk", "not sure", "no idea")
)
_APOSTROPHES = re.compile(r"['\u2018\u2019\u02bc`\u00b4]")


class Submission(NamedTuple):
    """What came back from one worker for one question, from whatever tool."""

    question_id: str
    worker: str
    text: str
    category: str
    assignment: str = ""
    seconds: float | None = None
    submitted_at: str = ""


def crowd_record(
    given: Submission, source: Mapping[str, Any] | None, question: str, key: bytes
) -> dict[str, Any]:
    """Check one submission.

    Args:
        given: the submission.
        source: the question's source record, None if the question was never asked.
        question: the text that the worker saw.
        key: secret that hides the worker's id (the same worker keeps the same name).

    Returns:
        The record: `status` is one of `STATUSES`, `reason` says why an answer was refused or is
        in conflict, `flags` are remarks that change nothing.
    """
    category = parse_category(given.category)
    pieces = split_answers(given.text)
    answers = [piece for piece in pieces if not _is_dont_know(piece) and not _is_nonsense(piece)]
    status, reason = _status(pieces, answers, category, given.category)
    if not given.worker.strip():
        status, reason = "refused", "no_worker"
    if source is None:
        status, reason = "refused", "unknown_question"
    elif status == "answered" and (fault := _fault(given.text, answers, source, question)):
        status, reason = "refused", fault
    return {
        "question_id": given.question_id,
        "worker": hide(given.worker, key),
        "assignment": given.assignment,
        "raw": given.text,
        "answers": answers if status == "answered" else [],
        "category": category,
        "status": status,
        "reason": reason,
        "flags": _flags(pieces, answers, category, source),
        "seconds": given.seconds,
        "submitted_at": given.submitted_at,
    }


def split_answers(text: str) -> list[str]:
    """Cut at semicolons (commas belong to answers); tidy spaces; drop empty and repeated pieces."""
    pieces: dict[str, str] = {}
    for piece in text.split(";"):
        tidy = " ".join(piece.split())
        if tidy:
            pieces.setdefault(tidy.casefold(), tidy)
    return list(pieces.values())


def parse_category(text: str) -> str | None:
    """Find the category that a code, a label, or a number from 1 to 6 means; None if none does."""
    tidy = " ".join(text.split()).casefold()
    for number, (code, label) in enumerate(CATEGORIES.items(), start=1):
        if tidy in (code, label.casefold(), str(number)):
            return code
    return None


def has_said(record: Mapping[str, Any]) -> bool:
    """Whether a worker is done with a question; a refused answer is still to be given."""
    return str(record["status"]) != "refused"


def _status(
    pieces: list[str], answers: list[str], category: str | None, ticked: str
) -> tuple[str, str | None]:
    """Compare what was typed with what was ticked."""
    if category is None and ticked.strip():
        return "refused", "unknown_category"
    if answers:
        if category in ("dont_know", "nonsense"):
            return "conflict", f"answered but ticked {category}"
        return "answered", None
    typed = {"nonsense" if _is_nonsense(piece) else "dont_know" for piece in pieces}
    if not typed:
        if category in ("dont_know", "nonsense"):
            return category, None
        return "refused", "no_answer"
    said = "nonsense" if "nonsense" in typed else "dont_know"
    if category in (None, said):
        return said, None
    return "conflict", f"typed {said} but ticked {category}"


def _fault(text: str, answers: list[str], source: Mapping[str, Any], question: str) -> str | None:
    """Name what makes an answer unusable."""
    if len(answers) > MOST_ANSWERS:
        return "too_many_answers"
    if len(text) > MOST_CHARACTERS:
        return "too_long"
    if any(answer_tokens(answer) == answer_tokens(question) for answer in answers):
        return "repeats_question"
    options = [answer_tokens(entry["text"]) for entry in source["choices"]]
    said = answer_tokens(text.replace(";", " ; "))
    if len(options) > 1 and all(_within(option, said) for option in options):
        return "options_pasted"
    return None


def _flags(
    pieces: list[str],
    answers: list[str],
    category: str | None,
    source: Mapping[str, Any] | None,
) -> list[str]:
    flags = []
    if answers and len(answers) < len(pieces):
        flags.append("non_answers_dropped")
    if category is None:
        flags.append("no_category")
    if source is not None:
        right = key_text(source)
        options = {answer_tokens(entry["text"]): entry["text"] for entry in source["choices"]}
        met = [options[words] for words in map(answer_tokens, answers) if words in options]
        if right is not None and right in met:
            flags.append("equals_right_option")
        if any(text != right for text in met):
            flags.append("equals_wrong_option")
    return flags


def _within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    starts = range(len(outer) - len(inner) + 1)
    return bool(inner) and any(outer[start : start + len(inner)] == inner for start in starts)


def _is_dont_know(text: str) -> bool:
    words = re.sub(r"[^\w\s]", " ", _APOSTROPHES.sub("", text).casefold())
    return " ".join(words.split()) in _DONT_KNOW


def _is_nonsense(text: str) -> bool:
    return "?" in text and not text.strip("? .!")


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


def hide(person: str, key: bytes) -> str:
    """Replace a person's id by a keyed hash: the same person, the same name, no way back."""
    return "w" + hmac.new(key, person.strip().encode(), "sha256").hexdigest()[:12]


def secret_key(own: Path, *, given: str | None, used: bool) -> bytes:
    """Read the secret that hides people's ids; make one where nothing was hidden yet.

    A fingerprint of it stays beside `own`, so that another secret is noticed.

    Args:
        own: where the folder keeps its secret.
        given: a file of the user's, to be taken instead.
        used: whether the folder holds records that were hidden with a secret.

    Raises:
        DataError: there is none and none may be made, it is empty, or another one was used.
    """
    path = own if given is None else Path(given)
    if not path.exists():
        if given is not None or used:
            problem = "no such key file" if given else "the key is gone that hid people's ids"
            remedy = "Write any secret text into it" if given else "Restore it"
            raise DataError(problem, file=path, remedy=remedy)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
    if not path.is_file():
        raise DataError("is not a file", file=path, remedy="Name a file that holds the secret")
    key = path.read_bytes().strip()
    if not key:
        raise DataError("the key file is empty", file=path, remedy="Write any secret text into it")
    mark = own.with_name(own.name + ".fingerprint")
    print_of_key = hashlib.sha256(b"twowiki key\n" + key).hexdigest()[:16]
    before = mark.read_text(encoding="utf-8").strip() if used and mark.is_file() else None
    if before not in (None, print_of_key):
        problem = "another key hid the people's ids of this folder, so one person would become two"
        remedy = f"Give the key that was used before (its fingerprint is in {mark})"
        raise DataError(problem, file=path, remedy=remedy)
    if before is None:
        write_text(mark, print_of_key + "\n")
    return key
