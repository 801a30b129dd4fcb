"""Official files, mirrors and exported folders as a stream of examples.

In: a zip of the authors, a JSON array, JSON lines, their .gz, Parquet in the layouts of the public
mirrors, or a folder of these. Out: raw records or `Example`s in file order, never a whole file in
memory. Errors have the file, the record's id and the field. `datasets` is not imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from twowiki.data.layouts import LAYOUT_FIELDS
from twowiki.data.schema import DEFAULT_CONFIG, KNOWN_FIELDS, Example, parse_record
from twowiki.data.splits import find_splits, guess_config, member_for, split_named
from twowiki.errors import DataError
from twowiki.io.archives import is_zip
from twowiki.io.records import Opener, read_records

_COLUMNS = KNOWN_FIELDS | LAYOUT_FIELDS  # of Parquet files, those that are decoded


def read_examples(
    source: str | PathLike[str] | Iterable[str],
    config: str | None = None,
    split: str | None = None,
    opener: Opener = open,
) -> Iterator[Example]:
    """Yield the examples of a source, streamed.

    Args:
        source: a file, a zip, a folder (with `split`), or the paths of one split's files.
        config: a config's name; by default the source's folder, name or first record decides,
            else it is the default release.
        split: `train`, `validation` (or `dev`) or `test`; needed where the source holds several.
        opener: what opens a path; for remote files.

    Raises:
        DataError: a record that cannot be read, or one id twice; file, id and field are named.
    """
    if isinstance(source, str | PathLike):
        config = config or guess_config(source)
        files = _files_of(source, config, split)
    else:
        files = list(source)
        config = config or (guess_config(files[0]) if files else DEFAULT_CONFIG)
    seen: dict[str, int] = {}
    for number, path in enumerate(files):
        for position, raw in enumerate(read_raw(path, split, opener)):
            example = _parse_at(raw, config, path, position)
            if example.id in seen:
                first = files[seen[example.id]]
                where = "the same file" if first == path else first
                raise DataError(
                    f"duplicate id (first in {where})",
                    file=path,
                    record=example.id,
                    field="_id",
                    remedy="Remove one of the two records; `twowiki validate` lists all of them",
                )
            seen[example.id] = number
            yield example


def _parse_at(raw: Any, config: str, path: str, position: int) -> Example:
    """Parse a file's record; errors have the file, and the record's number if it has no id."""
    try:
        if isinstance(raw, dict) and type(raw.get("type")) is int:
            raise DataError(
                f"the type is a number ({raw['type']}), and the file does not name its labels",
                record=raw.get("_id") or raw.get("id"),
                field="type",
                remedy="Write the type's name",
            )
        return parse_record(raw, config)
    except DataError as error:
        raise DataError(
            error.problem,
            file=path,
            record=error.record or f"number {position} (from 0)",
            field=error.field,
            remedy=error.remedy,
        ) from None


def _files_of(source: str | PathLike[str], config: str, split: str | None) -> list[str]:
    splits = find_splits(source, config)
    split = None if split is None else split_named(split)
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split is None:
        raise DataError(
            f"it holds several splits: {', '.join(splits)}", file=source, remedy="Name one"
        )
    if split not in splits:
        if Path(source).is_file() and not is_zip(source):
            return [str(source)]
        raise DataError(
            f"no split {split!r}; it holds {', '.join(splits)}",
            file=source,
            remedy="Name one of these",
        )
    return splits[split]


def read_raw(
    path: str | PathLike[str],
    split: str | None = None,
    opener: Opener = open,
    *,
    repeated: list[str] | None = None,
) -> Iterator[Any]:
    """Yield a file's raw records in file order: JSON objects, or rows as dicts.

    Args:
        path: the file; of a zip, the member of the split.
        split: which split is wanted, where the file is a zip.
        opener: what opens a path; for remote files.
        repeated: gets the keys that stand twice in the record that comes next.

    Raises:
        DataError: the file cannot be read to its end; whole records before the fault come first.
    """

    def choose(archive: ZipFile, place: str) -> ZipInfo:
        return member_for(archive, place, None if split is None else split_named(split))

    records = read_records(
        path, opener, choose=choose, columns=_COLUMNS, empty_cell=None, repeated=repeated
    )
    for _, record in records:
        yield record


def examples_of(
    source: str | PathLike[str], config: str | None = None, split: str | None = None
) -> Iterator[Example]:
    """Stream a split's examples.

    Args:
        source: a file, a release's zip, or a folder.
        config: a release's name; by default decided by the source.
        split: by default the validation split, or the only one there is.
    """
    config = config or guess_config(source)
    if split is None:
        splits = find_splits(source, config)
        split = next(iter(splits)) if len(splits) == 1 else "validation"
    return read_examples(source, config, split)
