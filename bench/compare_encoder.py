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

  python bench/compare_encoder.py --backbone PATH --train dev.json --test other.json --out said.json

trains the encoder once, on the world and then on all items of the first file, within the same
limits (`--minutes`, `--world-minutes`), and predicts the second, of which nothing is used before.
A test file with a gold paragraph of the training file is refused. With `--figures DIR` each fold
that is done leaves the figures of its items there (no text of them), from which another run goes
on without its models.
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
from twowiki.training.mixing import check_leaks

ROOT = Path(__file__).resolve().parent.parent
USUAL_SEED = 13
FIGURES = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
SETTINGS = ("baseline", "encoder", "baseline_world", "encoder_world")
PAIRS = (("encoder", "baseline"), ("encoder_world", "baseline_world"))
AFTER_SHORT = ("--learning_rate", "7e-5", "--head_learning_rate", "2.8e-4")
WORLD = "people=2000,films=1500,seed=11,brief=1,limit_per_type=1500"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="official file of real items")
    parser.add_argument("--train", type=Path, help="official file to train on, instead of folds")
    parser.add_argument("--test", type=Path, help="official file to predict, with --train")
    parser.add_argument("--seed", type=int, default=USUAL_SEED, help="of the trainings")
    parser.add_argument("--figures", type=Path, help="folder of the figures of finished folds")
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
    parser.add_argument(
        "--mix", nargs="*", default=[],
        help="added to the encoder's real items: renamed=N, files; see train_mix",
    )  # fmt: skip
    parser.add_argument("--flags", default="", help="more flags for the encoder's trainings")
    given = parser.parse_args()
    given.out = given.out.resolve()
    given.starts = dict(start.split("=", 1) for start in given.starts)
    if bool(given.file) == bool(given.train) or bool(given.train) != bool(given.test):
        parser.error("give a file for the folds, or both --train and --test")
    if given.train:
        predict_unseen(given)
    else:
        cross_validate(given)


def cross_validate(given: argparse.Namespace) -> None:
    """Train and score every fold that is asked for; print the table so far."""
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


def predict_unseen(given: argparse.Namespace) -> None:
    """Train the encoder on one file, after the world, and predict another that it has not seen."""
    predictions, given.out = given.out, given.out.with_name(f"{given.out.name}.runs")
    given.out.mkdir(parents=True, exist_ok=True)
    check_leaks([str(given.train)], read_examples(given.test))
    flags = ["--train_file", str(given.train.resolve())]
    flags += ["--validation_file", str(given.train.resolve()), "--max_eval_samples", "20"]
    flags += [*fewer_paragraphs(given, "encoder", given.copies), *mix_flags(given, "encoder")]
    flags += ["--max_cpu_minutes", str(given.minutes)]
    if given.world_minutes or given.starts:
        flags += ["--model_name_or_path", str(train_on_world(given, "encoder") / "best")]
    run = given.out / f"encoder_seed{given.seed}"
    train(given, "encoder", run, flags)
    command = [sys.executable, "-m", "twowiki", "predict", str(run / "best")]
    subprocess.run([*command, str(given.test), str(predictions)], check=True, cwd=ROOT)


def train_fold(given: argparse.Namespace, settings: str, fold: int) -> None:
    """Train one setting on one fold, after the world where it asks for one."""
    if read_figures(given, settings, fold) is not None:
        return
    model = settings.removesuffix("_world")
    folder = given.out / f"fold_{fold}"
    flags = ["--train_file", str(folder / "train.json")]
    flags += ["--validation_file", str(folder / "dev.json")]
    flags += [*fewer_paragraphs(given, model, given.copies), *mix_flags(given, model)]
    flags += ["--max_cpu_minutes", str(given.minutes)]
    if settings.endswith("_world"):
        flags += ["--model_name_or_path", str(train_on_world(given, model) / "best")]
    train(given, model, run_folder(given, settings, fold), flags)
    write_figures(given, settings, fold)


def run_folder(given: argparse.Namespace, settings: str, fold: int) -> Path:
    """Give the folder of a fold's training; each seed has its own."""
    folder: Path = given.out / settings / f"fold_{fold}{seed_name(given)}"
    return folder


def seed_name(given: argparse.Namespace) -> str:
    """Give what a seed adds to a folder's name: nothing for the usual one."""
    return "" if given.seed == USUAL_SEED else f"_seed{given.seed}"


def figures_file(given: argparse.Namespace, settings: str, fold: int) -> Path | None:
    """Give the file of a fold's figures; None where they are not kept."""
    name = f"{settings}_seed{given.seed}_fold{fold}_of_{given.folds}.json"
    return given.figures / name if given.figures else None


def read_figures(given: argparse.Namespace, settings: str, fold: int) -> dict[str, Any] | None:
    """Give the figures of a finished fold, kept or from its run; None where there are none."""
    path = figures_file(given, settings, fold)
    if path is not None and path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if kept["asked"] != asked_of(given, settings):
            sys.exit(f"{path} holds figures of other settings: give another --figures")
        return kept
    return figures_of_run(given, settings, fold)


def asked_of(given: argparse.Namespace, settings: str) -> dict[str, Any]:
    """Give what the figures of a fold depend on beside its setting and number."""
    names = "minutes paragraphs copies folds seed mix flags".split()
    if settings.endswith("_world"):
        names += ["world", "world_minutes"]
    return {name: getattr(given, name) for name in names}


