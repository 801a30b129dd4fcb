"""What each correction of the baseline is worth: one line with it taken back, the rest kept.

Every line is a training of its own on a fictional world, with the same seed and the same CPU
minutes, scored on the world's validation questions; beside it is the ceiling of its encoding there.
Prints a Markdown table. The sizes are small, so that it takes an hour, not a day.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from twowiki.models.configuration_baseline import REPRODUCE

ROOT = Path(__file__).resolve().parent.parent
LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "corrected": ("all corrections", {}),
    "case": ("answers looked up with their case", {"ignore_case": False}),
    "place": ("first occurrence anywhere", {"prefer_support": False}),
    "missing": (
        "unfound strings and absent relations trained to token 0",
        {"ignore_missing": False},
    ),
    "slots": ("one triple a relation", {"triple_slots": 0}),
    "tokens": ("pointers see sentences only", {"token_evidence": False}),
    "teacher": ("own relations in training", {"teacher_forcing": False}),
    "titles": ("titles are support candidates", {"title_support": True}),
    "padding": ("padding leaks", {"mask_padding": False}),
    "matches": ("no match features", {"match_features": False}),
    "chain": ("a GRU a pointer, in a chain", {"pointer_chain": True}),
    "scale": ("wide attention scales", {"narrow_scale": False}),
    "loss": ("summed losses, half the weight", {"loss_reduction": "sum"}),
    "band": ("spans of 16 tokens at most", {"max_span_tokens": 16}),
    "clip": ("no gradient clipping", {"max_grad_norm": 0.0}),
    "sgd": ("plain SGD at 0.1", {"optim": "sgd", "learning_rate": 0.1}),
}
WORLD = "people=800,films=600,seed=7,brief=1,limit_per_type=400"
FIGURES = ("f1", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="CPU minutes a line")
    parser.add_argument("--world", default=WORLD, help="settings of the fictional world")
    parser.add_argument("--lines", nargs="*", default=list(LINES), choices=list(LINES))
    given = parser.parse_args()
    lines = {**LINES, "published": ("all taken back (reproduce)", {"settings": "reproduce"})}
    print(f"{given.minutes:g} CPU minutes a line, world {given.world}\n")
    print(f"| taken back | steps | {' | '.join(FIGURES)} | ceiling joint F1 |")
    print(f"|---|---|{'---|' * (len(FIGURES) + 1)}", flush=True)
    for name in [*given.lines, "published"]:
        what, changes = lines[name]
        report = train(changes, given)
        metrics = report["scores"]["metrics"]
        figures = " | ".join(f"{metrics[key]:.2f}" for key in FIGURES)
        ceiling = report["ceiling"]["metrics"]["joint_f1"]
        print(f"| {what} | {report['steps']} | {figures} | {ceiling:.2f} |", flush=True)


def train(changes: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Train with some settings changed; give the report."""
    flags = {
        "world": given.world,
        "max_cpu_minutes": given.minutes,
        "num_train_epochs": 100_000,
        "eval_steps": 10**9,
        "warmup_steps": 30,
        "learning_rate": 1.2e-2,
        "per_device_train_batch_size": 16,
        "word_dim": 48,
        "char_hidden": 32,
        "hidden_size": 40,
        "relation_dim": 32,
        "splitter": "words",
        "freeze_word_vectors": False,
        **changes,
    }
    if changes.get("settings") == "reproduce":
        flags |= {"lr_scheduler_type": "constant", "learning_rate": 0.1, "splitter": "spacy"}
        flags["hidden_size"] = 40 * REPRODUCE["hidden_size"] // 100
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "train.py"), "--output_dir", folder]
        for name, value in flags.items():
            command += [f"--{name}", str(value)]
        environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[-4000:])
        report: dict[str, Any] = json.loads(
            (Path(folder) / "report.json").read_text(encoding="utf-8")
        )
        return report


if __name__ == "__main__":
    main()
