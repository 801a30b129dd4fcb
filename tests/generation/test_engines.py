from __future__ import annotations

import bz2
import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.generation.dumps import make
from twowiki.errors import DataError
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


def test_the_tasks_of_spark_read_xml_and_parquet(tmp_path: Path):
    """Whatever splits the files are cut into; what is cut short is seen."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from twowiki.generation.dump_reader import LEFT_OUT, PARAGRAPH_TABLES, ingest
    from twowiki.generation.engines import SparkEngine, ingest_on_spark

    def element(number: int) -> str:
        title = "" if number == 50 else f"<title>Øru {number}</title>"
        text = f"'''Oru {number}''' is a [[lake]].\nIt has {number} &lt;b&gt;isles&lt;/b&gt;."
        return f"<page>{title}<ns>0</ns><id>{number}</id>\n<text>{text}</text></page>\n"

    plain = f"<mediawiki>\n{''.join(map(element, range(1, 120)))}</mediawiki>\n".encode()
    files = {"xml": [tmp_path / "1.xml", tmp_path / "2.xml.bz2"], "parquet": [tmp_path / "3"]}
    files["xml"][0].write_bytes(plain)
    files["xml"][1].write_bytes(bz2.compress(plain))
    lines = WORLD_DUMPS[1].read_text("utf-8").splitlines()
    rows = pa.Table.from_pylist([json.loads(line) for line in lines])
    pq.write_table(rows, files["parquet"][0], row_group_size=10)
    small = {"spark.sql.files.maxPartitionBytes": "2000", "spark.sql.files.openCostInBytes": "0"}
    engine = SparkEngine(tmp_path / "scratch", settings=small)
    try:
        for kind, paths in files.items():
            counts = ingest_on_spark(engine.session, paths, kind, tmp_path / kind)
            assert counts == ingest(paths, kind, tmp_path / "plain" / kind, workers=1)
            for name in PARAGRAPH_TABLES:
                one, two = (digest_rows(at / kind / name) for at in (tmp_path, tmp_path / "plain"))
                assert one == two, (kind, name)
        cut = tmp_path / "cut.xml"
        cut.write_bytes(plain[:-400])
        with pytest.raises(DataError, match="cut.xml.*truncated"):
            ingest_on_spark(engine.session, [cut], "xml", tmp_path / "cut")
    finally:
        engine.close()
    tasks = {path.stem[:10] for path in (tmp_path / "xml" / "pages").glob("part-0*")}
    assert len(tasks) > 5
    left = [json.loads(line) for line in (tmp_path / "xml" / LEFT_OUT).read_text().splitlines()]
    assert [one["begins"].partition("\n")[0] for one in left] == ["<page><ns>0</ns><id>50</id>"] * 2
    assert {Path(one["file"]).name for one in left} == {"1.xml", "2.xml.bz2"}


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
