"""Corrected settings against the published ones: equal CPU minutes, each at its own best rate.

Cross-validation over a file of real items: every item is predicted once by a model that has not
seen it (train_on_world.py compares both on a fictional world). `--init-corrected` and
`--init-reproduce` let both start from models that were trained for as long on other data. Word
vectors are trained from scratch on both sides (the published ones are frozen GloVe vectors, which
are of no use untrained). The optimizer and rate of each side is the best of the same four on a
part of the first training set. Prints a table with the paired randomization test over the pooled
predictions. It takes hours at useful budgets; start it with `nice -n 19` and OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy

import twowiki
from twowiki.data.schema import Example, to_official
from twowiki.data.sources import read_examples
from twowiki.metric.significance import paired_randomization

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ("em", "f1", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
SETTINGS = ("reproduce", "corrected")
RECIPES = {
    "sgd 0.1": "--optim sgd --learning_rate 0.1 --max_grad_norm 0 --weight_decay 0",
    "adamw 0.001": "--optim adamw --learning_rate 0.001 --max_grad_norm 5",
    "adamw 0.004": "--optim adamw --learning_rate 0.004 --max_grad_norm 5",
    "adamw 0.012": "--optim adamw --learning_rate 0.012 --max_grad_norm 5",
}
SHARED = "--lr_scheduler_type linear --warmup_steps 20 --freeze_word_vectors no"
BATCHES = ["--train_sampling_strategy", "group_by_length"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", required=True, help="official file of real items")
    parser.add_argument("--minutes", type=float, default=5.0, help="CPU minutes of each training")
    parser.add_argument("--tuning-minutes", type=float, default=1.0, help="of each rate tried")
    parser.add_argument("--folds", type=int, default=5, help="of the cross-validation")
    parser.add_argument("--batch", type=int, default=16, help="examples a step, both sides")
    for name in SETTINGS:
        text = f"trained {name} model that every {name} training goes on from"
        parser.add_argument(f"--init-{name}", type=Path, metavar="DIR", help=text)
    parser.add_argument("--workers", type=int, default=1, help="trainings at once")
    parser.add_argument("--width", type=float, default=1.0, help="part of the published width")
    given = parser.parse_args()
    items = list(read_examples(given.real))
    parts = [
        (items_but(items, i, given.folds), items[i :: given.folds]) for i in range(given.folds)
    ]
    compare(f"{len(items)} real items, {given.folds} folds", parts, given)


def items_but(items: list[Example], fold: int, folds: int) -> list[Example]:
    """Give the items that are not of a fold."""
    return [item for number, item in enumerate(items) if number % folds != fold]


def compare(
    title: str, parts: list[tuple[list[Example], list[Example]]], given: argparse.Namespace
) -> None:
    """Tune, train, predict, pool and print."""
    predictions: dict[str, dict[str, Any]] = {}
    recipes, steps = {}, {}
    for settings in SETTINGS:
        held = len(parts[0][0]) // 5
        tuning = parts[0][0][held:], parts[0][0][:held][:200]
        tried = {}
        jobs = [(settings, recipe, *tuning, given.tuning_minutes, given) for recipe in RECIPES]
        for recipe, (report, _) in zip(RECIPES, at_once(jobs, given.workers), strict=True):
            metrics = report["scores"]["metrics"]
            tried[recipe] = (metrics["joint_f1"], sum(metrics[name] for name in FIGURES))
            shown = " ".join(f"{name} {metrics[name]:.2f}" for name in FIGURES)
            print(f"  {settings} with {recipe}: {shown}", flush=True)
        recipes[settings] = max(tried, key=lambda recipe: tried[recipe])
        pooled: dict[str, Any] = {"answer": {}, "sp": {}, "evidence": {}}
        steps[settings] = 0
        jobs = [(settings, recipes[settings], *part, given.minutes, given) for part in parts]
        for report, said in at_once(jobs, given.workers):
            steps[settings] += report["steps"]
            for key in pooled:
                pooled[key] |= said[key]
        predictions[settings] = pooled
    show(title, predictions, [one for _, part in parts for one in part], recipes, steps, given)


def at_once(jobs: list[Any], workers: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Train several models, each in a process of its own, in the jobs' order."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda job: train(*job), jobs))


def train(
    settings: str,
    recipe: str,
    training: list[Example],
    testing: list[Example],
    minutes: float,
    given: argparse.Namespace,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train in a process of its own; give its report and its predictions for the test items."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("train.json", training), ("dev.json", testing)):
            records = [to_official(example) for example in part]
            (Path(folder) / name).write_text(json.dumps(records), encoding="utf-8")
        command = [sys.executable, str(ROOT / "train.py"), "--settings", settings]
        command += [*SHARED.split(), *BATCHES, *RECIPES[recipe].split()]
        start = getattr(given, f"init_{settings}")
        sizes = {"model_name_or_path": start} if start else sizes_of(settings, given.width)
        for name, value in sizes.items():
            command += [f"--{name}", str(value)]
        command += ["--data_dir", folder, "--output_dir", f"{folder}/run"]
        command += [
            "--per_device_train_batch_size",
            str(given.batch),
            "--metric_for_best_model",
            "joint_f1",
            "--early_stopping_patience",
            "0",
        ]
        command += ["--max_cpu_minutes", str(minutes), "--eval_steps", "1000000000"]
        command += ["--num_train_epochs", "100000", "--save_total_limit", "1"]
        environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode == 2 and "the loss is" in done.stderr:
            return lost(testing)
        if done.returncode:
            sys.exit(done.stderr[-4000:])
        run = Path(folder) / "run"
        report = json.loads((run / "report.json").read_text(encoding="utf-8"))
        return report, json.loads((run / "predictions.json").read_text(encoding="utf-8"))


def sizes_of(settings: str, width: float) -> dict[str, Any]:
    """Give both sides' sizes: as published (within 3% of the weights), or a part of that."""
    hidden = 80 if settings == "reproduce" else 100
    whole = {"hidden_size": hidden, "char_hidden": 100, "relation_dim": 100, "word_dim": 100}
    return {name: round(size * width) for name, size in whole.items()}


