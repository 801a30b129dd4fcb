"""Which files of a folder or a zip hold which split, told by their names.

One pattern reads a file name and one rule chooses among the names that claim a split, for
2WikiMultiHopQA, HotpotQA and ARC-DA, in folders and in zips. A plain name (`dev.json`) goes before
shards (`train-00000-of-00004.parquet`), shards before decorated names (`dev250.json`), and other
formats before tables. Refused: two files for one split, and shards of which one is missing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, ZipInfo

from twowiki.data.configs import (
    CONFIGS,
    DEFAULT_CONFIG,
    GENERATED_CONFIG,
    HOTPOT_CONFIG,
    HOTPOT_TYPES,
    LAYOUT_CONFIG,
    PAGES_CONFIG,
    RELEASES,
    SPLITS,
    WORLD_CONFIG,
)
from twowiki.data.layouts import layout_of
from twowiki.errors import DataError
from twowiki.io.archives import data_members, is_zip, open_zip

SPLIT_WORDS = {"train": "train", "dev": "validation", "validation": "validation",
               "valid": "validation", "val": "validation", "test": "test"}  # fmt: skip
# what may stand before the split's word in a file name
MULTIHOP, ARC_DA, ARC = "hotpot_", r"arc[-_]?da[-_v.\d]*[-_]", r".*[^a-z]"
# configs whose names many folders have: the files inside tell
_GENERIC = ("data", WORLD_CONFIG, GENERATED_CONFIG, LAYOUT_CONFIG, PAGES_CONFIG)
EXPORT_MARK = b"twowiki_config"  # in the schema of an exported file
_ENDING = re.compile(r"\.(?P<format>jsonl?|parquet|csv|tsv)(?:\.(?:gz|bz2|xz))?$", re.IGNORECASE)
_SPLIT_WORD = re.compile(rf"(?<![\w\[:])(?:{'|'.join(SPLIT_WORDS)})(?!\w)")
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/)")
_DEPTH = 4  # folders within folders that are looked through


class SplitFile(NamedTuple):
    """A file whose name says which split it holds."""

    split: str
    plain: bool  # the split's name alone, with or without a shard number
    stem: str  # the name without its shard number
    shard: int | None  # its number
    shards: int | None  # of how many, where the name says so
    table: bool  # whether it is CSV or TSV
    path: str


@cache
def _pattern(prefix: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<prefix>{prefix})?(?P<word>{'|'.join(SPLIT_WORDS)})"
        r"(?P<setting>_(?:distractor|fullwiki))?(?P<version>_v[\d.]+)?"
        r"(?P<shard>[-_.](?P<number>\d{1,9})(?:-of-(?P<shards>\d{1,9}))?)?(?P<digits>\d+)?",
        re.IGNORECASE,
    )


def split_of(path: str | PathLike[str], prefix: str = MULTIHOP) -> SplitFile | None:
    """Return the split that a file's name claims; None if it claims none.

    Args:
        path: the file, whose folders do not count.
        prefix: what may stand before the split's word: `MULTIHOP`, `ARC_DA` or `ARC`.
    """
    name = os.fspath(path).replace(os.sep, "/").rpartition("/")[2]
    ending = _ENDING.search(name)
    match = _pattern(prefix).fullmatch(name[: ending.start()]) if ending else None
    if ending is None or match is None:
        return None
    number, shards = (None if match[g] is None else int(match[g]) for g in ("number", "shards"))
    start = match.start("shard") if match["shard"] else ending.start()
    return SplitFile(
        split_named(match["word"]),
        not any(match[group] for group in ("prefix", "setting", "version", "digits")),
        name[:start] + ending[0],
        number,
        shards,
        ending["format"].lower() in ("csv", "tsv"),
        os.fspath(path),
    )


def split_of_file(path: str | PathLike[str]) -> str:
    """Return the split that a single file holds: told by its name, else train.

    A whole name goes first (`hotpot_dev_distractor_v1.json`), then the first word (`dev_x.json`),
    then the only word that names a split (`musique_ans_v1.0_dev.jsonl`).
    """
    named = split_of(path)
    if named is not None:
        return named.split
    name = os.fspath(path).replace(os.sep, "/").rpartition("/")[2].lower()
    words = re.findall(r"[a-z]+", name)
    if words and words[0] in SPLIT_WORDS:
        return SPLIT_WORDS[words[0]]
    found = {SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS}
    return found.pop() if len(found) == 1 else "train"


def split_named(word: str) -> str:
    """Return the split that a word means (`dev` is `validation`); other words stay."""
    return SPLIT_WORDS.get(word.lower(), word)


def split_expression(split: Any) -> Any:
    """Return a split of `load_dataset` with the names that `datasets` knows.

    Both `dev` and `dev[:10%]+train` are understood, and lists of these.
    """
    if isinstance(split, list | tuple):
        return type(split)(map(split_expression, split))
    if type(split) is not str:
        return split
    return _SPLIT_WORD.sub(lambda word: split_named(word[0]), split)


def is_data_file(path: str | PathLike[str]) -> bool:
    """Return whether a file's ending is one of a data file or a zip."""
    name = os.fspath(path).lower()
    return name.endswith(".zip") or _ENDING.search(name) is not None


