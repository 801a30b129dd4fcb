"""The encoder's cross-validation runs on a few items."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_model import examples
from tests.training.test_encoder import save_backbone
from twowiki.data.schema import to_official

ROOT = Path(__file__).parents[2]


def run(*command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'bench'}"
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=400
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_the_cross_validation_predicts_each_item_once_and_goes_on(tmp_path: Path) -> None:
    backbone = save_backbone(tmp_path / "backbone")
    records = [to_official(example) for example in examples()[:6]]
    (tmp_path / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    command = [
        str(ROOT / "bench" / "compare_encoder.py"), str(tmp_path / "dev.json"),
        "--backbone", str(backbone), "--out", str(tmp_path / "cv"), "--folds", "2",
        "--minutes", "0.02", "--settings", "encoder", "--flags=--bf16 false",
        "--paragraphs", "2", "--copies", "2",
    ]  # fmt: skip
    first = run(*command, "--only-folds", "1")
    report = json.loads(
        (tmp_path / "cv" / "encoder" / "fold_1" / "report.json").read_text(encoding="utf-8")
    )
    assert report["config"]["train_paragraphs"] == 2
    assert report["data"]["train"]["windows"] == 6
    assert "encoder: 1 of 2 folds are done" in first
    printed = run(*command)
    assert "encoder/fold_1" not in printed
    row = next(line for line in printed.splitlines() if line.startswith("| encoder"))
    assert len(row.split("|")) == 12
    assert "n:6" in printed
    assert "baseline: 0 of 2 folds are done" in printed
    assert "encoder: not trained on a world" in printed
    world = ["--world", "people=150,films=110,seed=3,brief=1,limit_per_type=20"]
    given = [part if part != "encoder" else "encoder_world" for part in command]
    told = run(*given, *world, "--world-minutes", "0.08", "--only-folds", "0")
    line = next(line for line in told.splitlines() if line.startswith("encoder, before"))
    assert line.count("CPU minutes") == 2
    kept = [
        json.loads((tmp_path / "cv" / "world" / name / "report.json").read_text(encoding="utf-8"))
        for name in ("encoder_short", "encoder")
    ]
    assert [report["config"]["train_paragraphs"] for report in kept] == [2, 0]
    assert kept[1]["config"]["model_name_or_path"].endswith("encoder_short/best")
