"""Train the baseline on one fictional world, score it on another: corrected against reproduce.

  .venv/bin/python bench/train_on_world.py --out runs/world --minutes 60 --real dev.json

Each setting gets the same examples, sizes and processor minutes (one thread), word vectors that
train with it, and the best of the same four optimisers and rates, tried for --tuning-minutes
each. OUT gets the data, the runs, and `results_SETTINGS.json`: the learning curve and the scores
on fresh questions of a world of another seed and, with --real, on real ones. Run it again after a
stop: it goes on. `--settings corrected` and `--settings reproduce` may run at the same time once
the data is there (`--settings` alone makes only the data).

  .venv/bin/python bench/train_on_world.py --out runs/hops --read runs/encoder/best

asks a saved model, baseline or encoder, about a fresh world (--world) with chains of 2 to 6 hops,
intersections and counts, and prints its scores by question type and by the length of chains.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SIZES = {
    "per_device_train_batch_size": 16, "num_train_epochs": 1000, "lr_scheduler_type": "linear",
    "train_sampling_strategy": "group_by_length", "warmup_steps": 30, "word_dim": 48,
    "char_dim": 8, "char_hidden": 32, "hidden_size": 40,
    "relation_dim": 32, "min_word_count": 15, "freeze_word_vectors": False,
    "early_stopping_patience": 0, "metric_for_best_model": "joint_f1",
}  # fmt: skip
SETTINGS = ("corrected", "reproduce")
RECIPES: dict[str, dict[str, Any]] = {
    "sgd_0.1": {"optim": "sgd", "learning_rate": 0.1, "max_grad_norm": 0, "weight_decay": 0},
    "adamw_0.001": {"optim": "adamw", "learning_rate": 1e-3, "max_grad_norm": 5.0},
    "adamw_0.004": {"optim": "adamw", "learning_rate": 4e-3, "max_grad_norm": 5.0},
    "adamw_0.012": {"optim": "adamw", "learning_rate": 1.2e-2, "max_grad_norm": 5.0},
}
FIGURES = ("f1", "sp_f1", "evi_f1", "joint_em", "joint_f1")
DEEP_WORLD = "people=3000,films=1400,seed=2028,hops=6,sets=1,balanced=1,limit_per_type=300"


def run(*command: str, thread: bool = True) -> None:
    """Run a command from the repository's root; stop at its first failure."""
    environment = os.environ | ({"OMP_NUM_THREADS": "1"} if thread else {})
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT, env=environment)


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Give all records of a generated folder, in an order that their ids draw."""
    records = [
        record
        for name in ("train", "dev", "test")
        for record in json.loads((folder / f"{name}.json").read_text("utf-8"))
    ]
    return sorted(records, key=lambda r: hashlib.md5(r["_id"].encode()).hexdigest())


def evenly(records: list[dict[str, Any]], start: int, end: int) -> list[dict[str, Any]]:
    """Give each type's records from `start` to `end`."""
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        by_type[record["type"]].append(record)
    return [record for kind in sorted(by_type) for record in by_type[kind][start:end]]