def is_local(path: str | PathLike[str]) -> bool:
    """Return whether a path is on this machine, not an address (`https://...`, `hf://...`)."""
    return "://" not in str(path)


def choose_files(
    paths: Iterable[str], folder: str | PathLike[str], prefix: str = MULTIHOP
) -> dict[str, list[str]]:
    """Choose the files of each split among the files of one folder.

    Args:
        paths: the files.
        folder: where they are, for errors.
        prefix: what may stand before the split's word in a file name.

    Raises:
        DataError: several files claim one split, or a shard is missing.
    """
    named = [entry for path in sorted(paths) if (entry := split_of(path, prefix))]
    splits: dict[str, list[str]] = {}
    for split in SPLITS:
        claims = [entry for entry in named if entry.split == split]
        claims = [entry for entry in claims if not entry.table] or claims
        claims = [entry for entry in claims if entry.plain] or claims
        claims = [entry for entry in claims if entry.shard is None] or _in_order(claims, folder)
        if len({entry.stem for entry in claims}) > 1:
            names = [os.path.basename(entry.path) for entry in claims]
            raise DataError(
                f"several files for the split {split!r}: {', '.join(names)}",
                file=folder,
                remedy=f'Keep one of them, or name it: data_files={{"{split}": "{names[0]}"}}',
            )
        if claims:
            splits[split] = [entry.path for entry in claims]
    return splits


def _in_order(shards: list[SplitFile], folder: str | PathLike[str]) -> list[SplitFile]:
    """Sort shards by number, and refuse a set with a gap."""
    ordered = sorted(shards, key=lambda entry: entry.shard or 0)
    if len(shards) == 1 and shards[0].shards is None:
        return shards  # one file whose name has a number in it
    sets = {(entry.stem, entry.shards) for entry in shards}
    numbers = {entry.shard or 0 for entry in shards}
    total = shards[0].shards or len(shards) if shards else 0
    first = 0 if 0 in numbers else 1
    missing = next((n for n in range(first, first + total) if n not in numbers), None)
    if missing is None and len(sets) <= 1 and len(numbers) == len(shards):
        return ordered
    problem = f"shard number {missing} of {total} is missing" if len(sets) == 1 else "they differ"
    names = ", ".join(os.path.basename(entry.path) for entry in ordered[:6])
    raise DataError(
        f"not a whole set of shards ({problem}): {names}",
        file=folder,
        remedy="Add the missing files, or name the ones to read with data_files",
    )


# ---- folders and zips


