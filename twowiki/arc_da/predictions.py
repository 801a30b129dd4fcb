"""Read one system's answers, in the shapes that scripts write them, matched to the gold by id.

In: JSON lines, JSON, CSV, TSV, Parquet or plain text. Out: answer by question id. It refuses
lists of answers, ids that come twice and ids that the gold does not have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.records import open_bytes, read_lines, read_records

ID_FIELDS = ("question_id", "id")
ANSWER_FIELDS = ("prediction", "answer")
SHAPES = (
    'Write one JSON object a line, {"question_id": "ARCEZ_1", "prediction": "gravity"}; or one '
    'JSON object {"ARCEZ_1": "gravity", ...}; or a CSV with the columns question_id, prediction; '
    "or a .txt with one answer a line in the gold's order"
)


def read_answers(
    path: str | PathLike[str],
    gold: Collection[str],
    *,
    aliases: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Read a system's answers; null is an empty answer, a number its text.

    Args:
        path: the file.
        gold: the gold's question ids in order.
        aliases: other names of the gold's ids.

    Returns:
        Answer by question id, in the file's order; an id that the file lacks is missing here too.

    Raises:
        DataError: the file has another shape, an id is unknown or comes twice, or an answer is a
            list (a system gives one answer per question).
    """
    name = os.fspath(path)
    answers: dict[str, str] = {}
    for given, value in _pairs(name, gold):
        record = given if aliases is None else aliases.get(given, given)
        if record in answers:
            problem, remedy = "this question is answered twice", "Keep one answer"
            raise DataError(problem, file=name, record=record, remedy=remedy)
        answers[record] = _answer(value, name, record)
    known = set(gold)
    unknown = [record for record in answers if record not in known]
    if unknown:
        problem = f"{len(unknown)} answers to questions that the gold does not have"
        remedy = f"The gold holds {len(gold)} questions; is it the right split?"
        raise DataError(f"{problem}: {', '.join(unknown[:5])}", file=name, remedy=remedy)
    return answers


def read_ids(path: str | PathLike[str], gold: Collection[str]) -> list[str]:
    """Read a subset: one question id a line, in the file's order.

    Raises:
        DataError: an id is unknown or comes twice, or there is none.
    """
    lines = read_lines(os.fspath(path))
    ids = [line.strip() for line in lines if line.strip()]
    wrong = [record for record in ids if record not in gold]
    if wrong or not ids or len(set(ids)) != len(ids):
        problem = "holds no id" if not ids else "an id comes twice"
        if wrong:
            problem = f"the gold does not have these ids: {', '.join(wrong[:5])}"
        raise DataError(problem, file=path, remedy="Write one question id of the gold a line")
    return ids


def _pairs(name: str, gold: Collection[str]) -> Iterator[tuple[str, Any]]:
    if name.lower().endswith(".txt"):
        lines = read_lines(name)
        if len(lines) != len(gold):
            problem = f"holds {len(lines)} lines for {len(gold)} questions"
            raise DataError(problem, file=name, remedy=SHAPES)
        yield from zip(gold, lines, strict=True)
        return
    mapping = _mapping(name) if ".json" in Path(name).name.lower() else None
    if mapping is not None:
        yield from mapping
        return
    yield from _from_records(name)


def _from_records(name: str) -> Iterator[tuple[str, Any]]:
    records: Iterable[tuple[int, Any]] = read_records(name)
    for number, record in records:
        identity = next((record[field] for field in ID_FIELDS if field in record), None)
        if not isinstance(identity, str) or not identity:
            raise DataError("no question id", file=name, record=f"number {number}", remedy=SHAPES)
        field = next((field for field in ANSWER_FIELDS if field in record), None)
        if field is None:
            problem = f"no answer among the fields {', '.join(map(str, record))}"
            raise DataError(problem, file=name, record=identity, remedy=SHAPES)
        yield identity, record[field]


class _Pairs(dict[str, Any]):
    """A JSON object that keeps all its pairs, those of one name too."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _mapping(name: str) -> list[tuple[str, Any]] | None:
    """Read a file that is one JSON object from id to answer; None if it is something else."""
    try:
        with open_bytes(name) as stream:
            value = json.loads(stream.read().decode("utf-8-sig"), object_pairs_hook=_Pairs)
    except (OSError, EOFError, ValueError, RecursionError):
        return None  # the reader of records says what is wrong, and where
    if not isinstance(value, _Pairs):
        return None
    if isinstance(inner := value.get("answer"), _Pairs):
        return inner.pairs
    is_record = any(field in value for field in (*ID_FIELDS, *ANSWER_FIELDS))
    return None if is_record else value.pairs


def _answer(value: Any, name: str, record: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return str(value)
    if isinstance(value, float):
        raise DataError(f"the answer is {value}", file=name, record=record, remedy=SHAPES)
    problem = f"the answer must be one text, found {type(value).__name__}"
    raise DataError(problem, file=name, record=record, remedy=SHAPES)
