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
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twowiki.generation.engines import DuckDBEngine
from twowiki.generation.queries import (
    BRIDGE_COMPARISONS,
    CHAINS,
    COMPARISONS,
    PARTITIONED,
    SELECT,
    bucket_count,
    cell_count,
    ground,
    run_queries,
    tables_in,
    write_dates,
    write_rules,
)
from twowiki.generation.tables import count_rows, parquet_files
from twowiki.generation.wikidata import parse_lines

HUMAN, FILM, CITY, SCHOOL, LAND, SONG = 5, 11424, 515, 9826, 6256, 7366
CLASSES = {HUMAN: "human", FILM: "film", CITY: "city", SCHOOL: "high school", LAND: "country",
           SONG: "song"}  # fmt: skip
MONTHS = (
    "January February March April May June July August September October November December"
).split()
SYLLABLES = "ba do ke mi ru sa te vo ly zan gar hel nor pim tal wex quo jud fen cor".split()


# ---- a made-up Wikidata


def item(prop: str, qid: int) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": qid, "id": f"Q{qid}"}
    return snak(prop, "wikibase-item", {"value": value, "type": "wikibase-entityid"})


def snak(prop: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    main = {"snaktype": "value", "property": prop, "datatype": kind, "datavalue": value}
    return {"mainsnak": main, "type": "statement", "rank": "normal", "id": f"{prop}${id(value)}"}


def moment(prop: str, year: int, month: int, day: int) -> dict[str, Any]:
    precision = 11 if day else 9
    value = {
        "time": f"+{year:04d}-{month:02d}-{day:02d}T00:00:00Z", "timezone": 0, "before": 0,
        "after": 0, "precision": precision,
        "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
    }  # fmt: skip
    return snak(prop, "time", {"value": value, "type": "time"})


def name_of(qid: int) -> str:
    parts = []
    rest = qid * 2654435761 % (1 << 32)
    for _ in range(3):
        rest, digit = divmod(rest, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
    digits = []
    number = qid
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        digits.append(SYLLABLES[digit])
    return f"{''.join(parts).title()} {''.join(digits).title()}"


class MadeUp:
    """Entities 1..count: 40% people, 20% films, the rest cities, schools, countries, songs."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self.count, self.rng, self.base = count, Random(seed), 1000

    def kind(self, number: int) -> int:
        """Give an entity's class."""
        place = number % 20
        return HUMAN if place < 8 else FILM if place < 12 else SONG if place < 14 else (
            SCHOOL if place < 16 else CITY if place < 19 or number > 4000 else LAND
        )  # fmt: skip

    def some(self, kind: int, below: int) -> int:
        """Give an entity of a kind, near the front more often, before `below` if there is one."""
        while True:
            number = int(self.rng.random() ** 2 * min(self.count, max(below, 400)))
            if self.kind(number) == kind:
                return self.base + number

    def entities(self) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Give every entity with its page's sentences."""
        for qid, label in CLASSES.items():
            yield self.record(qid, label, {}), []
        for number in range(self.count):
            yield self.entity(number)

    def record(self, qid: int, label: str, claims: dict[str, list[Any]]) -> dict[str, Any]:
        """Make an entity's record."""
        return {
            "type": "item", "id": f"Q{qid}",
            "labels": {"en": {"language": "en", "value": label}}, "descriptions": {},
            "aliases": {"en": [{"language": "en", "value": f"{label} X"}]},
            "claims": claims,
            "sitelinks": {"enwiki": {"site": "enwiki", "title": label, "badges": []}},
        }  # fmt: skip

    def entity(self, number: int) -> tuple[dict[str, Any], list[str]]:
        """Make an entity and what its page tells."""
        rng, qid, kind = self.rng, self.base + number, self.kind(number)
        label = name_of(qid)
        claims: dict[str, list[Any]] = {"P31": [item("P31", kind)]}
        told = [f"{label} is a {CLASSES[kind]}."]

        def link(prop: str, target: int, text: str, chance: float) -> None:
            if rng.random() < chance:
                claims[prop] = [item(prop, target)]
                if rng.random() < 0.6:
                    told.append(text.format(name_of(target)))

        def date(prop: str, text: str, low: int, high: int) -> None:
            year, month, day = rng.randint(low, high), rng.randint(1, 12), rng.randint(1, 28)
            claims[prop] = [moment(prop, year, month, day)]
            if rng.random() < 0.6:
                told.append(text.format(f"{day} {MONTHS[month - 1]} {year}"))

        if kind == HUMAN:
            claims["P21"] = [item("P21", 6581072 if rng.random() < 0.5 else 6581097)]
            date("P569", "Born on {}, this artist is well remembered.", 1850, 1920)
            date("P570", "The artist died on {} after a long illness.", 1930, 2010)
            link("P27", self.some(LAND, 4000), "The artist lived in {} for many years.", 0.9)
            for prop, kin in (("P22", "father"), ("P25", "mother"), ("P26", "partner")):
                link(prop, self.some(HUMAN, number), f"The {kin} was {{}}, also an artist.", 0.7)
            link("P19", self.some(CITY, number), "Early life was spent in {} by the sea.", 0.9)
            link("P69", self.some(SCHOOL, number), "Lessons were taken at {} in winter.", 0.6)
        elif kind in (FILM, SONG):
            prop = "P57" if kind == FILM else "P175"
            link(prop, self.some(HUMAN, self.count), "It is a work of {} and friends.", 0.95)
            date("P577", "It came out on {} in several towns.", 1920, 2015)
            link("P495", self.some(LAND, 4000), "It was made in {} with little money.", 0.9)
        else:
            link("P17", self.some(LAND, 4000), "It lies in {} not far from the border.", 0.95)
            date("P571", "It was established on {} by a small circle.", 1700, 1950)
        for extra in range(4):
            prop = f"P{9000 + extra}"
            value = {"value": str(rng.getrandbits(40)), "type": "string"}
            claims[prop] = [snak(prop, "external-id", value)]
        told.append("Little else is known, and the sources differ on many of the details.")
        return self.record(qid, label, claims), told

    def write(self, folder: Path) -> tuple[Path, Path, int]:
        """Write both dumps; give their paths and the number of claims."""
        wikidata, paragraphs = folder / "wikidata.json", folder / "paragraphs.jsonl"
        claims = 0
        with wikidata.open("w") as one, paragraphs.open("w") as two:
            one.write("[\n")
            for number, (record, sentences) in enumerate(self.entities()):
                claims += sum(map(len, record["claims"].values()))
                one.write(json.dumps(record) + ",\n")
                if sentences:
                    title = record["labels"]["en"]["value"]
                    page = {
                        "id": str(number),
                        "title": title,
                        "sentences": sentences,
                        "mentions": [],
                    }
                    two.write(json.dumps(page) + "\n")
            one.write("]\n")
        return wikidata, paragraphs, claims


# ---- measuring


def cpu_seconds() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def tree_memory(pid: int) -> int:
    """Give the resident bytes of a process and its descendants."""
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


# ---- ingest


def full_entity(rng: Random, number: int) -> dict[str, Any]:
    """Make an entity of a real one's size: a hundred languages, references, external ids."""
    languages = [f"l{place}" for place in range(rng.randint(20, 100))]
    label = name_of(1000 + number)
    texts = {code: {"language": code, "value": f"{label} {code}"} for code in languages}
    claims: dict[str, list[Any]] = {}

    def add(prop: str, statement: dict[str, Any]) -> None:
        reference = {
            "hash": f"{rng.getrandbits(160):040x}",
            "snaks": {"P248": [item("P248", 36578)["mainsnak"]]}, "snaks-order": ["P248"],
        }  # fmt: skip
        claims.setdefault(prop, []).append(
            statement | {"references": [reference] * rng.randint(0, 3)}
        )

    for prop in ("P31", "P21", "P22", "P25", "P27", "P19", "P106", "P69", "P166"):
        add(prop, item(prop, rng.randint(1, 10**8)))
    for prop in ("P569", "P570"):
        add(prop, moment(prop, rng.randint(1800, 2000), 5, 6))
    for place in range(rng.randint(10, 40)):
        prop = f"P{2000 + place}"
        add(prop, snak(prop, "external-id", {"value": f"{rng.getrandbits(60)}", "type": "string"}))
    sites = {
        f"{code}wiki": {"site": f"{code}wiki", "title": label, "badges": []} for code in languages
    }
    return {
        "type": "item", "id": f"Q{1000 + number}",
        "labels": {"en": {"language": "en", "value": label}, **texts}, "descriptions": texts,
        "aliases": {code: [{"language": code, "value": f"{label} alias"}] for code in languages},
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": label, "badges": []}, **sites},
    }  # fmt: skip


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


# ---- whole runs


def bench_run(count: int, samples: int, folder: Path) -> float:
    """Run the command on a made-up world; give CPU seconds for each entity."""
    folder.mkdir()
    wikidata, paragraphs, claims = MadeUp(count).write(folder)
    command = [
        sys.executable, "-m", "twowiki", "generate", "--wikidata", str(wikidata), "--paragraphs",
        str(paragraphs), "--out", str(folder / "out"), "--limit-per-type", str(samples // 4),
        "--workers", "2",
    ]  # fmt: skip
    before, started = cpu_seconds(), time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Peak(process.pid) as peak:
        process.wait()
    seconds, cpu = time.time() - started, cpu_seconds() - before
    report = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    print(
        f"run: {count:,} entities, {claims:,} claims -> {report['samples']:,} samples: "
        f"{seconds:.0f} s, {cpu:.0f} CPU s, peak {peak.gb:.2f} GB"
    )
    stages = []
    for path in sorted((folder / "out" / "work").glob("*/_manifest.json")):
        manifest = json.loads(path.read_text("utf-8"))
        stages.append(f"{manifest['stage']} {manifest['seconds']}")
    print("  seconds: " + ", ".join(stages), flush=True)
    shutil.rmtree(folder)
    return cpu / count


# ---- queries on shifted copies


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
    from twowiki.generation.ingest import ingest

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
    before, started = cpu_seconds(), time.time()
    process = subprocess.Popen(command)
    with Peak(process.pid) as peak:
        process.wait()
    claims = count_rows(folder / "many" / "claims")
    print(
        f"queries: {copies} copies, {claims:,} claims: {time.time() - started:.0f} s, "
        f"{cpu_seconds() - before:.0f} CPU s, peak {peak.gb:.2f} GB"
    )
    shutil.rmtree(folder)


def run_sampling_queries(folder: Path, memory: str) -> None:
    """Run the queries from pages to chosen candidates on the tables of a folder."""
    tables = {path.name: path for path in sorted((folder / "many").iterdir())}
    engine = DuckDBEngine(folder / "scratch", memory=memory, threads=2)
    out = folder / "out"
    settings: dict[str, Any] = {"seed": "0", "every": False}
    write_rules(out, tables, **settings)
    run_queries(engine, SELECT, tables, out)
    write_dates(out, tables)
    write_rules(out, tables, buckets=bucket_count(tables["facts"]), **settings)
    run_queries(engine, PARTITIONED, tables, out, bucketed=True)
    ground(engine, tables, out)
    write_rules(out, tables, cells=cell_count(tables["types"]), share=1250, cap=15050, **settings)
    run_queries(engine, CHAINS | COMPARISONS | BRIDGE_COMPARISONS, tables, out)
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
