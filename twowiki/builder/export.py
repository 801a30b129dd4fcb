"""Typed Parquet shards and a card: `load_dataset(folder)` reads them without this package.

Each config is one sub-folder. Shards are written aside and moved into place when the whole config
is finished; an interrupted export resumes. The same source and options give the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.builder.dataset_card import read_card, write_dataset_card
from twowiki.builder.dataset_origin import PRETTY_NAMES, find_origin
from twowiki.builder.features import CONFIG_FORMATS, amendments_for, check_config
from twowiki.builder.fingerprint import cache_key
from twowiki.builder.formats import export_format
from twowiki.builder.sources import DatasetSource, dataset_splits
from twowiki.data.amendments import AMENDED_MARK
from twowiki.data.schema import SPLITS
from twowiki.data.splits import EXPORT_MARK, guess_config, shard_config
from twowiki.errors import DataError
from twowiki.io.files import LEFT_OVER, replacing, sha256_of
from twowiki.io.journal import Journal
from twowiki.io.ownership import OwnedFolder
from twowiki.io.stages import run_stage
from twowiki.llm.prompts import FULL_CONTEXT

_PARQUET = "parquet"
ROW_GROUP = 1000  # rows; what a streaming reader holds at once
SHARD_ROWS = 50_000  # about 100 MB of 2WikiMultiHopQA
ALIASES = "id_aliases.json"
_SHARD = re.compile(r"(train|validation|test)-\d{5}-of-\d{5}\.parquet")
_JOURNAL = "shards.jsonl"
_UNFINISHED = re.compile(
    rf"({'|'.join(SPLITS)})-\d{{5}}(-of-\d{{5}})?\.parquet|_key|_manifest\.json|{_JOURNAL}"
)


def export(
    source: str | PathLike[str] | DatasetSource,
    out: str | PathLike[str],
    config: str | None = None,
    *,
    format: str = _PARQUET,
    form: str = FULL_CONTEXT,
    arc_dir: str | PathLike[str] | None = None,
    shard_rows: int = SHARD_ROWS,
    amendments: str | PathLike[str] | None = None,
) -> dict[str, int]:
    """Write a source as Parquet shards with a dataset card, or in another tool's format.

    Args:
        source: whatever `twowiki.load_dataset` takes as `data_dir`; or a data set of `datasets`, a
            mapping from split to rows, or rows (the split train).
        out: the folder to write; other configs in it stay, the same config is replaced.
        config: a config's name; by default decided by the source.
        format: `parquet`, `flashrag`, `beir`, `squad`, `sft`, `sft-messages`, `rl` or
            `sub-questions`; all but the first need a folder of their own, and count in
            `report.json` what they leave out.
        form: the paragraphs of prompts: closed-book, gold-context or full-context.
        arc_dir: for `arc_da`, the folder of ARC's own files.
        shard_rows: rows per shard, a multiple of 1,000.
        amendments: a file of amendments of the gold; the card names it.

    Returns:
        Rows of each split.

    Raises:
        DataError: input that cannot be used; nothing of an earlier export is lost.
    """
    if shard_rows < 1 or shard_rows % ROW_GROUP:
        raise DataError(f"shard_rows is {shard_rows}", remedy=f"Choose a multiple of {ROW_GROUP}")
    if amendments is not None and (format != _PARQUET or not isinstance(source, str | PathLike)):
        raise DataError(
            "amendments are applied where files are exported as Parquet",
            field="amendments",
            remedy="Export with them first, then that folder in this format; or load the data "
            "with load_dataset(..., amendments=FILE)",
        )
    if format != _PARQUET:
        return export_format(source, out, format, config, form=form).rows
    made = _parquet_source(source, config, arc_dir, amendments)
    place = Places.of(out, made.config)
    place.check(made.path)
    read_card(Path(out) / "README.md")  # a broken card is refused before anything is replaced
    with place.locked():
        place.check(made.path)
        if place.old.exists() and not place.target.exists():
            place.old.rename(place.target)
        key = cache_key(f"{shard_rows}|{made.key}", (made.path, arc_dir, amendments))
        schema = _marked(CONFIG_FORMATS[made.config].features().arrow_schema, made)

        def write(partial: Path) -> dict[str, int]:
            journal = _shards_in(partial)
            for split in made.splits:
                stream = _bar(made.tables(split), split)
                _write_split(stream, schema, partial, split, shard_rows, journal)
            counts = {split: sum(_rows_of(journal, split)) for split in made.splits}
            if not any(counts.values()):
                problem = "no records in any split"
                raise DataError(problem, file=made.path, remedy="Check the source")
            _finish(partial)
            return counts

        counts = run_stage(place.partial, key, write, keep_partial=True, quiet=True)
        place.swap()
        if made.path is not None:
            _copy_aliases(made.path, Path(out), made.config)
        generated = made.path is not None and made.config in PRETTY_NAMES
        write_dataset_card(out, find_origin(str(made.path)) if generated else "")
    return counts


class _Source(NamedTuple):
    """What is exported: its config, splits and tables, and what tells it from other sources."""

    config: str
    splits: list[str]
    tables: Callable[[str], Iterable[Any]]
    key: str
    path: Path | None = None
    amended: str = ""


def _parquet_source(
    source: str | PathLike[str] | DatasetSource,
    config: str | None,
    arc_dir: str | PathLike[str] | None,
    amendments: str | PathLike[str] | None,
) -> _Source:
    if not isinstance(source, str | PathLike):
        found = dataset_splits(source, config)
        check_config(found.config)
        prints = [getattr(rows, "_fingerprint", None) for rows in found.splits.values()]
        key = f"{found.config}|{prints if all(prints) else uuid.uuid4()}"
        return _Source(found.config, list(found.splits), found.tables, key)
    config = config or guess_config(source)
    check_config(config)
    form = CONFIG_FORMATS[config]
    splits = form.find_files(source)

    amended = amendments_for(config, amendments)

    def tables(split: str) -> Iterable[Any]:
        return form.read_tables(splits[split], split, arc_dir, open, **amended)

    key, name = f"{config}|{sorted(splits.items())}", "".join(one.name for one in amended.values())
    return _Source(config, list(splits), tables, key, Path(source), name)


class Places(NamedTuple):
    """Where an export of one config is written, and where it is kept while it is replaced."""

    target: Path
    partial: Path
    old: Path
    lock: Path

    @classmethod
    def of(cls, out: str | PathLike[str], config: str) -> Places:
        """Name the places below an output folder."""
        folder = Path(out)
        if folder.exists() and not folder.is_dir():
            raise DataError("is a file, not a folder", file=out, remedy="Choose another folder")
        names = (config, f".{config}.partial", f".{config}.old", f".{config}.lock")
        return cls(*(folder / name for name in names))

    def check(self, source: str | PathLike[str] | None) -> None:
        """Raise if the export would replace its source, or what no export wrote.

        Args:
            source: a file or a folder; None for data in memory.
        """
        if os.path.lexists(self.lock) and not (_is_plain(self.lock) and not self.lock.read_bytes()):
            raise DataError("is not a lock of this package", file=self.lock, remedy="Move it away")
        for place, written in (
            (self.target, _is_shard),
            (self.old, _is_shard),
            (self.partial, _is_of_partial),
        ):
            if not (place.exists() or place.is_symlink()):
                continue
            others = place.is_symlink() or not place.is_dir()
            others = others or not all(map(written, place.iterdir()))
            inside = None if source is None else Path(source).resolve()
            if others or (inside is not None and place.resolve() in (inside, *inside.parents)):
                raise DataError(
                    "the export would replace this folder, but "
                    + ("it holds files of others" if others else "it is the source"),
                    file=place,
                    remedy="Choose another output folder, or move that one away",
                )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the config's lock; raise if another export holds it."""
        from filelock import FileLock, Timeout

        self.lock.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.lock)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise DataError(
                "another export into this folder is running",
                file=self.target,
                remedy="Wait for it, or choose another output folder",
            ) from None
        try:
            yield
        finally:
            self.lock.unlink(missing_ok=True)
            lock.release()

    def swap(self) -> None:
        """Put the finished folder, with nothing but shards, in place of an earlier one."""
        for path in self.partial.iterdir():
            if not _SHARD.fullmatch(path.name):
                path.unlink()
        shutil.rmtree(self.old, ignore_errors=True)
        if self.target.exists():
            self.target.rename(self.old)
        self.partial.rename(self.target)
        shutil.rmtree(self.old, ignore_errors=True)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_shard(path: Path) -> bool:
    """Return whether an export wrote a file: its schema says so."""
    return bool(_SHARD.fullmatch(path.name)) and path.is_file() and shard_config(path) is not None