def make_data(args: argparse.Namespace) -> None:
    """Generate three worlds; write train.json, validation.json and fresh.json."""
    if (args.out / "fresh.json").is_file():
        return
    for name, world, limit in (
        ("trained", f"people=5000,films=3750,brief=1,seed={args.seed}", args.examples // 2),
        ("choosing", f"people=1200,films=900,brief=1,seed={args.choosing_seed}", 100),
        ("other", f"people=1200,films=900,brief=1,seed={args.fresh_seed}", 250),
    ):
        run(
            "-m", "twowiki", "generate", "--world", world, "--limit-per-type", str(limit),
            "--out", str(args.out / name),
        )  # fmt: skip
    trained, choosing, other = (
        records_of(args.out / name) for name in ("trained", "choosing", "other")
    )
    for name, records in (
        ("train", trained[: args.examples]),
        ("validation", evenly(choosing, 0, 60)),
        ("fresh", evenly(other, 0, 200)),
    ):
        (args.out / f"{name}.json").write_text(json.dumps(records, ensure_ascii=False), "utf-8")


def train(
    args: argparse.Namespace, settings: str, recipe: str, minutes: float, folder: Path, every: int
) -> dict[str, Any]:
    """Train with one kind of settings, or go on; give its report."""
    options = SIZES | RECIPES[recipe] | {
        "settings": settings, "output_dir": folder, "train_file": args.out / "train.json",
        "validation_file": args.out / "validation.json", "max_cpu_minutes": minutes,
        "eval_steps": every, "seed": 13,
    }  # fmt: skip
    if any((folder / "checkpoints").glob("*")):
        options["resume_from_checkpoint"] = "auto"
    if not (folder / "report.json").is_file():
        run("train.py", *(f"--{name}={value}" for name, value in options.items()))
    report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return report


def tune(args: argparse.Namespace, settings: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Try every recipe shortly; give the best by joint F1, then by the other figures' sum."""
    tried = {}
    for recipe in RECIPES:
        folder = args.out / "tuning" / f"{settings}_{recipe}"
        try:
            report = train(args, settings, recipe, args.tuning_minutes, folder, 10**9)
        except subprocess.CalledProcessError:  # the loss became no number
            tried[recipe] = dict.fromkeys(FIGURES, 0.0)
            continue
        metrics = report["scores"]["metrics"]
        tried[recipe] = {name: round(metrics[name], 2) for name in FIGURES}
    best = max(tried, key=lambda one: (tried[one]["joint_f1"], sum(tried[one].values())))
    return best, tried


def predict(model: Path, gold: Path, out: Path, config: str) -> tuple[list[Any], list[Any]]:
    """Let a saved model answer a file, unless it has; give the examples and its predictions."""
    from twowiki.data.schema import Fact, Prediction, Triple
    from twowiki.data.sources import read_examples

    if not out.is_file():
        run("-m", "twowiki", "predict", str(model), str(gold), str(out), "--config", config)
    said = json.loads(out.read_text("utf-8"))
    examples = list(read_examples(gold, config))
    return examples, [
        Prediction(
            said["answer"].get(e.id),
            tuple(Fact(*fact) for fact in said["sp"].get(e.id, ())),
            tuple(Triple(*triple) for triple in said["evidence"].get(e.id, ())),
        )
        for e in examples
    ]


def score(args: argparse.Namespace, settings: str, gold: Path) -> dict[str, float]:
    """Score a setting's best model on a file; give the figures."""
    from twowiki.training.evaluation import score_predictions

    folder = args.out / settings
    out = folder / f"predictions_{gold.stem}.json"
    examples, predictions = predict(folder / "best", gold, out, "data_ids_april7")
    metrics = score_predictions(examples, predictions, "").metrics
    return {name: round(metrics[name], 2) for name in FIGURES}


def read_deep_world(model: Path, world: str, out: Path) -> list[dict[str, Any]]:
    """Score a saved model on a fresh world: a row for each question type and length of chain."""
    from twowiki.training.evaluation import score_predictions

    gold = out / "deep.json"
    if not gold.is_file():
        run("-m", "twowiki", "generate", "--world", world, "--out", str(out / "deep"))
        gold.write_text(json.dumps(records_of(out / "deep"), ensure_ascii=False), "utf-8")
    answered = list(zip(*predict(model, gold, out / "deep_predictions.json", "world"), strict=True))
    groups: dict[str, list[Any]] = defaultdict(list)
    for example, prediction in answered:
        groups[example.type].append((example, prediction))
        if example.type == "compositional":
            groups[f"chains of {len(example.triples)} hops"].append((example, prediction))
    rows = []
    for name, members in [("all", answered), *sorted(groups.items())]:
        report = score_predictions(*map(list, zip(*members, strict=True)), "", config="world")
        figures = {figure: round(report.metrics[figure], 2) for figure in ("em", *FIGURES)}
        rows.append({"questions": name, "n": len(members), **figures})
    return rows


def main() -> int:
    """Run it all; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "world")
    parser.add_argument("--minutes", type=float, default=60, help="processor minutes a setting")
    parser.add_argument("--examples", type=int, default=10_000, help="training questions")
    parser.add_argument("--seed", default="11", help="of the world that is trained on")
    parser.add_argument("--choosing-seed", default="2026", help="of the world to choose models by")
    parser.add_argument("--fresh-seed", default="2027", help="of the world that is scored on")
    parser.add_argument("--real", type=Path, help="an official file to score on as well")
    parser.add_argument("--tuning-minutes", type=float, default=3, help="of each recipe tried")
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--read", type=Path, metavar="MODEL", help="only score a saved model")
    parser.add_argument("--world", default=DEEP_WORLD, help="that --read asks about")
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.read:
        rows = read_deep_world(args.read.resolve(), args.world, args.out)
        print("| " + " | ".join(rows[0]) + " |\n" + "|---" * len(rows[0]) + "|")
        for row in rows:
            print("| " + " | ".join(map(str, row.values())) + " |")
        return 0
    make_data(args)
    print(f"{'settings':12}{'scored on':12}" + "".join(f"{name:>10}" for name in FIGURES))
    for settings in args.settings:
        recipe, tried = tune(args, settings)
        report = train(args, settings, recipe, args.minutes, args.out / settings, 300)
        curve = [
            {"step": entry["step"]} | {name: round(entry["metrics"][name], 2) for name in FIGURES}
            for entry in report["history"]
            if "metrics" in entry
        ]
        files = {"fresh": args.out / "fresh.json"} | ({"real": args.real} if args.real else {})
        results = {
            "settings": settings, "minutes": args.minutes, "sizes": SIZES, "recipe": recipe,
            "tuning": {"minutes": args.tuning_minutes, "validation": tried},
            "steps": report["steps"], "curve": curve,
            "scores": {name: score(args, settings, path) for name, path in files.items()},
        }  # fmt: skip
        for name, row in results["scores"].items():
            figures = "".join(f"{row[figure]:>10.2f}" for figure in FIGURES)
            print(f"{settings:12}{name:12}{figures}", flush=True)
        path = args.out / f"results_{settings}.json"
        path.write_text(json.dumps(results, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
