"""Cross-validation on real items: the encoder model against the corrected baseline.

  nice -n 19 .venv/bin/python bench/compare_encoder.py dev.json --backbone PATH --out runs/cv

Every item is predicted once by a model that has not seen it. Four settings, each with the same
processor minutes (one thread): both models from scratch, and both trained on a fictional world
first. Nothing is chosen on the items that are scored: a fold's model is the one at its end.
`--paragraphs 3` shortens what the encoder trains on: each real item comes `--copies` times, with
its gold paragraphs and other draws of the rest; what it is scored on is whole. `--starts` takes
models that were trained on a world before, such as those of bench/train_on_world.py. Each training
is a process of its own; OUT keeps what is done, a training that was cut off goes on from
its last checkpoint, and a run with `--settings` or `--only-folds` does a part. Prints the table so
far, with the paired randomization test of the encoder against the baseline.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy

import twowiki
from twowiki.data.schema import Example, to_official
from twowiki.data.sources import read_examples
from twowiki.metric.significance import paired_randomization

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
SETTINGS = ("baseline", "encoder", "baseline_world", "encoder_world")
PAIRS = (("encoder", "baseline"), ("encoder_world", "baseline_world"))
AFTER_SHORT = ("--learning_rate", "7e-5", "--head_learning_rate", "2.8e-4")
WORLD = "people=2000,films=1500,seed=11,brief=1,limit_per_type=1500"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="official file of real items")
    parser.add_argument("--backbone", required=True, help="folder or name of the encoder's start")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "encoder_cv")
    parser.add_argument("--minutes", type=float, default=20.0, help="CPU minutes of a fold")
    parser.add_argument("--world-minutes", type=float, default=60.0, help="of a world's training")
    parser.add_argument("--world", default=WORLD, help="the fictional world")
    parser.add_argument(
        "--starts", nargs="*", default=[], metavar="MODEL=RUN",
        help="baseline=DIR, encoder=DIR: runs on a world to go on from, instead of training them",
    )  # fmt: skip
    parser.add_argument("--paragraphs", type=int, default=0, help="the encoder trains on; 0 = all")
    parser.add_argument("--copies", type=int, default=4, help="draws of an item, with --paragraphs")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--only-folds", type=int, nargs="*", help="do these now (from 0)")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--flags", default="", help="more flags for the encoder's trainings")
    given = parser.parse_args()
    given.out = given.out.resolve()
    given.starts = dict(start.split("=", 1) for start in given.starts)
    items = list(read_examples(given.file))
    write_folds(given, items)
    folds = range(given.folds) if given.only_folds is None else given.only_folds
    for settings in given.settings:
        for fold in folds:
            train_fold(given, settings, fold)
    show(given, items)


def write_folds(given: argparse.Namespace, items: list[Example]) -> None:
    """Write each fold's files, once; refuse a folder of other items."""
    note = given.out / "folds.json"
    said = {"ids": [item.id for item in items], "folds": given.folds}
    if note.is_file():
        if json.loads(note.read_text(encoding="utf-8")) != said:
            sys.exit(f"{given.out} holds other items or folds: give another --out")
        return
    for fold in range(given.folds):
        folder = given.out / f"fold_{fold}"
        folder.mkdir(parents=True, exist_ok=True)
        parts = {
            "train": [item for i, item in enumerate(items) if i % given.folds != fold],
            "dev": items[fold :: given.folds],
        }
        for name, part in parts.items():
            records = [to_official(item) for item in part]
            (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    note.write_text(json.dumps(said), encoding="utf-8")


def train_fold(given: argparse.Namespace, settings: str, fold: int) -> None:
    """Train one setting on one fold, after the world where it asks for one."""
    model = settings.removesuffix("_world")
    folder = given.out / f"fold_{fold}"
    flags = ["--train_file", str(folder / "train.json")]
    flags += ["--validation_file", str(folder / "dev.json")]
    flags += fewer_paragraphs(given, model, given.copies)
    flags += ["--max_cpu_minutes", str(given.minutes)]
    if settings.endswith("_world"):
        flags += ["--model_name_or_path", str(train_on_world(given, model) / "best")]
    train(given, model, given.out / settings / f"fold_{fold}", flags)


def train_on_world(given: argparse.Namespace, model: str) -> Path:
    """Give the run of a model on a fictional world; train it if it is not there.

    With `--paragraphs` the encoder has a quarter of the time left for whole contexts: without
    them it takes too many sentences for support.
    """
    folder = world_run(given, model)
    if model in given.starts:
        return folder
    flags = ["--world", given.world, "--max_eval_samples", "200"]
    flags += ["--cache_dir", str(given.out / "made")]
    minutes, few = given.world_minutes, fewer_paragraphs(given, model, 1)
    if few:
        first, minutes = folder.with_name(f"{model}_short"), minutes / 4
        train(given, model, first, [*flags, *few, "--max_cpu_minutes", str(3 * minutes)])
        flags += ["--model_name_or_path", str(first / "best"), *AFTER_SHORT]
    train(given, model, folder, [*flags, "--max_cpu_minutes", str(minutes)])
    return folder


def fewer_paragraphs(given: argparse.Namespace, model: str, copies: int) -> list[str]:
    """Give the flags that shorten what the encoder trains on."""
    if not given.paragraphs or model != "encoder":
        return []
    return ["--train_paragraphs", str(given.paragraphs), "--train_copies", str(copies)]


def world_run(given: argparse.Namespace, model: str) -> Path:
    """Give the folder of a model's run on a world: one that was given, or this bench's own."""
    return Path(given.starts.get(model, given.out / "world" / model)).resolve()


def train(given: argparse.Namespace, model: str, folder: Path, flags: list[str]) -> None:
    """Start train.py, or let it go on; nothing if its report is there."""
    if (folder / "report.json").is_file():
        return
    command = [sys.executable, str(ROOT / "train.py"), "--output_dir", str(folder)]
    command += (
        encoder_flags(given)
        if model == "encoder"
        else baseline_flags("--model_name_or_path" in flags)
    )
    command += [
        *flags,
        "--resume_from_checkpoint",
        "auto",
        "--save_total_limit",
        "1",
        "--warmup_steps",
        "20",
    ]
    command += [
        "--num_train_epochs",
        "100000",
        "--early_stopping_patience",
        "0",
        "--eval_steps",
        "1000000000",
    ]
    command += ["--save_steps", "50"]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    print(f"{folder.relative_to(given.out)} ...", flush=True)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-4000:])


