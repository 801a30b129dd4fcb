"""Cross-validation on real items: the encoder model against the corrected baseline.

  nice -n 19 .venv/bin/python bench/compare_encoder.py dev.json --backbone PATH --out runs/cv

Every item is predicted once by a model that has not seen it. Five settings: both models from
scratch and both trained on fictional worlds first, each with the same processor minutes on real
items (one thread), and the encoder after the worlds alone, without any real item. Nothing is
chosen on the items that are scored: a fold's model is the one at its end. `--mix renamed=2` adds
renamed copies of the encoder's real items, `--dump DIR` questions that are generated from the
pages of these items alone; `--real N` keeps N real items of a fold, for a learning curve.
`--starts` takes models that were trained on worlds before. Each training is a process of its own;
OUT keeps what is done, a training that was cut off goes on from its last checkpoint, and a run
with `--settings` or `--only-folds` does a part. Prints the table so far, with the paired
randomization test of the encoder against the baseline.

  python bench/compare_encoder.py --backbone PATH --train dev.json --test other.json --out said.json

trains the encoder once, on the worlds and then on all items of the first file, within the same
limits (`--minutes`, `--world-minutes`), and predicts the second, of which nothing is used before.
A training item with a gold paragraph of the test file is left out. With `--figures DIR` each fold
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
from encoder_data import make_dump_questions, make_world, without_leaks, write_items

import twowiki
from twowiki.data.schema import Example
from twowiki.data.sources import read_examples
from twowiki.metric.significance import paired_randomization

ROOT = Path(__file__).resolve().parent.parent
USUAL_SEED = 13
FIGURES = ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
SETTINGS = ("baseline", "encoder", "baseline_world", "encoder_world", "encoder_world_alone")
ALONE = "encoder_world_alone"
PAIRS = (("encoder", "baseline"), ("encoder_world", "baseline_world"))
AFTER_WORLD = ("--learning_rate", "5e-5", "--head_learning_rate", "1.5e-4")  # gentle: few items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="official file of real items")
    parser.add_argument("--train", type=Path, help="official file to train on, instead of folds")
    parser.add_argument("--test", type=Path, help="official file to predict, with --train")
    parser.add_argument("--seed", type=int, default=USUAL_SEED, help="of the trainings")
    parser.add_argument("--figures", type=Path, help="folder of the figures of finished folds")
    parser.add_argument("--backbone", required=True, help="folder or name of the encoder's start")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "encoder_cv")
    parser.add_argument("--minutes", type=float, default=10.0, help="CPU minutes of a fold")
    parser.add_argument("--world-minutes", type=float, default=90.0, help="of training on worlds")
    parser.add_argument(
        "--world", type=Path, help="official file of made-up questions, instead of the bench's own"
    )
    parser.add_argument("--dump", type=Path, help="folder: wikidata.json, paragraphs.jsonl")
    parser.add_argument("--real", type=int, default=0, help="real items of a fold; 0 = all")
    parser.add_argument(
        "--starts", nargs="*", default=[], metavar="MODEL=RUN",
        help="baseline=DIR, encoder=DIR: runs on a world to go on from, instead of training them",
    )  # fmt: skip
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
        train, test = parts_of(items, fold, given.folds)
        write_items(given.out / f"fold_{fold}" / "train.json", train)
        write_items(given.out / f"fold_{fold}" / "dev.json", test)
    note.write_text(json.dumps(said), encoding="utf-8")


def parts_of(items: list[Example], fold: int, folds: int) -> tuple[list[Example], list[Example]]:
    """Return the items that a fold trains on, without leaks, and those that it is scored on."""
    test = items[fold::folds]
    others = [item for i, item in enumerate(items) if i % folds != fold]
    return without_leaks(others, test), test


def predict_unseen(given: argparse.Namespace) -> None:
    """Train the encoder on one file, after the worlds; predict another that it has not seen."""
    predictions, given.out = given.out, given.out.with_name(f"{given.out.name}.runs")
    items, test = list(read_examples(given.train)), list(read_examples(given.test))
    kept = without_leaks(items, test)
    print(f"{len(items) - len(kept)} items left out: their gold paragraphs are in the test file")
    run = given.out / f"encoder_seed{given.seed}"
    file = write_items(given.out / "train.json", kept)
    flags = ["--max_eval_samples", "20", "--max_cpu_minutes", str(given.minutes)]
    flags += ["--train_file", str(file), *mix_flags(given, "encoder", given.out, kept, test)]
    before = None
    if given.world_minutes or given.starts:
        before = train_on_world(given, "encoder")
    flags += ["--validation_file", str(world_files(given)[1] if before else file)]
    flags += after_world(before, "encoder")
    train(given, "encoder", run, flags)
    predict(run, given.test, predictions)


def predict(run: Path, items: Path, predictions: Path) -> None:
    """Predict the items of a file with a run's model."""
    command = [sys.executable, "-m", "twowiki", "predict", str(run / "best")]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, str(items), str(predictions)], check=True, env=environment)


