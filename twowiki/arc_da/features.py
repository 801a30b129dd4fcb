"""What the `datasets` builder needs for ARC-DA: features, splits, and tables read in small pieces.

In: the release, a mirror or an exported folder; ARC's files if the options are wanted. Out: Arrow
tables of the typed schema. `datasets` is imported by `features` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from twowiki.arc_da import sources as layout
from twowiki.arc_da.schema import DIFFICULTIES, Question, to_row
from twowiki.arc_da.sources import (
    index_by_id,
    parse_file,
    read_multiple_choice,
)
from twowiki.errors import DataError
from twowiki.io.records import Opener

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

__all__ = ["features", "find_splits", "tables"]


def find_splits(
    source: str | PathLike[str] | Mapping[str, Any], arc_dir: Any = None
) -> dict[str, list[str]]:
    """Find the files of each split; a zip stands for its member of that split.

    Args:
        source: what `layout.find_splits` takes.
        arc_dir: not looked at; the builder passes one set of arguments to all it calls.

    Raises:
        DataError: there is nothing there, or a split has several files that are no shards.
    """
    return {
        split: [file.partition("::")[2] or file for file in files]
        for split, files in layout.find_splits(source).items()
    }


def features() -> datasets.Features:
    """Make the typed features; hidden values are `None` or an empty list, never -1."""
    from datasets import ClassLabel, Features, Value

    from twowiki.data.arrow import list_of

    text = Value("string")
    return Features(
        {
            "question_id": text,
            "tag": text,
            "question": text,
            "answers": list_of(text),
            "difficulty": ClassLabel(names=list(DIFFICULTIES)),
            "source_split": text,
            "choices": list_of({"label": text, "text": text}),
            "answer_key": text,
        }
    )


def arrow_schema() -> pa.Schema:
    """Make the same columns as an Arrow schema, without importing `datasets`."""
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("question_id", text),
            ("tag", text),
            ("question", text),
            ("answers", pa.list_(text)),
            ("difficulty", pa.int64()),
            ("source_split", text),
            ("choices", pa.list_(pa.struct([("label", text), ("text", text)]))),
            ("answer_key", text),
        ]
    )


def tables(
    files: Iterable[str],
    arc_dir: str | PathLike[str] | Iterable[str | PathLike[str]] | None = None,
    opener: Opener = open,
    split: str | None = None,
) -> Iterator[pa.Table]:
    """Read questions as Arrow tables of a bounded number of rows.

    Args:
        files: a split's files, as `find_splits` names them.
        arc_dir: ARC's folder, zip or files; its options and keys are joined by id.
        opener: what opens a path for reading bytes; a streaming builder passes its own.
        split: which split is wanted, where a file is a zip.

    Raises:
        DataError: a record is wrong, or an id stands twice in the split; the error names the file
            and the record.
    """
    import pyarrow as pa

    from twowiki.data.arrow import batches

    arc = None if not arc_dir else index_by_id(read_multiple_choice(arc_dir, opener=opener))
    schema = arrow_schema()
    seen: dict[str, str] = {}
    for file in layout.members(files, split):
        questions = _once(parse_file(file, arc=arc, opener=opener), file, seen)
        for batch in batches(questions, lambda question: len(question.question)):
            yield pa.Table.from_pylist([_arrow_row(question) for question in batch], schema=schema)


def _once(questions: Iterable[Question], file: str, seen: dict[str, str]) -> Iterator[Question]:
    """Pass questions on, with their ids and files into `seen`; an id that is there is refused."""
    for question in questions:
        record = question.question_id
        if record in seen:
            where = "the same file" if seen[record] == file else seen[record]
            problem, remedy = f"the id stands twice (first in {where})", "Remove one of the records"
            raise DataError(problem, file=file, record=record, field="question_id", remedy=remedy)
        seen[record] = file
        yield question


def _arrow_row(question: Question) -> dict[str, Any]:
    name = question.difficulty
    return {**to_row(question), "difficulty": None if name is None else DIFFICULTIES.index(name)}