def _is_of_partial(path: Path) -> bool:
    """Return whether a file has a name of an unfinished export, or of one beside it."""
    beside = LEFT_OVER.fullmatch(path.name)
    return path.is_file() and bool(_UNFINISHED.fullmatch(beside[1] if beside else path.name))


def _marked(schema: Any, made: _Source) -> Any:
    """Return the schema with the config and the amendments, so that a renamed folder keeps them."""
    marks = {EXPORT_MARK: made.config.encode()}
    if made.amended:
        marks[AMENDED_MARK] = made.amended.encode()
    return schema.with_metadata({**(schema.metadata or {}), **marks})


def _shards_in(partial: Path) -> Journal:
    """Open the journal of finished shards; without one that fits the files, start over."""
    import pyarrow.parquet

    path = partial / _JOURNAL
    try:
        journal = Journal(path, {}, key="shard")
    except DataError:  # harmed: in this folder everything is the export's
        path.unlink()
        journal = Journal(path, {}, key="shard")
    try:
        whole = all(
            pyarrow.parquet.read_metadata(partial / name).num_rows == shard["rows"]
            for name, shard in journal.records.items()
        )
    except (OSError, pyarrow.ArrowException):
        whole = False
    if not whole:
        journal.close()
        journal = Journal(journal.path, {}, key="shard", restart=True)
    return journal


