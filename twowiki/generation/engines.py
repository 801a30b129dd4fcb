"""Where the queries run: DuckDB or Spark; the same texts, the same rows.

A query is one file of `sql/`, run word for word. Its inputs are Parquet folders under the names
that the text uses; its output is a Parquet folder, complete or absent. Spark can also parse dumps.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from twowiki.errors import DataError
from twowiki.generation.dump_reader import (
    PARSERS,
    WHOLE,
    check_counts,
    gather_left_out,
    note_left_out,
    tables_of_kind,
)
from twowiki.generation.settings import memory_bytes
from twowiki.generation.tables import MAKE_ROOM, SkippedLine, parquet_files, table_of, write_part
from twowiki.generation.wikipedia import parse_records
from twowiki.io.files import NO_ROOM, write_json
from twowiki.io.processes import map_parts

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def query(name: str) -> str:
    """Return the text of a query."""
    return (files("twowiki.generation") / "sql" / f"{name}.sql").read_text("utf-8")


class QueryEngine(Protocol):
    """What a stage needs of an engine."""

    name: str

    def sql(
        self, text: str, inputs: Mapping[str, Path], out: Path, *, bucketed: bool = False
    ) -> None:
        """Run one query and write its rows, in the query's order.

        Args:
            text: a single SELECT.
            inputs: the folder of each table that the text names.
            out: the folder to write; replaced if it is there.
            bucketed: write a folder for each value of the column `bucket`.
        """
        ...

    def map(self, work: Callable[[_Part], _Result], parts: Iterable[_Part]) -> Iterator[_Result]:
        """Yield the result of each part, in order; the work runs where the queries do.

        Args:
            work: can be pickled; it reads and writes files that every worker sees.
            parts: small enough that all of them are in memory.
        """
        ...

    def close(self) -> None:
        """Release what the engine holds."""
        ...


def _aside(out: Path) -> Path:
    aside = out.with_name(f".{out.name}.tmp")
    if aside.exists():
        shutil.rmtree(aside)
    aside.parent.mkdir(parents=True, exist_ok=True)
    return aside


def _put(aside: Path, out: Path) -> None:
    if out.exists():
        shutil.rmtree(out)
    aside.replace(out)


def _message(error: Exception) -> str:
    """Return the sentence of a DuckDB error, which may be followed by details as JSON."""
    return str(error).partition(': {"exception')[0].splitlines()[0]


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


_FULL_DISK = (*map(os.strerror, NO_ROOM), "max_temp_directory_size")
_SHOWN_EVERY = 0.5  # seconds
_OWN_MEMORY = 500 << 20  # bytes of this process without DuckDB
_TASK_MEMORY = 400 << 20  # bytes of a process that ranks


@contextmanager
def _progress_shown(connection: Any, step: str) -> Iterator[None]:
    """Show how much of a query is done, and the time left; nothing if that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    ended = threading.Event()

    def watch() -> None:
        form = "{l_bar}{bar}| [{elapsed}<{remaining}]"
        with tqdm(desc=f"  {step}", total=100, bar_format=form, leave=False) as bar:
            while not ended.wait(_SHOWN_EVERY):
                bar.n = max(bar.n, min(100, int(connection.query_progress())))
                bar.refresh()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


