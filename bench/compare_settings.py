"""Corrected settings against the published ones: equal CPU minutes, each at its own best rate.

Two comparisons. `--real FILE`: cross-validation over a file of real items, every item predicted
once by a model that has not seen it. `--made-up N`: both train on N made-up questions and are
tested on others. `--init-corrected` and `--init-reproduce` let both go on from models that were
trained for as long on other data. Word vectors are trained from scratch on both sides (the
published ones are frozen GloVe vectors, which nobody can use untrained). The optimiser and rate of
each side is the best of the same four on a part of the first training set. Prints a table with
the paired randomization test over the pooled predictions. It takes hours at useful budgets; start
it with `nice -n 19` and OMP_NUM_THREADS=1.
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
from twowiki.training.tiny_data import tiny_examples

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ("em", "f1", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
SETTINGS = ("reproduce", "corrected")
RECIPES = {
    "sgd 0.1": "--optimizer sgd --learning_rate 0.1 --clip_norm 0 --weight_decay 0",
    "adamw 0.001": "--optimizer adamw --learning_rate 0.001 --clip_norm 5",
    "adamw 0.004": "--optimizer adamw --learning_rate 0.004 --clip_norm 5",
    "adamw 0.012": "--optimizer adamw --learning_rate 0.012 --clip_norm 5",
}
SHARED = "--schedule linear --warmup_steps 20 --bucket yes --freeze_word_vectors no"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", help="official file of real items")
    parser.add_argument("--made-up", type=int, default=0, help="made-up training questions")
    parser.add_argument("--test", type=int, default=1000, help="made-up test questions")
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
    if given.real:
        items = list(read_examples(given.real))
        parts = [
            (items_but(items, i, given.folds), items[i :: given.folds]) for i in range(given.folds)
        ]
        compare(f"{len(items)} real items, {given.folds} folds", parts, given)
    if given.made_up:
        train = list(tiny_examples(given.made_up, seed=101))
        test = list(tiny_examples(given.test, seed=102))
        compare(f"{len(train)} made-up questions, {len(test)} others", [(train, test)], given)


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
        command += [*SHARED.split(), *RECIPES[recipe].split()]
        start = getattr(given, f"init_{settings}")
        sizes = {"init_from": start} if start else sizes_of(settings, given.width)
        for name, value in sizes.items():
            command += [f"--{name}", str(value)]
        command += ["--data_dir", folder, "--output_dir", f"{folder}/run"]
        command += ["--batch_size", str(given.batch), "--metric", "joint_f1", "--patience", "0"]
        command += ["--max_cpu_minutes", str(minutes), "--eval_every", "1000000000"]
        command += ["--epochs", "100000", "--checkpoint_limit", "1"]
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
