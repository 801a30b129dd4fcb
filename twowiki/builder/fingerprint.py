"""The one place that touches private parts of `datasets`.

`load_dataset("twowiki", ...)` works because the builder's module stands in the library's table of
packaged modules, the only door that `datasets` has had since it dropped loading scripts. The table
is private, stable from 2.15 to 5.2; where it is missing or changed, this says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.data.splits import is_data_file, is_local

NAME = "twowiki"
# what turns files into rows: a change in one of these makes new cache entries
_CODE = ("builder", "data", "io", "arc_da", "generation", "worlds", "models/text")


def register_module(module: str) -> None:
    """Make `load_dataset("twowiki", ...)` find the builder in `module`; repeating is harmless.

    Raises:
        ImportError: this version of `datasets` has no such table.
    """
    try:
        from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES as table
    except ImportError:
        table = None
    if not isinstance(table, dict) or not all(
        isinstance(entry, tuple) and len(entry) == 2 for entry in table.values()
    ):
        import datasets

        raise ImportError(
            f"datasets {datasets.__version__} has another table of packaged modules than the one "
            f'load_dataset("{NAME}") relies on. Use twowiki.load_dataset(...), or load an exported '
            "folder, which needs no registration"
        )
    table[NAME] = (module, code_hash())
    _allow_empty_folder()


def _allow_empty_folder() -> None:
    """Let `load_dataset("twowiki", config)` run where the working directory holds no files.

    The library searches that directory for data before it asks the builder, which may need none.
    """
    from datasets import load

    factory = getattr(load, "PackagedDatasetModuleFactory", None)
    search = getattr(factory, "get_module", None)
    if factory is None or search is None or getattr(search, "allows_empty", False):
        return

    def get_module(self: Any) -> Any:
        try:
            return search(self)
        except FileNotFoundError:
            if self.name != NAME or self.data_files is not None or self.data_dir is not None:
                raise
            self.data_files = str(Path(__file__).resolve())  # a file that no config takes for data
            return search(self)

    get_module.allows_empty = True  # type: ignore[attr-defined]
    factory.get_module = get_module


@cache
def code_hash() -> str:
    """Give a hash of the code that turns files into rows."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in _CODE:
        place = root / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        for file in files:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def is_globbed(data_files: Any, base_path: str) -> bool:
    """Tell whether `data_files` is what `datasets` found by itself by searching a folder."""
    from datasets.data_files import DataFilesDict, get_data_patterns

    try:
        found = DataFilesDict.from_patterns(get_data_patterns(base_path), base_path=base_path)
    except FileNotFoundError:
        return False
    return {str(split): list(files) for split, files in found.items()} == {
        str(split): list(files) for split, files in data_files.items()
    }


def fingerprint(given: str | None, places: Iterable[Any], *, deep: bool = False) -> str:
    """Hash this package's code and the size and time of every local file that may be read.

    Args:
        given: what else tells one result from another.
        places: files, folders, or collections of these; None is passed over.
        deep: whether any file of a folder, four levels deep, may be read (ARC's archives).
    """
    digest = hashlib.sha256((given or "").encode() + code_hash().encode())
    for path in sorted({file for place in places for file in _local_files(place, deep)}):
        status = path.stat()
        digest.update(f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
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
