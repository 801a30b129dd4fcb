from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.generation.dumps import make
from twowiki.generation.run_comparison import compare_runs

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
