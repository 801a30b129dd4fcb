"""The disk that a stage needs: estimated and checked before the stage starts.

In: the files and the tables that a stage reads. Out: bytes, on the safe side. The factors are
those of made-up dumps with many statements an entity; a real dump needs less.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from twowiki.errors import DataError

# Bytes written and put aside for each byte that a stage reads, at most.
_OF_A_DUMP = {"wikidata": 0.1, "paragraphs": 1.5}  # as it is without packing
_UNPACKED = {".gz": 12, ".bz2": 18, ".zip": 4, ".zst": 12}
_OF_TABLES = {"select": 3.0, "ground": 0.5, "candidates": 4.0, "samples": 1.0, "contexts": 1.5,
              "splits": 0.1}  # fmt: skip
DUMP_STAGES = tuple(_OF_A_DUMP)
_LEAST = 1 << 20


def bytes_of(paths: Iterable[Path]) -> int:
    """Return the bytes of some files, and of all files below some folders."""
    files = (file for path in paths for file in ((path,) if path.is_file() else path.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())


def needed_for_dump(stage: str, files: Iterable[Path]) -> int:
    """Return the bytes that the tables of some dump files may need."""
    share = _OF_A_DUMP[stage]
    packed = (_UNPACKED.get(path.suffix, 1) * path.stat().st_size for path in files)
    return _LEAST + round(share * sum(packed))


def needed_for(stage: str, dumps: Iterable[Path]) -> int:
    """Return the bytes that a later stage may need, from the folders of the dumps' tables."""
    return _LEAST + round(_OF_TABLES[stage] * bytes_of(dumps))


def check_room(stage: str, folder: Path, needed: int) -> None:
    """Raise if the disk of a folder has less room than a stage may need."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"the stage {stage!r} may need {_written(needed)}, and the disk has {_written(free)}",
            file=folder,
            remedy="Make room, or set --work to a larger disk; finished stages are kept.",
        )


def _written(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
