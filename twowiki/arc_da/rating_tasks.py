"""Tasks for rating systems' answers, blind and shuffled, and the ratings read back.

In: gold questions, systems' answers. Out: tasks and a key that says which system gave which answer;
the raters see neither. An answer that several systems give is rated once. Test items judge the
raters: a gold answer should be agreed with, another question's gold answer should not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from twowiki.arc_da.human import GOLD_SYSTEM
from twowiki.arc_da.label_studio import is_export, project, read_annotations
from twowiki.arc_da.ratings import RUBRIC, Rating, prediction_sha, rating_value
from twowiki.arc_da.records import read_records
from twowiki.arc_da.schema import Question
from twowiki.arc_da.scoring import answer_tokens
from twowiki.errors import DataError

SHEET = ("task", "question", "golds", "answer", "rating", "rater")
INSTRUCTIONS = (
    "<p>Say how far you agree that the answer is right. Other wordings than the known answers may "
    "be right too, and so may other answers. Judge the answer, not its grammar.</p><ul>"
    "<li><b>strongly agree</b>: right</li><li><b>agree</b>: mostly right</li>"
    "<li><b>neutral</b>: partly right, or hard to say</li>"
    "<li><b>disagree</b>: mostly wrong</li><li><b>strongly disagree</b>: wrong</li></ul>"
)


def make_tasks(
    questions: Mapping[str, Question],
    systems: Mapping[str, Mapping[str, str]],
    *,
    gold_system: bool,
    tests: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Make the key: one entry a task, in the shuffled order that raters see.

    Args:
        questions: questions with gold answers.
        systems: answers by question id, by the system's name; a missing answer is not rated.
        gold_system: rate a gold answer of each question as a system of its own: the ceiling. The
            answer is taken out of the known answers that the raters see.
        tests: test items, half of them good, half bad.
        seed: of the order and the choice of test items.

    Returns:
        Entries with task, question, answer, golds, `systems` (those that gave it), `expected`.
    """
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for record, question in questions.items():
        given = {name: answers[record] for name, answers in systems.items() if record in answers}
        if gold_system and len(question.answers) > 1:
            given[GOLD_SYSTEM] = Random(f"{seed}:gold:{record}").choice(question.answers)
        for name, answer in given.items():
            entry = entries.setdefault(
                (record, answer.strip()), _entry(question, answer.strip(), seed)
            )
            entry["systems"].append(name)
            if name == GOLD_SYSTEM:
                entry["golds"] = [gold for gold in entry["golds"] if gold.strip() != answer.strip()]
    tested = list(_tests(questions, tests, seed))
    everything = [*entries.values(), *tested]
    return sorted(everything, key=lambda entry: Random(f"{seed}:order:{entry['task']}").random())


def sheet_rows(key: Iterable[Mapping[str, Any]]) -> list[Sequence[str]]:
    """Write the raters' sheet: no system, no hint which items are tests."""
    rows: list[Sequence[str]] = [SHEET]
    for entry in key:
        golds = " | ".join(entry["golds"])
        rows.append((entry["task"], entry["question"], golds, entry["answer"], "", ""))
    return rows


def label_studio_tasks(key: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write the same as Label Studio tasks."""
    return [
        {
            "data": {
                "task": entry["task"],
                "question": entry["question"],
                "golds": " | ".join(entry["golds"]),
                "answer": entry["answer"],
            }
        }
        for entry in key
    ]


def rating_project(people: int) -> dict[str, Any]:
    """Describe the Label Studio project of the rating."""
    return project("rating", "ARC-DA: ratings", people=people, instructions=INSTRUCTIONS)


def read_ratings_back(
    path: str, key: Mapping[str, Mapping[str, Any]], *, rater: str = ""
) -> Iterator[Rating]:
    """Read filled sheets or exports; an answer of several systems becomes a rating of each.

    Raises:
        DataError: a task is unknown, nobody is named, or a rating is no word of the rubric.
    """
    for number, task, text, who, at in _read(path):
        entry = key.get(task)
        if entry is None:
            remedy = "The file belongs to other tasks"
            raise DataError(f"unknown task {task!r}", file=path, record=number, remedy=remedy)
        if not str(text).strip():
            continue
        value = rating_value(text)
        if value not in RUBRIC.values():
            problem, remedy = f"{text!r} is no rating", f"Write one of {', '.join(RUBRIC)}"
            raise DataError(problem, file=path, record=number, field="rating", remedy=remedy)
        name = (who or rater).strip()
        if not name:
            remedy = "Fill the column rater, or name the rater with --rater"
            raise DataError("nobody is named", file=path, record=number, remedy=remedy)
        for system in entry["systems"] or ["test"]:
            yield Rating(
                system,
                entry["question_id"],
                prediction_sha(entry["answer"]),
                name,
                float(value or 0.0),
                entry["expected"],
                at,
            )


def _read(path: str) -> Iterator[tuple[int, str, Any, str, str]]:
    if is_export(path):
        for number, annotation in enumerate(read_annotations(path), start=1):
            given = annotation.values.get("rating", [""])
            task = str(annotation.data.get("task", ""))
            yield number, task, given[0], annotation.annotator, annotation.created_at
        return
    for number, record in read_records(path):
        if "task" not in record or "rating" not in record:
            remedy = "Keep the columns task and rating, or export the Label Studio project"
            raise DataError("is no sheet of ratings", file=path, record=number, remedy=remedy)
        yield (
            number,
            str(record["task"]),
            record["rating"] or "",
            str(record.get("rater") or ""),
            str(record.get("at") or ""),
        )


def _entry(question: Question, answer: str, seed: int, expected: str = "") -> dict[str, Any]:
    name = f"{seed}\t{question.question_id}\t{answer}\t{expected}"
    return {
        "task": "t" + hashlib.sha256(name.encode()).hexdigest()[:12],
        "question_id": question.question_id,
        "question": question.question,
        "golds": list(question.answers),
        "answer": answer,
        "systems": [],
        "expected": expected,
    }


def _tests(questions: Mapping[str, Question], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Make test items: known-good gold answers, and known-bad ones of unrelated questions."""
    rng = Random(f"{seed}:tests")
    names = sorted(questions)
    chosen = rng.sample(names, min(count, len(names)))
    for place, record in enumerate(chosen):
        question = questions[record]
        if place % 2 == 0 and len(question.answers) > 1:
            answer = rng.choice(question.answers)
            entry = _entry(question, answer, seed, "good")
            entry["golds"] = [gold for gold in entry["golds"] if gold != answer]
            yield entry
        elif (answer_or_none := _unrelated(question, questions, names, rng)) is not None:
            yield _entry(question, answer_or_none, seed, "bad")


def _unrelated(
    question: Question, questions: Mapping[str, Question], names: Sequence[str], rng: Random
) -> str | None:
    """Draw another question's gold answer that shares no word with this one's answers."""
    words = {word for gold in question.answers for word in answer_tokens(gold)}
    words |= set(answer_tokens(question.question))
    for _ in range(100):
        other = questions[rng.choice(names)]
        answer = rng.choice(other.answers)
        tokens = set(answer_tokens(answer))
        if other is not question and tokens and not tokens & words:
            return answer
    return None
