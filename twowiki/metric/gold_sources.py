"""Where gold may lie: a path, a name on the hub, or an object, and the gold read from it.

In: official files (json, jsonl, gz, zip), Parquet, exported or hub-style folders, a hub name,
official records, rows, or a `datasets` object. Out: a `GoldSet` that knows its source. `datasets`
is loaded only for what nothing else can open: a saved or a hub data set.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from twowiki.data.fields import kind_of
from twowiki.data.schema import HOTPOT_TYPES, RELEASES, TWO_WIKI_TYPES
from twowiki.data.sources import find_splits, guess_config, read_raw, sniff
from twowiki.data.splits import split_of
from twowiki.errors import DataError
from twowiki.io.files import sha256_of
from twowiki.io.json_files import (
    Source,
    collector_paused,
    parse_json,
    parse_values,
    read_bytes,
    utf8,
)
from twowiki.metric.gold import IN_MEMORY, GoldSet, RawGold, collect_gold

GoldSource = str | PathLike[str] | Iterable[Any] | Mapping[str, Any]
Records = tuple[Sequence[str], Iterable[Any], Source]
WHOLE = 1 << 28  # bytes, above which a file is streamed instead of held
_TELLING = tuple(name for name in RELEASES if name != "data")  # many folders are called data
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_ORDER = "The order is PREDICTIONS GOLD [ALIASES]; gold is a JSON array or lines of records"
_NEEDED = ("id", "type", "answer", "answer_id", "supporting_facts", "evidences", "evidences_id",
           "question", "context", "_id")  # fmt: skip


def read_gold(
    source: GoldSource, *, config: str | None = None, split: str | None = None
) -> GoldSet:
    """Read the gold of one split.

    Args:
        source: a file, a folder (its validation split, unless another one is asked for), the
            name of a data set on the hub, or records: official ones, rows, a `datasets` object.
        config: which config of a folder or hub data set.
        split: which split of a zip, a folder or a dict of splits.

    Raises:
        DataError: no such data, a malformed record (its id is named), or hidden gold.
    """
    labels, records, where = records_of(source, config, split)
    try:
        return collect_gold(records, where, labels)
    except DataError as error:
        raise error.at(where.name) if where.name != IN_MEMORY else error from None


def records_of(
    source: GoldSource, config: str | None, split: str | None, *, whole: int = WHOLE
) -> Records:
    """Find the records: the type names, the records, and where they came from.

    Args:
        source: as for `read_gold`.
        config: which config of a folder or hub data set.
        split: which split of a zip, a folder or a dict of splits.
        whole: bytes, above which a file is streamed instead of held.
    """
    if isinstance(source, str | PathLike):
        return _of_path(source, config, split, whole)
    if isinstance(source, Mapping):
        return _of_splits(source, config, split)
    if hasattr(source, "features") and hasattr(source, "select_columns"):
        return _of_dataset(source)
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        raise DataError(f"gold is no list of records but {kind_of(source)}", remedy=_ORDER)
    return TWO_WIKI_TYPES, source, Source(IN_MEMORY, "", config, split)


def _of_path(
    source: str | PathLike[str], config: str | None, split: str | None, whole: int
) -> Records:
    place = Path(source)
    if place.is_dir():
        return _of_folder(place, config, split, whole)
    if not place.exists():
        if _HUB_NAME.fullmatch(str(source)) and not place.parent.exists():
            return _of_hub(str(source), config, split)
        raise DataError("no such file or folder", file=source, remedy="Check the path")
    kind = sniff(place) if place.is_file() else "json"
    if kind == "parquet":
        return _of_parquet([place], Source(str(source), sha256_of(place), config, split))
    if kind == "zip":
        split = split or "validation"
        origin = Source(str(source), sha256_of(place), config or guess_config(place), split)
        return TWO_WIKI_TYPES, read_raw(place, split), origin
    if place.is_file() and place.stat().st_size > whole:
        return TWO_WIKI_TYPES, read_raw(place), Source(str(source), sha256_of(place), config, split)
    with collector_paused():
        data, origin = read_bytes(place)
        records = decode_gold(utf8(data, place), place)
    named, folder = split_of(place), place.resolve().parent.name
    config = config or (folder if folder in _TELLING else None)
    origin = origin._replace(config=config, split=split or (named.split if named else None))
    return TWO_WIKI_TYPES, records, origin


def decode_gold(data: bytes, path: Path) -> Sequence[Any]:
    """Decode a file's records, its contexts left as they are."""
    array = data.lstrip()[:1] == b"["
    try:
        if array:
            return msgspec.json.Decoder(list[RawGold]).decode(data)
        return msgspec.json.Decoder(RawGold).decode_lines(data)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        pass  # read again, slowly, for what msgspec refuses and for the place of a fault
    values = parse_json(data, path) if array else parse_values(data, path)
    if not isinstance(values, list):
        raise DataError("gold is no list of records", file=path, remedy=_ORDER)
    return values


