"""Generation: ingest against json.loads, whole runs at two sizes, the queries on shifted copies.

  python bench/bench_generation.py                 ingest, and runs of 3,000 and 30,000 entities
  python bench/bench_generation.py --full          runs of 30,000 and 300,000, queries on 30 copies
  python bench/bench_generation.py --part ingest   one part
  python bench/bench_generation.py --dump-size 3000000   stage by stage, and a whole dump computed
  python bench/bench_generation.py --buckets 1,8,64      the queries in so many buckets
  python bench/bench_generation.py --part scan     a scan of the compacted claims against one file

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
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from made_up_wikidata import MadeUp, full_entity

from twowiki.generation import compaction
from twowiki.generation.engines import DuckDBEngine
from twowiki.generation.queries import (
    PARTITIONED,
    ROWS_PER_BUCKET,
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
from twowiki.generation.tables import TABLES, count_rows, parquet_files, write_part
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


STAGES = ("wikidata", "paragraphs", "select", "ground", "candidates", "samples", "contexts",
          "splits", "outputs")  # fmt: skip
# What a stage's cost grows with, and how much of it a whole dump has: English Wikipedia's pages,
# and what is assumed of Wikidata's claims with a relation that questions use.
GROWS_WITH = {"paragraphs": "pages", "samples": "samples",
              "contexts": "comparisons", "splits": "samples", "outputs": "samples"}  # fmt: skip
WHOLE = {"bytes": 1.4e12, "pages": 6.0e6, "claims": 3.0e8, "samples": 1.9e5,
         "comparisons": 6.0e6 * 1.9e5}  # fmt: skip
UNPACKED_A_SECOND = 1.2e9  # bytes of gzip, by isal
CLAIMS_AN_ENTITY = 9.4
BYTES_A_CLAIM = 1_100  # of both made-up dumps and the stages' folders, about


class StageCosts(NamedTuple):
    """What a run's stages cost, and the sizes that they grow with."""

    sizes: dict[str, float]
    cpu: dict[str, float]
    wall: dict[str, float]
    memory: dict[str, float]
    disk: dict[str, float]


