"""What the `datasets` builder needs for ARC-DA: typed features, and tables read in small pieces.

In: the files of a split; ARC's files if the options are wanted. Out: Arrow tables of the typed
schema. It refuses ids that come twice. `datasets` is imported by `arc_da_features` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any

from twowiki.arc_da.schema import DIFFICULTIES, Question, question_to_row
from twowiki.arc_da.sources import index_by_id, parse_file, question_members, read_multiple_choice
from twowiki.errors import DataError
from twowiki.io.records import Opener

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa


def arc_da_features() -> datasets.Features:
    """Return the typed features; hidden values are `None` or an empty list, never -1."""
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
    """Return the same columns as an Arrow schema, without importing `datasets`."""
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


def question_tables(
    files: Iterable[str],
    arc_dir: str | PathLike[str] | Iterable[str | PathLike[str]] | None = None,
    opener: Opener = open,
    split: str | None = None,
) -> Iterator[pa.Table]:
    """Read questions as Arrow tables of a bounded number of rows.

    Args:
        files: a split's files, as `find_question_splits` names them.
        arc_dir: ARC's folder, zip or files; its options and keys are joined by id.
        opener: what opens a path for reading bytes; a streaming builder passes its own.
        split: which split is wanted, where a file is a zip.

    Raises:
        DataError: a record is wrong, or an id comes twice in the split; the error names the file
            and the record.
    """
    import pyarrow as pa

    from twowiki.data.arrow import bounded_batches

    arc = None if not arc_dir else index_by_id(read_multiple_choice(arc_dir, opener=opener))
    schema = arrow_schema()
    seen: dict[str, str] = {}
    for file in question_members(files, split):
        questions = _once(parse_file(file, arc=arc, opener=opener), file, seen)
        for batch in bounded_batches(questions, lambda question: len(question.question)):
            yield pa.Table.from_pylist([_arrow_row(question) for question in batch], schema=schema)


def _once(questions: Iterable[Question], file: str, seen: dict[str, str]) -> Iterator[Question]:
    """Pass questions on and note their files in `seen`; refuse an id that is there already."""
    for question in questions:
        record = question.question_id
        if record in seen:
            where = "the same file" if seen[record] == file else seen[record]
            problem, remedy = f"the id comes twice (first in {where})", "Remove one of the records"
            raise DataError(problem, file=file, record=record, field="question_id", remedy=remedy)
        seen[record] = file
        yield question


def _arrow_row(question: Question) -> dict[str, Any]:
    name = question.difficulty
    return {
        **question_to_row(question),
        "difficulty": None if name is None else DIFFICULTIES.index(name),
    }
