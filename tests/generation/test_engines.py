from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.generation.dumps import make
from twowiki.generation import compaction
from twowiki.generation.run_comparison import compare_runs
from twowiki.generation.tables import digest_rows

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
