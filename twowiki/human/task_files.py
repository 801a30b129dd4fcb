"""Tasks for people as files of three tools, and what people did read back from them.

In: tasks as plain values. Out: spreadsheets (CSV), Label Studio's tasks and projects, Mechanical
Turk's input tables and designs; and from filled sheets, JSON lines, exports of Label Studio (JSON,
JSON_MIN, CSV) and Mechanical Turk's results, one `TaskResult` per person and task. Drafts,
withdrawn annotations and rejected assignments are left out. No server and no client is needed.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import isfinite
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.human.times import parse_time
from twowiki.io.records import decoded_cell, person_of_field, read_records, text_of_field

TASKS_PER_HIT = 5
_FORMULA = ("=", "+", "-", "@", "'")
_EXPORT = "Export with the type JSON, which holds whole annotations"
_OWN = ("annotator", "annotation_id", "lead_time", "created_at", "updated_at", "id")


class TaskLayout(NamedTuple):
    """The fields of one sort of task.

    Attributes:
        id_field: names the task.
        fields: what a person fills in; the first one is always there.
        person_fields: columns of a sheet that name the person, the first one that is filled.
        option: the flag of the command that names the person where the file does not.
        aliases: another name of a field, where the field itself is absent.
    """

    id_field: str
    fields: tuple[str, ...]
    person_fields: tuple[str, ...]
    option: str
    aliases: Mapping[str, str] = {}

    @property
    def known(self) -> str:
        """The sorts of files that can be read, for errors."""
        columns = ", ".join((self.id_field, self.person_fields[0], *self.fields))
        return (
            "Pass an export of Label Studio (JSON, JSON_MIN or CSV), a filled sheet, Mechanical "
            f"Turk's results, or lines with {columns}"
        )


class TaskResult(NamedTuple):
    """What one person did with one task; `values` are the texts by field."""

    number: int
    data: dict[str, Any]
    values: dict[str, list[str]]
    person: str
    assignment: str = ""
    seconds: float | None = None
    submitted_at: str = ""

    def first(self, field: str) -> str:
        """Return the first text of a field, empty where there is none."""
        return (self.values.get(field) or [""])[0]


def read_template(package: str, name: str) -> str:
    """Read a text from the folder `templates` of a package."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def label_studio_files(
    tasks: Sequence[Mapping[str, Any]],
    config: str,
    title: str,
    *,
    people: int,
    instructions: str = "",
) -> dict[str, str]:
    """Return tasks to import, the project with the names of Label Studio's own fields, the set-up.

    Args:
        tasks: with `data`, and `predictions` or `meta` where there are any.
        config: the labeling set-up (XML).
        title: shown to people.
        people: how many annotate each task.
        instructions: HTML, shown before the first task.
    """
    project = {
        "title": title,
        "label_config": config,
        "maximum_annotations": people,
        "expert_instruction": instructions,
        "show_instruction": bool(instructions),
    }
    return {
        "label_studio_tasks.json": json.dumps(tasks, ensure_ascii=False, indent=1) + "\n",
        "label_studio_project.json": json.dumps(project, ensure_ascii=False, indent=1) + "\n",
        "label_studio_config.xml": config,
    }


def prefilled_texts(values: Mapping[str, tuple[str, Iterable[str]]]) -> list[dict[str, Any]]:
    """Return the `predictions` that fill editable texts before a person sees them.

    Args:
        values: by control name, the tag it labels and its texts.
    """
    result = [
        {"from_name": name, "to_name": tag, "type": "textarea", "value": {"text": list(texts)}}
        for name, (tag, texts) in values.items()
    ]
    return [{"model_version": "prefilled", "result": result}]


def mturk_files(
    tasks: Sequence[Mapping[str, str]], *, form: str, instructions: str
) -> dict[str, str]:
    """Return Mechanical Turk's input table (five tasks per HIT) and the design to paste.

    Args:
        tasks: the texts that a task shows, by field; all tasks have the same fields.
        form: HTML of one task; `@` stands for its number in the HIT.
        instructions: HTML before the tasks.
    """
    numbers = range(1, TASKS_PER_HIT + 1)
    fields = list(tasks[0]) if tasks else []
    rows = [[f"{field}_{number}" for number in numbers for field in fields]]
    for start in range(0, len(tasks), TASKS_PER_HIT):
        cells = [
            html_cell(text)
            for task in tasks[start : start + TASKS_PER_HIT]
            for text in task.values()
        ]
        rows.append(cells + [""] * (len(rows[0]) - len(cells)))
    package = __name__.rpartition(".")[0]
    design = (
        read_template(package, "mturk_head.html")
        + instructions
        + "".join(form.replace("@", str(number)) for number in numbers)
        + read_template(package, "mturk_tail.html")
    )
    return {"mturk_input.csv": _csv(rows), "mturk_design.html": design}


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV, `LF` line ends; a leading = + - @ is kept from being a formula."""
    return _csv([[guard_cell(str(cell)) for cell in row] for row in rows])


def html_cell(text: str) -> str:
    """Escape a text for a page that a table fills in; a leading formula sign as its number."""
    escaped = html.escape(text)
    return f"&#{ord(escaped[0])};{escaped[1:]}" if escaped[:1] in _FORMULA else escaped


def guard_cell(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula."""
    return "'" + text if text[:1] in _FORMULA else text


