"""Tasks for the workers: Label Studio, sheets for each worker, Mechanical Turk.

In: the questions that the filter kept, and how many answers each already has. Out: files by name,
ready to be written; the same questions and seed give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from twowiki.human.task_files import label_studio_files, mturk_files, read_template, to_csv

FORMATS = ("label-studio", "csv", "mturk")
SHEET = ("question_id", "question", "answers", "category", "worker_id")


def choose_open(
    questions: Iterable[Mapping[str, Any]], answered: Mapping[str, int], people: int
) -> list[dict[str, Any]]:
    """Choose the kept questions that still lack answers, with how many they lack (`wanted`)."""
    return [
        {
            "question_id": question["question_id"],
            "question": question["question"],
            "wanted": people - answered.get(question["question_id"], 0),
        }
        for question in questions
        if question["kept"] and answered.get(question["question_id"], 0) < people
    ]


def task_files(
    questions: Sequence[Mapping[str, Any]], formats: Iterable[str], *, people: int, seed: int
) -> dict[str, str]:
    """Make the files of each format.

    Args:
        questions: what `choose_open` gives.
        formats: names out of `FORMATS`.
        people: workers a question.
        seed: of the order, so that neighbours in ARC's files do not stand together.

    Returns:
        Text by file name.
    """
    shuffled = sorted(
        questions, key=lambda question: Random(f"{seed}:{question['question_id']}").random()
    )
    made = {"instructions.html": template("instructions.html")}
    for name in formats:
        if name == "label-studio":
            made |= _label_studio(shuffled, people)
        elif name == "csv":
            made |= _sheets(shuffled, people)
        elif name == "mturk":
            made |= _mturk(shuffled)
        else:
            raise ValueError(f"unknown format {name!r}; there are {FORMATS}")
    return made


def _label_studio(questions: Sequence[Mapping[str, Any]], people: int) -> dict[str, str]:
    tasks = [
        {
            "data": {"question_id": question["question_id"], "question": question["question"]},
            "meta": {"wanted": question["wanted"]},
        }
        for question in questions
    ]
    return label_studio_files(
        tasks,
        template("answers.xml"),
        "ARC-DA: answers",
        people=people,
        instructions=template("instructions.html"),
    )


def _sheets(questions: Sequence[Mapping[str, Any]], people: int) -> dict[str, str]:
    """Make a sheet for each worker: a question stands in as many as it lacks answers."""
    return {
        f"answers_{sheet}.csv": to_csv(
            [SHEET]
            + [
                (question["question_id"], question["question"], "", "", "")
                for question in questions
                if question["wanted"] >= sheet
            ]
        )
        for sheet in range(1, people + 1)
        if any(question["wanted"] >= sheet for question in questions)
    }


def _mturk(questions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    tasks = [{name: q[name] for name in ("question_id", "question")} for q in questions]
    form = template("mturk_question.html")
    return mturk_files(tasks, form=form, instructions=template("instructions.html"))


def template(name: str) -> str:
    """Read a text that ships with the package."""
    return read_template(__name__.rpartition(".")[0], name)