def files_below(place: str | PathLike[str]) -> list[str]:
    """List the files in a folder or zip, relative and with `/`, without hidden ones.

    Raises:
        DataError: there is no such folder or zip.
    """
    if os.path.isfile(place):
        with open(place, "rb") as stream, open_zip(stream, place) as archive:
            names = [entry for entry in archive.namelist() if not entry.endswith("/")]
    elif os.path.isdir(place):
        names = []
        for folder, inner, files in os.walk(place):
            near = Path(folder).relative_to(place)
            inner[:] = [name for name in inner if not name.startswith(".")]
            if len(near.parts) >= _DEPTH:
                inner.clear()
            names += [(near / file).as_posix() for file in files if _may_open(Path(folder, file))]
    else:
        raise DataError("no such file or folder", file=place, remedy="Check the path")
    return sorted(name for name in names if not _HIDDEN.search(name))


def located(place: str, name: str) -> str:
    """Return the path of a file that `files_below` lists: in the folder, or in the zip."""
    return f"zip://{name}::{place}" if os.path.isfile(place) else os.path.join(place, name)


def _members(archive: ZipFile, path: str | PathLike[str]) -> dict[str, ZipInfo]:
    """Return the member of each split, in any folder of the archive."""
    found: dict[str, ZipInfo] = {}
    for member in data_members(archive):
        named = split_of(member.filename)
        if named is None or member.filename.endswith(".parquet"):
            continue
        if named.split in found:
            raise DataError(
                f"two members for the split {named.split!r}: "
                f"{found[named.split].filename}, {member.filename}",
                file=path,
                remedy="Unpack it and name the files: data_files={...}",
            )
        found[named.split] = member
    return found


def splits_in_zip(path: str | PathLike[str]) -> list[str]:
    """Return the splits that a release's zip holds."""
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


def member_for(archive: ZipFile, path: str | PathLike[str], split: str | None) -> ZipInfo:
    """Return the member of a split; without a split, the only data member."""
    found = _members(archive, path)
    if split in found:
        return found[split]
    members = data_members(archive)
    if not found and len(members) == 1:
        return members[0]
    if split is None and len(found) == 1:
        return next(iter(found.values()))
    problem = f"no member for the split {split!r}" if split else "several members"
    raise DataError(
        f"{problem} (it holds {', '.join(m.filename for m in members) or 'no data'})",
        file=path,
        remedy="Name a split that it holds",
    )


def find_splits(source: str | PathLike[str], config: str = DEFAULT_CONFIG) -> dict[str, list[str]]:
    """Find the files of each split.

    Args:
        source: a file (`split_of_file` decides its split), a zip, or a folder that holds
            files named after splits (`dev.json`, `train-00000-of-00004.parquet`), such files in
            a folder named like the config, or a release's zip.
        config: the release that is wanted.

    Returns:
        Split name to its files in order; a zip is listed for each split that it holds.

    Raises:
        DataError: nothing is found, or two files claim one split.
    """
    place = Path(source)
    if place.is_file():
        if is_zip(place):
            return {split: [str(place)] for split in splits_in_zip(place)}
        return {split_of_file(place): [str(place)]}
    if not place.is_dir():
        raise DataError("no such file or folder", file=source, remedy="Check the path")
    for folder in (place / config, place, place / "data"):
        if folder.name == "data" and exported_config(folder) not in (config, None):
            continue  # the export of another config, not a folder of data files
        found = _files_in(folder) or _zip_in(folder, config)
        if found:
            return {split: found[split] for split in SPLITS if split in found}
    names = sorted(
        path.name if path.is_dir() or _may_open(path) else f"{path.name}, which is no regular file"
        for path in place.iterdir()
    )
    raise DataError(
        "no file named after a split "
        f"(found {', '.join(names[:8]) + (' ...' if len(names) > 8 else '') or 'nothing'})",
        file=source,
        remedy="Name the files train.json, dev.json, test.json (or .jsonl, .gz, .parquet), put "
        f"{config}.zip there, or name the files: "
        'data_files={"validation": "path/to/file.json"}',
    )


def _files_in(folder: Path) -> dict[str, list[str]]:
    if not folder.is_dir():
        return {}
    return choose_files((str(path) for path in folder.iterdir() if _may_open(path)), folder)


def _may_open(path: Path) -> bool:
    """Whether it is a file or a broken link: opening a pipe, socket or device may wait for ever."""
    return path.is_file() or not path.exists()


