"""Tasks for rating systems' answers, blind and shuffled, and the ratings read back.

In: questions with gold answers, systems' answers. Out: tasks, and a key that says which system gave
which answer; the raters see neither. An answer that several systems give is rated once. Test items
judge the raters: they should agree with a gold answer, and not with another question's gold answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Protocol

import msgspec

from twowiki.errors import DataError
from twowiki.human.ratings import RUBRIC, Rating, prediction_sha, rating_value
from twowiki.human.scores import GOLD_SYSTEM
from twowiki.human.task_files import (
    TaskLayout,
    label_studio_files,
    mturk_files,
    read_results,
    read_template,
    to_csv,
)
from twowiki.human.times import is_older
from twowiki.io.records import read_records
from twowiki.metric.normalization import normalize_answer

RATINGS = "ratings.jsonl"
_LAYOUT = TaskLayout("task", ("rating",), ("rater",), "--rater")
INSTRUCTIONS = (
    "<p>Say how far you agree that the answer is right. Other wordings than the known answers may "
    "be right too, and so may other answers. Judge the answer, not its grammar.</p><ul>"
    "<li><b>strongly agree</b>: right</li><li><b>agree</b>: mostly right</li>"
    "<li><b>neutral</b>: partly right, or hard to say</li>"
    "<li><b>disagree</b>: mostly wrong</li><li><b>strongly disagree</b>: wrong</li></ul>"
)


class RatedQuestion(Protocol):
    """What the raters are shown of a question, of whatever data set."""

    @property
    def question_id(self) -> str:
        """The question's id."""

    @property
    def question(self) -> str:
        """Its text."""

    @property
    def answers(self) -> Sequence[str]:
        """Its gold answers."""


class KeyEntry(msgspec.Struct):
    """One task: what raters see, and what they do not: the systems, and whether it is a test."""

    task: str
    question_id: str
    question: str
    golds: list[str]
    answer: str
    systems: list[str]
    expected: str


def make_tasks(
    questions: Mapping[str, RatedQuestion],
    systems: Mapping[str, Mapping[str, str]],
    *,
    gold_system: bool,
    tests: int,
    seed: int,
) -> list[KeyEntry]:
    """Make the key: one entry per task, in the shuffled order that raters see.

    Args:
        questions: questions with gold answers.
        systems: answers by question id, by the system's name; a missing answer is not rated.
        gold_system: rate a gold answer of each question as a system of its own: the ceiling. That
            answer is removed from the known answers that the raters see.
        tests: test items, half of them good, half bad.
        seed: of the order and the choice of test items.

    Raises:
        DataError: there is nothing to rate.
    """
    entries: dict[tuple[str, str], KeyEntry] = {}
    for record, question in questions.items():
        given = {name: answers[record] for name, answers in systems.items() if record in answers}
        if gold_system and len(question.answers) > 1:
            given[GOLD_SYSTEM] = Random(f"{seed}:gold:{record}").choice(question.answers)
        for name, answer in given.items():
            answer = answer.strip()
            entry = entries.setdefault((record, answer), _entry(question, answer, seed))
            entry.systems.append(name)
            if name == GOLD_SYSTEM:
                entry.golds = [gold for gold in entry.golds if gold.strip() != answer]
    everything = [*entries.values(), *_test_items(questions, tests, seed)]
    if not everything:
        problem = "there is nothing to rate: no question has gold answers and a system's answer"
        raise DataError(problem, remedy="A blind set cannot be rated; pass a split with gold")
    return sorted(everything, key=lambda entry: Random(f"{seed}:order:{entry.task}").random())


def rating_task_files(
    key: Sequence[KeyEntry], *, people: int, title: str = "ARC-DA: ratings"
) -> dict[str, str]:
    """Return the key and the tasks for sheets, Label Studio and Mechanical Turk, by file name.

    The tasks neither name a system nor hint at which items are tests.
    """
    tasks = [
        {
            "task": entry.task,
            "question": entry.question,
            "golds": " | ".join(entry.golds),
            "answer": entry.answer,
        }
        for entry in key
    ]
    package = __name__.rpartition(".")[0]
    columns = ("task", "question", "golds", "answer", "rating", "rater")
    lines = [json.dumps(msgspec.to_builtins(entry), ensure_ascii=False) for entry in key]
    return {
        "key.jsonl": "".join(f"{line}\n" for line in lines),
        "ratings.csv": to_csv([columns, *((*task.values(), "", "") for task in tasks)]),
        **label_studio_files(
            [{"data": task} for task in tasks],
            read_template(package, "rating.xml"),
            title,
            people=people,
            instructions=INSTRUCTIONS,
        ),
        **mturk_files(
            tasks, form=read_template(package, "mturk_rating.html"), instructions=INSTRUCTIONS
        ),
    }


