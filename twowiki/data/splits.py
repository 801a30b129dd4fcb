"""File names of a data set: which split a name claims, and which part of its name is a shard."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".parquet")
SPLIT_WORDS = {"train": "train", "dev": "validation", "validation": "validation",
               "valid": "validation", "val": "validation", "test": "test"}  # fmt: skip
_NAME = re.compile(
    r"(?P<hotpot>hotpot_)?(?P<word>train|dev|validation|valid|val|test)"
    r"(?P<setting>_(?:distractor|fullwiki))?(?P<version>_v[\d.]+)?"
    r"(?P<shard>[-_.](?P<number>\d{1,9})(?:-of-(?P<shards>\d{1,9}))?)?(?P<digits>\d+)?",
    re.IGNORECASE,
)


class Named(NamedTuple):
    """A file whose name says which split it holds."""

    split: str
    plain: bool  # exactly the split's name, with or without a shard number
    stem: str  # the name without its shard number
    shard: int | None  # its number
    shards: int | None  # of how many, where the name says so
    path: Path


def split_of(path: str | PathLike[str]) -> Named | None:
    """Tell the split that a file's name claims, None where it claims none."""
    name = Path(path).name
    suffix = next((end for end in SUFFIXES if name.lower().endswith(end)), None)
    match = _NAME.fullmatch(name[: -len(suffix)]) if suffix else None
    if suffix is None or match is None:
        return None
    plain = not any(match[group] for group in ("hotpot", "setting", "version", "digits"))
    stem = name[: match.start("shard")] if match["shard"] else name[: -len(suffix)]
    number, shards = (None if match[g] is None else int(match[g]) for g in ("number", "shards"))
    split = SPLIT_WORDS[match["word"].lower()]
    return Named(split, plain, stem + suffix, number, shards, Path(path))


def is_local(path: str | PathLike[str]) -> bool:
    """Tell a path of this machine from an address (`https://...`, `hf://...`)."""
    return "://" not in str(path)
