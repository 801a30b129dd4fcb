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
        "--figures", str(tmp_path / "figures"),
    ]  # fmt: skip
    first = run(*command, "--only-folds", "1")
    assert "encoder: 1 of 2 folds are done" in first
    (tmp_path / "cv" / "encoder" / "fold_1" / "report.json").unlink()  # its figures are kept
    printed = run(*command)
    assert "encoder/fold_1" not in printed
    kept_figures = (tmp_path / "figures" / "encoder_seed13_fold1_of_2.json").read_text("utf-8")
    assert list(json.loads(kept_figures)["items"]) == [record["_id"] for record in records[1::2]]
    row = next(line for line in printed.splitlines() if line.startswith("| encoder"))
    assert len(row.split("|")) == 12
    assert "6 real items" in printed
    assert "baseline: 0 of 2 folds are done" in printed
    assert "encoder: not trained on a world" in printed
    world = ["--world", str(tmp_path / "dev.json"), "--world-minutes", "0.02"]
    given = [part if part != "encoder" else "encoder_world" for part in command]
    told = run(*given, *world, "--only-folds", "0", "--real", "2")
    line = next(line for line in told.splitlines() if line.startswith("encoder, before"))
    assert line.count("CPU minutes") == 1
    folder = tmp_path / "cv" / "encoder_world" / "fold_0_real2"
    config = json.loads((folder / "report.json").read_text(encoding="utf-8"))["config"]
    assert config["model_name_or_path"].endswith("world/encoder/best")
    assert len(json.loads(Path(config["train_file"]).read_text(encoding="utf-8"))) == 2
    alone = [part if part != "encoder" else "encoder_world_alone" for part in command]
    table = run(*alone, *world)
    assert any(line.startswith("| encoder_world_alone ") for line in table.splitlines())


@pytest.mark.slow
def test_one_command_trains_on_one_file_and_predicts_another(tmp_path: Path) -> None:
    backbone = save_backbone(tmp_path / "backbone")
    for name, part in (("train", examples()[:4]), ("test", examples()[4:6])):
        records = [to_official(example) for example in part]
        (tmp_path / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    command = [
        str(ROOT / "bench" / "compare_encoder.py"), "--backbone", str(backbone),
        "--train", str(tmp_path / "train.json"), "--out", str(tmp_path / "said.json"),
        "--minutes", "0.02", "--world-minutes", "0", "--seed", "5", "--mix", "renamed",
        "--flags=--bf16 false",
    ]  # fmt: skip
    run(*command, "--test", str(tmp_path / "test.json"))
    answers = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))["answer"]
    assert list(answers) == [example.id for example in examples()[4:6]]
    run_folder = tmp_path / "said.json.runs" / "encoder_seed5"
    report = json.loads((run_folder / "report.json").read_text(encoding="utf-8"))
    assert report["config"]["seed"] == 5
    assert report["data"]["train"]["windows"] == 8