def free_cell(text: str) -> str:
    """Remove the apostrophe of `guard_cell`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text


def read_results(path: str, layout: TaskLayout, *, person: str = "") -> Iterator[TaskResult]:
    """Read what people did with tasks; rows of a sheet that are blank give nothing.

    Args:
        path: a filled sheet, JSON lines, an export of Label Studio, or Mechanical Turk's results.
        layout: the tasks' fields.
        person: who filled a sheet, where it does not say.

    Raises:
        DataError: the file is of no known sort, a record lacks its task or its person, or its time
            cannot be read.
    """
    for result in _read_results(path, layout, person):
        try:
            yield result._replace(submitted_at=parse_time(result.submitted_at))
        except (ValueError, OverflowError) as error:
            remedy = "Write it as 2026-01-31T12:00:00+00:00, or leave it out"
            raise DataError(str(error), file=path, record=result.number, remedy=remedy) from None


def _read_results(path: str, layout: TaskLayout, person: str) -> Iterator[TaskResult]:
    records = list(read_records(path))
    if not records:
        raise DataError("holds no record", file=path, remedy=layout.known)
    for number, record in records:
        if not isinstance(record, Mapping):
            raise DataError("must be an object", file=path, record=number, remedy=layout.known)
    first = records[0][1]
    if is_export(first):
        for result in read_annotations(records, path):
            found = result.data.get(layout.id_field)
            if not isinstance(found, str) or not found.strip():
                problem = f"a task has no {layout.id_field}"
                remedy = "Export the project that the tasks were imported into"
                raise DataError(problem, file=path, record=result.number, remedy=remedy)
            yield result
    elif "WorkerId" in first:
        for number, record in records:
            yield from _turk_results(record, path, number, layout)
    elif layout.id_field in first and {layout.fields[0], *layout.aliases.values()} & set(first):
        for number, record in records:
            yield from _sheet_results(record, path, number, layout, person)
    else:
        problem = f"is none of the known sorts (fields {', '.join(map(str, first))})"
        raise DataError(problem, file=path, remedy=layout.known)


def is_export(record: Any) -> bool:
    """Whether a file's first record looks like an export of Label Studio."""
    return isinstance(record, Mapping) and any(
        name in record for name in ("annotations", "annotator", "annotation_id")
    )


def read_annotations(records: Iterable[tuple[int, Any]], path: str) -> Iterator[TaskResult]:
    """Read an export's records, one annotation at a time, whichever of the three types it is.

    Raises:
        DataError: a record is not a task.
    """
    for number, record in records:
        if not isinstance(record, Mapping):
            raise DataError("must be an object", file=path, record=number, remedy=_EXPORT)
        if "annotations" in record:
            yield from _task_annotations(record, path, number)
        else:
            values = {
                str(name): _texts(decoded_cell(value))
                for name, value in record.items()
                if name not in _OWN
            }
            yield _annotation(number, record, values, record, decoded_cell(record.get("annotator")),
                              record.get("annotation_id"))  # fmt: skip


def _task_annotations(record: Mapping[str, Any], path: str, number: int) -> Iterator[TaskResult]:
    data, annotations = record.get("data"), record["annotations"]
    if not isinstance(data, dict) or not isinstance(annotations, list):
        problem = "a task needs 'data' and a list of 'annotations'"
        raise DataError(problem, file=path, record=number, remedy=_EXPORT)
    for entry in annotations:
        if not isinstance(entry, dict):
            problem = "an annotation is not an object"
            raise DataError(problem, file=path, record=number, remedy=_EXPORT)
        if entry.get("was_cancelled") or entry.get("draft"):
            continue
        values: dict[str, list[str]] = {}
        results = entry.get("result") or []
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            problem = "an annotation's 'result' must be a list of objects"
            raise DataError(problem, file=path, record=number, remedy=_EXPORT)
        for result in results:
            values.setdefault(str(result.get("from_name")), []).extend(_texts(result.get("value")))
        yield _annotation(number, data, values, entry, entry.get("completed_by"), entry.get("id"))


def _annotation(
    number: int,
    data: Mapping[str, Any],
    values: dict[str, list[str]],
    entry: Mapping[str, Any],
    person: Any,
    assignment: Any,
) -> TaskResult:
    if isinstance(person, Mapping):
        person = person.get("email") or person.get("username") or person.get("id")
    return TaskResult(
        number,
        dict(data),
        values,
        "" if person is None else str(person),
        "" if assignment is None else str(assignment),
        _number(entry.get("lead_time")),
        str(entry.get("created_at") or ""),
    )


