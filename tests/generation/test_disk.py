"""Room is checked before a stage starts; a full disk ends in one sentence, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tests.generation.dumps import make
from twowiki.errors import DataError
from twowiki.generation import disk
from twowiki.generation.disk import bytes_of, needed_for, needed_for_dump
from twowiki.generation.engines import DuckDBEngine
from twowiki.generation.run_comparison import compare_runs

ROOT = Path(__file__).parents[2]
WORLD = ROOT / "tests" / "data" / "world"
WORLD_DUMPS = (WORLD / "wikidata.json", WORLD / "paragraphs.jsonl")


def test_a_stage_without_room_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = tmp_path / "out" / "work" / ".twowiki"
    plain = disk.check_room

    def full(stage: str, folder: Path, needed: int) -> None:
        if stage == "ground":
            usage = SimpleNamespace(free=needed - 1)
            monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage)
        plain(stage, folder, needed)

    with monkeypatch.context() as patched:
        patched.setattr("twowiki.generation.run.check_room", full)
        with pytest.raises(DataError, match=r"'ground' may need 1 MB.*--work"):
            make(WORLD_DUMPS, tmp_path, limit_per_type=10)
    monkeypatch.undo()
    finished = {path.parent.name: path.stat().st_mtime_ns for path in work.glob("*/_manifest.json")}
    assert set(finished) == {"wikidata", "paragraphs", "select"}
    assert make(WORLD_DUMPS, tmp_path, limit_per_type=10)["samples"] > 10
    for stage, moment in finished.items():
        assert (work / stage / "_manifest.json").stat().st_mtime_ns == moment
    dumps = [work / "wikidata", work / "paragraphs"]
    for stage, files in (("wikidata", WORLD_DUMPS[:1]), ("paragraphs", WORLD_DUMPS[1:])):
        assert bytes_of([work / stage]) < needed_for_dump(stage, files)
    for stage in ("select", "ground", "candidates", "samples", "contexts", "splits"):
        assert bytes_of([work / stage]) < needed_for(stage, dumps)


@pytest.mark.parametrize("words", ["No space left on device", "max_temp_directory_size"])
def test_a_full_disk_is_one_sentence(tmp_path: Path, words: str):
    engine = DuckDBEngine(tmp_path / "scratch")

    class Full:
        def execute(self, text: str) -> Any:
            if text.startswith("COPY"):
                raise duckdb.IOException(f"IO Error: could not write: {words}")
            return SimpleNamespace(fetchall=list)

    engine.__dict__["connection"] = Full()
    (tmp_path / "old").mkdir()
    with pytest.raises(DataError, match="the disk is full in the step 'old'.*what is finished"):
        engine.sql("SELECT 1", {}, tmp_path / "old")
    assert (tmp_path / "old").is_dir()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_a_disk_that_is_full_at_any_stage_loses_nothing(tmp_path: Path):
    sizes = ["1500", "4000", "9000", "100000", "400000"]
    command = [sys.executable, "-m", "tests.generation.stops", "full", str(tmp_path), *sizes]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    *full, last = json.loads(done.stdout)["runs"]
    for run in full:
        sentence = run["errors"].splitlines()[-1]
        assert run["code"] == 2
        assert "File too large" in sentence or "the disk is full in the step" in sentence, run
        assert "Make room" in sentence
        assert run["errors"].count("File too large") <= 1
    assert last["code"] == 0
    stages = [run["finished"] for run in full]
    assert stages == sorted(stages)
    assert len(set(stages)) > 2
    verdicts = list(compare_runs(tmp_path / "whole", tmp_path / "stopped"))
    assert [verdict for verdict in verdicts if not verdict.equal] == []
