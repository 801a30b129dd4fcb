"""ARC-DA's and ARC's files as questions: the release, mirrors, exported folders, zips, one stream.

In: paths. Out: `Question` and `MultipleChoice`, in file order. Errors name the file, the record and
the field. Nothing here imports `datasets`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike

from twowiki.arc_da.layout import find_arc_files, find_splits, is_zip, split_named
from twowiki.arc_da.records import Opener, read_records
from twowiki.arc_da.schema import (
    ARC_SPLITS,
    MultipleChoice,
    Question,
    attach_choices,
    parse_multiple_choice,
    parse_question,
)
from twowiki.errors import DataError


def read_questions(
    source: str | PathLike[str],
    *,
    split: str | None = None,
    arc: Mapping[str, MultipleChoice] | None = None,
    opener: Opener = open,
) -> Iterator[Question]:
    """Read direct-answer questions of a file, folder or zip: one split, or all of them.

    Args:
        source: what `layout.find_splits` takes.
        split: `train`, `validation` (also `dev`) or `test`; by default every split there is.
        arc: multiple-choice originals by id (`index_by_id`), to be joined.
        opener: what opens a path for reading bytes.

    Raises:
        DataError: nothing is found, the split is not there, or a record is wrong.
    """
    splits = find_splits(source)
    if split is not None and not (os.path.isfile(source) and not is_zip(os.fspath(source))):
        wanted = split_named(split)
        if wanted not in splits:
            problem = f"no split {split!r}; it holds {', '.join(splits)}"
            raise DataError(problem, file=source, remedy="Name one of these")
        splits = {wanted: splits[wanted]}
    for files in splits.values():
        for file in files:
            yield from parse_file(file, arc=arc, opener=opener)


def parse_file(
    file: str, *, arc: Mapping[str, MultipleChoice] | None = None, opener: Opener = open
) -> Iterator[Question]:
    """Read one file's questions, joined with their multiple-choice originals where given."""
    for number, raw in read_records(file, opener):
        try:
            question = parse_question(raw, number=number)
        except DataError as error:
            raise error.at(file) from None
        yield question if arc is None else attach_choices(question, arc)


def read_gold(source: str | PathLike[str], *, split: str | None = None) -> dict[str, Question]:
    """Read questions by id, in file order.

    Raises:
        DataError: nothing is there, a record is wrong, or an id comes twice.
    """
    questions: dict[str, Question] = {}
    for question in read_questions(source, split=split):
        if question.question_id in questions:
            raise DataError(
                "this id came before",
                file=source,
                record=question.question_id,
                field="question_id",
                remedy="Remove one of the two records; `twowiki arc-da stats` counts them",
            )
        questions[question.question_id] = question
    if not questions:
        raise DataError("holds no question", file=source, remedy="Is it the right file?")
    return questions


def read_multiple_choice(
    sources: str | PathLike[str] | Iterable[str | PathLike[str]], *, opener: Opener = open
) -> list[MultipleChoice]:
    """Read ARC's questions of files, folders or zips, in order of path and record.

    Raises:
        DataError: nothing is found, a record is wrong, or an id comes twice.
    """
    listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
    questions: dict[str, MultipleChoice] = {}
    for source in listed:
        for file, difficulty, split in find_arc_files(os.fspath(source)):
            arc_split = None if split is None else ARC_SPLITS.get(split, split)
            for number, raw in read_records(file, opener):
                try:
                    parsed = parse_multiple_choice(
                        raw, number=number, difficulty=difficulty, split=arc_split
                    )
                except DataError as error:
                    raise error.at(file) from None
                if questions.setdefault(parsed.question_id, parsed) is not parsed:
                    remedy = "Give each file once, and remove one of the two records"
                    problem = "this id came before"
                    raise DataError(problem, file=file, record=parsed.id, field="id", remedy=remedy)
    return list(questions.values())


def index_by_id(questions: Iterable[MultipleChoice]) -> dict[str, MultipleChoice]:
    """Index originals by ARC's id and by the prefixed id, as `attach_choices` wants them."""
    index: dict[str, MultipleChoice] = {}
    for question in questions:
        index[question.question_id] = question
        index.setdefault(question.id, question)
    return index
