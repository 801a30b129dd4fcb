"""Read ARC-DA and ARC from files: JSON lines, JSON, CSV, Parquet, compressed, zipped, in folders.

In: a file, a zip or a folder (the release as it unpacks, ARC's folders, AI2's mirrors, an exported
data set). Out: raw records one at a time, or `Question` and `MultipleChoice`. A file inside a zip
is named `zip://MEMBER::ARCHIVE`. Nothing here imports `datasets`.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.arc_da.records import Opener, read_records
from twowiki.arc_da.schema import (
    MultipleChoice,
    Question,
    attach_choices,
    parse_multiple_choice,
    parse_question,
)
from twowiki.errors import DataError

SPLITS = {
    "train": "train",
    "dev": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
_FORMATS = r"(?P<format>jsonl|json|parquet|csv|tsv)(?:\.(?:gz|bz2|xz))?"
_SPLIT_FILE = re.compile(
    rf"(?:arc[-_]?da[-_v.\d]*[-_])?(?P<split>{'|'.join(SPLITS)})(?:-\d+-of-\d+)?\.{_FORMATS}",
    re.IGNORECASE,
)
_ARC_FILE = re.compile(rf".*?(?P<split>{'|'.join(SPLITS)})(?:-\d+-of-\d+)?\.{_FORMATS}", re.I)
_DEPTH = 4


def find_splits(
    source: str | PathLike[str] | Mapping[str, Any], arc_dir: str | PathLike[str] | None = None
) -> dict[str, list[str]]:
    """Find the files of each split: `train`, `validation`, `test`, those that are there.

    Args:
        source: a folder (the release's, its parent, an exported data set), a zip, one file (its
            name tells the split, else it is `train`), or a mapping of split to file or files.
        arc_dir: unused here; the same arguments serve the builder.

    Raises:
        DataError: there is nothing there, or a split has files of two kinds.
    """
    if isinstance(source, Mapping):
        named: dict[str, list[str]] = {}
        for split, files in source.items():
            listed = [files] if isinstance(files, str | PathLike) else list(files)
            named.setdefault(SPLITS.get(str(split).lower(), str(split)), []).extend(
                found for file in listed for found in _unzipped(os.fspath(file), str(split))
            )
        return named
    found: dict[str, dict[str, list[str]]] = {}
    place = os.fspath(source)
    if os.path.isfile(place) and not _is_zip(place):
        match = _SPLIT_FILE.fullmatch(os.path.basename(place))
        return {SPLITS[match["split"].lower()] if match else "train": [place]}
    for folder, name in _files_below(place):
        if match := _SPLIT_FILE.fullmatch(name.rpartition("/")[2]):
            split = SPLITS[match["split"].lower()]
            found.setdefault(folder, {}).setdefault(split, []).append(_locate(place, name))
    if not found:
        remedy = "Give the folder or zip of ARC-DA-v1.1 (train.jsonl, dev.jsonl, test.jsonl)"
        raise DataError("no ARC-DA split found", file=place, remedy=remedy)
    first = min(found, key=lambda folder: (folder.count("/"), "arc" not in folder.lower(), folder))
    return {split: _one_kind(found[first][split]) for split in sorted(found[first], key=_order)}


def read_questions(
    source: str | PathLike[str],
    *,
    split: str | None = None,
    arc: Mapping[str, MultipleChoice] | None = None,
    opener: Opener = open,
) -> Iterator[Question]:
    """Read direct-answer questions from one file, or from a folder or zip (one split or all).

    Raises:
        DataError: nothing is found, the split is not there, or a record is wrong.
    """
    splits = find_splits(source)
    if split is not None:
        wanted = SPLITS.get(split.lower(), split)
        if wanted not in splits and len(splits) == 1 and os.path.isfile(os.fspath(source)):
            wanted = next(iter(splits))
        if wanted not in splits:
            problem = f"has no split {split!r} (there are: {', '.join(splits)})"
            raise DataError(problem, file=source)
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


def read_multiple_choice(
    sources: str | PathLike[str] | Iterable[str | PathLike[str]], *, opener: Opener = open
) -> list[MultipleChoice]:
    """Read ARC's questions from files, folders or zips, in order of path and line.

    Difficulty and split come from the file's and folder's names (`ARC-Easy-Train.jsonl`,
    `ARC-Easy/train-00000-of-00001.parquet`). A table beside JSON lines of the same name is skipped.

    Raises:
        DataError: nothing is found, a record is wrong, or an id comes twice.
    """
    listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
    questions: dict[str, MultipleChoice] = {}
    for source in listed:
        for file, difficulty, split in _arc_files(os.fspath(source)):
            for number, raw in read_records(file, opener):
                try:
                    parsed = parse_multiple_choice(
                        raw, number=number, difficulty=difficulty, split=split
                    )
                except DataError as error:
                    raise error.at(file) from None
                known = questions.setdefault(parsed.question_id, parsed)
                if known is not parsed:
                    problem = "this id came before"
                    raise DataError(problem, file=file, record=parsed.id, field="id")
    return list(questions.values())


def index_by_id(questions: Iterable[MultipleChoice]) -> dict[str, MultipleChoice]:
    """Index originals by ARC's id and by the prefixed id, as `attach_choices` wants them."""
    index: dict[str, MultipleChoice] = {}
    for question in questions:
        index[question.question_id] = question
        index.setdefault(question.id, question)
    return index


