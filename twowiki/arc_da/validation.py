"""What is odd in ARC-DA's records, counted by kind, with the ids.

In: files of ARC-DA's layout. Out: the same `Findings` as for the multi-hop data.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.schema import PREFIXES, Question, parse_question
from twowiki.arc_da.sources import find_question_splits
from twowiki.data.validation import Findings
from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.io.records import read_records

QUESTION_ODDITIES = {
    "broken_file": "files that end early or hold no records",
    "unreadable_record": "records whose fields have another form than in the release",
    "duplicate_id": "ids that occur more than once in a split",
    "shared_id": "ids that another split has too",
    "repeated_question": "questions whose text another question has too",
    "unknown_difficulty": "ids and tags that do not show Easy or Challenge",
    "tag_mismatch": "tags that disagree with the id's prefix or with the split",
    "blank_answer": "answers without a letter or digit",
    "repeated_answer": "answers that occur twice in a question",
    "hidden_gold": "questions without answers",
}


def validate_questions(source: str | PathLike[str]) -> Findings:
    """Read ARC-DA's records and report what is odd in them.

    Raises:
        DataError: only where there is nothing to read.
    """
    findings = Findings(kinds=QUESTION_ODDITIES)
    places: dict[str, str] = {}
    texts: dict[str, str] = {}
    for split, files in find_question_splits(source).items():
        seen: set[str] = set()
        for file in files:
            try:
                for number, raw in progress(read_records(file), what=split):
                    question = _read(findings, raw, number, split)
                    if question is not None:
                        _check_place(findings, question, split, seen, places, texts)
                        _check_question(findings, question, split)
                    findings.records[split] = findings.records.get(split, 0) + 1
            except DataError as error:
                findings.add("broken_file", file, str(error))
    return findings


def _read(findings: Findings, raw: Any, number: int, split: str) -> Question | None:
    try:
        if not isinstance(raw, Mapping):
            raise DataError("is no object", record=f"{split} number {number}")
        return parse_question(raw, number=number)
    except DataError as error:
        record = error.record or f"{split} number {number}"
        findings.add("unreadable_record", record, f"{error.field or 'record'}: {error.problem}")
        return None


def _check_place(
    findings: Findings,
    question: Question,
    split: str,
    seen: set[str],
    places: dict[str, str],
    texts: dict[str, str],
) -> None:
    """Compare with the questions before: ids and texts."""
    name = question.question_id
    if name in seen:
        findings.add("duplicate_id", name)
    elif name in places:
        findings.add("shared_id", name, f"{places[name]} and {split}")
    else:
        words = " ".join(unicode_words(question.question))
        first = texts.setdefault(words, f"{split}:{name}")
        if first != f"{split}:{name}":
            findings.add("repeated_question", name, f"{first} and {split}:{name}")
    seen.add(name)
    places.setdefault(name, split)


def _check_question(findings: Findings, question: Question, split: str) -> None:
    name, tag = question.question_id, (question.tag or "").lower()
    if question.difficulty is None:
        findings.add("unknown_difficulty", name)
    by_prefix = next((level for prefix, level in PREFIXES.items() if name.startswith(prefix)), "")
    named = {"dev": "validation"}.get(question.source_split or "", question.source_split)
    if tag and (by_prefix not in tag or named not in (None, split)):
        findings.add("tag_mismatch", name, str(question.tag))
    for answer in question.answers:
        if not any(letter.isalnum() for letter in answer):
            findings.add("blank_answer", name, answer)
    for answer in dict.fromkeys(question.answers):
        if (times := question.answers.count(answer)) > 1:
            findings.add("repeated_answer", name, answer, times - 1)
    if not question.has_gold:
        findings.add("hidden_gold", name)
