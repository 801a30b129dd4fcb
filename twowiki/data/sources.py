"""Official files, mirrors and exported folders as a stream of examples.

In: a zip of the authors, a JSON array, JSON lines, their .gz, Parquet in the layouts of the public
mirrors, or a folder of these. Out: raw records or `Example`s in file order, never a whole file in
memory. Errors carry the file, the record's id and the field. It loads no `datasets`.
"""

from __future__ import annotations

import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from twowiki.data.schema import (
    CONFIGS,
    DEFAULT_CONFIG,
    HOTPOT_CONFIG,
    KNOWN_FIELDS,
    RELEASES,
    SPLITS,
    Example,
    parse_record,
)
from twowiki.data.splits import Named, member_for, split_members, split_of
from twowiki.errors import DataError
from twowiki.io.archives import MAGIC_ZIP, open_member, open_zip
from twowiki.io.json_stream import read_json_records

EXPORT_MARK = b"twowiki_config"  # in the schema of an exported file


def find_splits(source: str | PathLike[str], config: str = DEFAULT_CONFIG) -> dict[str, list[str]]:
    """Find the files of each split.

    Args:
        source: a file (its name tells the split, else `train`), a zip, or a folder that holds
            files named after splits (`dev.json`, `train-00000-of-00004.parquet`), such files in
            a folder named like the config, or a release's zip.
        config: the release that is wanted.

    Returns:
        Split name to its files in order; a zip stands for its member of that split.

    Raises:
        DataError: nothing is found, or two files claim one split.
    """
    place = Path(source)
    if place.is_file():
        if sniff(place) == "zip":
            return {split: [str(place)] for split in split_members(place)}
        named = split_of(place)
        return {named.split if named else "train": [str(place)]}
    if not place.is_dir():
        raise DataError("no such file or folder", file=source, remedy="Check the path")
    for folder in (place / config, place, place / "data"):
        if folder.name == "data" and exported_config(folder) not in (config, None):
            continue  # the export of another config, not a folder of data files
        found = _loose_files(folder) or _zip_in(folder, config)
        if found:
            return {split: found[split] for split in SPLITS if split in found}
    names = sorted(path.name for path in place.iterdir())
    raise DataError(
        "no file named after a split "
        f"(found {', '.join(names[:8]) + (' ...' if len(names) > 8 else '') or 'nothing'})",
        file=source,
        remedy="Name the files train.json, dev.json, test.json (or .jsonl, .gz, .parquet), put "
        f"{config}.zip there, or give the files: "
        'data_files={"validation": "path/to/file.json"}',
    )


def _loose_files(folder: Path) -> dict[str, list[str]]:
    """Give the files named after splits: the plain name, else its shards, else a decorated name."""
    if not folder.is_dir():
        return {}
    named = [found for path in sorted(folder.iterdir()) if (found := split_of(path))]
    named = [entry for entry in named if not entry.path.is_dir()]
    splits: dict[str, list[str]] = {}
    for split in SPLITS:
        mine = [entry for entry in named if entry.split == split]
        mine = [entry for entry in mine if entry.plain] or mine
        mine = [entry for entry in mine if entry.shard is None] or _in_order(mine, folder)
        stems = sorted({entry.stem for entry in mine})
        if len(stems) > 1:
            raise DataError(
                f"several files for the split {split!r}: {', '.join(e.path.name for e in mine)}",
                file=folder,
                remedy="Keep one of them, or name it: "
                f'data_files={{"{split}": "{mine[0].path.name}"}}',
            )
        if mine:
            splits[split] = [str(entry.path) for entry in mine]
    return splits


def _in_order(shards: list[Named], folder: Path) -> list[Named]:
    """Sort shards by number, and refuse a set with a gap."""
    ordered = sorted(shards, key=lambda entry: entry.shard or 0)
    if len(shards) == 1 and shards[0].shards is None:
        return shards  # one file whose name has a number in it
    kinds = {(entry.stem, entry.shards) for entry in shards}
    numbers = {entry.shard or 0 for entry in shards}
    total = shards[0].shards or len(shards) if shards else 0
    first = 0 if 0 in numbers else 1
    missing = next((n for n in range(first, first + total) if n not in numbers), None)
    if missing is None and len(kinds) <= 1 and len(numbers) == len(shards):
        return ordered
    problem = f"shard number {missing} of {total} is missing" if len(kinds) == 1 else "they differ"
    raise DataError(
        f"no whole set of shards ({problem}): {', '.join(e.path.name for e in ordered[:6])}",
        file=folder,
        remedy="Bring the missing files, or name the ones to read with data_files",
    )


