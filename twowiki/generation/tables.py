"""The tables between dumps and samples: columns and contracts.

Only integers and strings: every engine reads and orders them alike. `norm` columns hold
`text.normalize` of their text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twowiki.errors import DataError
from twowiki.io.failures import damage_named
from twowiki.io.files import NO_ROOM

TableRow = tuple[Any, ...]
GENERATE_AGAIN = "Run `twowiki generate` again with --restart"
MAKE_ROOM = (
    "Make room, or set --work to a larger disk, and run the command again: what is finished is kept"
)
_BIGINT_DIGITS = 19
_ROWS_AT_ONCE = 10_000

_TYPES = {"int": pa.int64(), "text": pa.string()}


def _schema(columns: str) -> pa.Schema:
    """Read "name:type ..." where a trailing ? allows null."""
    fields = []
    for column in columns.split():
        name, kind = column.split(":")
        fields.append(pa.field(name, _TYPES[kind.rstrip("?")], nullable=kind.endswith("?")))
    return pa.schema(fields)


TABLES: dict[str, pa.Schema] = {
    # An item with an English label. Unique: qid.
    "entities": _schema("qid:int label:text label_norm:text title_key:text?"),
    # A name of an entity: label, title, alias or demonym; smaller `prio` is preferred.
    "names": _schema("qid:int norm:text name:text kind:text prio:int"),
    # A statement that is not deprecated; `o` is an entity's id, a date's key, or null.
    "claims": _schema("s:int p:int o:int? best:int stmt_id:text ended:int"),
    # A date that some claim or text gives. Unique: o.
    "dates": _schema("o:int year:int year_o:int low:int high:int precision:int"),
    # A date that Wikidata marks as uncertain, with the days that it may mean.
    "uncertain": _schema("s:int p:int low:int high:int"),
    # A way to write a date; `says` is the date that the words themselves mean.
    "written_days": _schema("o:int norm:text says:int exact:int"),
    # A page with a summary. `usable` is 0 where a template was left unrendered.
    "pages": _schema(
        "page_id:int title:text title_key:text bare_norm:text norm:text n_sentences:int usable:int"
    ),
    # A sentence of a page's summary. Unique: page_id, sent_id.
    "sentences": _schema("page_id:int sent_id:int text:text norm:text"),
    # A link in a sentence; characters half-open within it; the target by id where it is known.
    "mentions": _schema(
        "page_id:int sent_id:int start:int end:int norm:text target_qid:int? target_key:text"
    ),
    # A page's other title. Unique: title_key.
    "redirects": _schema("title_key:text target_key:text"),
}

# Tables that are cut into buckets: the columns of a bucket without rows.
BUCKETED: dict[str, pa.Schema] = {
    "subject_facts": _schema("s:int p:int o:int stmt_id:text n_values:int bucket:int"),
    "texts": _schema("qid:int sent_id:int norm:text bucket:int"),
    "object_names": _schema("qid:int norm:text kind:text prio:int bucket:int"),
    "object_days": _schema("o:int norm:text says:int exact:int bucket:int"),
    "instances": _schema("s:int p:int o:int bucket:int"),
    "doubts": _schema("s:int p:int low:int high:int bucket:int"),
    "link_pages": _schema("qid:int norm:text label_norm:text bare_norm:text bucket:int"),
    "first_links": _schema(
        "s:int p:int o:int stmt_id:text n_values:int norm:text sent_id:int label_norm:text "
        "bare_norm:text bucket:int"
    ),
    "links": _schema(
        "e:int r1:int b:int r2:int a:int rule:int sent1:int norm1:text stmt1:text sent2:int "
        "norm2:text stmt2:text says:int direct:int inverse:int drop_if_contradicted:int "
        "drop_if_unstated:int country:int values1:int values2:int named_back:int bucket:int"
    ),
    "link_names": _schema("qid:int norm:text kind:text bucket:int"),
    "link_days": _schema("o:int norm:text bucket:int"),
    "link_facts": _schema("s:int p:int o:int bucket:int"),
}


def table_of(name: str, rows: Iterable[TableRow]) -> pa.Table:
    """Return rows as an Arrow table with the columns of a known table."""
    schema = TABLES[name]
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


class SkippedLine(NamedTuple):
    """A line of a block that gave no row: its number, from 0, and the reason."""

    line: int
    reason: str


def as_bigint(value: int | str) -> int | None:
    """Return a whole number that a column of ids can hold; None for one that it cannot."""
    if isinstance(value, str) and len(value) > _BIGINT_DIGITS:
        return None
    number = int(value)
    return number if abs(number) < 1 << 63 else None


def write_part(folder: Path, part: str, table: pa.Table) -> None:
    """Write one file of a table in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{part}.tmp"
    try:
        pq.write_table(table, aside, compression="zstd")
        aside.replace(folder / f"{part}.parquet")
    except OSError as error:
        aside.unlink(missing_ok=True)
        if error.errno not in NO_ROOM:
            raise
        problem = f"cannot be written ({os.strerror(error.errno)})"
        raise DataError(problem, file=folder / f"{part}.parquet", remedy=MAKE_ROOM) from error


def parquet_files(folder: Path) -> list[Path]:
    """Return a table's files in order, those of its buckets included."""
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if path.is_file() and not path.name.startswith((".", "_"))
    )


