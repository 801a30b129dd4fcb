"""The sources of gold: a path, a name on the hub, or an object, and the gold read from it.

In: official files (json, jsonl, gz, zip), Parquet, exported or hub-style folders, a hub name,
official records, rows, or a `datasets` object. Out: a `GoldReader` with its source.
`datasets` is loaded only for what nothing else can open: a saved or a hub data set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.data.fields import json_type
from twowiki.data.schema import HOTPOT_CONFIG, HOTPOT_TYPES, RELEASES, TWO_WIKI_TYPES
from twowiki.data.sources import read_raw
from twowiki.data.splits import find_splits, guess_config, split_named, split_of
from twowiki.errors import DataError
from twowiki.io.files import sha256_of
from twowiki.io.records import DataSource, class_labels, read_values, sniff
from twowiki.metric.gold import IN_MEMORY, GoldReader, GoldRecord
from twowiki.metric.parts import HOTPOT_FORM, GoldForm

GoldSource = str | PathLike[str] | Iterable[Any] | Mapping[str, Any]
_Records = tuple[Sequence[str], Iterable[Any], DataSource]
_LARGEST_HELD = 1 << 28  # bytes; a larger file is streamed
_TELLING = tuple(name for name in RELEASES if name != "data")  # many folders are called data
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_ORDER = "The order is PREDICTIONS GOLD [ALIASES]; gold is a JSON array or lines of records"
_NEEDED = ("id", "type", "answer", "answer_id", "supporting_facts", "evidences", "evidences_id",
           "question", "context", "_id", "level", "answer_aliases")  # fmt: skip


def open_gold(
    source: GoldSource,
    *,
    config: str | None = None,
    split: str | None = None,
    largest_held: int = _LARGEST_HELD,
) -> GoldReader:
    """Return a reader of the gold of one split.

    Args:
        source: a file, a folder (its validation split, unless `split` names another one), the
            name of a data set on the hub, or records: official ones, rows, a `datasets` object.
        config: the config of a folder or hub data set.
        split: the split of a zip, a folder or a dict of splits.
        largest_held: bytes; a larger file is streamed.

    Raises:
        DataError: no such data; and while it is read, a malformed record or hidden gold.
    """
    labels, records, origin = _find_records(source, config, split, largest_held)
    form = GoldForm.of_config(config)
    if form is None and (origin.config == HOTPOT_CONFIG or tuple(labels) == HOTPOT_TYPES):
        form = HOTPOT_FORM
    if form == HOTPOT_FORM and tuple(labels) == TWO_WIKI_TYPES:
        labels = HOTPOT_TYPES
    return GoldReader(records, origin, labels, form)


def _find_records(
    source: GoldSource, config: str | None, split: str | None, largest_held: int = _LARGEST_HELD
) -> _Records:
    """Return the type names, the records, and where they come from."""
    if isinstance(source, str | PathLike):
        return _of_path(source, config, split, largest_held)
    if isinstance(source, Mapping):
        return _of_splits(source, config, split)
    if hasattr(source, "features") and hasattr(source, "select_columns"):
        return _of_dataset(source)
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        raise DataError(f"gold is {json_type(source)}, not a list of records", remedy=_ORDER)
    return TWO_WIKI_TYPES, source, DataSource(IN_MEMORY, "", config, split)


def _of_path(
    source: str | PathLike[str], config: str | None, split: str | None, largest_held: int
) -> _Records:
    path = Path(source)
    if path.is_dir():
        return _of_folder(path, config, split, largest_held)
    if not path.exists():
        if _HUB_NAME.fullmatch(str(source)) and not path.parent.exists():
            return _of_hub(str(source), config, split)
        raise DataError("no such file or folder", file=source, remedy="Check the path")
    kind = sniff(path) if path.is_file() else "json"
    if kind == "parquet":
        return _of_parquet([path], DataSource(str(source), sha256_of(path), config, split))
    if kind == "zip":
        split = split or "validation"
        origin = DataSource(str(source), sha256_of(path), config or guess_config(path), split)
        return TWO_WIKI_TYPES, read_raw(path, split), origin
    if path.is_file() and path.stat().st_size > largest_held:
        return (
            TWO_WIKI_TYPES,
            read_raw(path),
            DataSource(str(source), sha256_of(path), config, split),
        )
    kept = GoldRecord if path.is_file() else Any  # contexts stay undecoded; a pipe is read once
    records, origin = read_values(path, record=kept)
    records = [records] if isinstance(records, Mapping) else records
    if path.is_file() and not all(type(one) is GoldRecord and one.is_whole for one in records):
        records = read_raw(path)  # whatever else they have is looked at
    named, folder = split_of(path), path.resolve().parent.name
    config = config or (folder if folder in _TELLING else None)
    origin = origin._replace(config=config, split=split or (named.split if named else None))
    return TWO_WIKI_TYPES, records, origin


def _of_folder(path: Path, config: str | None, split: str | None, largest_held: int) -> _Records:
    if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
        import datasets

        found = datasets.load_from_disk(str(path))
        records = _of_splits(found, config, split) if isinstance(found, Mapping) else None
        labels, rows, origin = records or _of_dataset(found)
        return labels, rows, origin._replace(name=str(path))
    config = config or guess_config(path)
    splits = find_splits(path, config)
    split = _choose(splits, split, str(path))
    files = [Path(file) for file in splits[split]]
    hashes = "".join(sha256_of(file) for file in files)
    sha256 = hashes if len(files) == 1 else hashlib.sha256(hashes.encode()).hexdigest()
    origin = DataSource(str(path), sha256, config, split)
    if sniff(files[0]) == "parquet":
        return _of_parquet(files, origin)
    if len(files) == 1 and sniff(files[0]) != "zip":
        labels, rows, _ = _of_path(files[0], config, split, largest_held)
        return labels, rows, origin
    return TWO_WIKI_TYPES, (raw for file in files for raw in read_raw(file, split)), origin


def _of_splits(source: Mapping[str, Any], config: str | None, split: str | None) -> _Records:
    if {"answer", "sp", "evidence"} & set(source):
        raise DataError("this is a prediction, not gold", remedy=_ORDER)
    labels, records, origin = _find_records(
        source[_choose(source, split, IN_MEMORY)], config, split
    )
    return labels, records, origin._replace(split=_choose(source, split, IN_MEMORY))


def _choose(splits: Mapping[str, Any], split: str | None, where: str) -> str:
    """Return the split that is named, else validation, else the only one."""
    if split is None:
        split = "validation" if "validation" in splits or len(splits) != 1 else next(iter(splits))
    split = split if split in splits else split_named(split)
    if split not in splits:
        problem = f"no split {split!r}; there are {', '.join(map(str, splits)) or 'none'}"
        raise DataError(problem, file=where, remedy="Name one of these with `split`")
    return split


def _of_hub(name: str, config: str | None, split: str | None) -> _Records:
    import datasets

    try:
        found = datasets.load_dataset(name, config, split=split or "validation")
    except Exception as error:  # the hub's and the loader's own errors have no common class
        raise DataError(
            f"neither a file nor a data set of the hub ({error})".replace("\n", " "),
            file=name,
            remedy="Check the path or the name, the config and the split",
        ) from None
    labels, rows, origin = _of_dataset(found)
    return labels, rows, origin._replace(name=name, config=config, split=split or "validation")


def _of_dataset(dataset: Any) -> _Records:
    """Read a `datasets` object through Arrow, with undecoded contexts; stream an iterable one."""
    features = dataset.features or {}
    labels = getattr(features.get("type"), "names", None) or TWO_WIKI_TYPES
    info = getattr(dataset, "info", None)
    split = str(dataset.split) if getattr(dataset, "split", None) else None
    origin = DataSource(IN_MEMORY, "", getattr(info, "config_name", None), split)
    if not features or not hasattr(dataset, "with_format") or not hasattr(dataset, "num_rows"):
        return labels, iter(dataset), origin
    if not _has_release_columns(dataset.column_names):
        return labels, iter(dataset), origin
    names = [name for name in dataset.column_names if name in _NEEDED]
    table = dataset.select_columns(names).with_format("arrow")[:]
    return labels, _rows_of(table), origin


def _of_parquet(files: Sequence[Path], origin: DataSource) -> _Records:
    import pyarrow
    import pyarrow.parquet

    tables = []
    for file in files:
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            if not _has_release_columns(opened.schema_arrow.names):
                raws = (raw for path in files for raw in read_raw(path))
                return TWO_WIKI_TYPES, raws, origin
            names = [name for name in opened.schema_arrow.names if name in _NEEDED]
            tables.append(opened.read(columns=names))
        except pyarrow.ArrowException as error:
            problem = f"not readable Parquet ({str(error).splitlines()[0]})"
            raise DataError(problem, file=file, remedy="Write or download it again") from None
    labels = _labels_in(tables[0].schema.metadata)
    return labels, (row for table in tables for row in _rows_of(table)), origin


def _has_release_columns(names: Sequence[str]) -> bool:
    """Return whether a table has the columns of a release; another tool's is read as a whole."""
    return "answer" in names and "paragraphs" not in names