def _zip_in(folder: Path, config: str) -> dict[str, list[str]]:
    """Give the release's zip of a folder: the config's own, or the only one of no known name."""
    zips = sorted(folder.glob("*.zip")) if folder.is_dir() else []
    own = [path for path in zips if path.stem == config]
    other = [path for path in zips if path.stem not in CONFIGS]
    if own or len(other) == 1:
        archive = (own or other)[0]
        return {split: [str(archive)] for split in split_members(archive)}
    known = [path.stem for path in zips if path.stem in RELEASES]
    if known:
        raise DataError(
            f"it holds {', '.join(name + '.zip' for name in known)}, not {config}.zip",
            file=folder,
            remedy=f"Ask for the release that is there: name={known[0]!r}",
        )
    return {}


def read_examples(
    source: str | PathLike[str] | Iterable[str],
    config: str | None = None,
    split: str | None = None,
    opener: Opener = open,
) -> Iterator[Example]:
    """Yield the examples of a source, streamed.

    Args:
        source: a file, a zip, a folder (with `split`), or the paths of one split's files.
        config: a release's name or `hotpotqa`; by default told from the source's folder or
            name, else the default release.
        split: `train`, `validation` or `test`; needed where the source holds several.
        opener: what opens a path; for remote files.

    Raises:
        DataError: a record that cannot be read, or one id twice; file, id and field are named.
    """
    if isinstance(source, str | PathLike):
        config = config or guess_config(source)
        files = _files_of(source, config, split)
    else:
        config, files = config or DEFAULT_CONFIG, list(source)
    seen: dict[str, int] = {}
    for number, path in enumerate(files):
        for position, raw in enumerate(read_raw(path, split, opener)):
            example = _parse_at(raw, config, path, position)
            if example.id in seen:
                first = files[seen[example.id]]
                where = "the same file" if first == path else first
                raise DataError(
                    f"the id stands twice (first in {where})",
                    file=path,
                    record=example.id,
                    field="_id",
                    remedy="Remove one of the two records; `twowiki validate` lists all of them",
                )
            seen[example.id] = number
            yield example


def _parse_at(raw: Any, config: str, path: str, position: int) -> Example:
    """Parse a file's record; name the file, and the record by its number where it has no id."""
    try:
        if isinstance(raw, dict) and type(raw.get("type")) is int:
            raise DataError(
                f"the type is a number ({raw['type']}), and the file does not say of which labels",
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


def guess_config(source: str | PathLike[str]) -> str:
    """Tell the config from a source's own name, or from what a folder holds.

    A folder called `data` tells nothing (many are), `data.zip` does.
    """
    place = Path(source)
    name = place.name.lower()
    telling = [config for config in CONFIGS if config != "data"]
    if name.removesuffix(".zip") in telling or name == "data.zip":
        return name.removesuffix(".zip")
    if place.parent.name in telling and place.suffix == ".parquet":
        return place.parent.name
    if place.is_dir():
        inside = [config for config in telling if (place / config).is_dir()]
        inside += ["data"] if exported_config(place / "data") == "data" else []
        inside += [config for config in CONFIGS if (place / f"{config}.zip").is_file()]
        if inside:
            return inside[0]
    if name.startswith(("arc_da", "arc-da")):
        return "arc_da"
    return HOTPOT_CONFIG if name.startswith("hotpot") else DEFAULT_CONFIG


def exported_config(folder: Path) -> str | None:
    """Tell of which config a folder's Parquet files are exports, None if they do not say."""
    first = next(iter(sorted(folder.glob("*.parquet"))), None) if folder.is_dir() else None
    if first is None:
        return None
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(first).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return None
    name = metadata.get(EXPORT_MARK)
    return None if name is None else name.decode()


def _files_of(source: str | PathLike[str], config: str, split: str | None) -> list[str]:
    splits = find_splits(source, config)
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split is None:
        raise DataError(
            f"it holds several splits: {', '.join(splits)}", file=source, remedy="Name one"
        )
    if split not in splits:
        if Path(source).is_file() and sniff(source) != "zip":
            return [str(source)]
        raise DataError(
            f"no split {split!r}; it holds {', '.join(splits)}",
            file=source,
            remedy="Name one of these",
        )
    return splits[split]


Opener = Callable[..., IO[bytes]]
_BATCH = 256  # Parquet rows at a time


def sniff(path: str | PathLike[str], opener: Opener = open) -> str:
    """Tell what a file is from its first bytes: zip, parquet, gzip, json or other.

    A cached download has no suffix to tell by; a `.zip` that holds a web page stays a zip here.
    """
    with opener(path, "rb") as stream:
        head = stream.read(64)
    if head.startswith(MAGIC_ZIP) or str(path).lower().endswith(".zip"):
        return "zip"
    if head.startswith(b"PAR1") or str(path).lower().endswith(".parquet"):
        return "parquet"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    return "json" if head.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"[") else "other"