def _arc_files(source: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Find (file, difficulty, split) in a source of ARC."""
    if os.path.isfile(source) and not _is_zip(source):
        near = "/".join(Path(source).resolve().parts[-2:])
        match = _ARC_FILE.fullmatch(os.path.basename(source))
        yield source, _difficulty(near), SPLITS[match["split"].lower()] if match else None
        return
    root, found = os.path.basename(os.path.abspath(source)), []
    for _, name in _files_below(source):
        match, difficulty = _ARC_FILE.fullmatch(name.rpartition("/")[2]), _difficulty(name)
        difficulty = difficulty or _difficulty(root)
        if match and difficulty:
            found.append(
                (name, match["format"].lower(), difficulty, SPLITS[match["split"].lower()])
            )
    if not found:
        remedy = "Give ARC's files (ARC-Easy-Train.jsonl ...), their folder, or the zip"
        raise DataError("no ARC questions found", file=source, remedy=remedy)
    stems = {_stem(name) for name, kind, _, _ in found if kind in ("jsonl", "json")}
    for name, kind, difficulty, split in found:
        if kind in ("jsonl", "json", "parquet") or _stem(name) not in stems:
            yield _locate(source, name), difficulty, split


def _difficulty(text: str) -> str | None:
    match = re.findall(r"easy|challenge", text.lower())
    return match[-1] if match else None


def _stem(name: str) -> str:
    return re.sub(rf"\.{_FORMATS}$", "", name, flags=re.IGNORECASE)


def _order(split: str) -> int:
    return list(dict.fromkeys(SPLITS.values())).index(split)


def _one_kind(files: list[str]) -> list[str]:
    """Keep the files of a split if they are one file or the shards of one."""
    shards = [file for file in files if re.search(r"-\d+-of-\d+\.", file)]
    if len(files) > 1 and len(shards) != len(files):
        names = ", ".join(sorted(os.path.basename(file) for file in files))
        raise DataError(f"several files for one split: {names}", remedy="Name one in data_files")
    return sorted(files)


def _is_zip(place: str) -> bool:
    return place.lower().endswith(".zip")


def _files_below(place: str) -> list[tuple[str, str]]:
    """List (folder, name) of the files in a folder or zip, names relative and with `/`."""
    if os.path.isfile(place):
        try:
            with zipfile.ZipFile(place) as archive:
                names = [entry for entry in archive.namelist() if not entry.endswith("/")]
        except (zipfile.BadZipFile, OSError) as error:
            raise DataError(f"cannot be read ({error})", file=place) from None
    elif os.path.isdir(place):
        names = []
        for folder, inner, files in os.walk(place):
            near = Path(folder).relative_to(place)
            if len(near.parts) >= _DEPTH:
                inner.clear()
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            names += [(near / file).as_posix() for file in sorted(files)]
    else:
        raise DataError("no such file or folder", file=place)
    kept = [name for name in names if not re.search(r"(^|/)(\.|__MACOSX/)", name)]
    return [(name.rpartition("/")[0], name) for name in sorted(kept)]


def _locate(place: str, name: str) -> str:
    return f"zip://{name}::{place}" if os.path.isfile(place) else os.path.join(place, name)


def _unzipped(file: str, split: str) -> list[str]:
    """Name the members of a zip that hold this split; a plain file is itself."""
    if not _is_zip(file) or not os.path.isfile(file):
        return [file]
    wanted = SPLITS.get(split.lower(), split)
    splits = find_splits(file)
    if wanted not in splits:
        raise DataError(f"has no split {split!r} (there are: {', '.join(splits)})", file=file)
    return splits[wanted]