def _labels_in(metadata: Mapping[bytes, bytes] | None) -> Sequence[str]:
    """Return the names of the question types that `datasets` wrote beside the columns."""
    names = class_labels(metadata).get("type", TWO_WIKI_TYPES)
    return HOTPOT_TYPES if tuple(names) == HOTPOT_TYPES else names


def _rows_of(table: Any) -> Iterator[dict[str, Any]]:
    """Yield rows as dicts; a context stays an Arrow scalar until it is needed."""
    names = [name for name in table.column_names if name != "context"]
    for batch in table.to_batches(max_chunksize=1024):
        columns = [batch.column(name).to_pylist() for name in names]
        contexts = batch.column("context") if "context" in table.column_names else None
        for number, values in enumerate(zip(*columns, strict=True)):
            row = dict(zip(names, values, strict=True))
            if contexts is not None:
                row["context"] = contexts[number]
            yield row


Subset = str | PathLike[str] | Iterable[str]
_REMEDY = "Write one id per line, or a JSON list of ids"


def read_subset(subset: Subset) -> tuple[str, ...]:
    """Return the ids to score, in order, each once.

    Args:
        subset: ids, or a file: one id per line, a JSON list, or records with an `id` or `_id`.
    """
    path = Path(subset) if isinstance(subset, str | PathLike) else None
    values = subset if path is None else _read_file(path)
    ids = dict.fromkeys(_id_of(value, path) for value in values)  # type: ignore[union-attr]
    if not ids:
        raise DataError("the subset has no id", file=path, remedy=_REMEDY)
    return tuple(ids)


def _read_file(path: Path) -> list[Any]:
    values, _ = read_values(path, text_lines=True)
    if isinstance(values, Mapping):
        return [values]
    lines = (value.strip() if isinstance(value, str) else value for value in values)
    return [value for value in lines if value]


def _id_of(value: Any, path: Path | None) -> str:
    if isinstance(value, Mapping):
        value = value.get("_id", value.get("id"))
    if not isinstance(value, str):
        raise DataError(f"an entry is not an id: {value!r}", file=path, remedy=_REMEDY)
    return value