def figures_of_run(given: argparse.Namespace, settings: str, fold: int) -> dict[str, Any] | None:
    """Score a finished run: each item's figures by id, and what the report says of the training."""
    found = read_run(run_folder(given, settings, fold))
    if found is None:
        return None
    predictions, report = found
    gold = json.loads((given.out / f"fold_{fold}" / "dev.json").read_text(encoding="utf-8"))
    scored = twowiki.score(predictions, gold)
    kept = ("steps", "cpu_seconds", "selection")
    config = ("per_device_train_batch_size", "train_paragraphs", "train_copies")
    return {
        "asked": asked_of(given, settings),
        "items": {
            item["_id"]: [round(row[name], 4) for name in FIGURES]
            for item, row in zip(gold, scored.per_example(), strict=True)
        },
        "signature": scored.signature,
        "without": report["scores"].get("without", {}),
        **{name: report[name] for name in kept if name in report},
        "config": {name: report["config"][name] for name in config},
    }


def write_figures(given: argparse.Namespace, settings: str, fold: int) -> None:
    """Keep the figures of a fold that has just been done, where they are kept."""
    path, found = figures_file(given, settings, fold), figures_of_run(given, settings, fold)
    if path is not None and found is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found) + "\n", encoding="utf-8")


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


def mix_flags(given: argparse.Namespace, model: str) -> list[str]:
    """Give the flags that add to the encoder's real items."""
    return ["--train_mix", *given.mix] if given.mix and model == "encoder" else []


def world_run(given: argparse.Namespace, model: str) -> Path:
    """Give the folder of a model's run on a world: one that was given, or this bench's own."""
    return Path(given.starts.get(model, given.out / f"world{seed_name(given)}" / model)).resolve()


def train(given: argparse.Namespace, model: str, folder: Path, flags: list[str]) -> None:
    """Start train.py, or let it go on; nothing if its report is there."""
    if (folder / "report.json").is_file():
        return
    command = [sys.executable, str(ROOT / "train.py"), "--output_dir", str(folder)]
    command += ["--seed", str(given.seed)]
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


def half() -> list[str]:
    """Ask for bf16 where the processor computes in it; elsewhere it takes many times as long."""
    from torch.cpu import get_capabilities

    able = get_capabilities()
    return ["--bf16"] if able.get("amx_bf16") or able.get("avx512_bf16") else []


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
    cheap = ["--backbone_dropout", "0", *half()]
    own = ["--task", "encoder", "--model_name_or_path", given.backbone]
    return [*own, *rates, *cheap, *given.flags.split()]


def show(given: argparse.Namespace, items: list[Example]) -> None:
    """Print the table of the settings whose folds are all done, and the tests of the pairs."""
    rows: dict[str, Any] = {}
    runs: dict[str, list[dict[str, Any]]] = {}
    notes = []
    for settings in SETTINGS:
        found = [read_figures(given, settings, fold) for fold in range(given.folds)]
        done = [one for one in found if one is not None]
        if len(done) < given.folds:
            notes.append(f"{settings}: {len(done)} of {given.folds} folds are done")
            continue
        by_id = {name: row for one in done for name, row in one["items"].items()}
        rows[settings] = numpy.array([by_id[item.id] for item in items])
        runs[settings] = done
    print(f"\n{len(items)} real items, {given.folds} folds, seed {given.seed}")
    for model in ("baseline", "encoder"):
        print(told_of_world(given, model))
    print()
    print(f"| settings | steps | {' | '.join(FIGURES)} |\n|---|---|{'---|' * len(FIGURES)}")
    for settings, values in rows.items():
        figures = " | ".join(f"{value:.2f}" for value in values.mean(axis=0))
        print(f"| {settings} | {sum(run['steps'] for run in runs[settings])} | {figures} |")
    for one, other in PAIRS:
        if one in rows and other in rows:
            p_values = paired_randomization(rows[one], rows[other])
            figures = " | ".join(f"{p:.4f}" for p in p_values)
            print(f"| p, {one} against {other} | | {figures} |")
    for settings, values in rows.items():
        show_by_type(settings, values[:, -1], items, runs[settings])
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


def show_by_type(
    settings: str, joint_f1: Any, items: list[Example], runs: list[dict[str, Any]]
) -> None:
    """Print joint F1 by type, what the decoder derives is worth, and what the selection loses."""
    minutes = numpy.mean([run["cpu_seconds"] for run in runs]) / 60
    config = runs[-1]["config"]
    batch = config["per_device_train_batch_size"]
    paragraphs, copies = config["train_paragraphs"], config["train_copies"]
    read = f"{copies} draws of {paragraphs} paragraphs" if paragraphs else "whole contexts"
    print(f"\n{settings}: {minutes:.1f} CPU minutes a fold, batches of {batch}, {read}")
    types = {
        item.type: [i for i, one in enumerate(items) if one.type == item.type] for item in items
    }
    parts = [f"{name} {joint_f1[places].mean():.2f}" for name, places in types.items()]
    print(f"{settings}, joint F1: {', '.join(parts)}")
    sizes = [len(run["items"]) for run in runs]
    for name in runs[0]["without"]:
        values = [run["without"][name]["joint_f1"] for run in runs]
        value = numpy.average(values, weights=sizes)
        print(f"{settings} without {name}, joint F1: {value:.2f} (mean over the folds)")
    if all("selection" in run for run in runs):
        values = [run["selection"]["recall"] for run in runs]
        print(f"{settings}, gold paragraphs kept: {numpy.average(values, weights=sizes):.2f}")
    print(f"each fold: {runs[0]['signature']}")


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
