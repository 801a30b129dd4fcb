"""Few large files instead of a part for each block of a dump.

In: the tables of a stage that has read its dumps. Out: the same rows in files of some 256 MB of
data, each sorted by the table's first column, its id. A stopped run continues with the next file;
until all files are there the parts stay as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from twowiki.generation.tables import TABLES, parquet_files, write_part
from twowiki.io.processes import map_parts

if TYPE_CHECKING:
    from twowiki.generation.engines import QueryEngine

FILE_BYTES = 256 << 20  # of data, before compression
MOST_PARTS = 100  # of a table that is left as it is
_COPIES = 4  # of a file's data, in a process that sorts it
_ASIDE, _READY = ".sorted", "ready"


class _File(NamedTuple):
    """A file to write: the parts that it takes in."""

    parts: tuple[str, ...]
    folder: str
    name: str


def compact(folder: Path, names: Iterable[str], *, workers: int, memory: int = 2 << 30) -> None:
    """Replace the parts of large tables by a few sorted files, when all parts are there.

    Args:
        folder: the stage's folder.
        names: the tables.
        workers: processes that sort; each needs three times the data of a file in memory.
        memory: bytes that they may hold; files are smaller, and processes fewer, where it is small.
    """
    size = min(FILE_BYTES, memory // (2 * _COPIES))
    workers = max(1, min(workers, memory // (_COPIES * size)))
    aside = folder / _ASIDE
    if not (aside / _READY).exists():
        todo = [file for name in names for file in _files_of(folder, name, size)]
        if not todo:
            return
        for _ in map_parts(_write, [file for file in todo if not _is_written(file)], workers):
            pass
        (aside / _READY).touch()
    _replace_tables(folder)


def compact_by_query(engine: QueryEngine, folder: Path, names: Iterable[str]) -> None:
    """Replace the parts of large tables by sorted files as `compact` does, by the engine alone."""
    aside = folder / _ASIDE
    if not (aside / _READY).exists():
        todo = [name for name in names if len(parquet_files(folder / name)) > MOST_PARTS]
        if not todo:
            return
        for name in todo:
            text = f"SELECT * FROM {name} ORDER BY {TABLES[name].names[0]}"
            if not (aside / name).exists():
                engine.sql(text, {name: folder / name}, aside / name)
        (aside / _READY).touch()
    _replace_tables(folder)


def _replace_tables(folder: Path) -> None:
    aside = folder / _ASIDE
    for table in sorted(path for path in aside.iterdir() if path.is_dir()):
        _replace(folder / table.name, table)
    shutil.rmtree(aside)


def _replace(table: Path, files: Path) -> None:
    shutil.rmtree(table, ignore_errors=True)
    files.replace(table)


def _files_of(folder: Path, name: str, most: int) -> Iterator[_File]:
    """Deal a table's parts to files, in order; none for a table of few parts."""
    parts = parquet_files(folder / name)
    if len(parts) <= MOST_PARTS:
        return
    taken: list[str] = []
    size = number = 0
    for part in parts:
        taken.append(str(part))
        size += _data_bytes(part)
        if size >= most:
            yield _File(tuple(taken), str(folder / _ASIDE / name), f"sorted-{number:05d}")
            taken, size, number = [], 0, number + 1
    if taken:
        yield _File(tuple(taken), str(folder / _ASIDE / name), f"sorted-{number:05d}")


def _data_bytes(part: Path) -> int:
    metadata = pq.read_metadata(part)
    return sum(
        metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups)
    )


def _is_written(file: _File) -> bool:
    return (Path(file.folder) / f"{file.name}.parquet").exists()


def _write(file: _File) -> None:
    table = pa.concat_tables([pq.ParquetFile(part).read() for part in file.parts])
    first = table.schema.names[0]
    write_part(Path(file.folder), file.name, table.sort_by(first))
