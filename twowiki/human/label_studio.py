"""Label Studio's files: labelling set-ups, tasks to import, and annotations read back.

In: tasks as plain values; exports of the kinds JSON, JSON_MIN and CSV. Out: projects, tasks, and
`Annotation`s. Drafts and cancelled annotations are left out. No server and no client is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from os import PathLike
from typing import Any, NamedTuple

from twowiki.errors import DataError

KINDS = ("answers", "review", "rating")
_REMEDY = "Export with the kind JSON, which holds whole annotations"
_OWN = ("annotator", "annotation_id", "lead_time", "created_at", "updated_at", "id")


class Annotation(NamedTuple):
    """What one person did with one task; `values` are the controls' texts by control name."""

    data: dict[str, Any]
    values: dict[str, list[str]]
    annotator: str
    annotation_id: str
    seconds: float | None
    created_at: str


def template(name: str) -> str:
    """Read a text that ships with the package."""
    place = files("twowiki.arc_da.conversion") / "templates" / name
    return place.read_text(encoding="utf-8")


def project(kind: str, title: str, *, people: int, instructions: str = "") -> dict[str, Any]:
    """Describe a project, with the names of Label Studio's own fields.

    Args:
        kind: `answers`, `review` or `rating`.
        title: shown to people.
        people: how many annotate each task.
        instructions: HTML, shown before the first task.
    """
    return {
        "title": title,
        "label_config": template(f"{kind}.xml"),
        "maximum_annotations": people,
        "expert_instruction": instructions,
        "show_instruction": bool(instructions),
    }


def prefill(values: Mapping[str, tuple[str, Iterable[str]]]) -> list[dict[str, Any]]:
    """Make the `predictions` that fill editable texts before a person sees them.

    Args:
        values: by control name, the tag it labels and its texts.
    """
    result = [
        {"from_name": name, "to_name": tag, "type": "textarea", "value": {"text": list(texts)}}
        for name, (tag, texts) in values.items()
    ]
    return [{"model_version": "prefilled", "result": result}]


def is_export(record: Any) -> bool:
    """Whether a file's first record looks like an export of Label Studio."""
    return isinstance(record, Mapping) and any(
        name in record for name in ("annotations", "annotator", "annotation_id")
    )


def read_annotations(
    records: Iterable[tuple[int, Any]], path: str | PathLike[str]
) -> Iterator[tuple[int, Annotation]]:
    """Read an export's records, one annotation at a time, whatever of the three kinds it is.

    Args:
        records: with their numbers, as `read_records` gives them.
        path: where they come from, for errors.

    Yields:
        The number of the record, and the annotation.

    Raises:
        DataError: the file is damaged, or a record is no task.
    """
    for number, record in records:
        if not isinstance(record, Mapping):
            raise DataError("must be an object", file=path, record=number, remedy=_REMEDY)
        if "annotations" in record:
            for annotation in _from_task(record, path, number):
                yield number, annotation
        else:
            yield number, _from_row(record)


def _from_task(
    record: Mapping[str, Any], path: str | PathLike[str], number: int
) -> Iterator[Annotation]:
    data, annotations = record.get("data"), record["annotations"]
    if not isinstance(data, dict) or not isinstance(annotations, list):
        problem = "a task needs 'data' and a list of 'annotations'"
        raise DataError(problem, file=path, record=number, remedy=_REMEDY)
    for entry in annotations:
        if not isinstance(entry, dict):
            raise DataError("an annotation is no object", file=path, record=number, remedy=_REMEDY)
        if entry.get("was_cancelled") or entry.get("draft"):
            continue
        values: dict[str, list[str]] = {}
        results = entry.get("result") or []
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            problem = "an annotation's 'result' must be a list of objects"
            raise DataError(problem, file=path, record=number, remedy=_REMEDY)
        for result in results:
            values.setdefault(str(result.get("from_name")), []).extend(_texts(result.get("value")))
        yield Annotation(
            data,
            values,
            _person(entry.get("completed_by")),
            str(entry.get("id", "")),
            _seconds(entry.get("lead_time")),
            str(entry.get("created_at") or ""),
        )


def _from_row(record: Mapping[str, Any]) -> Annotation:
    values = {
        str(name): _texts(_decoded(value)) for name, value in record.items() if name not in _OWN
    }
    return Annotation(
        dict(record),
        values,
        _person(_decoded(record.get("annotator"))),
        str(record.get("annotation_id") or ""),
        _seconds(record.get("lead_time")),
        str(record.get("created_at") or ""),
    )


def _texts(value: Any) -> list[str]:
    """Give the texts of a value: a text, a list, or an object with `text` or `choices`."""
    if isinstance(value, Mapping):
        return _texts(value.get("text", value.get("choices", value.get("rating"))))
    if isinstance(value, list):
        return [text for entry in value for text in _texts(entry)]
    return [] if value is None or value == "" else [str(value)]


def _decoded(value: Any) -> Any:
    """Undo the JSON that a table's cell may hold."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _person(value: Any) -> str:
    """Name the annotator: an id, an e-mail, or an object with one."""
    if isinstance(value, Mapping):
        value = value.get("email") or value.get("username") or value.get("id")
    return "" if value is None else str(value)


def _seconds(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        return None