def read_arrow(folder: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a whole table; for the small ones."""
    tables = []
    for file in parquet_files(folder):
        with damage_named(file, GENERATE_AGAIN):
            tables.append(pq.ParquetFile(file).read(columns=columns))
    return pa.concat_tables(tables)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Read a whole small table as rows."""
    rows: list[dict[str, Any]] = read_arrow(folder).to_pylist()
    return rows


def iter_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of any size, in order."""
    for batch in iter_batches(folder):
        yield from batch.to_pylist()


def iter_batches(folder: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield a table of any size in batches of some thousand rows, in order."""
    for file in parquet_files(folder):
        with damage_named(file, GENERATE_AGAIN):
            yield from pq.ParquetFile(file).iter_batches(_ROWS_AT_ONCE, columns=columns)


def rows_by(folder: Path, column: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the rows of a table that is sorted by a column, together for each value."""
    for value, rows in groupby(iter_rows(folder), key=itemgetter(column)):
        yield value, list(rows)


def count_rows(folder: Path) -> int:
    """Count a table's rows from its files' footers."""
    count = 0
    for file in parquet_files(folder):
        with damage_named(file, GENERATE_AGAIN):
            count += pq.read_metadata(file).num_rows
    return count


def count_reasons(folder: Path) -> dict[str, int]:
    """Count a candidate table's rows by the reason that drops them; "" for kept ones."""
    counts: dict[str, int] = {}
    for batch in iter_batches(folder, ["reason"]):
        for entry in pc.value_counts(batch.column("reason")).to_pylist():
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return dict(sorted(counts.items()))


def buckets_of(folder: Path) -> dict[int, Path]:
    """Return the folder of each bucket of a bucketed table."""
    return {
        int(path.name.rpartition("=")[2]): path
        for path in sorted(folder.iterdir())
        if path.is_dir() and "=" in path.name
    }


def table_sizes(folder: Path) -> dict[str, dict[str, int]]:
    """Return the number of rows of every table in a stage's folder."""
    tables = sorted(path for path in folder.iterdir() if path.is_dir() and parquet_files(path))
    return {table.name: {"rows": count_rows(table)} for table in tables}


def digest_rows(folder: Path) -> str:
    """Return a digest of a table's rows, whatever their order and their files."""
    total = 0
    for batch in iter_batches(folder):
        total += sum(map(_row_digest, _plain_rows(batch)))
    return f"{total % (1 << 64):016x}"


def _plain_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    names = sorted(batch.schema.names)
    yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _row_digest(row: tuple[Any, ...]) -> int:
    text = "\x1f".join("\x00" if value is None else str(value) for value in row)
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "big")


# Contracts of the tables: the columns that no two rows share, and the columns whose every value
# is in another table's column.
UNIQUE = {
    "days": ("o",),
    "written_days": ("o", "norm"),
    "linked": ("qid",),
    "duplicates": ("qid",),
    "facts": ("s", "p", "o"),
    "subject_facts": ("s", "p", "o"),
    "types": ("qid",),
    "texts": ("qid", "sent_id"),
    "grounded": ("s", "p", "o"),
    "measures": ("s", "relation", "kind"),
    "popular": ("class",),
    "members": ("class", "relation", "kind", "s"),
    "chains": ("e", "r1", "b", "r2", "a"),
    "comparison": ("relation", "kind", "s1", "s2"),
    "bridge_comparison": ("r1", "r2", "f1", "f2"),
    "wanted_pages": ("qid",),
    "wanted_sentences": ("qid", "sent_id"),
}
FOREIGN = {
    ("subject_facts", "s"): ("linked", "qid"),
    ("texts", "qid"): ("linked", "qid"),
    ("grounded", "s"): ("linked", "qid"),
    ("types", "qid"): ("linked", "qid"),
    ("measures", "s"): ("linked", "qid"),
    ("members", "s"): ("linked", "qid"),
    ("members", "class"): ("popular", "class"),
    ("chains", "e"): ("linked", "qid"),
    ("chains", "b"): ("linked", "qid"),
    ("comparison", "s1"): ("linked", "qid"),
    ("comparison", "s2"): ("linked", "qid"),
    ("bridge_comparison", "h1"): ("linked", "qid"),
    ("bridge_comparison", "h2"): ("linked", "qid"),
    ("wanted_pages", "qid"): ("wanted", "qid"),
}


def broken_contracts(tables: Mapping[str, Path]) -> list[str]:
    """Return the contracts that some tables break; nulls break a key."""
    broken = []
    for name, columns in UNIQUE.items():
        if name in tables:
            rows = read_arrow(tables[name], list(columns))
            if rows.group_by(list(columns)).aggregate([]).num_rows != rows.num_rows:
                broken.append(f"{name}: {', '.join(columns)} not unique")
            if any(rows.column(column).null_count for column in columns):
                broken.append(f"{name}: null in {', '.join(columns)}")
    for (name, column), (other, key) in FOREIGN.items():
        if name in tables and other in tables:
            known = set(read_arrow(tables[other], [key]).column(0).to_pylist())
            if set(read_arrow(tables[name], [column]).column(0).to_pylist()) - known:
                broken.append(f"{name}.{column} not in {other}.{key}")
    return broken
