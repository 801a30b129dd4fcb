"""What bench/compare_encoder.py trains on: worlds, questions of real pages, items without leaks.

Everything is made once, by `twowiki generate`, and drawn with a fixed seed.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from twowiki.data.schema import Example, to_official
from twowiki.training.mixing import gold_paragraph_keys

Record = dict[str, Any]
SPLITS = ("train", "dev", "test")
WORLDS = {
    "mixed": ("people=8000,films=6000,seed=11", "--limit-per-type", "4000"),
    "inference": (
        "people=6000,films=600,seed=12,words=45",
        "--types", "inference", "--limit-per-type", "2500",
    ),
}  # fmt: skip
WORLD_QUESTIONS = {
    "comparison": 2300, "bridge_comparison": 2300, "compositional": 5600, "inference": 2200,
}  # fmt: skip
DUMP_QUESTIONS = 150  # of each type
HELD_OUT = 30  # made-up questions of each type that a run on worlds is scored on
SEED = 1


def make_world(folder: Path) -> Path:
    """Make the questions of fictional worlds in a folder, once; return the file of those to train.

    `dev.json` beside it holds the questions that are held out.
    """
    made = folder / "train.json"
    if not made.is_file():
        records: list[Record] = []
        for name, (settings, *flags) in WORLDS.items():
            out = folder / name
            generate("--world", settings, "--like", "release", *flags, "--out", str(out))
            records += generated(out)
        parts = draw(records, lambda kind: WORLD_QUESTIONS[kind], held_out=HELD_OUT)
        for name, part in zip(("dev.json", "train.json"), parts, strict=True):
            (folder / name).write_text(json.dumps(part), encoding="utf-8")
    return made


def make_dump_questions(
    dump: Path, folder: Path, train: list[Example], test: list[Example]
) -> Path:
    """Generate questions from the pages of training items alone, once; return their file.

    Args:
        dump: folder with wikidata.json and paragraphs.jsonl of real pages.
        folder: where they are made.
        train: the training items, whose paragraphs are the pages that may be used.
        test: the items that are scored; a page that is in one of them is not used.
    """
    made = folder / "questions.json"
    if not made.is_file():
        seen = {title for item in test for title, _ in item.context}
        titles = {title for item in train for title, _ in item.context} - seen
        if folder.is_dir():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        pages = folder / "paragraphs.jsonl"
        lines = (dump / "paragraphs.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        pages.write_text(
            "".join(line for line in lines if json.loads(line)["title"] in titles), "utf-8"
        )
        out = folder / "generated"
        generate(
            "--wikidata", str(dump / "wikidata.json"), "--paragraphs", str(pages),
            "--out", str(out), "--limit-per-type", "all", "--splits", "paper",
        )  # fmt: skip
        _, drawn = draw(generated(out), lambda kind: DUMP_QUESTIONS)
        made.write_text(json.dumps(drawn), encoding="utf-8")
    return made


def without_leaks(train: list[Example], test: Iterable[Example]) -> list[Example]:
    """Return the training items that share no gold paragraph with a test item."""
    held = {key for item in test for key, _ in gold_paragraph_keys(item)}
    return [item for item in train if held.isdisjoint(key for key, _ in gold_paragraph_keys(item))]


def write_items(path: Path, items: Iterable[Example]) -> Path:
    """Write items as an official file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([to_official(item) for item in items]), encoding="utf-8")
    return path


def generate(*arguments: str) -> None:
    """Run `twowiki generate`; its report goes where it says."""
    command = [sys.executable, "-m", "twowiki", "generate", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-4000:])


def generated(folder: Path) -> list[Record]:
    """Return the questions of all splits of a generated data set."""
    texts = ((folder / f"{split}.json").read_text(encoding="utf-8") for split in SPLITS)
    return [record for text in texts for record in json.loads(text)]


def draw(
    records: Iterable[Record], most: Callable[[str], int], *, held_out: int = 0
) -> tuple[list[Record], list[Record]]:
    """Return up to `held_out` questions of each type, and up to `most(type)` others, shuffled."""
    by_type: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_type[record["type"]].append(record)
    chance = random.Random(SEED)
    held: list[Record] = []
    drawn: list[Record] = []
    for kind, group in by_type.items():
        chance.shuffle(group)
        held += group[:held_out]
        drawn += group[held_out : held_out + most(kind)]
    chance.shuffle(drawn)
    counts = Counter(record["type"] for record in drawn)
    print("made", ", ".join(f"{kind} {n:,}" for kind, n in sorted(counts.items())), flush=True)
    return held, drawn
