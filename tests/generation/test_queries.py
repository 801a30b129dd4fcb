"""Single queries on tables made here: what becomes of sizes that no small dump has."""

from __future__ import annotations

import io
import re
import sys
from hashlib import md5
from pathlib import Path

import pyarrow as pa
import pytest

from tests.generation.dumps import make
from twowiki.errors import DataError
from twowiki.generation import engines, queries
from twowiki.generation.engines import DuckDBEngine, query, spark_settings
from twowiki.generation.queries import COMPARISONS, Tables, write_rules
from twowiki.generation.tables import count_rows, digest_rows, read_rows, table_of, write_part

WORLD = Path(__file__).parents[1] / "data" / "world"
IN_BUCKETS = ("grounded", "joined_links", "chains", "measures", "members")
SMALL = {"relations", "relation_pairs", "class_types", "comparables", "sexes", "settings"}

GROUPS = {100: 9000, 200: 700}  # class -> its entities


@pytest.fixture
def members(tmp_path: Path) -> Tables:
    """Two groups whose entities each have another day of birth."""
    rows = [
        {
            "s": 1_000_000 * kind + number, "class": kind, "place": place, "type": "human",
            "relation": "date of birth", "kind": "date", "low": number, "high": number, "o": number,
            "k": md5(f"{kind}{number}".encode()).hexdigest(),
        }
        for place, (kind, size) in enumerate(GROUPS.items(), 1)
        for number in range(size)
    ]  # fmt: skip
    write_part(tmp_path / "members", "part-00000", pa.Table.from_pylist(rows))
    columns = ("s", "p", "o")
    empty = pa.table({name: pa.array([], pa.int64()) for name in columns})
    write_part(tmp_path / "grounded", "part-00000", empty)
    write_part(tmp_path / "uncertain", "part-00000", table_of("uncertain", ()))
    return {name: tmp_path / name for name in ("members", "grounded", "uncertain")}


@pytest.mark.parametrize(("cap", "most"), [(50, 400), (10**6, 9000)])
def test_of_a_huge_group_the_first_in_shuffled_order_are_compared(
    tmp_path: Path, members: Tables, cap: int, most: int
) -> None:
    write_rules(tmp_path, members, seed="0", exhaustive=False, cap=cap)
    engine = DuckDBEngine(tmp_path / "scratch")
    inputs = {name: members[name] for name in COMPARISONS["comparison"].split()}
    engine.sql(query("comparison"), inputs, tmp_path / "comparison")
    pairs = list(read_rows(tmp_path / "comparison"))
    engine.close()
    for kind, size in GROUPS.items():
        compared = {s for row in pairs if row["class"] == kind for s in (row["s1"], row["s2"])}
        expected = min(size, most)
        assert 0.8 * expected <= len(compared) <= 1.2 * expected
        order = sorted(range(size), key=lambda number: md5(f"{kind}{number}".encode()).hexdigest())
        assert compared == {1_000_000 * kind + number for number in order[: len(compared)]}


def test_the_rows_that_are_read_do_not_grow_with_the_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that runs once a bucket reads of every large table the bucket alone."""
    counts: dict[str, dict[str, int]] = {}
    plain = DuckDBEngine.sql

    def counted(self: DuckDBEngine, text: str, inputs: Tables, out: Path, **options: bool) -> None:
        step = next((step for step in IN_BUCKETS if step in out.parts), "")
        for name in set(inputs) - SMALL - {"days", "popular"} if step else ():
            key = f"{step}/{name}"
            counts[size][key] = counts[size].get(key, 0) + count_rows(inputs[name])
        plain(self, text, inputs, out, **options)

    monkeypatch.setattr(DuckDBEngine, "sql", counted)
    digests = {}
    for size, rows in (("one", 2_000_000), ("many", 25)):
        monkeypatch.setattr(queries, "ROWS_PER_BUCKET", rows)
        counts[size] = {}
        dumps = (WORLD / "wikidata.json", WORLD / "paragraphs.jsonl")
        make(dumps, tmp_path / size, limit_per_type=20)
        work = tmp_path / size / "out" / "work" / ".twowiki"
        digests[size] = [
            digest_rows(work / name)
            for name in ("ground/grounded", "candidates/chains", "candidates/members")
        ]
    assert digests["one"] == digests["many"]
    assert len(list((tmp_path / "many").rglob("grounded/bucket=*"))) > 4
    assert set(counts["one"]) == set(counts["many"])
    repeated = {"grounded/names", "grounded/written_days", "chains/link_names",
                "chains/link_days", "chains/link_facts"}  # fmt: skip
    for key, read in counts["many"].items():  # a name is read in each bucket that has its facts
        assert read == counts["one"][key] or key in repeated, key
    for key in ("grounded/names", "grounded/written_days"):
        assert counts["many"][key] <= 8 * counts["many"]["grounded/subject_facts"]


def test_settings_of_spark_are_pairs() -> None:
    assert spark_settings(["spark.executor.cores=4", "spark.a=b=c"]) == {
        "spark.executor.cores": "4", "spark.a": "b=c",
    }  # fmt: skip
    for text in ("spark.executor.cores", "executor.cores=4", ""):
        with pytest.raises(DataError, match="--spark-conf"):
            spark_settings([text])


def test_a_long_query_shows_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(engines, "_SHOWN_EVERY", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal)
    engine = DuckDBEngine(tmp_path / "scratch", threads=1)
    text = "SELECT i, md5(CAST(i AS STRING)) AS m FROM range(0, 500000) a(i) ORDER BY m"
    engine.sql(text, {}, tmp_path / "long")
    engine.close()
    shown = [int(percent) for percent in re.findall(r"long: +(\d+)%\|", terminal.getvalue())]
    assert shown == sorted(shown)
    assert any(0 < percent <= 100 for percent in shown)
    assert re.search(r"<\d\d:\d\d", terminal.getvalue())  # the time left


@pytest.mark.parametrize(
    ("memory", "limit"), [("4GB", 3338), ("2 GiB", 1548), ("1GB", 476), ("300MB", 143)]
)
def test_duckdb_leaves_memory_to_python(tmp_path: Path, memory: str, limit: int):
    engine = DuckDBEngine(tmp_path / "scratch", memory=memory)
    found = engine.connection.execute("SELECT current_setting('memory_limit')").fetchone()
    engine.close()
    number, unit = found[0].split()
    assert round(float(number) * (1024 if unit == "GiB" else 1)) == pytest.approx(limit, rel=0.02)