def train_fold(given: argparse.Namespace, settings: str, fold: int) -> None:
    """Train one setting on one fold, after the worlds where it asks for them."""
    if read_figures(given, settings, fold) is not None:
        write_figures(given, settings, fold)
        return
    model = settings.removesuffix("_alone").removesuffix("_world")
    folder = given.out / f"fold_{fold}"
    before = train_on_world(given, model) if "_world" in settings else None
    run = run_folder(given, settings, fold)
    if settings == ALONE:
        run.mkdir(parents=True, exist_ok=True)
        predict(before or run, folder / "dev.json", run / "predictions.json")
    else:
        kept, test = (list(read_examples(folder / f"{name}.json")) for name in ("train", "dev"))
        kept = kept[: given.real or len(kept)]
        file = write_items(folder / f"train{len(kept)}.json", kept)
        flags = ["--train_file", str(file), "--validation_file", str(folder / "dev.json")]
        flags += mix_flags(given, model, folder / f"made{len(kept)}", kept, test)
        flags += ["--max_cpu_minutes", str(given.minutes), *after_world(before, model)]
        train(given, model, run, flags)
    write_figures(given, settings, fold)


def after_world(before: Path | None, model: str) -> list[str]:
    """Return the flags of a training that goes on from a run on worlds."""
    if before is None:
        return []
    rates = AFTER_WORLD if model == "encoder" else ()
    return ["--model_name_or_path", str(before / "best"), *rates]


def run_folder(given: argparse.Namespace, settings: str, fold: int) -> Path:
    """Give the folder of a fold's training; each seed has its own."""
    folder: Path = given.out / settings / f"fold_{fold}{real_name(given)}{seed_name(given)}"
    return folder


def real_name(given: argparse.Namespace) -> str:
    """Give what a number of real items adds to a folder's name: nothing for all."""
    return f"_real{given.real}" if given.real else ""


def seed_name(given: argparse.Namespace) -> str:
    """Give what a seed adds to a folder's name: nothing for the usual one."""
    return "" if given.seed == USUAL_SEED else f"_seed{given.seed}"


def figures_file(given: argparse.Namespace, settings: str, fold: int) -> Path | None:
    """Give the file of a fold's figures; None where they are not kept."""
    real = real_name(given) if settings != ALONE else ""
    name = f"{settings}{real}_seed{given.seed}_fold{fold}_of_{given.folds}.json"
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
    names = ["folds", "seed", "flags"]
    names += [] if settings == ALONE else ["minutes", "mix", "real"]
    names += ["world_minutes"] if "_world" in settings else []
    dump = {} if settings == ALONE else {"dump": bool(given.dump)}
    return {name: getattr(given, name) for name in names} | dump