def _of_folder(place: Path, config: str | None, split: str | None, whole: int) -> Records:
    if (place / "dataset_dict.json").is_file() or (place / "state.json").is_file():
        import datasets

        found = datasets.load_from_disk(str(place))
        records = _of_splits(found, config, split) if isinstance(found, Mapping) else None
        labels, rows, origin = records or _of_dataset(found)
        return labels, rows, origin._replace(name=str(place))
    config = config or guess_config(place)
    splits = find_splits(place, config)
    split = _choose(splits, split, str(place))
    files = [Path(file) for file in splits[split]]
    hashes = "".join(sha256_of(file) for file in files)
    sha256 = hashes if len(files) == 1 else hashlib.sha256(hashes.encode()).hexdigest()
    origin = Source(str(place), sha256, config, split)
    if sniff(files[0]) == "parquet":
        return _of_parquet(files, origin)
    if len(files) == 1 and sniff(files[0]) != "zip":
        labels, rows, _ = _of_path(files[0], config, split, whole)
        return labels, rows, origin
    return TWO_WIKI_TYPES, (raw for file in files for raw in read_raw(file, split)), origin


def _of_splits(source: Mapping[str, Any], config: str | None, split: str | None) -> Records:
    if {"answer", "sp", "evidence"} & set(source):
        raise DataError("this is a prediction, not gold", remedy=_ORDER)
    labels, records, origin = records_of(source[_choose(source, split, IN_MEMORY)], config, split)
    return labels, records, origin._replace(split=_choose(source, split, IN_MEMORY))


def _choose(splits: Mapping[str, Any], split: str | None, where: str) -> str:
    """Give the split that was asked for, else validation, else the only one."""
    if split is None:
        split = "validation" if "validation" in splits or len(splits) != 1 else next(iter(splits))
    if split not in splits:
        problem = f"no split {split!r}; there are {', '.join(map(str, splits)) or 'none'}"
        raise DataError(problem, file=where, remedy="Name one of these with `split`")
    return split


def _of_hub(name: str, config: str | None, split: str | None) -> Records:
    import datasets

    try:
        found = datasets.load_dataset(name, config, split=split or "validation")
    except Exception as error:  # the hub's and the loader's own errors have no common class
        raise DataError(
            f"neither a file nor a data set that the hub gives ({error})".replace("\n", " "),
            file=name,
            remedy="Check the path or the name, the config and the split",
        ) from None
    labels, rows, origin = _of_dataset(found)
    return labels, rows, origin._replace(name=name, config=config, split=split or "validation")


def _of_dataset(dataset: Any) -> Records:
    """Read a `datasets` object through Arrow, its contexts undecoded; stream one that streams."""
    features = dataset.features or {}
    labels = getattr(features.get("type"), "names", None) or TWO_WIKI_TYPES
    info = getattr(dataset, "info", None)
    split = str(dataset.split) if getattr(dataset, "split", None) else None
    origin = Source(IN_MEMORY, "", getattr(info, "config_name", None), split)
    if not features or not hasattr(dataset, "with_format") or not hasattr(dataset, "num_rows"):
        return labels, iter(dataset), origin
    names = [name for name in dataset.column_names if name in _NEEDED]
    table = dataset.select_columns(names).with_format("arrow")[:]
    return labels, _rows_of(table), origin


def _of_parquet(files: Sequence[Path], origin: Source) -> Records:
    import pyarrow
    import pyarrow.parquet

    tables = []
    for file in files:
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            names = [name for name in opened.schema_arrow.names if name in _NEEDED]
            tables.append(opened.read(columns=names))
        except pyarrow.ArrowException as error:
            problem = f"no readable Parquet ({str(error).splitlines()[0]})"
            raise DataError(problem, file=file, remedy="Write or download it again") from None
    labels = _labels_in(tables[0].schema.metadata)
    return labels, (row for table in tables for row in _rows_of(table)), origin


def _labels_in(metadata: Mapping[bytes, bytes] | None) -> Sequence[str]:
    """Give the names of the question types that `datasets` wrote beside the columns."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        names: Sequence[str] = features["type"]["names"]
    except (KeyError, TypeError, ValueError):
        return TWO_WIKI_TYPES
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
_REMEDY = "Give one id a line, or a JSON list of ids"


def read_subset(subset: Subset) -> tuple[str, ...]:
    """Read the ids to score, in order, each once.

    Args:
        subset: ids, or a file: one id a line, a JSON list, or records with an `id` or `_id`.
    """
    path = Path(subset) if isinstance(subset, str | PathLike) else None
    values = subset if path is None else _read_file(path)
    ids = dict.fromkeys(_id_of(value, path) for value in values)  # type: ignore[union-attr]
    if not ids:
        raise DataError("the subset holds no id", file=path, remedy=_REMEDY)
    return tuple(ids)


def _read_file(path: Path) -> list[Any]:
    data = utf8(read_bytes(path)[0], path)
    first = data.lstrip()[:1]
    if first == b"[":
        values = parse_json(data, path)
        return list(values)
    if first == b"{":
        return parse_values(data, path)
    lines = data.decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _id_of(value: Any, path: Path | None) -> str:
    if isinstance(value, Mapping):
        value = value.get("_id", value.get("id"))
    if not isinstance(value, str):
        raise DataError(f"an entry is no id: {value!r}", file=path, remedy=_REMEDY)
    return value


def only(true: GoldSet, ids: tuple[str, ...]) -> GoldSet:
    """Keep the records of a subset, in the gold's order.

    Raises:
        DataError: an id that the gold does not know.
    """
    known = {gold.id for gold in true.golds}
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise DataError(
            f"{len(unknown)} of the subset's {len(ids)} ids are not in the gold",
            record=unknown[0],
            remedy="The subset belongs to another split, or to another data set",
        )
    wanted = set(ids)
    kept = [place for place, gold in enumerate(true.golds) if gold.id in wanted]
    return true._replace(
        golds=[true.golds[place] for place in kept],
        contexts=[true.contexts[place] for place in kept],
    )