def _rows_of(journal: Journal, split: str) -> list[int]:
    """Return the rows of each finished shard of a split."""
    return [shard["rows"] for shard in journal.records.values() if shard["split"] == split]


def _write_split(
    stream: Iterable[Any],
    schema: Any,
    partial: Path,
    split: str,
    shard_rows: int,
    journal: Journal,
) -> None:
    import pyarrow.parquet

    finished = _rows_of(journal, split)
    groups = _row_groups(_without_first(stream, sum(finished)), schema)
    group = next(groups, None)
    number = len(finished)
    while group is not None:
        name, rows = f"{split}-{number:05d}.parquet", 0
        with (
            replacing(partial / name, "wb") as file,
            pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
        ):
            while group is not None and rows < shard_rows:
                writer.write_table(group)
                rows += group.num_rows
                group = next(groups, None)
        journal.add([{"shard": name, "split": split, "rows": rows}])
        number += 1


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


def _finish(partial: Path) -> None:
    """Rename the shards to their final names, which say how many there are."""
    for split in SPLITS:
        shards = sorted(partial.glob(f"{split}-?????.parquet"))
        for number, path in enumerate(shards):
            path.rename(partial / f"{split}-{number:05d}-of-{len(shards):05d}.parquet")


def _copy_aliases(source: Path, out: Path, config: str) -> None:
    """Copy the release's alias file beside the shards, where the metric reads it.

    One that an earlier export of this config left goes; one of others is never replaced.
    """
    owned, path = OwnedFolder(out), out / ALIASES
    with _aliases_of(source) as stream:
        digest = stream and hashlib.file_digest(stream, "sha256").hexdigest()
    if digest is None:
        if owned.lists(ALIASES) and owned.mark().get("identity") == {ALIASES: config}:
            owned.discard(ALIASES)
    elif not (path.is_file() and sha256_of(path) == digest):
        owned.claim(ALIASES)
        if owned.mark().get("command") in ("", "export"):
            owned.identify("export", {ALIASES: config})
        with _aliases_of(source) as stream, replacing(path, "wb") as target:
            shutil.copyfileobj(stream, target)


@contextmanager
def _aliases_of(source: Path) -> Iterator[Any]:
    """Open a source's alias file; None without one."""
    from twowiki.io.archives import open_named

    if (source / ALIASES).is_file():
        with open(source / ALIASES, "rb") as stream:
            yield stream
    elif source.is_file() and source.suffix == ".zip":
        with open_named(source, ALIASES) as member:
            yield member
    else:
        yield None


def _bar(stream: Iterable[Any], split: str) -> Iterator[Any]:
    from tqdm import tqdm

    with tqdm(desc=split, unit=" rows", disable=not sys.stderr.isatty()) as bar:
        for table in stream:
            yield table
            bar.update(table.num_rows)
