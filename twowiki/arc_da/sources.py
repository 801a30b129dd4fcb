"""ARC-DA's and ARC's files as questions: the release, mirrors, exported folders, zips, one stream.

In: paths. Out: `Question` and `MultipleChoice`, in file order. Errors name the file, the record and
the field. Nothing here imports `datasets`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.arc_da.schema import (
    ARC_SPLITS,
    MultipleChoice,
    Question,
    attach_choices,
    parse_multiple_choice,
    parse_question,
)
from twowiki.data.splits import (
    ARC,
    ARC_DA,
    choose_files,
    files_below,
    located,
    split_named,
    split_of,
    split_of_file,
)
from twowiki.errors import DataError
from twowiki.io.archives import is_zip
from twowiki.io.records import Opener, read_records


def read_questions(
    source: str | PathLike[str],
    *,
    split: str | None = None,
    arc: Mapping[str, MultipleChoice] | None = None,
    opener: Opener = open,
) -> Iterator[Question]:
    """Read direct-answer questions of a file, folder or zip: one split, or all of them.

    Args:
        source: what `find_question_splits` takes.
        split: `train`, `validation` (also `dev`) or `test`; by default every split there is.
        arc: multiple-choice originals by id (`index_by_id`), to be joined.
        opener: what opens a path for reading bytes.

    Raises:
        DataError: nothing is found, the split is not there, or a record is wrong.
    """
    splits = find_question_splits(source)
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


def read_gold_questions(
    source: str | PathLike[str], *, split: str | None = None
) -> dict[str, Question]:
    """Read questions by id, in file order.

    Raises:
        DataError: nothing is there, a record is wrong, or an id comes twice.
    """
    questions: dict[str, Question] = {}
    for question in read_questions(source, split=split):
        if question.question_id in questions:
            raise DataError(
                "duplicate id",
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
                    remedy = "Name each file once, and remove one of the two records"
                    problem = "duplicate id"
                    raise DataError(problem, file=file, record=parsed.id, field="id", remedy=remedy)
    return list(questions.values())


def index_by_id(questions: Iterable[MultipleChoice]) -> dict[str, MultipleChoice]:
    """Index originals by ARC's id and by the prefixed id, as `attach_choices` wants them."""
    index: dict[str, MultipleChoice] = {}
    for question in questions:
        index[question.question_id] = question
        index.setdefault(question.id, question)
    return index


class ArcFile(NamedTuple):
    """A file of multiple-choice questions, with what its names tell; `split` in our words."""

    name: str
    difficulty: str | None
    split: str | None


def find_question_splits(
    source: str | PathLike[str] | Mapping[str, Any], *, whole_zips: bool = False
) -> dict[str, list[str]]:
    """Find the files of each split: `train`, `validation`, `test`, those that are there.

    Args:
        source: a folder (the release's, one that holds it or its zip, an exported data set), a
            zip, one file (its name tells the split, by `split_of_file`), or a mapping of split to
            file or files.
        whole_zips: name a zip itself instead of its member that holds the split.

    Raises:
        DataError: there is nothing there, or a split has several files that are no shards.
    """
    if whole_zips:
        found = find_question_splits(source)
        return {
            split: [file.partition("::")[2] or file for file in files]
            for split, files in found.items()
        }
    if isinstance(source, Mapping):
        given: dict[str, list[str]] = {}
        for split, files in source.items():
            listed = [files] if isinstance(files, str | PathLike) else list(files)
            wanted = split_named(str(split))
            given.setdefault(wanted, []).extend(question_members(listed, wanted))
        return given
    place = os.fspath(source)
    if os.path.isfile(place) and not is_zip(place):
        named = split_of(place, ARC_DA)
        return {named.split if named else split_of_file(place): [place]}
    folders: dict[str, list[str]] = {}
    names = files_below(place)
    for name in names:
        if split_of(name, ARC_DA):
            folders.setdefault(name.rpartition("/")[0], []).append(name)
    if not folders:
        zips = [name for name in names if re.search(r"arc.?da.*\.zip$", name, re.IGNORECASE)]
        if os.path.isdir(place) and len(zips) == 1:
            return find_question_splits(os.path.join(place, zips[0]))
        remedy = "Name the folder or zip of ARC-DA-v1.1 (train.jsonl, dev.jsonl, test.jsonl)"
        raise DataError("no ARC-DA split found", file=place, remedy=remedy)
    best = min(folders, key=lambda name: (name.count("/"), "arc" not in name.lower(), name))
    return {
        split: [located(place, name) for name in chosen]
        for split, chosen in choose_files(folders[best], place, ARC_DA).items()
    }


def question_members(files: Iterable[str | PathLike[str]], split: str | None) -> list[str]:
    """Return the members of zips that hold a split, and other files as they are.

    Raises:
        DataError: a zip lacks the split, or holds several and none is named.
    """
    named: list[str] = []
    for path in files:
        file = os.fspath(path)
        if not is_zip(file) or not os.path.isfile(file):
            named.append(file)
            continue
        splits = find_question_splits(file)
        wanted = next(iter(splits)) if split is None and len(splits) == 1 else split
        if wanted not in splits:
            problem = f"no split {split!r}; it holds {', '.join(splits)}"
            raise DataError(problem, file=file, remedy="Name one of these")
        named += splits[wanted]
    return named


def find_arc_files(source: str) -> Iterator[ArcFile]:
    """Find ARC's files in a file, folder or zip, in order of name.

    Difficulty and split come from the names (`ARC-Easy-Train.jsonl`, or the mirrors'
    `ARC-Easy/train-00000-of-00001.parquet`). A table beside JSON lines of its name is left out.

    Raises:
        DataError: no file there is named like ARC's.
    """
    if os.path.isfile(source) and not is_zip(source):
        near = "/".join(Path(source).resolve().parts[-2:])
        claim = split_of(source, ARC)
        yield ArcFile(source, _difficulty(near), claim.split if claim else None)
        return
    root = _difficulty(os.path.basename(os.path.abspath(source)))
    claims = [claim for name in files_below(source) if (claim := split_of(name, ARC))]
    found = [
        (claim.table, ArcFile(claim.path, difficulty, claim.split))
        for claim in claims
        if (difficulty := _difficulty(claim.path) or root)
    ]
    found = found or [(claim.table, ArcFile(claim.path, None, claim.split)) for claim in claims]
    if not found:
        remedy = "Name ARC's files (ARC-Easy-Train.jsonl ...), their folder, or the zip"
        raise DataError("no ARC questions found", file=source, remedy=remedy)
    others = {_stem(file.name) for table, file in found if not table}
    for table, file in found:
        if not table or _stem(file.name) not in others:
            yield file._replace(name=located(source, file.name))


def _difficulty(text: str) -> str | None:
    found = re.findall(r"easy|challenge", text.lower())
    return found[-1] if found else None


def _stem(name: str) -> str:
    """Return a path without the endings of its file."""
    folder, _, base = name.rpartition("/")
    return f"{folder}/{base.partition('.')[0]}"
