"""The pipeline: dumps, tables, facts in the text, candidates, samples, contexts, splits.

Every stage writes a folder and a manifest; a stopped run continues with the first stage that is
not finished. The same dumps, settings and seed give the same bytes, whatever the engine or the
number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from twowiki.errors import DataError, existing_file
from twowiki.generation.compaction import compact_by_query
from twowiki.generation.dump_reader import ingest, paragraph_files, tables_of_kind
from twowiki.generation.engines import SparkEngine, ingest_on_spark
from twowiki.generation.outputs import write_outputs
from twowiki.generation.queries import (
    BRIDGE_COMPARISONS,
    COMPARISONS,
    FIND_CHAINS,
    GROUND,
    GROUPS,
    MEASURE,
    MEMBERS,
    PARTITIONED,
    SELECT,
    SELECTED_CHAINS,
    bucket_count,
    cell_count,
    find_chains,
    find_pairs,
    ground,
    run_queries,
    write_dates,
    write_rules,
)
from twowiki.generation.run import GenerationRun, started_run
from twowiki.generation.sampling import make_contexts, make_samples, make_splits
from twowiki.generation.settings import GenerateConfig, Resources, memory_bytes
from twowiki.generation.tables import buckets_of, count_reasons, count_rows, parquet_files
from twowiki.io.stages import fingerprint_of, key_of

_ALL = 1 << 40
_READER_MEMORY = 300 << 20  # bytes of a process that reads blocks of a dump
_MOST_PAGES_FOR_ALL = 20_000
_SELECTED = ("entities", "pages", "linked", "duplicates", "subject_facts")


def run_pipeline(config: GenerateConfig, out: Path, resources: Resources) -> dict[str, Any]:
    """Generate a data set's JSON files and reports into a folder; return the report.

    Raises:
        DataError: inputs that cannot be used.
    """
    if config.wikidata is None or config.paragraphs is None:
        raise DataError("no dumps", remedy="Set --wikidata and --paragraphs.")
    existing_file(config.wikidata, "Set --wikidata to a Wikidata JSON dump.")
    files, form = paragraph_files(config.paragraphs)
    with started_run(config, out, resources, [config.wikidata, *files]) as run:
        _read_dumps(run, config.wikidata, files, form)
        _select(run)
        _find_candidates(run)
        make_samples(run)
        make_contexts(run)
        make_splits(run)
        return write_outputs(run, out)


def _read_dumps(run: GenerationRun, wikidata: Path, files: list[Path], form: str) -> None:
    """Read both dumps, in parts that a stopped run keeps."""
    config, workers = run.config, run.resources.processes(_READER_MEMORY)
    memory = memory_bytes(run.resources.memory)

    def read(paths: list[Path], kind: str) -> Callable[[Path], Mapping[str, Any]]:
        def ingest_part(folder: Path) -> Mapping[str, Any]:
            allowed = config.allow_truncated
            if isinstance(run.engine, SparkEngine) and not allowed:
                counts = ingest_on_spark(run.engine.session, paths, kind, folder)
                compact_by_query(run.engine, folder, tables_of_kind(kind))
                return counts
            return ingest(
                paths, kind, folder, workers=workers, allow_truncated=allowed, memory=memory
            )

        return ingest_part

    first = run.stage(
        "wikidata",
        read([wikidata], "wikidata"),
        settings=[fingerprint_of(wikidata), config.allow_truncated],
        after="",
        keep_partial=True,
        dumps=[wikidata],
    )
    second = run.stage(
        "paragraphs",
        read(files, form),
        settings=[*(fingerprint_of(path) for path in files), form, config.allow_truncated],
        after="",
        keep_partial=True,
        dumps=files,
    )
    run.key = key_of({"wikidata": first, "paragraphs": second})


def _select(run: GenerationRun) -> None:
    """Join entities with pages, keep best statements, find what the pages state."""

    def select(folder: Path) -> Mapping[str, Any]:
        tables = dict(run.tables)
        write_rules(folder, tables, seed="", exhaustive=False)
        run_queries(run.engine, SELECT, tables, folder)
        write_dates(folder, tables)
        buckets = bucket_count(tables["facts"])
        write_rules(folder, tables, seed="", exhaustive=False, buckets=buckets)
        run_queries(run.engine, PARTITIONED, tables, folder, buckets=buckets)
        counts = {
            name: count_rows(tables[name]) for name in _SELECTED if parquet_files(tables[name])
        }
        return _selected(counts) | {"buckets": buckets}

    run.stage("select", select, queries=SELECT | PARTITIONED, keep_partial=True)

    def find(folder: Path) -> Mapping[str, Any]:
        tables = dict(run.tables)
        ground(run.engine, tables, folder)
        found = count_rows(tables["grounded"])
        facts = count_rows(tables["subject_facts"]) if "subject_facts" in tables else 0
        return {"found in the summary": found, "object not in the summary": facts - found}

    run.stage("ground", find, queries=GROUND, keep_partial=True)


def _selected(counts: Mapping[str, int]) -> dict[str, int]:
    """Return what the joins kept and left out, under the report's names."""
    return {
        "entities with a page": counts["linked"],
        "entities without a page": counts["entities"] - counts["linked"],
        "pages without an entity, or not rendered whole": counts["pages"] - counts["linked"],
        "bare duplicates of people joined": counts["duplicates"],
        "facts of entities with a page": counts.get("subject_facts", 0),
    }


def _find_candidates(run: GenerationRun) -> None:
    config = run.config
    most = config.largest_limit
    draw: dict[str, Any] = {
        "seed": config.seed,
        "exhaustive": config.exhaustive,
        "dense": config.balanced or config.profile is not None,
        "drop_unstated": config.drop_unstated,
        "share": _ALL if most is None else max(50, most // 4),
        "cap": _ALL if most is None else 3 * most + 50,
    }
    chains = bool({"inference", "compositional"} & set(config.types))
    bridges = "bridge_comparison" in config.types
    pairs = bridges or "comparison" in config.types

    def find(folder: Path) -> Mapping[str, Any]:
        tables = dict(run.tables)
        pages = count_rows(tables["linked"])
        if config.exhaustive and pages > _MOST_PAGES_FOR_ALL:
            raise DataError(
                f"--limit-per-type all would compare every pair of {pages:,} entities",
                remedy=f"Set a number; all is for dumps of up to {_MOST_PAGES_FOR_ALL:,} pages.",
            )
        cells = cell_count(tables["types"])
        buckets = len(buckets_of(tables["grounded"]))
        write_rules(folder, tables, cells=cells, buckets=buckets, **draw)
        if chains:
            find_chains(run.engine, tables, folder)
        if pairs:
            find_pairs(run.engine, tables, folder, bridges=bridges)
        kinds = [name for name in ("chains", "comparison", "bridge_comparison") if name in tables]
        return {name: count_reasons(tables[name]) for name in kinds}

    steps: dict[str, str] = {}
    if chains:
        steps |= FIND_CHAINS | SELECTED_CHAINS
    if pairs:
        steps |= MEASURE | GROUPS | MEMBERS | COMPARISONS
    if bridges:
        steps |= BRIDGE_COMPARISONS
    run.stage("candidates", find, settings=draw, queries=steps, keep_partial=True)