def lost(testing: list[Example]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give nothing for a training whose loss became no number."""
    metrics = dict.fromkeys(FIGURES, 0.0)
    empty = {"answer": "", "sp": [], "evidence": []}
    said = {key: {one.id: value for one in testing} for key, value in empty.items()}
    return {"scores": {"metrics": metrics}, "steps": 0}, said


def show(
    title: str,
    predictions: dict[str, dict[str, Any]],
    items: list[Example],
    recipes: dict[str, str],
    steps: dict[str, int],
    given: argparse.Namespace,
) -> None:
    """Print the table as Markdown."""
    gold = [to_official(item) for item in items]
    reports = {name: twowiki.score(said, gold, by_type=True) for name, said in predictions.items()}
    rows = {
        name: numpy.array([[row[key] for key in FIGURES] for row in report.per_example()])
        for name, report in reports.items()
    }
    started = any(getattr(given, f"init_{name}") for name in SETTINGS)
    sizes = "from trained models" if started else f"{given.width:g} of the published width"
    print(
        f"\n{title}, {given.minutes:g} CPU minutes a training, batches of {given.batch}, {sizes}\n"
    )
    print(f"| settings | optimiser, rate | steps | {' | '.join(FIGURES)} |")
    print(f"|---|---|---|{'---|' * len(FIGURES)}")
    for name, report in reports.items():
        figures = " | ".join(f"{report.metrics[key]:.2f}" for key in FIGURES)
        print(f"| {name} | {recipes[name]} | {steps[name]} | {figures} |")
    p_values = paired_randomization(rows["corrected"], rows["reproduce"])
    print(f"| p (paired, two-sided) | | | {' | '.join(f'{p:.4f}' for p in p_values)} |")
    print(f"\n{reports['corrected'].signature}", flush=True)


if __name__ == "__main__":
    main()
