"""Memory and time of a whole release on the CPU, stage by stage: from its files to the first batch.

A made-up release (`--examples`, 20,000 by default, 167,454 for the real size) with its share of
12,576 validation questions is counted for its vocabulary, encoded for the baseline and for the
encoder model, with so many processes; then the same start is made again from the cache, an epoch is
planned, batches are collated, and gold predictions are decoded and scored. Each stage is a process
of its own. Prints a Markdown table: CPU seconds (all processes of the stage; its imports are the
first row), examples per CPU second without the imports, and the most memory of a process.

In parts: `--folder` keeps what was made, and `--stages` names those that run now. `--quick` shows
that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from made_up_release import TYPES, example

STAGES = ("write", "vocabulary", "encode", "start again", "plan", "collate", "decode and score")
DEV_SHARE = 12_576 / 167_454
KINDS = ("baseline", "encoder")
BATCH = 16


def main() -> None:
    if "--stage" in sys.argv:
        stage, kind, folder, size, workers = sys.argv[2:]
        print(json.dumps(measure(stage, kind, Path(folder), int(size), int(workers))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=0, help="processes that encode; 0 = cores")
    parser.add_argument("--folder", default="", help="where the data stays; empty = nowhere")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--quick", action="store_true", help="few examples, no meaning")
    given = parser.parse_args()
    size = 40 if given.quick else given.examples
    validation = round(size * DEV_SHARE)
    print(f"{size:,} training examples, {validation:,} of validation; processes: {given.workers}\n")
    print("| stage | model | CPU s | examples/CPU s | peak MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or temporary
        Path(folder).mkdir(parents=True, exist_ok=True)
        first = run("imports", "", folder, size, given.workers)
        imports = first["cpu"]
        print(f"| imports | - | {imports:.1f} | - | {first['peak']:,.0f} |", flush=True)
        for stage in given.stages:
            for kind in ("",) if stage == "write" else KINDS:
                found = run(stage, kind, folder, size, given.workers)
                spent = found["cpu"] - imports
                counted = found["examples"] if spent > 1 else 0  # less is the imports' own noise
                rate = f"{counted / spent:,.0f}" if counted else "-"
                cells = f"{found['cpu']:.1f} | {rate} | {found['peak']:,.0f}"
                print(f"| {stage} | {kind or '-'} | {cells} |", flush=True)


def run(stage: str, kind: str, folder: str, size: int, workers: int) -> dict[str, Any]:
    """Run a stage in a process of its own."""
    command = [sys.executable, __file__, "--stage", stage, kind, folder, str(size), str(workers)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{stage} {kind}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(stage: str, kind: str, folder: Path, size: int, workers: int) -> dict[str, Any]:
    """Do a stage; return its CPU seconds, examples and peak memory."""
    examples = 0
    if stage == "imports":
        import twowiki.training.baseline
        import twowiki.training.encoder  # noqa: F401
    elif stage == "write":
        examples = write(folder, size)
    else:
        examples = work(stage, kind, folder, size, workers)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return {
        "cpu": sum(one.ru_utime + one.ru_stime for one in used),
        "peak": max(one.ru_maxrss for one in used) / unit,
        "examples": examples,
    }


def write(folder: Path, size: int) -> int:
    """Write the release, and a small backbone with a tokenizer."""
    from gpu_train import write_backbone

    rng, kinds = Random(13), list(TYPES)
    validation = round(size * DEV_SHARE)
    for split, count in (("train", size), ("dev", validation)):
        with (folder / f"{split}.json").open("w", encoding="utf-8") as stream:
            for number in range(count):
                record = json.dumps(example(rng, rng.choice(kinds), number))
                stream.write(("[" if number == 0 else ", ") + record)
            stream.write("]")
    sample = [example(rng, rng.choice(kinds), number) for number in range(200)]
    write_backbone(folder / "backbone", sample, vocabulary=8000, quick=True)
    return size + validation


def work(stage: str, kind: str, folder: Path, size: int, workers: int) -> int:
    """Do what a start of training does, and then the stage; return the examples of the stage."""
    from twowiki.training.data import find_sources

    task = start(kind, folder, workers)
    if stage == "vocabulary":  # the relations, where the tokenizer has its own
        train, validation = task.sources = find_sources(task.config)
        task.contents = train.content(task.folder), validation.content(task.folder)
        task.make_processor(train, None, {})
        return size
    task.prepare(None)
    if stage in ("encode", "start again"):
        return len(task.train) + len(task.validation)
    loader, _ = task.make_loaders()
    if stage == "plan":
        return sum(len(part) for step in loader.plan.steps(0) for part in step)
    if stage == "collate":
        count = min(len(task.train), 4000)
        for first in range(0, count, BATCH):
            loader.collate(range(first, min(first + BATCH, count)))
        return count
    from twowiki.training.evaluation import ceiling_predictions

    examples = task.examples[:2000]
    task.score_joint(ceiling_predictions(task.validation, examples, task.model_config))
    return len(examples)


def start(kind: str, folder: Path, workers: int) -> Any:
    """Return the task of a kind of model."""
    from twowiki.training.task import make_task, read_settings

    flags = ["--task", kind, "--data_dir", str(folder), "--cache_dir", str(folder / kind)]
    flags += ["--output_dir", str(folder / "run"), "--preprocessing_num_workers", str(workers)]
    if kind == "encoder":
        flags += ["--model_name_or_path", str(folder / "backbone")]
    return make_task(read_settings(flags))


if __name__ == "__main__":
    main()
