"""File names of a data set: which split a name claims, and which part of its name is a shard."""

from __future__ import annotations

import re
import zipfile
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from twowiki.errors import DataError
from twowiki.io.archives import data_members, open_zip

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


def _members(archive: zipfile.ZipFile, path: str | PathLike[str]) -> dict[str, zipfile.ZipInfo]:
    """Give each split's member, in a folder or not; what macOS adds is passed over."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        place = PurePosixPath(member.filename)
        if member.is_dir() or "__MACOSX" in place.parts or place.name.startswith("."):
            continue
        named = split_of(place.name)
        if named is None or place.suffix == ".parquet":
            continue
        if named.split in found:
            raise DataError(
                f"two members for the split {named.split!r}: "
                f"{found[named.split].filename}, {member.filename}",
                file=path,
                remedy="Unpack it and give the files: data_files={...}",
            )
        found[named.split] = member
    return found


def split_members(path: str | PathLike[str]) -> list[str]:
    """Name the splits that a zip holds."""
    with open(path, "rb") as stream, open_zip(stream, path) as archive:
        found = _members(archive, path)
        if not found:
            names = ", ".join(archive.namelist()[:8]) or "nothing"
            raise DataError(
                f"no member named after a split (it holds {names})",
                file=path,
                remedy="A release holds train.json, dev.json and test.json",
            )
        return list(found)


def member_for(
    archive: zipfile.ZipFile, path: str | PathLike[str], split: str | None
) -> zipfile.ZipInfo:
    """Give the member of a split; without a split, the only data member there is."""
    found = _members(archive, path)
    if split in found:
        return found[split]
    data = data_members(archive)
    if not found and len(data) == 1:
        return data[0]
    if split is None and len(found) == 1:
        return next(iter(found.values()))
    wanted = f"no member for the split {split!r}" if split else "several members"
    raise DataError(
        f"{wanted} (it holds {', '.join(m.filename for m in data) or 'no data'})",
        file=path,
        remedy="Name a split that it holds",
    )
