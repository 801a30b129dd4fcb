"""Dumps to tables on Spark: the same parsers, over the splits of a file (`mapInArrow`).

A .bz2 is split, a .gz is one task. Every task writes its parts into the shared folder; the counts
come back as rows. The rows are those of `ingest`, in other parts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from twowiki.errors import DataError
from twowiki.generation.ingest import PARSERS, check_counts, tables_of_kind
from twowiki.generation.tables import table_of, write_part

LINES_A_BATCH = 2000


def ingest_on_spark(
    session: Any, paths: list[Path], kind: str, folder: Path, *, allow_truncated: bool = False
) -> Counter[str]:
    """Read files of lines into tables under a folder; give the counts by reason.

    Args:
        session: the Spark session.
        paths: the files, readable by every worker.
        kind: wikidata or json.
        folder: a folder that every worker can write.
        allow_truncated: unused by Spark's own reader, which stops at damage.

    Raises:
        DataError: when Spark cannot read a file to its end.
    """
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(LINES_A_BATCH))
    for name in tables_of_kind(kind):
        write_part(folder / name, "part-none", table_of(name, ()))
    lines = session.read.text([str(path.resolve()) for path in paths])
    parsed = lines.mapInArrow(_parser(kind, str(folder.resolve())), "counts string")
    try:
        rows = parsed.collect()
    except Exception as error:  # Spark wraps whatever its readers raise
        if not _is_damage(error):
            raise
        raise DataError(
            "the compressed file is truncated or damaged",
            file=paths[0],
            remedy="Fetch it again; --engine duckdb --allow-truncated goes on with what it holds.",
        ) from error
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    check_counts(paths, [], counts, kind, allow_truncated)
    return Counter(dict(sorted(counts.items())))


def _is_damage(error: Exception) -> bool:
    text = str(error)
    return any(word in text for word in ("EOFException", "ZipException", "IOException", "CRC"))


def _parser(
    kind: str, folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that a task runs: batches of lines in, one row of counts a batch out."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        for number, batch in enumerate(batches):
            block = "\n".join(text or "" for text in batch.column(0).to_pylist()).encode()
            tables, counts = PARSERS[kind](block)
            for name, rows in tables.items():
                write_part(
                    Path(folder) / name, f"part-{task:05d}-{number:05d}", table_of(name, rows)
                )
            yield pa.RecordBatch.from_pydict({"counts": [json.dumps(counts)]})

    return parse