def tree_cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its descendants, of those that ended too."""
    try:
        with open(f"/proc/{pid}/stat") as stream:
            fields = stream.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/task/{pid}/children") as stream:
            children = stream.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(tree_cpu(int(child)) for child in children)


def disk_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def stage_costs(entities: int, samples: int, folder: Path, memory: str) -> StageCosts:
    """Run the command on a made-up dump; return what each of its stages cost."""
    folder.mkdir()
    wikidata, paragraphs, _ = MadeUp(entities).write(folder)
    sizes: dict[str, float] = {}
    command = [
        sys.executable, "-m", "twowiki", "generate", "--wikidata", str(wikidata), "--paragraphs",
        str(paragraphs), "--out", str(folder / "out"), "--limit-per-type", str(samples // 4),
        "--workers", "2", "--memory", memory,
    ]  # fmt: skip
    work = folder / "out" / "work" / ".twowiki"
    costs = {kind: dict.fromkeys(STAGES, 0.0) for kind in ("cpu", "wall", "memory")}
    with open(folder / "errors", "w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        before = (time.time(), 0.0)
        while process.poll() is None:
            time.sleep(0.05)
            stage = next((s for s in STAGES if not (work / s / "_manifest.json").exists()), "")
            now = (time.time(), max(before[1], tree_cpu(process.pid)))
            costs["wall"][stage] += now[0] - before[0]
            costs["cpu"][stage] += now[1] - before[1]
            costs["memory"][stage] = max(costs["memory"][stage], tree_memory(process.pid) / 1e9)
            before = now
    if process.returncode:
        sys.exit((folder / "errors").read_text("utf-8"))
    sizes["claims"] = count_rows(work / "wikidata" / "claims")
    sizes["pages"] = count_rows(work / "paragraphs" / "pages")
    sizes["samples"] = json.loads((folder / "out" / "report.json").read_text("utf-8"))["samples"]
    sizes["comparisons"] = sizes["pages"] * sizes["samples"]
    disk = {stage: disk_of(work / stage) / 1e9 for stage in STAGES[:-1]}
    disk["outputs"] = disk_of(folder / "out") / 1e9 - sum(disk.values())
    shutil.rmtree(folder)
    return StageCosts(sizes, costs["cpu"], costs["wall"], costs["memory"], disk)


def bench_dump(claims: int, scratch: Path, memory: str) -> None:
    """Print what the stages cost for three sizes, and what follows for a whole dump."""
    needed = claims * BYTES_A_CLAIM
    free = shutil.disk_usage(scratch).free
    print(f"disk needed: some {needed / 1e9:.1f} GB, free: {free / 1e9:.1f} GB", flush=True)
    if needed > free:
        sys.exit("the disk is too small: set TMPDIR to a larger one, or a smaller --dump-size")
    runs = []
    for size in (claims // 10, claims // 3, claims):
        samples = max(80, min(190_000, size // 150))
        runs.append(
            stage_costs(round(size / CLAIMS_AN_ENTITY), samples, scratch / str(size), memory)
        )
        print_sizes(runs[-1], memory)
    small, large = runs[0], runs[-1]
    print("stage        CPU s  wall s  peak GB  disk GB  whole dump: CPU h  disk GB")
    whole_cpu = whole_disk = 0.0
    for stage in STAGES:
        name = GROWS_WITH.get(stage, "claims")
        cpu = at_whole(small.sizes[name], small.cpu[stage], large.sizes[name], large.cpu[stage],
                       WHOLE[name])  # fmt: skip
        if stage == "wikidata":  # made-up entities are small: the bytes of real ones count
            cpu = WHOLE["bytes"] / entity_bytes_a_second() + WHOLE["bytes"] / UNPACKED_A_SECOND
        of = "samples" if stage == "contexts" else name
        disk = large.disk[stage] * WHOLE[of] / large.sizes[of]
        whole_cpu, whole_disk = whole_cpu + cpu, whole_disk + disk
        print(
            f"{stage:11}{large.cpu[stage]:7.1f}{large.wall[stage]:8.1f}{large.memory[stage]:9.2f}"
            f"{large.disk[stage]:9.3f}{cpu / 3600:19.2f}{disk:9.1f}"
        )
    print(
        f"whole dump, computed: {whole_cpu / 3600:.1f} CPU h, {whole_disk:.0f} GB beside the dumps"
    )
    print(
        "formula: a + b * size, a line through the smallest and the largest run, where size is "
        + ", ".join(f"{size:.1e} {name}" for name, size in WHOLE.items())
        + "; wikidata is bytes / what a second reads of entities of real size and unpacks of gzip; "
        "contexts compares every question with every page; disk is in proportion to the size"
    )
    of_claims = ("select", "ground", "candidates")
    a_claim = [
        sum(costs.cpu[stage] for stage in of_claims) / costs.sizes["claims"] * 1e6 for costs in runs
    ]
    slope = (a_claim[-1] * large.sizes["claims"] - a_claim[0] * small.sizes["claims"]) / (
        large.sizes["claims"] - small.sizes["claims"]
    )
    print(
        f"CPU a claim from {of_claims[0]} to {of_claims[-1]}: "
        + ", ".join(f"{one:.1f}" for one in a_claim)
        + f" microseconds; {slope:.1f} by the line, beside what does not grow"
    )


def print_sizes(costs: StageCosts, memory: str) -> None:
    sizes = ", ".join(f"{size:,.0f} {name}" for name, size in costs.sizes.items()
                      if name != "comparisons")  # fmt: skip
    peaks = ", ".join(f"{stage} {costs.memory[stage]:.2f}" for stage in STAGES)
    print(f"run: {sizes}, --memory {memory}: {sum(costs.cpu.values()):.0f} CPU s")
    print(f"  peak GB of all processes together: {peaks}", flush=True)


def entity_bytes_a_second() -> float:
    """Return the bytes of entities of real size that one CPU second turns into rows."""
    rng = Random(1)
    block = "\n".join(json.dumps(full_entity(rng, number)) for number in range(400)).encode()
    return len(block) / statistics.median(_cpu_of(parse_lines, block) for _ in range(5))


def at_whole(size1: float, cost1: float, size2: float, cost2: float, whole: float) -> float:
    """Return the cost at a size by the line through two, which never falls."""
    slope = max(0.0, (cost2 - cost1) / (size2 - size1)) if size2 > size1 else 0.0
    return cost2 + slope * (whole - size2)


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


def bench_shifted(
    count: int, copies: int, folder: Path, memory: str, bucket_counts: Sequence[str] = ("auto",)
) -> None:
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
    claims = count_rows(folder / "many" / "claims")
    costs: dict[int, float] = {}
    for number in bucket_counts:
        command = [
            sys.executable, __file__, "--part", "queries", "--folder", str(folder), "--memory",
            memory, "--buckets", number,
        ]  # fmt: skip
        seconds, cpu, peak = measure(command)
        if number != "auto":
            costs[int(number)] = cpu
        print(
            f"queries: {copies} copies, {claims:,} claims, buckets {number}: {seconds:.0f} s, "
            f"{cpu:.1f} CPU s, {cpu / claims * 1e6:.1f} microseconds a claim, peak {peak:.2f} GB",
            flush=True,
        )
    if len(costs) > 1:
        print_bucket_cost(costs, claims)
    shutil.rmtree(folder)


def print_bucket_cost(costs: dict[int, float], claims: int) -> None:
    """Print what a bucket costs beside its rows: the line from few buckets to many."""
    ordered = sorted(costs)
    few, many = (ordered[1], ordered[-1]) if len(ordered) > 2 else (ordered[0], ordered[-1])
    bucket = (costs[many] - costs[few]) / (many - few)
    rows = (costs[few] - few * bucket) / claims
    share = bucket / (rows * ROWS_PER_BUCKET)
    print(
        f"a bucket costs {bucket:.3f} CPU s beside its rows, {rows * 1e6:.1f} microseconds each: "
        f"{100 * share:.1f}% of a bucket of {ROWS_PER_BUCKET:,} rows"
    )


def bench_scan(folder: Path, rows: int = 3_000_000, parts: int = 600) -> None:
    """Print the CPU seconds of a scan of claims in parts, in compacted files and in one file."""
    rng = np.random.default_rng(1)
    for number in range(parts):
        size = rows // parts
        table = pa.table({
            "s": np.sort(rng.integers(1, 10**8, size)), "p": rng.integers(1, 30, size),
            "o": rng.integers(1, 10**8, size), "best": np.ones(size, np.int64),
            "stmt_id": [f"Q{n}$x" for n in rng.integers(1, 10**8, size)],
            "ended": np.zeros(size, np.int64),
        }).cast(TABLES["claims"])  # fmt: skip
        for place in ("parts", "files"):
            write_part(folder / place / "claims", f"part-{number:05d}", table)
    compaction.FILE_BYTES = 8 << 20
    compaction.compact(folder / "files", ["claims"], workers=1)
    whole = pa.concat_tables(pq.read_table(path) for path in parquet_files(folder / "parts"))
    write_part(folder / "one" / "claims", "part", whole.sort_by("s"))
    engine = DuckDBEngine(folder / "scratch", threads=1)
    text = "SELECT p, COUNT(*) AS n, MAX(s) AS s FROM claims GROUP BY p ORDER BY p"
    places = ("one", "files", "parts")
    cpu: dict[str, list[float]] = {place: [] for place in places}
    for _ in range(7):
        for place in places:
            start = time.process_time()
            engine.sql(text, {"claims": folder / place / "claims"}, folder / "out")
            cpu[place].append(time.process_time() - start)
    engine.close()
    best = {place: statistics.median(values) for place, values in cpu.items()}
    for place in places:
        number = len(parquet_files(folder / place))
        print(
            f"scan of {rows:,} claims in {number:4} files: {best[place]:.3f} CPU s, "
            f"{best[place] / best['one']:.2f} of one file"
        )


def run_sampling_queries(folder: Path, memory: str, bucket_number: str) -> None:
    """Run the queries from pages to chosen candidates on the tables of a folder."""
    tables = {path.name: path for path in sorted((folder / "many").iterdir())}
    engine = DuckDBEngine(folder / "scratch", memory=memory, threads=2)
    out = folder / "out"
    settings: dict[str, Any] = {"seed": "0", "exhaustive": False}
    write_rules(out, tables, **settings)
    run_queries(engine, SELECT, tables, out)
    write_dates(out, tables)
    auto = bucket_number == "auto"
    buckets = bucket_count(tables["facts"]) if auto else int(bucket_number)
    write_rules(out, tables, buckets=buckets, **settings)
    run_queries(engine, PARTITIONED, tables, out, buckets=buckets)
    ground(engine, tables, out)
    settings |= {"cells": cell_count(tables["types"]), "share": 1250, "cap": 15050}
    write_rules(out, tables, buckets=buckets, **settings)
    find_chains(engine, tables, out)
    find_pairs(engine, tables, out, bridges=True)
    engine.close()
    shutil.rmtree(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the sizes of the paper's scale")
    parser.add_argument("--part", choices=("ingest", "runs", "shifted", "queries", "scan"))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--memory", default="2GB", help="DuckDB's limit for the shifted copies")
    parser.add_argument("--dump-size", type=int, metavar="CLAIMS", help="of the larger of two runs")
    parser.add_argument("--buckets", default="", metavar="N,N", help="of the shifted copies")
    parser.add_argument("--copies", type=int, default=3, help="of 163,083 claims, for --buckets")
    args = parser.parse_args()
    if args.part == "queries":
        run_sampling_queries(args.folder, args.memory, args.buckets)
        return
    scratch = Path(tempfile.mkdtemp(prefix="bench_generation"))
    try:
        if args.dump_size:
            bench_dump(args.dump_size, scratch, args.memory)
            return
        if args.buckets:
            numbers = args.buckets.split(",")
            bench_shifted(30_000, args.copies, scratch / "shifted", args.memory, numbers)
            return
        if args.part == "scan":
            bench_scan(scratch)
            return
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
