"""Generation: ingest against json.loads, whole runs at two sizes, the queries on shifted copies.

  python bench/bench_generation.py                 ingest, and runs of 3,000 and 30,000 entities
  python bench/bench_generation.py --full          runs of 30,000 and 300,000, queries on 30 copies
  python bench/bench_generation.py --part ingest   one part

Ratios are measured side by side in one run, as medians, in CPU seconds with those of children.
Memory is the peak of the whole process tree. Nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from made_up_wikidata import MadeUp, full_entity

from twowiki.generation.engines import DuckDBEngine
from twowiki.generation.queries import (
    PARTITIONED,
    SELECT,
    bucket_count,
    cell_count,
    find_chains,
    find_pairs,
    ground,
    run_queries,
    tables_in,
    write_dates,
    write_rules,
)
from twowiki.generation.tables import count_rows, parquet_files
from twowiki.generation.wikidata import parse_lines


def cpu_seconds() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def tree_memory(pid: int) -> int:
    """Return the resident bytes of a process and its descendants."""
    total = 0
    try:
        with open(f"/proc/{pid}/statm") as stream:
            total = int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        with open(f"/proc/{pid}/task/{pid}/children") as stream:
            children = stream.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return total
    return total + sum(tree_memory(int(child)) for child in children)


class Peak:
    """The most memory that a process tree held while the block ran, in GB."""

    def __init__(self, pid: int) -> None:
        self.pid, self.gb, self._stop = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.gb = max(self.gb, tree_memory(self.pid) / 1e9)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def measure(command: list[str], **options: Any) -> tuple[float, float, float]:
    """Run a command to its end; give its seconds, CPU seconds and peak memory in GB."""
    before, started = cpu_seconds(), time.time()
    process = subprocess.Popen(command, **options)
    with Peak(process.pid) as peak:
        process.wait()
    if process.returncode:
        sys.exit(f"stopped: {' '.join(command)} gave {process.returncode}")
    return time.time() - started, cpu_seconds() - before, peak.gb


def plain_extraction(block: bytes) -> int:
    """Read the same with json.loads: what a user would write."""
    wanted = {"P31", "P21", "P22", "P25", "P27", "P19", "P106", "P69", "P166", "P569", "P570"}
    rows: list[Any] = []
    for line in block.split(b"\n"):
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            continue
        entity = json.loads(text)
        label = entity["labels"].get("en", {}).get("value")
        rows.append((entity["id"], label, entity["sitelinks"].get("enwiki", {}).get("title")))
        for alias in entity["aliases"].get("en", ()):
            rows.append((entity["id"], alias["value"]))
        for prop, statements in entity["claims"].items():
            if prop in wanted:
                for statement in statements:
                    if statement["rank"] != "deprecated" and "datavalue" in statement["mainsnak"]:
                        value = statement["mainsnak"]["datavalue"]["value"]
                        rows.append((entity["id"], prop, value.get("id") or value.get("time")))
    return len(rows)


def bench_ingest(repeats: int = 5) -> None:
    rng = Random(1)
    block = "\n".join(json.dumps(full_entity(rng, number)) + "," for number in range(1500)).encode()
    megabytes = len(block) / 1e6
    rates: dict[str, list[float]] = {"json.loads": [], "ours": []}
    for _ in range(repeats):
        for name, work in (("json.loads", plain_extraction), ("ours", parse_lines)):
            rates[name].append(megabytes / _cpu_of(work, block))
    ratio = statistics.median(
        ours / theirs for ours, theirs in zip(rates["ours"], rates["json.loads"], strict=True)
    )
    print(f"ingest: {megabytes:.0f} MB of entities, {len(block) // 1500:,} bytes each")
    for name, values in rates.items():
        print(f"  {name:12} {statistics.median(values):7.0f} MB a CPU second")
    print(f"  ratio        {ratio:7.1f}")


def _cpu_of(work: Callable[[bytes], Any], block: bytes) -> float:
    start = time.process_time()
    work(block)
    return time.process_time() - start


def bench_run(count: int, samples: int, folder: Path) -> float:
    """Run the command on a made-up world; give CPU seconds for each entity."""
    folder.mkdir()
    wikidata, paragraphs, claims = MadeUp(count).write(folder)
    command = [
        sys.executable, "-m", "twowiki", "generate", "--wikidata", str(wikidata), "--paragraphs",
        str(paragraphs), "--out", str(folder / "out"), "--limit-per-type", str(samples // 4),
        "--workers", "2",
    ]  # fmt: skip
    seconds, cpu, peak = measure(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    print(
        f"run: {count:,} entities, {claims:,} claims -> {report['samples']:,} samples: "
        f"{seconds:.0f} s, {cpu:.0f} CPU s, peak {peak:.2f} GB"
    )
    stages = []
    for path in sorted((folder / "out" / "work" / ".twowiki").glob("*/_manifest.json")):
        manifest = json.loads(path.read_text("utf-8"))
        stages.append(f"{manifest['stage']} {manifest['seconds']}")
    print("  seconds: " + ", ".join(stages), flush=True)
    shutil.rmtree(folder)
    return cpu / count


def shift(table: pa.Table, amount: int, limit: int) -> pa.Table:
    """Shift the ids of a table's entities, so that a copy is a world of its own."""
    for place, field in enumerate(table.schema):
        column = table.column(field.name)
        if field.name in ("qid", "s", "o", "page_id", "target_qid"):
            moved = pc.add(column, amount)
            own = pc.and_(pc.greater_equal(column, 1000), pc.less(column, limit))
            own = pc.or_(own, pc.equal(field.name, "page_id")) if field.name == "page_id" else own
            table = table.set_column(place, field, pc.if_else(own, moved, column))
        elif field.name in ("title_key", "target_key"):
            tail = pa.array([f" {amount}"] * len(table), pa.string())
            joined = pc.binary_join_element_wise(column, tail, "")
            table = table.set_column(place, field, joined)
    return table


