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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

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
from twowiki.generation.tables import SkippedLine, parquet_files, table_of, write_part
from twowiki.io.files import write_json


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


_FULL_DISK = ("No space left on device", "max_temp_directory_size", "Disk quota exceeded")


class DuckDBEngine:
    """DuckDB in this process.

    Args:
        scratch: a folder for what does not fit in memory.
        memory: DuckDB's own limit, such as "2GB"; rows beyond it go to `scratch`.
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
            f"SET memory_limit = '{self.memory}'",
            f"SET threads = {self.threads}",
            f"SET temp_directory = {_quoted(self.scratch)}",
        ):
            connection.execute(statement).fetchall()
        with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets it has none
            connection.execute("SET enable_progress_bar = false").fetchall()
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
            for statement in (*views, f"COPY ({text}) TO {target} ({options})"):
                connection.execute(statement).fetchall()
        except duckdb.Error as error:
            if any(words in str(error) for words in _FULL_DISK):
                raise DataError(
                    f"the disk is full in the step {out.name!r}",
                    file=aside.parent,
                    remedy="Make room, or set --work to a larger disk, and run the command again: "
                    "what is finished is kept.",
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

    def close(self) -> None:
        """Close DuckDB and remove the scratch folder."""
        if "connection" in self.__dict__:
            self.connection.close()
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
            "spark.ui.showConsoleProgress": "false",
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

    def close(self) -> None:
        """Stop Spark, if it was started."""
        if "session" in self.__dict__:
            self.session.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


_LINES_PER_BATCH = 2000


def ingest_on_spark(
    session: Any, paths: list[Path], kind: str, folder: Path, *, allow_truncated: bool = False
) -> Counter[str]:
    """Read files of lines into tables under a folder; return the counts by reason.

    Args:
        session: the Spark session.
        paths: the files, readable by every worker.
        kind: wikidata or json.
        folder: a folder that every worker can write.
        allow_truncated: not supported by Spark's reader, which stops at damage.

    Raises:
        DataError: when Spark cannot read a file to its end.
    """
    whole = folder / "parts" / WHOLE
    if whole.exists():
        return Counter(json.loads(whole.read_text("utf-8"))["counts"])
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_LINES_PER_BATCH))
    for name in tables_of_kind(kind):
        write_part(folder / name, "part-none", table_of(name, ()))
    lines = session.read.text([str(path.resolve()) for path in paths])
    lines = lines.selectExpr("value", "input_file_name() AS file")
    parsed = lines.mapInArrow(_parser(kind, str(folder.resolve())), "counts string")
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
    check_counts(paths, [], counts, kind, allow_truncated)
    write_json(whole, {"counts": dict(sorted(counts.items()))})
    return Counter(dict(sorted(counts.items())))


def _is_damage(error: Exception) -> bool:
    text = str(error)
    return any(word in text for word in ("EOFException", "ZipException", "IOException", "CRC"))


def _parser(
    kind: str, folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task: batches of lines in, one row of counts per batch out."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        for number, batch in enumerate(batches):
            texts = [text or "" for text in batch.column(0).to_pylist()]
            left_out: list[SkippedLine] = []
            tables, counts = PARSERS[kind]("\n".join(texts).encode(), left_out)
            part = f"part-{task:05d}-{number:05d}"
            for name, rows in tables.items():
                write_part(Path(folder) / name, part, table_of(name, rows))
            files = batch.column(1)
            places = [  # Spark counts no lines
                {"file": files[line].as_py(), "begins": texts[line][:80], "reason": reason}
                for line, reason in left_out
            ]
            note_left_out(Path(folder), part, places)
            yield pa.RecordBatch.from_pydict({"counts": [json.dumps(counts)]})

    return parse
