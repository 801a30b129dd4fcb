"""Runs that are killed at random moments of every stage, or find a full disk, and then go on.

A process of its own imports the package once and forks for each run, which saves seconds a run:
  python -m tests.generation.stops kills FOLDER SEED TRIALS
  python -m tests.generation.stops full FOLDER SIZE SIZE ...
It prints a JSON object; `FOLDER/whole` and `FOLDER/stopped` hold the unbroken and the stopped run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from twowiki.cli.main import main
from twowiki.generation import pipeline  # noqa: F401  imported before the forks

WORLD = Path(__file__).parents[1] / "data" / "world"
STAGES = ("wikidata", "paragraphs", "select", "ground", "candidates", "samples", "contexts",
          "splits")  # fmt: skip


def command(out: Path) -> list[str]:
    return [
        "generate", "--wikidata", str(WORLD / "wikidata.json"), "--paragraphs",
        str(WORLD / "paragraphs.jsonl"), "--out", str(out), "--limit-per-type", "15",
        "--workers", "1",
    ]  # fmt: skip


def forked(out: Path, errors: Path, before: Callable[[], object] = int) -> int:
    """Start a run in a process of its own; give its id."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        stream = os.open(errors, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stream, 2)
        before()
        code = main(command(out))
    finally:
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_whole(folder: Path) -> dict[str, float]:
    """Make the unbroken run; give the seconds of each stage."""
    assert ended(forked(folder / "whole", folder / "errors")) == 0, (folder / "errors").read_text()
    stages = folder / "whole" / "work" / ".twowiki"
    return {
        stage: (stages / stage / "_manifest.json").stat().st_mtime
        - (stages / stage / "_key").stat().st_mtime
        for stage in STAGES
    }


def kill_in_stages(folder: Path, seed: int, trials: int) -> dict[str, Any]:
    """Kill a run at moments of each stage in turn, then let it finish; count the kills."""
    seconds, rng = run_whole(folder), Random(seed)
    out = folder / "stopped"
    kills = dict.fromkeys(STAGES, 0)
    for stage in STAGES:
        place = out / "work" / ".twowiki" / stage
        for trial in range(1, trials + 1):
            child = forked(out, folder / "errors")
            while not (place / "_key").exists():
                time.sleep(0.001)
            time.sleep(rng.random() * seconds[stage] * trial / trials)  # the first ones early
            finished = (place / "_manifest.json").exists()
            os.kill(child, signal.SIGKILL)
            ended(child)
            kills[stage] += not finished
    code = ended(forked(out, folder / "errors"))
    return {"kills": kills, "code": code, "errors": (folder / "errors").read_text("utf-8")}


def fill_disk(folder: Path, sizes: list[int]) -> dict[str, Any]:
    """Run with files that may have so many bytes, as on a full disk, then without a limit."""
    run_whole(folder)
    out, found = folder / "stopped", []
    for size in [*sizes, resource.RLIM_INFINITY]:

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        code = ended(forked(out, folder / "errors", limit))
        finished = len(list(out.glob("work/.twowiki/*/_manifest.json")))
        text = (folder / "errors").read_text("utf-8")
        found.append({"size": size, "code": code, "finished": finished, "errors": text})
    return {"runs": found}


if __name__ == "__main__":
    what, place, *rest = sys.argv[1:]
    numbers = [int(word) for word in rest]
    Path(place).mkdir(parents=True, exist_ok=True)
    if what == "kills":
        print(json.dumps(kill_in_stages(Path(place), *numbers)))
    else:
        print(json.dumps(fill_disk(Path(place), numbers)))