@contextmanager
def _open_data(
    path: str | PathLike[str], kind: str, split: str | None, opener: Opener
) -> Iterator[IO[bytes]]:
    """Open a file's bytes: a zip's member of the split, what a .gz holds, or the file itself."""
    if kind == "zip":
        with (
            opener(path, "rb") as stream,
            open_zip(stream, path) as archive,
            open_member(archive, member_for(archive, path, split), path) as member,
        ):
            yield member
    elif kind == "gzip":
        with opener(path, "rb") as stream, gzip.GzipFile(fileobj=stream) as unpacked:
            yield unpacked  # type: ignore[misc]
    else:
        with opener(path, "rb") as stream:
            yield stream


def read_raw(
    path: str | PathLike[str], split: str | None = None, opener: Opener = open
) -> Iterator[Any]:
    """Yield a file's raw records (JSON objects, or Parquet rows as dicts) in file order.

    Raises:
        DataError: the file cannot be read to its end; whole records before the fault come first.
    """
    try:
        kind = sniff(path, opener)
        if kind == "parquet":
            yield from _parquet_rows(path, opener)
        else:
            with _open_data(path, kind, split, opener) as stream:
                yield from read_json_records(stream)
    except DataError as error:
        raise error.at(path) from None
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise DataError(
            str(reason), file=path, remedy="Check the path and the right to read it"
        ) from None


def _parquet_rows(path: str | PathLike[str], opener: Opener) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet

    with opener(path, "rb") as stream:
        try:
            table = pyarrow.parquet.ParquetFile(stream)
            names = table.schema_arrow.names
            others = dict.fromkeys(name for name in names if name not in KNOWN_FIELDS)
            labels = _type_labels(table.schema_arrow.metadata)
            columns = [name for name in names if name in KNOWN_FIELDS]
            for batch in table.iter_batches(batch_size=_BATCH, columns=columns):
                for row in batch.to_pylist():
                    if labels and type(row.get("type")) is int:
                        row["type"] = labels.get(row["type"], row["type"])
                    yield row | others
        except Exception as error:  # damaged bytes make the reader raise many kinds
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(
                f"no readable Parquet ({reason})",
                file=path,
                remedy="Download it again and compare its length",
            ) from None


def _type_labels(metadata: dict[bytes, bytes] | None) -> dict[int, str]:
    """Read the class labels of `type` that `datasets` leaves in a file's schema."""
    try:
        info = json.loads((metadata or {})[b"huggingface"])
        return dict(enumerate(info["info"]["features"]["type"]["names"]))
    except (KeyError, TypeError, ValueError):
        return {}


def examples_of(
    source: str | PathLike[str], config: str | None = None, split: str | None = None
) -> Iterator[Example]:
    """Stream a split's examples.

    Args:
        source: a file, a release's zip, or a folder.
        config: a release's name; by default told from the source.
        split: by default the validation split, or the only one there is.
    """
    config = config or guess_config(source)
    if split is None:
        splits = find_splits(source, config)
        split = next(iter(splits)) if len(splits) == 1 else "validation"
    return read_examples(source, config, split)