def bench_shifted(count: int, copies: int, folder: Path, memory: str) -> None:
    """Run grounding and sampling on many copies of one world, in a process of its own."""
    from twowiki.generation.dump_reader import ingest

    folder.mkdir()
    wikidata, paragraphs, _ = MadeUp(count).write(folder)
    ingest([wikidata], "wikidata", folder / "one" / "wikidata", workers=1)
    ingest([paragraphs], "json", folder / "one" / "paragraphs", workers=1)
    wikidata.unlink()
    paragraphs.unlink()
    tables = tables_in([folder / "one" / "wikidata", folder / "one" / "paragraphs"])
    base = 10**8
    for name, path in tables.items():
        out = folder / "many" / name
        out.mkdir(parents=True)
        for copy in range(copies):
            for number, file in enumerate(parquet_files(path)):
                table = pq.ParquetFile(file).read()
                moved = shift(table, copy * base, base)
                pq.write_table(
                    moved, out / f"part-{copy:03d}-{number:05d}.parquet", compression="zstd"
                )
    shutil.rmtree(folder / "one")
    command = [
        sys.executable,
        __file__,
        "--part",
        "queries",
        "--folder",
        str(folder),
        "--memory",
        memory,
    ]
    seconds, cpu, peak = measure(command)
    claims = count_rows(folder / "many" / "claims")
    print(
        f"queries: {copies} copies, {claims:,} claims: {seconds:.0f} s, "
        f"{cpu:.0f} CPU s, peak {peak:.2f} GB"
    )
    shutil.rmtree(folder)


def run_sampling_queries(folder: Path, memory: str) -> None:
    """Run the queries from pages to chosen candidates on the tables of a folder."""
    tables = {path.name: path for path in sorted((folder / "many").iterdir())}
    engine = DuckDBEngine(folder / "scratch", memory=memory, threads=2)
    out = folder / "out"
    settings: dict[str, Any] = {"seed": "0", "exhaustive": False}
    write_rules(out, tables, **settings)
    run_queries(engine, SELECT, tables, out)
    write_dates(out, tables)
    buckets = bucket_count(tables["facts"])
    write_rules(out, tables, buckets=buckets, **settings)
    run_queries(engine, PARTITIONED, tables, out, buckets=buckets)
    ground(engine, tables, out)
    settings |= {"cells": cell_count(tables["types"]), "share": 1250, "cap": 15050}
    write_rules(out, tables, buckets=buckets, **settings)
    find_chains(engine, tables, out)
    find_pairs(engine, tables, out, bridges=True)
    engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the sizes of the paper's scale")
    parser.add_argument("--part", choices=("ingest", "runs", "shifted", "queries"))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--memory", default="2GB", help="DuckDB's limit for the shifted copies")
    args = parser.parse_args()
    if args.part == "queries":
        run_sampling_queries(args.folder, args.memory)
        return
    scratch = Path(tempfile.mkdtemp(prefix="bench_generation"))
    try:
        if args.part in (None, "ingest"):
            bench_ingest()
        if args.part in (None, "runs"):
            sizes = (30_000, 300_000) if args.full else (3_000, 30_000)
            costs = [
                bench_run(count, 20_000 if args.full else 4_000, scratch / str(count))
                for count in sizes
            ]
            print(f"CPU a entity, {sizes[1]:,} against {sizes[0]:,}: {costs[1] / costs[0]:.2f}")
        if args.part == "shifted" or (args.full and args.part is None):
            bench_shifted(300_000 if args.full else 3_000, 30, scratch / "shifted", args.memory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