def _sheet_results(
    record: Mapping[str, Any], path: str, number: int, layout: TaskLayout, person: str
) -> Iterator[TaskResult]:
    values: dict[str, list[str]] = {}
    for field in layout.fields:
        alias = layout.aliases.get(field, field)
        name = alias if field not in record and alias in record else field
        if field == layout.fields[0] and name not in record:
            problem, remedy = "is missing", "Write '' where a task was left out"
            raise DataError(problem, file=path, record=number, field=name, remedy=remedy)
        values[field] = [_typed(record.get(name), path, number, name)]
    if not any(text.strip() for texts in values.values() for text in texts):
        return
    named = [person_of_field(record, field, path, number) for field in layout.person_fields]
    who = next(filter(None, [*named, person.strip()]), "")
    if not who:
        field = layout.person_fields[0]
        remedy = f"Fill the column {field}, or pass {layout.option} NAME"
        raise DataError("no name is given", file=path, record=number, field=field, remedy=remedy)
    yield TaskResult(
        number,
        {layout.id_field: free_cell(text_of_field(record, layout.id_field, path, number))},
        values,
        who,
        str(record.get("assignment") or ""),
        _number(record.get("seconds")),
        str(record.get("submitted_at") or record.get("at") or ""),
    )


def _turk_results(
    record: Mapping[str, Any], path: str, number: int, layout: TaskLayout
) -> Iterator[TaskResult]:
    """Read one assignment of Mechanical Turk, up to five tasks; a rejected one gives nothing."""
    if str(record.get("AssignmentStatus") or "").casefold() == "rejected":
        return
    names = "|".join((layout.id_field, *layout.fields))
    pattern = re.compile(rf"(Input|Answer)\.({names})_(\d+)(?:\.(.+))?")
    tasks: dict[str, dict[str, str]] = {}
    for name, value in {**record, **_turk_answers(record, path, number)}.items():
        match = pattern.fullmatch(str(name))
        if match is None or value is None:
            continue
        side, field, position, option = match.groups()
        task = tasks.setdefault(position, {})
        if option is None:  # inputs were written for HTML, see `html_cell`
            task[field] = html.unescape(str(value)) if side == "Input" else str(value)
        elif str(value).casefold() == "true":
            task[field] = option
    if not tasks:
        problem = f"holds no field like Answer.{layout.fields[0]}_1"
        raise DataError(problem, file=path, record=number, remedy=layout.known)
    for _, task in sorted(tasks.items()):
        values = {field: [task.get(field, "")] for field in layout.fields}
        if not any(text.strip() for (text,) in values.values()):
            continue
        if not task.get(layout.id_field):
            field = f"Input.{layout.id_field}"
            problem, remedy = "an answer without its task", f"Keep the columns {field}_1 ..."
            raise DataError(problem, file=path, record=number, field=field, remedy=remedy)
        yield TaskResult(
            number,
            {layout.id_field: task[layout.id_field]},
            values,
            text_of_field(record, "WorkerId", path, number),
            str(record.get("AssignmentId") or ""),
            _number(record.get("WorkTimeInSeconds")),
            str(record.get("SubmitTime") or ""),
        )


def _turk_answers(record: Mapping[str, Any], path: str, number: int) -> dict[str, str]:
    """Return the answers in the JSON that newer forms put into `Answer.taskAnswers`."""
    field = "Answer.taskAnswers"
    try:
        answers = json.loads(record.get(field) or "[]")
    except (TypeError, ValueError, RecursionError):
        answers = None
    if not isinstance(answers, list) or not all(isinstance(entry, dict) for entry in answers):
        remedy = "Keep Mechanical Turk's results as they came"
        problem = "must be a list of objects"
        raise DataError(problem, file=path, record=number, field=field, remedy=remedy)
    opened: dict[str, str] = {}
    for name, value in ((name, value) for entry in answers for name, value in entry.items()):
        if isinstance(value, dict):
            opened |= {f"Answer.{name}.{option}": str(on) for option, on in value.items()}
        else:
            opened[f"Answer.{name}"] = str(value)
    return opened


def _csv(rows: Iterable[Sequence[str]]) -> str:
    lines = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="\r\n").writerow(row)  # with LF a lone CR goes unquoted
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def _typed(value: Any, path: str, number: int, field: str) -> str:
    """Return what a person typed: a text, a number, or a list of texts; null is nothing."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return "; ".join(value)
    if value is None or isinstance(value, str):
        return free_cell(value or "")
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return str(value)
    remedy = "Write a text, or a list of texts"
    raise DataError("must be text", file=path, record=number, field=field, remedy=remedy)


def _texts(value: Any) -> list[str]:
    """Return the texts of a value: a text, a list, or an object with `text` or `choices`."""
    if isinstance(value, Mapping):
        return _texts(value.get("text", value.get("choices", value.get("rating"))))
    if isinstance(value, list):
        return [text for entry in value for text in _texts(entry)]
    return [] if value is None or value == "" else [str(value)]


def _number(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        return None
