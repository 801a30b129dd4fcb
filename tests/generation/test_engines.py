from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.generation.dumps import make
from twowiki.generation import compaction, queries
from twowiki.generation.queries import tables_in
from twowiki.generation.run_comparison import compare_runs
from twowiki.generation.tables import digest_rows, parquet_files

WORLD = Path(__file__).parents[1] / "data" / "world"
WORLD_DUMPS = (WORLD / "wikidata.json", WORLD / "paragraphs.jsonl")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: no `java` here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def test_spark_gives_the_rows_and_the_bytes_of_duckdb(tmp_path: Path):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    for engine in ("duckdb", "spark"):
        make(WORLD_DUMPS, tmp_path / engine, engine=engine, limit_per_type=15, seed="3")
    verdicts = list(compare_runs(tmp_path / "duckdb" / "out", tmp_path / "spark" / "out"))
    assert [verdict for verdict in verdicts if not verdict.equal] == []
    tables = {verdict.what.rpartition("/")[2] for verdict in verdicts}
    assert {"linked", "facts", "grounded", "chains", "comparison", "bridge_comparison",
            "near", "wanted_pages"} <= tables  # fmt: skip


def test_spark_names_the_places_of_bad_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from twowiki.generation.dump_reader import LEFT_OUT, PARAGRAPH_TABLES, ingest
    from twowiki.generation.engines import SparkEngine, ingest_on_spark

    good = WORLD_DUMPS[1].read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "paragraphs.jsonl"
    lines = [*good[:3], '{"title": "Brøken\n', *good[3:], "[1, 2]\n"]
    path.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(compaction, "MOST_PARTS", 0)
    engine = SparkEngine(tmp_path / "scratch")
    try:
        counts = ingest_on_spark(engine.session, [path], "json", tmp_path / "spark")
        compaction.compact_by_query(engine, tmp_path / "spark", PARAGRAPH_TABLES)
        assert ingest_on_spark(engine.session, [path], "json", tmp_path / "spark") == counts
    finally:
        engine.close()
    assert counts == ingest([path], "json", tmp_path / "plain", workers=1)
    found = [json.loads(line) for line in (tmp_path / "spark" / LEFT_OUT).read_text().splitlines()]
    plain = [json.loads(line) for line in (tmp_path / "plain" / LEFT_OUT).read_text().splitlines()]
    assert [one["reason"] for one in found] == [one["reason"] for one in plain]
    for name in PARAGRAPH_TABLES:
        assert digest_rows(tmp_path / "spark" / name) == digest_rows(tmp_path / "plain" / name)
    assert [one["line"] for one in plain] == [4, len(lines)]
    assert [one["begins"] for one in found] == ['{"title": "Brøken', "[1, 2]"]
    assert all(one["file"].endswith("paragraphs.jsonl") for one in found)


def test_spark_chooses_the_partitions(tmp_path: Path):
    """Adaptive execution may change every exchange, and the settings of a user come first."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from twowiki.generation.engines import SparkEngine, query

    make(WORLD_DUMPS, tmp_path, limit_per_type=15)
    work = tmp_path / "out" / "work" / ".twowiki"
    tables = tables_in(sorted(work.glob("*/")))
    tables |= tables_in([work / "contexts" / "near"])
    steps = (
        queries.SELECT | queries.PARTITIONED | queries.FIND_CHAINS | queries.SELECTED_CHAINS
        | queries.GROUPS | queries.COMPARISONS | queries.BRIDGE_COMPARISONS | queries.WANTED
        | queries.CONTEXTS
    )  # fmt: skip
    adaptive = "spark.sql.adaptive"
    small = {
        f"{adaptive}.advisoryPartitionSizeInBytes": "2000",
        f"{adaptive}.coalescePartitions.minPartitionSize": "1000",
    }
    engine = SparkEngine(tmp_path / "scratch", settings=small)
    try:
        session = engine.session
        assert session.conf.get("spark.executor.memory") == "2g"
        for name in {name for inputs in steps.values() for name in inputs.split()}:
            files = [str(path) for path in parquet_files(tables[name])]
            session.read.parquet(*files).createOrReplaceTempView(name)
        exchanges = 0
        for step in set(steps) - {"chains", "joined_links"}:
            plan = session.sql(query(step))._jdf.queryExecution().executedPlan().toString()
            found = re.findall(r"Exchange (\w+)partitioning\(.*?, (\w+), \[plan_id", plan)
            assert all(reason == "ENSURE_REQUIREMENTS" for _, reason in found), step
            assert not found or plan.startswith("AdaptiveSparkPlan"), step
            exchanges += len(found)
        assert exchanges > 50
        numbers = [
            session.range(0, rows, 1, 2).selectExpr("id % 1000000 AS a").groupBy("a").count().rdd
            .getNumPartitions()
            for rows in (10, 20_000)
        ]  # fmt: skip
        assert numbers[0] < numbers[1]
    finally:
        engine.close()