def _zip_in(folder: Path, config: str) -> dict[str, list[str]]:
    """Return the release's zip in a folder: the config's, or the only one of another name."""
    zips = sorted(filter(_may_open, folder.glob("*.zip"))) if folder.is_dir() else []
    own = [path for path in zips if path.stem == config]
    other = [path for path in zips if path.stem not in CONFIGS]
    if own or len(other) == 1:
        archive = (own or other)[0]
        return {split: [str(archive)] for split in splits_in_zip(archive)}
    known = [path.stem for path in zips if path.stem in RELEASES]
    if known:
        raise DataError(
            f"it holds {', '.join(name + '.zip' for name in known)}, not {config}.zip",
            file=folder,
            remedy=f"Load the release that is there: name={known[0]!r}",
        )
    return {}


def guess_config(source: str | PathLike[str]) -> str:
    """Return the config that a source's own name, or its content, stands for.

    The first record of a file shows another tool's layout. A folder called `data` stands for none
    (many are called so), `data.zip` does.
    """
    place = Path(source)
    name = place.name.lower()
    unambiguous = [config for config in CONFIGS if config != "data"]
    if name.removesuffix(".zip") in unambiguous or name == "data.zip":
        return name.removesuffix(".zip")
    if place.suffix == ".parquet":
        if place.parent.name in unambiguous:
            return place.parent.name
        if (exported := shard_config(place)) is not None:
            return exported
    if place.is_dir():
        inside = [config for config in unambiguous if (place / config).is_dir()]
        inside += [name for name in _GENERIC if exported_config(place / name) == name]
        inside += [config for config in CONFIGS if (place / f"{config}.zip").is_file()]
        if inside:
            return inside[0]
    if name.startswith(PAGES_CONFIG):
        return PAGES_CONFIG
    if name.startswith(("arc_da", "arc-da")):
        return "arc_da"
    shown = _made_config(place if place.is_dir() else place.parent) or _shown_config(place)
    return shown or (HOTPOT_CONFIG if name.startswith("hotpot") else DEFAULT_CONFIG)


def _made_config(folder: Path) -> str | None:
    """Return the config of a folder that `twowiki generate` wrote: `world` or `generated`."""
    found = []
    for name in (".twowiki.json", "report.json"):
        try:
            found.append(json.loads((folder / name).read_text("utf-8")))
        except (OSError, ValueError, RecursionError):
            found.append(None)
    mark, report = (one if isinstance(one, dict) else {} for one in found)
    if mark.get("command") != "generate":
        return None
    return WORLD_CONFIG if report.get("world") else GENERATED_CONFIG


def _shown_config(place: Path) -> str | None:
    """Return the config that a file's first record shows; of a folder, the first split's file."""
    from twowiki.io.records import read_records

    try:
        if place.is_dir():
            found = _files_in(place)
            place = Path(next(iter(found.values()))[0]) if found else place
        if not place.is_file() or is_zip(place):
            return None
        _, record = next(read_records(place))
    except (DataError, StopIteration):  # whoever reads it says what is wrong
        return None
    if layout_of(record) is not None:
        return LAYOUT_CONFIG
    if isinstance(record, dict) and {"question_id", "question"} <= set(record):
        return "arc_da" if not {"_id", "context", "paragraphs"} & set(record) else None
    if isinstance(record, dict) and "sentences" in record and "question" not in record:
        return PAGES_CONFIG
    return HOTPOT_CONFIG if "level" in record or record.get("type") == HOTPOT_TYPES[0] else None


def exported_config(folder: Path) -> str | None:
    """Return the config whose export a folder's Parquet files are; None if they do not say."""
    shards = sorted(filter(_may_open, folder.glob("*.parquet"))) if folder.is_dir() else []
    return shard_config(shards[0]) if shards else None


def shard_config(shard: Path) -> str | None:
    """Return the config that an exported file names; None for any other file."""
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(shard).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return None
    name = metadata.get(EXPORT_MARK)
    return None if name is None else name.decode()
