"""Multi-hop questions for people: tasks for a sheet or Label Studio, and their answers read back.

In: examples. Out: tasks with numbered paragraphs and sentences ("2.1" is the first sentence of the
second paragraph), without the gold, the type and the id, which tells the type; and a key that
leads back. From filled sheets and exports: an answer, sentences and triples per person and task.
A label or a triple that cannot be read is refused with its task.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from twowiki.data.relations import RELATIONS
from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.human.task_files import (
    TaskLayout,
    TaskResult,
    label_studio_files,
    read_results,
    read_template,
    to_csv,
)
from twowiki.io.records import read_records

KEY, SHEET, ANSWERS = "key.jsonl", "tasks.csv", "people.jsonl"
_LAYOUT = TaskLayout("task", ("answer", "sentences", "triples"), ("person",), "--person")
_LABEL = re.compile(r"(\d+)\.(\d+)")
CHAIN_INSTRUCTIONS = (
    "<p>Answer from the paragraphs alone. Write the answer as the text does, or yes or no. Then "
    "name the sentences that the answer needs, no others, by their numbers (2.1; 5.3). Then write "
    "the facts that lead to it, one a line: subject | relation | object. Relations: "
    f"{', '.join(sorted(RELATIONS.values()))}.</p>"
)


class ChainTask(msgspec.Struct):
    """One task of the key: the question, and the titles and lengths of its paragraphs."""

    task: str
    id: str
    type: str | None
    titles: list[str]
    lengths: list[int]


def draw_questions(examples: Sequence[Example], count: int | None, seed: int) -> list[Example]:
    """Draw questions with gold, in a random order that depends on the seed alone.

    Raises:
        DataError: no question has gold.
    """
    known = sorted((one for one in examples if one.has_gold), key=lambda one: one.id)
    if not known:
        raise DataError("no question has gold", remedy="Name a split with gold, such as dev.json")
    return Random(f"{seed}:people").sample(known, min(count or len(known), len(known)))


def chain_task_files(
    examples: Sequence[Example], *, people: int, seed: int, title: str = "Multi-hop questions"
) -> dict[str, str]:
    """Return the key, a sheet, and Label Studio's tasks with a project, by file name.

    Args:
        examples: the questions, in the order that people see.
        people: how many answer each question.
        seed: of the tasks' names.
        title: of the project.
    """
    package = __name__.rpartition(".")[0]
    key = [_key_entry(example, seed) for example in examples]
    shown = list(zip(key, examples, strict=True))
    columns = ("task", "question", "paragraphs", *_LAYOUT.fields, "person")
    rows = [(task.task, one.question, _paragraphs(one), "", "", "", "") for task, one in shown]
    tasks = [
        {
            "data": {
                "task": task.task,
                "question": example.question,
                "paragraphs": _paragraphs(example),
                "labels": [{"value": label} for label in _labels(task)],
            }
        }
        for task, example in shown
    ]
    lines = [json.dumps(msgspec.to_builtins(task), ensure_ascii=False) for task in key]
    return {
        KEY: "".join(f"{line}\n" for line in lines),
        SHEET: to_csv([columns, *rows]),
        **label_studio_files(
            tasks,
            read_template(package, "chain.xml"),
            title,
            people=people,
            instructions=CHAIN_INSTRUCTIONS,
        ),
    }


def read_chain_key(path: str) -> dict[str, ChainTask]:
    """Read the key of `chain_task_files`, by task.

    Raises:
        DataError: a record is not an entry of a key.
    """
    key = {}
    for number, record in read_records(path):
        try:
            task = msgspec.convert(record, ChainTask)
        except msgspec.ValidationError as error:
            problem = f"is not an entry of a key ({error})"
            remedy = "Restore it, or export again"
            raise DataError(problem, file=path, record=number, remedy=remedy) from None
        key[task.task] = task
    return key


def read_chain_answers(
    path: str, key: Mapping[str, ChainTask], *, person: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield people's answers as rows: person, id, answer, supporting_facts, evidences.

    Args:
        path: a filled sheet, JSON lines, or an export of Label Studio.
        key: the tasks.
        person: who filled a sheet, where it does not say.

    Raises:
        DataError: an unknown task, a sentence that is not there, or a triple without three parts.
    """
    for result in read_results(path, _LAYOUT, person=person):
        name = str(result.data[_LAYOUT.id_field])
        task = key.get(name)
        if task is None:
            problem, remedy = f"unknown task {name!r}", "The file belongs to other tasks"
            raise DataError(problem, file=path, record=result.number, remedy=remedy)
        who = (result.person or person).strip()
        if not who:
            remedy = "Name the person with --person"
            raise DataError("no name is given", file=path, record=name, remedy=remedy)
        try:
            yield _answer_row(result, task, who)
        except DataError as error:
            raise DataError(
                error.problem, file=path, record=name, field=error.field, remedy=error.remedy
            ) from None


def merge_chain_answers(
    known: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Merge answers: one per person and question, the last one."""
    merged = {(row["person"], row["id"]): row for row in (*known, *new)}
    return [merged[key] for key in sorted(merged)]


def _answer_row(result: TaskResult, task: ChainTask, person: str) -> dict[str, Any]:
    facts = dict.fromkeys(
        fact for text in result.values.get("sentences", ()) for fact in _facts(text, task)
    )
    triples = dict.fromkeys(
        triple for text in result.values.get("triples", ()) for triple in _triples(text)
    )
    return {
        "person": person,
        "id": task.id,
        "answer": result.first("answer").strip(),
        "supporting_facts": [list(fact) for fact in facts],
        "evidences": [list(triple) for triple in triples],
    }


def _facts(text: str, task: ChainTask) -> Iterator[tuple[str, int]]:
    for word in re.split(r"[;,\s]+", text.strip()):
        label = _LABEL.fullmatch(word)
        if not word:
            continue
        paragraph, sentence = (int(label[1]), int(label[2])) if label else (0, 0)
        if not 1 <= paragraph <= len(task.titles) or not (
            1 <= sentence <= task.lengths[paragraph - 1]
        ):
            raise DataError(
                f"{word!r} is no sentence of the task",
                field="sentences",
                remedy="Write the numbers before the sentences, such as 2.1; 5.3",
            )
        yield task.titles[paragraph - 1], sentence - 1


def _triples(text: str) -> Iterator[tuple[str, ...]]:
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        whole = [line] if line.count("|") == 2 else line.split(";")
        for part in filter(str.strip, whole):
            triple = tuple(cell.strip() for cell in part.split("|"))
            if len(triple) != 3 or not all(triple):
                raise DataError(
                    f"{part.strip()!r} is not a triple",
                    field="triples",
                    remedy="Write one a line: subject | relation | object",
                )
            yield triple


def _key_entry(example: Example, seed: int) -> ChainTask:
    name = "c" + hashlib.sha256(f"{seed}\t{example.id}".encode()).hexdigest()[:12]
    titles = [title for title, _ in example.context]
    lengths = [len(sentences) for _, sentences in example.context]
    return ChainTask(name, example.id, example.type, titles, lengths)


def _labels(task: ChainTask) -> list[str]:
    return [
        f"{number}.{sentence}"
        for number, length in enumerate(task.lengths, 1)
        for sentence in range(1, length + 1)
    ]


def _paragraphs(example: Example) -> str:
    lines = []
    for number, (title, sentences) in enumerate(example.context, 1):
        lines.append(f"{number}  {title}")
        lines += [f"{number}.{n}  {text.strip()}" for n, text in enumerate(sentences, 1)]
    return "\n".join(lines)
