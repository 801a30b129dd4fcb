"""One worker's answers to one question: cut, categorised, checked, with a reason where refused.

In: what a worker typed and ticked. Out: a record of the crowd file. Nothing typed is lost: `raw`
keeps it. `don't know` and `?` are never answers; a text and a category that contradict each other
are a conflict, kept and not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.filter import key_text
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.human.pseudonyms import pseudonym
from twowiki.human.task_files import TaskLayout, read_results

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
LAYOUT = TaskLayout(
    "question_id",
    ("answers", "category"),
    ("worker_id", "worker"),
    "--worker",
    {"answers": "raw"},
)
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
        "worker": pseudonym(given.worker, key),
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


def read_submissions(path: str, *, worker: str = "") -> Iterator[Submission]:
    """Read a file's answers; a sheet's blank rows are questions left out, and give none.

    Args:
        path: a file of any sort that `read_results` knows.
        worker: who filled the file, where it does not say.

    Raises:
        DataError: the file is of no known sort, or names no worker.
    """
    for result in read_results(path, LAYOUT, person=worker):
        yield Submission(
            str(result.data["question_id"]),
            result.person,
            "; ".join(result.values.get("answers", [])),
            result.first("category"),
            result.assignment,
            result.seconds,
            result.submitted_at,
        )


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
