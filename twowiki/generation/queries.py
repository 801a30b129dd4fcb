"""The queries in the order of the paper's method: pages, facts, grounding, pairs of facts.

Each step names the tables that it reads; a table is a Parquet folder. What is joined a bucket of
entities at a time is cut into these buckets first, so that the cost of a fact does not depend on
the number of buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow.compute as pc

from twowiki.generation.dates import date_of_key, written_forms
from twowiki.generation.engines import QueryEngine, query
from twowiki.generation.rule_tables import rule_tables
from twowiki.generation.tables import (
    BUCKETED,
    buckets_of,
    count_rows,
    iter_batches,
    iter_rows,
    parquet_files,
    table_of,
    write_part,
)
from twowiki.io.files import progress
from twowiki.io.processes import numbered_parts

Tables = dict[str, Path]

SELECT = {
    "linked": "entities redirects pages",
    "duplicates": "claims linked entities",
    "days": "dates",
    "facts": "claims days duplicates linked",
    "types": "facts class_types linked",
}
# A folder for each bucket of these. The buckets are those of the subjects' ids.
PARTITIONED = {
    "subject_facts": "facts relations linked settings",
    "texts": "linked sentences settings",
    "object_names": "names subject_facts",
    "object_days": "written_days subject_facts",
    "instances": "facts linked settings",
    "doubts": "uncertain settings",
}
PARTITIONED_LINKS = {
    "link_pages": "linked settings",
    "first_links": "grounded relation_pairs linked settings",
}
PARTITIONED_CHAINS = {
    "links": "joined_links settings",
    "link_names": "names links",
    "link_days": "written_days links",
    "link_facts": "facts links relation_pairs relations",
}
# These run on one bucket at a time. `table=name`: the bucket of a table, under a name of the query.
GROUND = {"grounded": "relations"}
_GROUND_PARTS = "subject_facts texts names=object_names written_days=object_days"
JOINED_LINKS = {"joined_links": "relation_pairs relations"}
_LINK_PARTS = "first_links grounded link_pages"
CHAINS = {"chains": "sexes settings"}
_CHAIN_PARTS = "links link_pages link_names link_days link_facts"
MEASURE = {"measures": "relations days"}
_MEASURE_PARTS = "grounded uncertain=doubts"
MEMBERS = {"members": "popular class_types comparables settings"}
_MEMBER_PARTS = "part=measures facts=instances"
FIND_CHAINS = PARTITIONED_LINKS | JOINED_LINKS | PARTITIONED_CHAINS | CHAINS
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
ROWS_PER_BUCKET = 2_000_000
_FILMS_PER_CELL = 8
_DAYS_AT_ONCE = 20_000


def run_queries(
    engine: QueryEngine,
    steps: Mapping[str, str],
    tables: Tables,
    folder: Path,
    *,
    buckets: int | None = None,
) -> None:
    """Run queries in order, each into a folder of its name; add their tables to `tables`.

    A table that is there already is kept: a stopped run continues with the next one.

    Args:
        engine: where they run.
        steps: the queries, with the tables that they read.
        tables: every table; those of the queries are added.
        folder: where these are written.
        buckets: write as many folders of each, by the column `bucket`.
    """
    shown = progress(steps.items(), what=folder.name, total=len(steps), unit="queries")
    for name, inputs in shown:
        given = {table: tables[table] for table in inputs.split()}
        if not (folder / name).is_dir():
            engine.sql(query(name), given, folder / name, bucketed=buckets is not None)
        for bucket in set(range(buckets or 0)) - set(buckets_of(folder / name)):
            empty = BUCKETED[name].empty_table()
            write_part(folder / name / f"bucket={bucket}", "part-none", empty)
        tables[name] = folder / name


def write_rules(folder: Path, tables: Tables, **settings: object) -> None:
    """Write the small tables of relations, rules and settings."""
    for name, table in rule_tables(**settings).items():  # type: ignore[arg-type]
        write_part(folder / name, "part-00000", table)
        tables[name] = folder / name


def write_dates(folder: Path, tables: Tables) -> None:
    """Write every way to write each date of the table `days`."""
    folder = folder / "written_days"
    write_part(folder, "part-none", table_of("written_days", ()))
    for number, days in numbered_parts(iter_rows(tables["days"]), _DAYS_AT_ONCE):
        rows = [
            (row["o"], form.norm, form.says.key, int(form.says.precision == date.precision))
            for row in days
            for date in (date_of_key(row["o"]),)
            for form in written_forms(date)
        ]
        write_part(folder, f"part-{number:09d}", table_of("written_days", rows))
    tables["written_days"] = folder


def bucket_count(facts: Path) -> int:
    """Return the number of parts that keeps a part's join within memory, from the rows alone."""
    return max(1, -(-count_rows(facts) // ROWS_PER_BUCKET))


def cell_count(types: Path) -> int:
    """Return the number of cells that films are paired within, so that few samples are linked."""
    kinds = (batch.column("type") for batch in iter_batches(types, ["type"]))
    films = sum(pc.sum(pc.match_substring(kind, "film")).as_py() or 0 for kind in kinds)
    return max(1, films // _FILMS_PER_CELL)


def ground(engine: QueryEngine, tables: Tables, folder: Path) -> None:
    """Find the facts that their subjects' pages state, a bucket of subjects at a time."""
    run_in_parts(engine, GROUND, _GROUND_PARTS, tables, folder)


def run_in_parts(
    engine: QueryEngine, steps: Mapping[str, str], parts: str, tables: Tables, folder: Path
) -> None:
    """Run queries as `run_queries` does, on one bucket of some tables at a time.

    A part that exists already is kept: a stopped run continues with the next one.

    Args:
        engine: where they run.
        steps: the queries, with the tables that they read whole.
        parts: the tables of which they read a bucket.
        tables: every table; those of the queries are added.
        folder: where these are written.
    """
    pairs = [part.rpartition("=") for part in parts.split()]
    buckets = {name or table: buckets_of(tables[table]) for name, _, table in pairs}
    for step, inputs in steps.items():
        given = {table: tables[table] for table in inputs.split()}
        numbers = sorted(next(iter(buckets.values())))
        for bucket in progress(numbers, what=step, total=len(numbers), unit="parts"):
            out = folder / step / f"bucket={bucket}"
            if not out.is_dir():
                own = {name: of_bucket[bucket] for name, of_bucket in buckets.items()}
                engine.sql(query(step), given | own, out)
        tables[step] = folder / step


def find_chains(engine: QueryEngine, tables: Tables, folder: Path) -> None:
    """Find the chains of two grounded facts.

    Pairs of facts are joined a bucket of middle entities at a time, and judged a bucket of starts
    at a time.
    """
    buckets = len(buckets_of(tables["grounded"]))
    run_queries(engine, PARTITIONED_LINKS, tables, folder, buckets=buckets)
    run_in_parts(engine, JOINED_LINKS, _LINK_PARTS, tables, folder)
    run_queries(engine, PARTITIONED_CHAINS, tables, folder, buckets=buckets)
    run_in_parts(engine, CHAINS, _CHAIN_PARTS, tables, folder)
    run_queries(engine, SELECTED_CHAINS, tables, folder)


def find_pairs(engine: QueryEngine, tables: Tables, folder: Path, *, bridges: bool) -> None:
    """Find the pairs of entities to compare, with `bridges` also those of films."""
    run_in_parts(engine, MEASURE, _MEASURE_PARTS, tables, folder)
    run_queries(engine, GROUPS, tables, folder)
    run_in_parts(engine, MEMBERS, _MEMBER_PARTS, tables, folder)
    run_queries(engine, COMPARISONS | (BRIDGE_COMPARISONS if bridges else {}), tables, folder)


def tables_in(folders: Iterable[Path]) -> Tables:
    """Return the tables of finished stages."""
    return {
        path.name: path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_dir() and parquet_files(path)
    }
