"""The files that a caller names: made absolute, looked for, and refused when they are no data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from glob import escape, has_magic
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.naming import SUFFIXES, is_local
from twowiki.sources import sniff


def absolute(data_files: Any) -> Any:
    """Make paths absolute, so that one file is one cache entry whatever the working directory."""
    if isinstance(data_files, str | PathLike):
        path = str(data_files)
        if is_local(path) and Path(path).expanduser().is_file():
            return escape(str(Path(path).expanduser().resolve()))
        if is_local(path) and not has_magic(path):
            raise DataError("no such file", file=path, remedy="Check the path in data_files")
        return path
    if isinstance(data_files, Mapping):
        return {split: absolute(paths) for split, paths in data_files.items()}
    if isinstance(data_files, Iterable):
        return [absolute(path) for path in data_files]
    return data_files


def refuse_other_files(splits: Mapping[str, list[str]]) -> None:
    """Refuse what a search of the working directory sweeps in: code, notes, logs."""
    for path in (path for paths in splits.values() for path in paths if is_local(path)):
        if not path.lower().endswith((*SUFFIXES, ".zip")) and sniff(path) == "other":
            raise DataError(
                "no data file of this data set",
                file=path,
                remedy="Give the folder or the files: load_dataset('twowiki', ..., data_dir=...); "
                "without them use twowiki.load_dataset(...), which downloads the release",
            )
