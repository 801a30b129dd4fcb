"""Folders to push, as training, export and people leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.made_up import read_records, write_array, write_release
from twowiki import export

METRICS = dict.fromkeys(
    [f"{part}{figure}" for part in ("", "sp_", "evi_", "joint_") for figure in
     ("em", "f1", "prec", "recall")], 50.0
)  # fmt: skip
SIGNATURE = "twowiki_joint|evaluator:1.1|matching:official|aliases:no|missing:0|n:9|gold:1|v:0.1.0"


def report_of_a_run(**changes: Any) -> dict[str, Any]:
    """A report as a run of the baseline leaves it."""
    data = {"source": "/home/me/private/train.json", "config": "data", "content": "ab" * 32}
    report: dict[str, Any] = {
        "scores": {
            "step": 4,
            "metrics": METRICS | {"joint_f1": 63.137},
            "by_type": {"comparison": METRICS, "inference": METRICS},
            "signature": SIGNATURE,
            "n": 9,
            "counts": {"comparison": 4, "inference": 5},
            "intervals": {name: [40.0, 60.0] for name in METRICS},
        },
        "ceiling": {"metrics": dict.fromkeys(METRICS, 98.5), "by_type": {}, "examples": 9},
        "steps": 4,
        "epochs": 2,
        "stopped": "the end",
        "cpu_seconds": 12.3,
        "weights": 277071,
        "batch_size": 16,
        "seed": 13,
        "data": {
            "train": {**data, "windows": 40, "not_encoded": {"answer_not_found": 3}},
            "validation": {**data, "source": "dev.json", "windows": 9, "not_encoded": {}},
        },
        "config": {
            "settings": "corrected",
            "vectors": "",
            "optim": "adamw",
            "metric_for_best_model": "f1",
        },
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "hardware": {"device": "CPU", "processes": 1, "threads": 1},
        "commit": "abc123",
        "command": ["/home/me/train.py", "--train_file=/home/me/private/train.json"],
    }
    return report | changes


def model_folder(run: Path) -> Path:
    """The folder of a run: a report, and a small model in best/."""
    from tests.small_model import model_and_windows

    model, _ = model_and_windows()
    model.save_pretrained(run / "best")
    model.answer_tokenizer.save_pretrained(run / "best")
    (run / "config.json").write_text('{"task": "baseline"}', encoding="utf-8")
    (run / "report.json").write_text(json.dumps(report_of_a_run()), encoding="utf-8")
    return run


def encoder_folder(folder: Path) -> Path:
    """A small encoder model on a random backbone."""
    from tests.small_encoder import model_and_records

    model, _ = model_and_records("bert")
    model.save_pretrained(folder)
    model.answer_tokenizer.save_pretrained(folder)
    return folder


def data_folder(out: Path, *, shard_rows: int = 50_000, rows: int = 0) -> Path:
    """An exported data set of one config, `data`; `rows` training examples if asked for."""
    records = read_records()
    release = write_release(out.parent / f"{out.name}-release", records)
    if rows:
        many = [{**records[n % 5], "_id": f"r{n}"} for n in range(rows)]
        write_array(release / "train.json", many)
    export(release, out, "data", shard_rows=shard_rows)
    return out


def space_folder(folder: Path) -> Path:
    """A small Space."""
    (folder / "a").mkdir(parents=True)
    header = "---\ntitle: x\nsdk: gradio\nsdk_version: 6.0.0\napp_file: app.py\n---\n"
    (folder / "README.md").write_text(header, encoding="utf-8")
    (folder / "app.py").write_text("import gradio\n", encoding="utf-8")
    (folder / "requirements.txt").write_text("gradio\n", encoding="utf-8")
    (folder / "a" / "b.json").write_text("{}", encoding="utf-8")
    return folder
