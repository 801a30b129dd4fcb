"""Tasks for the workers: Label Studio, sheets for each worker, Mechanical Turk.

In: the questions that the filter kept, and how many answers each already has. Out: files by name,
ready to be written; the same questions and seed give the same bytes.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from twowiki.human.label_studio import project, template

FORMATS = ("label-studio", "csv", "mturk")
SHEET = ("question_id", "question", "answers", "category", "worker_id")
PER_HIT = 5
_FORMULA = ("=", "+", "-", "@", "'")


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
    described = project(
        "answers", "ARC-DA: answers", people=people, instructions=template("instructions.html")
    )
    return {
        "label_studio_tasks.json": _json(tasks),
        "label_studio_project.json": _json(described),
        "label_studio_config.xml": described["label_config"],
    }


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
    """Make Mechanical Turk's input table (five questions a HIT) and the design to paste."""
    places = range(1, PER_HIT + 1)
    rows = [[f"{name}_{place}" for place in places for name in ("question_id", "question")]]
    for start in range(0, len(questions), PER_HIT):
        cells: list[str] = []
        for question in questions[start : start + PER_HIT]:
            cells += [html_cell(question["question_id"]), html_cell(question["question"])]
        rows.append(cells + [""] * (2 * PER_HIT - len(cells)))
    one = template("mturk_question.html")
    design = (
        template("mturk_head.html")
        + template("instructions.html")
        + "".join(one.replace("@", str(place)) for place in places)
        + template("mturk_tail.html")
    )
    return {"mturk_input.csv": _csv(rows), "mturk_design.html": design}


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV, `LF` line ends; a leading = + - @ is kept from being a formula."""
    return _csv([[guard_cell(str(cell)) for cell in row] for row in rows])


def html_cell(text: str) -> str:
    """Write a text for a page that a table fills in; a leading sign of a formula as its number."""
    escaped = html.escape(text)
    return f"&#{ord(escaped[0])};{escaped[1:]}" if escaped[:1] in _FORMULA else escaped


def _csv(rows: Iterable[Sequence[str]]) -> str:
    lines = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="\r\n").writerow(row)  # with LF a lone CR goes unquoted
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def guard_cell(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula."""
    return "'" + text if text[:1] in _FORMULA else text


def free_cell(text: str) -> str:
    """Take the apostrophe of `guard_cell` away again."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
