"""Typed Parquet shards and a card: the folder that `load_dataset(folder)` reads without us.

One config is one sub-folder. Shards are written aside and moved into place when the whole config
is there; a killed export goes on where it stopped. Same source and options, same bytes.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki import registration
from twowiki.errors import DataError
from twowiki.files import replacing, write_json

ROW_GROUP = 1000  # rows; what a streaming reader holds at a time
SHARD_ROWS = 50_000  # about 100 MB of 2WikiMultiHopQA
ALIASES = "id_aliases.json"


def export(
    source: str | PathLike[str],
    out: str | PathLike[str],
    config: str | None = None,
    *,
    arc_dir: str | PathLike[str] | None = None,
    shard_rows: int = SHARD_ROWS,
) -> dict[str, int]:
    """Write a source as Parquet shards with a dataset card.

    Args:
        source: whatever `twowiki.load_dataset` takes as `data_dir`.
        out: the folder to write; other configs in it stay, the same config is replaced.
        config: a config's name; by default told from the source.
        arc_dir: for `arc_da`, the folder of ARC's own files.
        shard_rows: rows a shard, a multiple of 1,000.

    Returns:
        Rows of each split.

    Raises:
        DataError: input that cannot be used; nothing of an earlier export is lost.
    """
    from twowiki import builders
    from twowiki.cards import write_dataset_card
    from twowiki.sources import guess_config

    if shard_rows < 1 or shard_rows % ROW_GROUP:
        raise DataError(f"shard_rows is {shard_rows}", remedy=f"Give a multiple of {ROW_GROUP}")
    config = config or guess_config(source)
    known = [entry.name for entry in builders.TwoWiki.BUILDER_CONFIGS]
    if config not in known:
        raise DataError(f"unknown config {config!r}", remedy=f"Known: {', '.join(known)}")
    splits = builders.files_of(source, config, arc_dir)
    target, partial, old = _places(Path(out), config)
    if old.exists() and not target.exists():
        old.rename(target)
    key = registration.fingerprint(
        f"{config}|{shard_rows}|{sorted(splits.items())}", (source, arc_dir)
    )
    done = _resume(partial, key)
    schema = builders.features(config).arrow_schema
    for split, files in splits.items():
        stream = _bar(builders.tables_of(config, files, split, arc_dir), split)
        _write_split(stream, schema, partial, split, shard_rows, done, key)
    counts = _finish(partial, done)
    if not any(counts.values()):
        raise DataError("no records in any split", file=source, remedy="Check the source")
    if target.exists():
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    _copy_aliases(Path(source), Path(out))
    write_dataset_card(out)
    return counts


def _places(out: Path, config: str) -> tuple[Path, Path, Path]:
    if out.exists() and not out.is_dir():
        raise DataError("is a file, not a folder", file=out, remedy="Name another output folder")
    return out / config, out / f".{config}.partial", out / f".{config}.old"


def _resume(partial: Path, key: str) -> dict[str, list[int]]:
    """Give the rows of the shards that an interrupted run of the same export has finished."""
    state = partial / "state.json"
    try:
        saved = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        saved = {}
    if saved.get("key") != key:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        return {}
    done: dict[str, list[int]] = saved["done"]
    return done


def _write_split(
    stream: Iterable[Any],
    schema: Any,
    partial: Path,
    split: str,
    shard_rows: int,
    done: dict[str, list[int]],
    key: str,
) -> None:
    import pyarrow.parquet

    finished = done.setdefault(split, [])
    groups = _row_groups(_without_first(stream, sum(finished)), schema)
    group = next(groups, None)
    while group is not None:
        number, rows = len(finished), 0
        with (
            replacing(partial / f"{split}-{number:05d}.parquet", "wb") as file,
            pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            while group is not None and rows < shard_rows:
                writer.write_table(group)
                rows += group.num_rows
                group = next(groups, None)
        finished.append(rows)
        write_json(partial / "state.json", {"key": key, "done": done})


def _without_first(stream: Iterable[Any], count: int) -> Iterator[Any]:
    for table in stream:
        if count >= table.num_rows:
            count -= table.num_rows
        else:
            yield table.slice(count)
            count = 0


def _row_groups(stream: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Cut tables of any size into row groups of one size."""
    import pyarrow

    waiting: list[Any] = []
    rows = 0
    for table in stream:
        waiting.append(table.cast(schema))
        rows += table.num_rows
        while rows >= ROW_GROUP:
            whole = pyarrow.concat_tables(waiting)
            yield whole.slice(0, ROW_GROUP).combine_chunks()
            waiting, rows = [whole.slice(ROW_GROUP)], rows - ROW_GROUP
    if rows:
        yield pyarrow.concat_tables(waiting).combine_chunks()


def _finish(partial: Path, done: dict[str, list[int]]) -> dict[str, int]:
    """Give the shards their final names, which tell how many there are."""
    for split, shards in done.items():
        for number in range(len(shards)):
            shard = partial / f"{split}-{number:05d}.parquet"
            final = partial / f"{split}-{number:05d}-of-{len(shards):05d}.parquet"
            if shard.exists():
                shard.rename(final)
    (partial / "state.json").unlink(missing_ok=True)
    return {split: sum(shards) for split, shards in done.items()}


def _copy_aliases(source: Path, out: Path) -> None:
    """Copy the release's alias file beside the shards; the metric reads it there."""
    from twowiki.archives import open_named

    if (source / ALIASES).is_file():
        with open(source / ALIASES, "rb") as stream, replacing(out / ALIASES, "wb") as target:
            shutil.copyfileobj(stream, target)
    elif source.is_file() and source.suffix == ".zip":
        with open_named(source, ALIASES) as stream:
            if stream is not None:
                with replacing(out / ALIASES, "wb") as target:
                    shutil.copyfileobj(stream, target)


def _bar(stream: Iterable[Any], split: str) -> Iterator[Any]:
    from tqdm import tqdm

    with tqdm(desc=split, unit=" rows", disable=not sys.stderr.isatty()) as bar:
        for table in stream:
            yield table
            bar.update(table.num_rows)