def baseline_flags(trained: bool) -> list[str]:
    """Give the baseline's settings; where it was trained before, the best of its own bench."""
    shared = [
        "--per_device_train_batch_size",
        "16",
        "--train_sampling_strategy",
        "group_by_length",
        "--freeze_word_vectors",
        "no",
    ]
    if trained:
        return [*shared, "--learning_rate", "0.012", "--max_grad_norm", "5"]
    sizes = ["--word_dim", "100", "--dropout", "0.2", "--min_word_count", "2"]
    return [*shared, *sizes, "--learning_rate", "3e-3"]


def encoder_flags(given: argparse.Namespace) -> list[str]:
    """Give the encoder's settings."""
    rates = [
        "--learning_rate",
        "1.5e-4",
        "--head_learning_rate",
        "6e-4",
        "--per_device_train_batch_size",
        "4",
    ]
    rates += ["--support_weight", "3", "--dropout", "0"]
    cheap = ["--backbone_dropout", "0", "--bf16"]
    own = ["--task", "encoder", "--model_name_or_path", given.backbone]
    return [*own, *rates, *cheap, *given.flags.split()]


def show(given: argparse.Namespace, items: list[Example]) -> None:
    """Print the table of the settings whose folds are all done, and the tests of the pairs."""
    reports, rows, notes = {}, {}, []
    gold = [to_official(item) for item in items]
    for settings in SETTINGS:
        runs = [read_run(given.out / settings / f"fold_{fold}") for fold in range(given.folds)]
        done = [run for run in runs if run is not None]
        if len(done) < given.folds:
            notes.append(f"{settings}: {len(done)} of {given.folds} folds are done")
            continue
        said: dict[str, Any] = {"answer": {}, "sp": {}, "evidence": {}}
        for predictions, _ in done:
            for key in said:
                said[key] |= predictions[key]
        report = twowiki.score(said, gold, by_type=True)
        reports[settings] = report, [run[1] for run in done]
        rows[settings] = numpy.array([[r[key] for key in FIGURES] for r in report.per_example()])
    print(f"\n{len(items)} real items, {given.folds} folds")
    for model in ("baseline", "encoder"):
        print(told_of_world(given, model))
    print()
    print(f"| settings | steps | {' | '.join(FIGURES)} |\n|---|---|{'---|' * len(FIGURES)}")
    for settings, (report, runs) in reports.items():
        figures = " | ".join(f"{report.metrics[key]:.2f}" for key in FIGURES)
        print(f"| {settings} | {sum(run['steps'] for run in runs)} | {figures} |")
    for one, other in PAIRS:
        if one in rows and other in rows:
            p_values = paired_randomization(rows[one], rows[other])
            figures = " | ".join(f"{p:.4f}" for p in p_values)
            print(f"| p, {one} against {other} | | {figures} |")
    for settings, (report, runs) in reports.items():
        show_by_type(settings, report, runs)
    print("\n".join(notes))


def told_of_world(given: argparse.Namespace, model: str) -> str:
    """Say what a model learnt on a world before, also in the runs that it went on from."""
    told, run = [], world_run(given, model)
    while (run / "report.json").is_file():
        report = json.loads((run / "report.json").read_text(encoding="utf-8"))
        steps, batch = report["steps"], report["batch_size"]
        minutes = report["cpu_seconds"] / 60
        told.append(f"{minutes:.1f} CPU minutes, {steps} steps of {batch}")
        before = report["config"]["model_name_or_path"]
        if not before:
            break
        run = Path(before).parent
    if not told:
        return f"{model}: not trained on a world"
    return f"{model}, before, on a world: {'; '.join(reversed(told))}"


def show_by_type(settings: str, report: Any, runs: list[dict[str, Any]]) -> None:
    """Print joint F1 by type, and what the decoder derives is worth."""
    minutes = numpy.mean([run["cpu_seconds"] for run in runs]) / 60
    config = runs[-1]["config"]
    batch = config["per_device_train_batch_size"]
    paragraphs, copies = config["train_paragraphs"], config["train_copies"]
    read = f"{copies} draws of {paragraphs} paragraphs" if paragraphs else "whole contexts"
    print(f"\n{settings}: {minutes:.1f} CPU minutes a fold, batches of {batch}, {read}")
    parts = [f"{name} {group.metrics['joint_f1']:.2f}" for name, group in report.types.items()]
    print(f"{settings}, joint F1: {', '.join(parts)}")
    for name in runs[0]["scores"].get("without", {}):
        n = [run["scores"].get("n") or 1 for run in runs]
        value = numpy.average([r["scores"]["without"][name]["joint_f1"] for r in runs], weights=n)
        print(f"{settings} without {name}, joint F1: {value:.2f} (mean over the folds)")
    print(report.signature)


def read_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Give a finished run's predictions and report."""
    if not (folder / "report.json").is_file():
        return None
    predictions, report = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("predictions.json", "report.json")
    )
    return predictions, report


if __name__ == "__main__":
    main()
