"""Ratings of systems' answers by people: one record per rating, the rubric of Table 2.

In: JSON lines or CSV with system, question_id, rater, rating. Out: `Rating`s. It refuses values
that the rubric does not have, unless they are experts' partial credit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.io.records import read_records

_WRITE = 'Write {"system": "t5", "question_id": "ARCEZ_1", "rater": "ann", "rating": "agree"}'
RUBRIC = {
    "strongly agree": 1.0,
    "agree": 0.75,
    "neutral": 0.5,
    "disagree": 0.25,
    "strongly disagree": 0.0,
}


class Rating(NamedTuple):
    """One rating; `expected` is good or bad for a test item, empty for a real one.

    `prediction_sha` guards against ratings of another answer than the one that is scored.
    """

    system: str
    question_id: str
    prediction_sha: str
    rater: str
    rating: float
    expected: str = ""
    at: str = ""


def prediction_sha(prediction: str) -> str:
    """Return the hash of an answer without outer spaces (16 hex digits)."""
    return hashlib.sha256(prediction.strip().encode()).hexdigest()[:16]


def read_ratings(path: str, *, expert: bool = False) -> list[Rating]:
    """Read a file of ratings (JSON lines or CSV).

    Raises:
        DataError: the file is damaged or holds none, or a rating is wrong.
    """
    try:
        found = [
            parse_rating(record, number, expert=expert) for number, record in read_records(path)
        ]
        check_ratings(found)
    except DataError as error:
        raise error.at(path) from None
    return found


def check_ratings(ratings: Iterable[Rating]) -> None:
    """Check that each rater rated an item once, and that an item is one answer.

    Raises:
        DataError: there is no rating, a rater rated an item twice, or two answers of a system to
            one question were rated.
    """
    seen: set[tuple[str, str, str, str]] = set()
    answers: dict[tuple[str, str, str], str] = {}
    for rating in ratings:
        item = (rating.system, rating.question_id, rating.expected)
        if (*item, rating.rater) in seen and not rating.expected:
            problem = f"{rating.rater} rated the answer of {rating.system!r} twice"
            raise DataError(problem, record=rating.question_id, remedy="Keep one of the two")
        seen.add((*item, rating.rater))
        sha = rating.prediction_sha or answers.get(item, "")
        if answers.setdefault(item, sha) not in ("", sha) and not rating.expected:
            problem = f"ratings of two different answers of {rating.system!r}"
            remedy = "Keep the ratings of one answer, or name the systems apart"
            raise DataError(
                problem, record=rating.question_id, field="prediction_sha", remedy=remedy
            )
        answers[item] = sha
    if not seen:
        raise DataError("holds no rating", remedy="Write one record per rating: see --help")


def parse_rating(raw: Mapping[str, Any], number: int, *, expert: bool = False) -> Rating:
    """Parse a rating: a word of the rubric or its value; experts may write any value from 0 to 1.

    Raises:
        DataError: a field is missing, or the rating is not such a value.
    """
    where = f"number {number}"
    if not isinstance(raw, Mapping):
        raise DataError("must be an object", record=where, remedy="Write one record per rating")
    for field in ("system", "question_id", "rater", "rating"):
        if raw.get(field) in (None, ""):
            raise DataError("is missing", record=where, field=field, remedy=_WRITE)
    for field in ("system", "question_id"):
        if not isinstance(raw[field], str):
            raise DataError("must be text", record=where, field=field, remedy="Write it in quotes")
    if isinstance(raw["rater"], bool) or not isinstance(raw["rater"], str | int):
        raise DataError("must be a name", record=where, field="rater", remedy=_WRITE)
    value = rating_value(raw["rating"])
    if value is None or not 0.0 <= value <= 1.0:
        problem = f"{raw['rating']!r} is not a rating"
        remedy = f"Write one of {', '.join(RUBRIC)}, or a number from 0 to 1"
        raise DataError(problem, record=where, field="rating", remedy=remedy)
    if not expert and value not in RUBRIC.values():
        problem = f"{value} is not in the rubric ({', '.join(map(str, RUBRIC.values()))})"
        raise DataError(
            problem, record=where, field="rating", remedy="Only experts may write other values"
        )
    expected = str(raw.get("expected") or "")
    if expected not in ("", "good", "bad"):
        raise DataError("must be good, bad or empty", record=where, field="expected", remedy=_WRITE)
    return Rating(
        str(raw["system"]),
        str(raw["question_id"]),
        str(raw.get("prediction_sha") or ""),
        str(raw["rater"]),
        value,
        expected,
        str(raw.get("at") or raw.get("ts") or ""),
    )


def rating_value(raw: Any) -> float | None:
    """Return the value of a word of the rubric or of a number, None for anything else."""
    if isinstance(raw, str):
        word = " ".join(raw.replace("_", " ").split()).casefold()
        if word in RUBRIC:
            return RUBRIC[word]
    try:
        return None if isinstance(raw, bool) else float(raw)
    except (TypeError, ValueError):
        return None