class DuckDBEngine:
    """DuckDB in this process.

    Args:
        scratch: a folder for what does not fit in memory.
        memory: what this process and those of `map` may hold, such as "2GB"; rows beyond go to
            `scratch`.
        threads: threads; the rows do not depend on it.
    """

    name = "duckdb"

    def __init__(self, scratch: Path, *, memory: str = "2GB", threads: int = 2) -> None:
        self.scratch, self.memory, self.threads = scratch, memory, threads

    @cached_property
    def connection(self) -> Any:
        """Open DuckDB, once."""
        try:
            import duckdb
        except ImportError as error:
            raise DataError(
                "DuckDB is not installed",
                remedy="Install it with: pip install 'twowiki[generate]'.",
            ) from error
        self.scratch.mkdir(parents=True, exist_ok=True)
        connection = duckdb.connect()
        for statement in (
            f"SET memory_limit = '{self._limit() >> 20}MiB'",
            f"SET threads = {self.threads}",
            f"SET temp_directory = {_quoted(self.scratch)}",
        ):
            connection.execute(statement).fetchall()
        shown = str(sys.stderr.isatty()).lower()  # DuckDB counts what is done, and we show it
        with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets it has none
            connection.execute("SET enable_progress_bar_print = false").fetchall()
            connection.execute(f"SET enable_progress_bar = {shown}").fetchall()
        return connection

    def sql(
        self, text: str, inputs: Mapping[str, Path], out: Path, *, bucketed: bool = False
    ) -> None:
        """Run one query; see `QueryEngine.sql`."""
        aside, views = _aside(out), []
        for name, folder in inputs.items():
            listed = ", ".join(_quoted(path) for path in parquet_files(folder))
            source = f"read_parquet([{listed}], hive_partitioning = false)"
            views.append(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {source}")
        aside.mkdir()
        target = _quoted(aside if bucketed else aside / "part-00000.parquet")
        options = "FORMAT parquet, COMPRESSION zstd"
        if bucketed:
            options += ", PARTITION_BY (bucket), WRITE_PARTITION_COLUMNS true"
        connection = self.connection
        import duckdb

        try:
            with _progress_shown(connection, out.name):
                for statement in (*views, f"COPY ({text}) TO {target} ({options})"):
                    connection.execute(statement).fetchall()
        except duckdb.Error as error:
            if any(words in str(error) for words in _FULL_DISK):
                raise DataError(
                    f"the disk is full in the step {out.name!r}",
                    file=aside.parent,
                    remedy=MAKE_ROOM,
                ) from error
            if not isinstance(error, duckdb.OutOfMemoryException):
                raise
            raise DataError(
                f"{self.memory} of memory is not enough for the step {out.name!r}",
                remedy="Raise --memory, and keep room on the disk of --work.",
            ) from error
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise DataError(
                f"the step {out.name!r} stopped ({_message(error)})",
                remedy="Make room on the disk of --work, or start over with --restart",
            ) from error
        _put(aside, out)

    def map(self, work: Callable[[_Part], _Result], parts: Iterable[_Part]) -> Iterator[_Result]:
        """Run work in processes of this machine; see `QueryEngine.map`."""
        self._disconnect()  # what it keeps in memory is for the processes now
        most = (memory_bytes(self.memory) - _OWN_MEMORY) // _TASK_MEMORY
        return map_parts(work, parts, max(1, min(self.threads, most)))

    def _limit(self) -> int:
        """Return the bytes that DuckDB may hold, beside what Python does."""
        most = memory_bytes(self.memory)
        return max(most // 2, most - _OWN_MEMORY)

    def _disconnect(self) -> None:
        if "connection" in self.__dict__:
            self.connection.close()
            del self.connection

    def close(self) -> None:
        """Close DuckDB and remove the scratch folder."""
        self._disconnect()
        shutil.rmtree(self.scratch, ignore_errors=True)


def spark_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Parse settings of Spark, such as "spark.executor.cores=4", by key."""
    settings: dict[str, str] = {}
    for text in pairs:
        key, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"spark\.[\w.-]+", key):
            raise DataError(
                f"--spark-conf is {text!r}",
                remedy="Write a key and a value, such as spark.executor.cores=4.",
            )
        settings[key] = value
    return settings


_PARTITIONS_AT_FIRST = 2000  # of a cluster's shuffles, before small ones are joined


class SparkEngine:
    """Spark, local or a cluster; needs Java 17 and folders that every worker can read.

    How many partitions a step has is left to Spark's adaptive execution, which joins small ones
    to some 64 MB; the rows do not depend on it.

    Args:
        scratch: a folder for shuffles.
        master: Spark's master, such as "local[2]" or "spark://host:7077".
        memory: the heap of the driver, and of each executor, such as "2GB".
        settings: settings of Spark, which replace those of this class.
    """

    name = "spark"

    def __init__(
        self,
        scratch: Path,
        *,
        master: str = "local[2]",
        memory: str = "2GB",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.scratch, self.master, self.memory = scratch, master, memory
        self.settings = dict(settings or {})

    @cached_property
    def session(self) -> Any:
        """Start Spark, once."""
        if shutil.which("java") is None:
            raise DataError(
                "Spark needs Java, and `java` is not on the path",
                remedy="Install Java 17, or run with --engine duckdb.",
            )
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise DataError(
                "PySpark is not installed", remedy="Install it with: pip install 'twowiki[spark]'."
            ) from error
        self.scratch.mkdir(parents=True, exist_ok=True)
        if self.master.startswith("local"):  # a cluster's workers have their own Python
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        local = re.fullmatch(r"local(?:\[(\d+).*\])?", self.master)
        start = 8 * int(local[1] or 1) if local else _PARTITIONS_AT_FIRST
        heap = self.memory.lower().replace(" ", "").removesuffix("b").removesuffix("i")
        settings = {
            "spark.driver.memory": heap,
            "spark.executor.memory": heap,
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.adaptive.coalescePartitions.enabled": "true",
            "spark.sql.adaptive.coalescePartitions.initialPartitionNum": str(start),
            "spark.sql.adaptive.skewJoin.enabled": "true",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
            "spark.local.dir": str(self.scratch),
            "spark.ui.enabled": "false",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.parquet.compression.codec": "zstd",
            "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
            # Workers on this machine find the package where this process has it.
            "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
        }
        builder = SparkSession.builder.master(self.master).appName("twowiki")
        for key, value in (settings | self.settings).items():
            builder = builder.config(key, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:  # whatever the JVM raises
            raise DataError(
                f"Spark did not start on {self.master}: {str(error).splitlines()[0]}",
                remedy="Check --master; local[2] runs on this machine with Java 17.",
            ) from error
        session.sparkContext.setLogLevel("ERROR")
        return session

    def sql(
        self, text: str, inputs: Mapping[str, Path], out: Path, *, bucketed: bool = False
    ) -> None:
        """Run one query; see `QueryEngine.sql`."""
        aside = _aside(out)
        for name, folder in inputs.items():
            listed = [str(path.resolve()) for path in parquet_files(folder)]
            self.session.read.parquet(*listed).createOrReplaceTempView(name)
        frame = self.session.sql(text)
        if not bucketed:
            frame.write.parquet(str(aside.resolve()))
        else:
            copied = frame.selectExpr("*", "bucket AS bucket_folder")
            copied.write.partitionBy("bucket_folder").parquet(str(aside.resolve()))
        _put(aside, out)

    def map(self, work: Callable[[_Part], _Result], parts: Iterable[_Part]) -> Iterator[_Result]:
        """Run work as tasks of the cluster, one for each part; see `QueryEngine.map`."""
        given = list(parts)
        if given:
            spread = self.session.sparkContext.parallelize(given, len(given))
            yield from spread.map(work).collect()

    def close(self) -> None:
        """Stop Spark, if it was started."""
        if "session" in self.__dict__:
            self.session.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


_PAGE_END = "</page>"
_RECORDS_PER_BATCH = {"wikidata": 2000, "json": 2000, "parquet": 500, "xml": 200}
_PAGE_COLUMNS = ("id", "title", "sentences", "mentions", "text")


def ingest_on_spark(
    session: Any, paths: list[Path], kind: str, folder: Path, *, allow_truncated: bool = False
) -> Counter[str]:
    """Read dump files into tables under a folder; return the counts by reason.

    The tasks of the cluster read the files: lines, pages of XML or row groups of Parquet.

    Args:
        session: the Spark session.
        paths: the files, readable by every worker.
        kind: wikidata, json, xml or parquet.
        folder: a folder that every worker can write.
        allow_truncated: not supported by Spark's reader, which stops at damage.

    Raises:
        DataError: when Spark cannot read a file to its end.
    """
    whole = folder / "parts" / WHOLE
    if whole.exists():
        return Counter(json.loads(whole.read_text("utf-8"))["counts"])
    for name in (*tables_of_kind(kind), "parts"):  # another run's tasks may have cut other parts
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in tables_of_kind(kind):
        write_part(folder / name, "part-none", table_of(name, ()))
    limit = "spark.sql.execution.arrow.maxRecordsPerBatch"
    session.conf.set(limit, str(_RECORDS_PER_BATCH[kind]))
    records = _records_on_spark(session, paths, kind)
    parsed = records.mapInArrow(_parser(kind, str(folder.resolve())), "counts string")
    faults = [path for path in paths if kind == "xml" and _is_cut_short(path)]
    try:
        rows = parsed.collect()
    except Exception as error:  # Spark wraps whatever its readers raise
        if not _is_damage(error):
            raise
        raise DataError(
            "the file is truncated or damaged",
            file=paths[0],
            remedy="Download it again; --engine duckdb --allow-truncated reads what it contains.",
        ) from error
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    gather_left_out(folder)
    check_counts(paths, faults, counts, kind, allow_truncated)
    write_json(whole, {"counts": dict(sorted(counts.items()))})
    return Counter(dict(sorted(counts.items())))


def _records_on_spark(session: Any, paths: list[Path], kind: str) -> Any:
    """Return a frame of the files' lines, pages or rows."""
    given = [str(path.resolve()) for path in paths]
    if kind == "parquet":
        frame = session.read.parquet(*given)
        return frame.select(*(name for name in _PAGE_COLUMNS if name in frame.columns))
    reader = session.read.option("lineSep", _PAGE_END) if kind == "xml" else session.read
    return reader.text(given).selectExpr("value", "input_file_name() AS file")


def _is_cut_short(path: Path) -> bool:
    """Return whether a plain file of XML ends within a page; Spark's decoders see the others."""
    with open(path, "rb") as stream:
        stream.seek(max(0, path.stat().st_size - (16 << 20)))
        tail = stream.read()
    return tail.rfind(b"<page>") > tail.rfind(_PAGE_END.encode())


def _is_damage(error: Exception) -> bool:
    text = str(error)
    return any(word in text for word in ("EOFException", "ZipException", "IOException", "CRC"))


def _parser(
    kind: str, folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task: batches of records in, one row of counts per batch out."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        for number, batch in enumerate(batches):
            left_out: list[SkippedLine] = []
            if kind == "parquet":
                tables, counts = parse_records(batch.to_pylist())
                texts: list[str] = []
            else:
                texts = [text or "" for text in batch.column(0).to_pylist()]
                end = _PAGE_END if kind == "xml" else "\n"
                block = "".join(text + end for text in texts)
                tables, counts = PARSERS[kind](block.encode(), left_out)
            part = f"part-{task:05d}-{number:05d}"
            for name, rows in tables.items():
                write_part(Path(folder) / name, part, table_of(name, rows))
            places = [  # Spark counts no lines
                {
                    "file": batch.column(1)[record].as_py(),
                    "begins": texts[record].lstrip()[:80],
                    "reason": reason,
                }
                for line, reason in left_out
                for record in (_record_of(texts, line) if kind == "xml" else line,)
            ]
            note_left_out(Path(folder), part, places)
            yield pa.RecordBatch.from_pydict({"counts": [json.dumps(counts)]})

    return parse


def _record_of(texts: list[str], line: int) -> int:
    """Return the number of the text that has a line of all texts together."""
    for number, text in enumerate(texts):
        line -= text.count("\n")
        if line <= 0:
            return number
    return len(texts) - 1
