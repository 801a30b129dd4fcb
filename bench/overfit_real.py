"""A sanity check: a model learns a few real items by heart (train = test).

Trains the corrected baseline (with --backbone, the encoder model) on the first `--items` of a file
of real items (with --short, on the shortest ones) until a figure on the very same items passes its
goal, and prints the scores. No measure of quality: it shows that the labels, the model, the loss
and the decoding fit together on real data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from compare_encoder import half

from twowiki.data.schema import Example, to_official
from twowiki.data.sources import read_examples

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="official file of real items")
    parser.add_argument("--items", type=int, default=32)
    parser.add_argument("--short", action="store_true", help="the shortest items of each type")
    parser.add_argument("--goal", type=float, default=95.0, help="figure to pass")
    parser.add_argument("--metric", default="joint_f1", help="which figure (default joint_f1)")
    parser.add_argument("--backbone", default="", help="train the encoder model from this one")
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU minutes at most")
    parser.add_argument("--flags", default="", help="more flags for train.py")
    given = parser.parse_args()
    found = list(read_examples(given.file))
    items = shortest(found, given.items) if given.short else found[: given.items]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("train.json", "dev.json"):
            records = [to_official(item) for item in items]
            (Path(folder) / name).write_text(json.dumps(records), encoding="utf-8")
        command = [sys.executable, str(ROOT / "train.py")]
        command += [
            "--data_dir",
            folder,
            "--output_dir",
            f"{folder}/run",
            "--early_stopping_patience",
            "0",
        ]
        command += [
            "--per_device_train_batch_size",
            "8",
            "--warmup_steps",
            "20",
            "--eval_steps",
            "40",
        ]
        command += [
            "--lr_scheduler_type",
            "constant",
            "--num_train_epochs",
            "100000",
            "--metric_for_best_model",
            given.metric,
        ]
        command += ["--max_cpu_minutes", str(given.minutes), "--stop_at", str(given.goal)]
        command += [*model_flags(given.backbone), *given.flags.split()]
        environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment)
        if done.returncode:
            sys.exit(done.returncode)
        report = json.loads((Path(folder) / "run" / "report.json").read_text(encoding="utf-8"))
    reached = report["scores"]["metrics"][given.metric]
    print(f"train = test, {len(items)} items, {report['cpu_seconds'] / 60:.1f} CPU minutes")
    sys.exit(0 if reached > given.goal else 1)


def model_flags(backbone: str) -> list[str]:
    """Give the flags of the model: the baseline, or the encoder from a backbone."""
    if not backbone:
        return ["--word_dim", "100", "--learning_rate", "3e-3"]
    rates = [
        "--learning_rate",
        "1.5e-4",
        "--head_learning_rate",
        "6e-4",
        "--lr_scheduler_type",
        "linear",
    ]
    cheap = ["--per_device_train_batch_size", "4", *half()]
    no_dropout = ["--dropout", "0", "--backbone_dropout", "0"]
    return ["--task", "encoder", "--model_name_or_path", backbone, *rates, *cheap, *no_dropout]


def shortest(items: list[Example], count: int) -> list[Example]:
    """Give the shortest items, as many of each type."""
    kinds = sorted({item.type or "" for item in items})
    size = {item.id: sum(len(s) for p in item.context for s in p.sentences) for item in items}
    order = sorted(items, key=lambda item: size[item.id])
    chosen: list[Example] = []
    for kind in kinds:
        chosen += [item for item in order if item.type == kind][: count // len(kinds)]
    return chosen


if __name__ == "__main__":
    main()
