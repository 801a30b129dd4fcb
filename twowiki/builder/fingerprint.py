"""What a cached result depends on: this package's code, and the files that may be read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.data.splits import is_data_file, is_local

# what turns files into rows: a change in one of these makes new cache entries
_CODE_FILES = (".py", ".sql", ".yaml")
_CODE = ("builder", "data", "io", "arc_da", "generation", "worlds", "models/text")


@cache
def code_hash() -> str:
    """Return a hash of the code that turns files into rows."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in _CODE:
        place = root / name
        found = sorted(place.rglob("*")) if place.is_dir() else [place.with_suffix(".py")]
        files = [file for file in found if file.suffix in _CODE_FILES]
        for file in files:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def is_globbed(data_files: Any, base_path: str) -> bool:
    """Return whether `data_files` is what `datasets` found by itself by searching a folder."""
    from datasets.data_files import DataFilesDict, get_data_patterns

    try:
        found = DataFilesDict.from_patterns(get_data_patterns(base_path), base_path=base_path)
    except FileNotFoundError:
        return False
    return {str(split): list(files) for split, files in found.items()} == {
        str(split): list(files) for split, files in data_files.items()
    }


def cache_key(given: str | None, places: Iterable[Any], *, deep: bool = False) -> str:
    """Hash this package's code and the size and time of every local file that may be read.

    Args:
        given: what else tells one result from another.
        places: files, folders, or collections of these; None is passed over.
        deep: whether any file of a folder, four levels deep, may be read (ARC's archives).
    """
    digest = hashlib.sha256((given or "").encode() + code_hash().encode())
    for path in sorted({file for place in places for file in _local_files(place, deep)}):
        status = path.stat()
        digest.update(
            f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()[:32]


def _local_files(place: Any, deep: bool) -> Iterator[Path]:
    if isinstance(place, str | PathLike):
        path = Path(place).expanduser().resolve() if is_local(place) else None
        if path is not None and path.is_file():
            yield path
        elif path is not None and path.is_dir():
            for depth in range(1, 5 if deep else 3):
                yield from (
                    entry
                    for entry in path.glob("/".join("*" * depth))
                    if entry.is_file() and (deep or is_data_file(entry))
                )
    elif isinstance(place, Mapping):
        for entry in place.values():
            yield from _local_files(entry, deep)
    elif isinstance(place, Iterable):
        for entry in place:
            yield from _local_files(entry, deep)