def read_key(path: str) -> dict[str, KeyEntry]:
    """Read the key that `make_tasks` made, by task.

    Raises:
        DataError: a record is not an entry of a key.
    """
    key: dict[str, KeyEntry] = {}
    for number, record in read_records(path):
        try:
            entry = msgspec.convert(record, KeyEntry)
        except msgspec.ValidationError as error:
            problem, remedy = f"is not an entry of a key ({error})", "Restore it, or export again"
            raise DataError(problem, file=path, record=number, remedy=remedy) from None
        key[entry.task] = entry
    return key


def read_task_ratings(
    path: str, key: Mapping[str, KeyEntry], *, rater: str = ""
) -> Iterator[Rating]:
    """Read filled sheets or exports; an answer of several systems becomes a rating of each.

    Raises:
        DataError: a task is unknown, no name is given, or a rating is not a word of the rubric.
    """
    for result in read_results(path, _LAYOUT, person=rater):
        task, text = str(result.data[_LAYOUT.id_field]), result.first("rating")
        entry, person = key.get(task), (result.person or rater).strip()
        number = result.number
        if entry is None:
            remedy = "The file belongs to other tasks"
            raise DataError(f"unknown task {task!r}", file=path, record=number, remedy=remedy)
        if not text.strip():
            continue
        value = rating_value(text)
        if value is None or value not in RUBRIC.values():
            remedy = f"Write one of {', '.join(RUBRIC)}"
            raise DataError(
                f"{text!r} is not a rating", file=path, record=number, field="rating", remedy=remedy
            )
        if not person:
            raise DataError(
                "no name is given", file=path, record=number, remedy="Name the rater with --rater"
            )
        sha = prediction_sha(entry.answer)
        for system in entry.systems or ["test"]:
            yield Rating(
                system, entry.question_id, sha, person, value, entry.expected, result.submitted_at
            )


def merge_ratings(known: Iterable[Rating], new: Iterable[Rating]) -> list[Rating]:
    """Merge ratings: one per rater and answer, the latest; without times, the last one read."""
    merged: dict[tuple[str, ...], Rating] = {}
    for rating in (*known, *new):
        item = (rating.system, rating.question_id, rating.prediction_sha, rating.rater)
        before = merged.get((*item, rating.expected))
        if before is None or not is_older(rating.at, before.at):
            merged[(*item, rating.expected)] = rating
    return sorted(merged.values())


def _entry(question: RatedQuestion, answer: str, seed: int, expected: str = "") -> KeyEntry:
    name = f"{seed}\t{question.question_id}\t{answer}\t{expected}"
    task = "t" + hashlib.sha256(name.encode()).hexdigest()[:12]
    golds = list(question.answers)
    return KeyEntry(task, question.question_id, question.question, golds, answer, [], expected)


def _test_items(
    questions: Mapping[str, RatedQuestion], count: int, seed: int
) -> Iterator[KeyEntry]:
    """Make test items: known-good gold answers, and known-bad ones of unrelated questions."""
    rng = Random(f"{seed}:tests")
    names = sorted(questions)
    for index, record in enumerate(rng.sample(names, min(count, len(names)))):
        question = questions[record]
        if index % 2 == 0 and len(question.answers) > 1:
            answer = rng.choice(question.answers)
            entry = _entry(question, answer, seed, "good")
            entry.golds = [gold for gold in entry.golds if gold != answer]
            yield entry
        elif (unrelated := _unrelated_answer(question, questions, names, rng)) is not None:
            yield _entry(question, unrelated, seed, "bad")


def _unrelated_answer(
    question: RatedQuestion,
    questions: Mapping[str, RatedQuestion],
    names: Sequence[str],
    rng: Random,
) -> str | None:
    """Draw another question's gold answer that shares no word with this one or its answers."""
    texts = (*question.answers, question.question)
    words = {word for text in texts for word in normalize_answer(text).split()}
    for _ in range(100):
        other = questions[rng.choice(names)]
        answer = rng.choice(other.answers)
        tokens = set(normalize_answer(answer).split())
        if other is not question and tokens and not tokens & words:
            return answer
    return None
