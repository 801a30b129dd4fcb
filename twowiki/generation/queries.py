"""The queries in the order of the paper's method: pages, facts, grounding, pairs of facts.

Each step names the tables that it reads; a table is a Parquet folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twowiki.generation.dates import date_of_key, written_forms
from twowiki.generation.engines import QueryEngine, query
from twowiki.generation.rule_tables import rule_tables
from twowiki.generation.tables import (
    count_rows,
    parquet_files,
    read_arrow,
    table_of,
    write_part,
)

Tables = dict[str, Path]

SELECT = {
    "linked": "entities redirects pages",
    "duplicates": "claims linked entities",
    "days": "dates",
    "facts": "claims days duplicates",
    "types": "facts class_types linked",
}
PARTITIONED = {
    "subject_facts": "facts relations linked settings",
    "texts": "linked sentences settings",
}
# These run on one bucket at a time, which they read as well.
GROUND = {"grounded": "relations names written_days"}
CHAINS = {
    "chains": "grounded relation_pairs relations linked names written_days facts sexes settings",
}
MEASURE = {"measures": "relations days uncertain"}
MEMBERS = {"members": "facts popular class_types comparables settings"}
SELECTED_CHAINS = {"selected_chains": "chains settings"}
GROUPS = {"popular": "facts linked"}
COMPARISONS = {
    "comparison": "members relations grounded uncertain settings",
    "selected_comparison": "comparison settings",
}
BRIDGE_COMPARISONS = {
    "bridge_comparison": "grounded relations types measures uncertain linked settings",
    "selected_bridge_comparison": "bridge_comparison settings",
}
WANTED = {
    "wanted_pages": "pages linked wanted facts sexes entities types",
    "wanted_sentences": "wanted linked sentences",
    "wanted_classes": "wanted facts entities",
    "wanted_grounded": "wanted grounded relations",
    "wanted_names": "wanted wanted_grounded names",
    "wanted_dates": "wanted facts days",
}
CONTEXTS = {
    "distractors": "golds facts hits linked names answers named needs",
    "context_pages": "distractors golds linked sentences",
}
_GROUNDED = pa.schema(
    [
        ("s", pa.int64()), ("p", pa.int64()), ("o", pa.int64()), ("stmt_id", pa.string()),
        ("n_values", pa.int64()), ("norm", pa.string()), ("says", pa.int64()),
        ("sent_id", pa.int64()),
    ]
)  # fmt: skip
_ROWS_PER_BUCKET = 2_000_000
_FILMS_PER_CELL = 8


def run_queries(
    engine: QueryEngine,
    steps: Mapping[str, str],
    tables: Tables,
    folder: Path,
    *,
    bucketed: bool = False,
) -> None:
    """Run queries in order, each into a folder of its name; add their tables to `tables`."""
    for name, inputs in steps.items():
        given = {table: tables[table] for table in inputs.split()}
        engine.sql(query(name), given, folder / name, bucketed=bucketed)
        tables[name] = folder / name


def write_rules(folder: Path, tables: Tables, **settings: object) -> None:
    """Write the small tables of relations, rules and settings."""
    for name, table in rule_tables(**settings).items():  # type: ignore[arg-type]
        write_part(folder / name, "part-00000", table)
        tables[name] = folder / name


def write_dates(folder: Path, tables: Tables) -> None:
    """Write every way to write each date of the table `days`."""
    keys = read_arrow(tables["days"], ["o"]).column("o").to_pylist()
    rows = [
        (key, form.norm, form.says.key, int(form.says.precision == date.precision))
        for key in keys
        for date in (date_of_key(key),)
        for form in written_forms(date)
    ]
    write_part(folder / "written_days", "part-00000", table_of("written_days", rows))
    tables["written_days"] = folder / "written_days"


def bucket_count(facts: Path) -> int:
    """Return the number of parts that keeps a part's join within memory, from the rows alone."""
    return max(1, -(-count_rows(facts) // _ROWS_PER_BUCKET))


def cell_count(types: Path) -> int:
    """Return the number of cells that films are paired within, so that few samples are linked."""
    kinds = read_arrow(types, ["type"]).column("type")
    films = int(pc.sum(pc.match_substring(kinds, "film")).as_py() or 0)
    return max(1, films // _FILMS_PER_CELL)


def buckets_of(folder: Path) -> dict[int, Path]:
    """Return the folder of each bucket of a bucketed table."""
    return {
        int(path.name.rpartition("=")[2]): path
        for path in sorted(folder.iterdir())
        if path.is_dir() and "=" in path.name
    }


def ground(engine: QueryEngine, tables: Tables, folder: Path) -> None:
    """Find the facts that their subjects' pages state, a bucket of subjects at a time."""
    facts, texts = (
        buckets_of(tables[name]) if name in tables else {} for name in ("subject_facts", "texts")
    )
    parts: dict[str, Tables] = {
        f"bucket-{bucket:05d}": {"subject_facts": facts[bucket], "texts": texts[bucket]}
        for bucket in sorted(set(facts) & set(texts))
    }
    if not parts:  # nothing to look for: the table has no rows
        write_part(folder / "grounded", "part-none", _GROUNDED.empty_table())
    run_in_parts(engine, GROUND, parts, tables, folder)


def run_in_parts(
    engine: QueryEngine,
    steps: Mapping[str, str],
    parts: Mapping[str, Tables],
    tables: Tables,
    folder: Path,
) -> None:
    """Run queries as `run_queries` does, on one part of some tables at a time.

    A part that exists already is kept: a stopped run continues with the next one.

    Args:
        engine: where they run.
        steps: the queries, with the tables that they read whole.
        parts: the folders of the results, each with the tables that are read for it alone.
        tables: every table; those of the queries are added.
        folder: where these are written.
    """
    for name, inputs in steps.items():
        given = {table: tables[table] for table in inputs.split()}
        for part, own in parts.items():
            out = folder / name / part
            if not out.is_dir():
                engine.sql(query(name), given | own, out)
        tables[name] = folder / name


def parts_of(table: Path, name: str) -> dict[str, Tables]:
    """Return the buckets of a table, or all of it where it has none, each under a query's name."""
    buckets = sorted(path for path in table.iterdir() if path.is_dir())
    return {path.name: {name: path} for path in buckets or [table]}


def find_chains(engine: QueryEngine, tables: Tables, folder: Path) -> None:
    """Find the chains of two grounded facts, a bucket of starting facts at a time."""
    run_in_parts(engine, CHAINS, parts_of(tables["grounded"], "starts"), tables, folder)
    run_queries(engine, SELECTED_CHAINS, tables, folder)


def find_pairs(engine: QueryEngine, tables: Tables, folder: Path, *, bridges: bool) -> None:
    """Find the pairs of entities to compare, with `bridges` also those of films."""
    run_in_parts(engine, MEASURE, parts_of(tables["grounded"], "grounded"), tables, folder)
    run_queries(engine, GROUPS, tables, folder)
    run_in_parts(engine, MEMBERS, parts_of(tables["measures"], "part"), tables, folder)
    run_queries(engine, COMPARISONS | (BRIDGE_COMPARISONS if bridges else {}), tables, folder)


def count_reasons(folder: Path) -> dict[str, int]:
    """Count a candidate table's rows by the reason that drops them; "" for kept ones."""
    counts: dict[str, int] = {}
    for file in parquet_files(folder):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=200_000, columns=["reason"]):
            for entry in pc.value_counts(batch.column("reason")).to_pylist():
                counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return dict(sorted(counts.items()))


def tables_in(folders: Iterable[Path]) -> Tables:
    """Return the tables of finished stages."""
    return {
        path.name: path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_dir() and parquet_files(path)
    }
