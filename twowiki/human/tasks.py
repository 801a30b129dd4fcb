"""Tasks for rating systems' answers, blind and shuffled, and the ratings read back.

In: gold questions, systems' answers. Out: tasks and a key that says which system gave which answer;
the raters see neither. An answer that several systems give is rated once. Test items judge the
raters: a gold answer should be agreed with, another question's gold answer should not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from twowiki.arc_da.conversion.crowd_tasks import to_csv
from twowiki.arc_da.metric.scoring import answer_tokens
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.human.label_studio import is_export, project, read_annotations
from twowiki.human.ratings import RUBRIC, Rating, prediction_sha, rating_value
from twowiki.human.scores import GOLD_SYSTEM
from twowiki.io.records import person_of_field, read_records, text_of_field

RATINGS = "ratings.jsonl"
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

    Raises:
        DataError: there is nothing to rate.
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
    if not everything:
        problem = "there is nothing to rate: no question has gold answers and a system's answer"
        raise DataError(problem, remedy="A blind set cannot be rated here; give a split with gold")
    return sorted(everything, key=lambda entry: Random(f"{seed}:order:{entry['task']}").random())


def task_files(key: Sequence[Mapping[str, Any]], *, people: int) -> dict[str, str]:
    """Write the key, the raters' sheet, and Label Studio's tasks and project, by file name.

    Neither the sheet nor the tasks name a system, or hint at which items are tests.
    """
    rows: list[Sequence[str]] = [SHEET]
    tasks = []
    for entry in key:
        golds = " | ".join(entry["golds"])
        rows.append((entry["task"], entry["question"], golds, entry["answer"], "", ""))
        shown = {"task": entry["task"], "question": entry["question"]}
        tasks.append({"data": {**shown, "golds": golds, "answer": entry["answer"]}})
    return {
        "key.jsonl": "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in key),
        "ratings.csv": to_csv(rows),
        "label_studio_tasks.json": json.dumps(tasks, ensure_ascii=False, indent=1) + "\n",
        "label_studio_project.json": json.dumps(
            rating_project(people), ensure_ascii=False, indent=2
        )
        + "\n",
    }


def rating_project(people: int) -> dict[str, Any]:
    """Describe the Label Studio project of the rating."""
    return project("rating", "ARC-DA: ratings", people=people, instructions=INSTRUCTIONS)


def read_key(path: str) -> dict[str, dict[str, Any]]:
    """Read the key that `make_tasks` made, by task.

    Raises:
        DataError: a record is no entry of a key.
    """
    kinds = {"task": str, "question_id": str, "answer": str, "systems": list, "expected": str}
    key: dict[str, dict[str, Any]] = {}
    for number, entry in read_records(path):
        for field, kind in kinds.items():
            if not isinstance(entry, Mapping) or not isinstance(entry.get(field), kind):
                problem, remedy = "is no entry of a key", "Restore key.jsonl, or export again"
                raise DataError(problem, file=path, record=number, field=field, remedy=remedy)
        key[entry["task"]] = entry
    return key


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
    records = list(read_records(path))
    if records and is_export(records[0][1]):
        for number, annotation in read_annotations(records, path):
            given = annotation.values.get("rating") or [""]
            task = str(annotation.data.get("task", ""))
            yield number, task, given[0], annotation.annotator, annotation.created_at
        return
    for number, record in records:
        if not isinstance(record, Mapping) or "task" not in record or "rating" not in record:
            remedy = "Keep the columns task and rating, or export the Label Studio project"
            raise DataError("is no sheet of ratings", file=path, record=number, remedy=remedy)
        yield (
            number,
            text_of_field(record, "task", path, number),
            "" if record["rating"] is None else record["rating"],
            person_of_field(record, "rater", path, number),
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