def figures_of_run(given: argparse.Namespace, settings: str, fold: int) -> dict[str, Any] | None:
    """Score a finished run: each item's figures by id, and what the report says of the training."""
    found = read_run(given, settings, fold)
    if found is None:
        return None
    predictions, report = found
    gold = json.loads((given.out / f"fold_{fold}" / "dev.json").read_text(encoding="utf-8"))
    scored = twowiki.score(predictions, gold)
    return {
        "asked": asked_of(given, settings),
        "items": {
            item["_id"]: [round(row[name], 4) for name in FIGURES]
            for item, row in zip(gold, scored.per_example(), strict=True)
        },
        "signature": scored.signature,
        **report,
    }


def write_figures(given: argparse.Namespace, settings: str, fold: int) -> None:
    """Keep the figures of a fold that is done, where they are kept and are not there yet."""
    path = figures_file(given, settings, fold)
    if path is None or path.is_file():
        return
    found = figures_of_run(given, settings, fold)
    if found is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found) + "\n", encoding="utf-8")


def train_on_world(given: argparse.Namespace, model: str) -> Path:
    """Give the run of a model on fictional worlds; train it if it is not there."""
    folder = world_run(given, model)
    if model not in given.starts:
        made, held = world_files(given)
        flags = ["--train_file", str(made), "--validation_file", str(held)]
        train(given, model, folder, [*flags, "--max_cpu_minutes", str(given.world_minutes)])
    return folder


def world_files(given: argparse.Namespace) -> tuple[Path, Path]:
    """Return the files of made-up questions to train and to validate on."""
    if given.world:
        return given.world, given.world
    made = make_world(given.out / "made")
    return made, made.with_name("dev.json")


def mix_flags(
    given: argparse.Namespace, model: str, folder: Path, train: list[Example], test: list[Example]
) -> list[str]:
    """Give the flags that add to the encoder's real items."""
    mix = list(given.mix) if model == "encoder" else []
    if given.dump and model == "encoder":
        mix.append(str(make_dump_questions(given.dump, folder, train, test)))
    return ["--train_mix", *mix] if mix else []


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
        *"--resume_from_checkpoint auto --save_total_limit 1 --save_steps 50".split(),
        *"--num_train_epochs 100000 --warmup_steps 20 --eval_steps 1000000000".split(),
        *"--early_stopping_patience 0".split(),
    ]
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
    """Give the encoder's settings: few paragraphs, read at once, so that more questions fit."""
    rates = "--learning_rate 1.5e-4 --head_learning_rate 6e-4 --per_device_train_batch_size 4"
    short = "--select_paragraphs 4 --select_threshold 0.05 --fusion_layers 0"
    short += " --attn_implementation twowiki_varlen"  # no padding: a quarter less time
    cheap = "--support_weight 3 --dropout 0 --backbone_dropout 0"
    own = ["--task", "encoder", "--model_name_or_path", given.backbone]
    return [*own, *f"{rates} {short} {cheap} {given.flags}".split(), *half()]


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
    time = "on worlds alone" if settings == ALONE else "a fold"
    print(f"\n{settings}: {minutes:.1f} CPU minutes {time}, batches of {runs[-1]['batch']}")
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


def read_run(
    given: argparse.Namespace, settings: str, fold: int
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Give a finished run's predictions, and what its report says of the training."""
    folder = run_folder(given, settings, fold)
    said = (world_run(given, "encoder") if settings == ALONE else folder) / "report.json"
    if not said.is_file() or not (folder / "predictions.json").is_file():
        return None
    predictions, report = (
        json.loads(path.read_text(encoding="utf-8")) for path in (folder / "predictions.json", said)
    )
    kept = {name: report[name] for name in ("steps", "cpu_seconds", "selection") if name in report}
    if settings == ALONE:
        kept.pop("selection", None)  # it is of made-up questions
    kept["without"] = {} if settings == ALONE else report["scores"].get("without", {})
    kept["batch"] = report["config"]["per_device_train_batch_size"]
    return predictions, kept


if __name__ == "__main__":
    main()
