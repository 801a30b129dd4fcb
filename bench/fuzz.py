"""Hostile inputs for a given time: readers, the scorer, every command, kills of long commands.

    python bench/fuzz.py --minutes 60 --seed 1 --out fuzz.json

Each trial has its own seed and the areas share the time. A trial fails with a traceback (any
exception or sentence that is not meant for people), a hang, a loss (a file of the user changed or
removed, a result that differs from an unbroken run) or a wrong result. The figures are written
every minute, at the end and on Ctrl-C; the table goes to standard output. `--only "commands:17"`
repeats one trial. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
os.environ |= {"ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}

from fuzz_commands import Commands, Wrong  # noqa: E402
from fuzz_kills import Kills  # noqa: E402
from fuzz_values import AREAS  # noqa: E402

SHARES = {"commands": 0.45, "kills": 0.3}  # of the time; the readers share the rest
KINDS = ("traceback", "hang", "loss", "wrong")
KEPT = 40  # findings that are written in full
BATCH = 200  # trials of a reader between two looks at the clock


class Area:
    """Trials of one sort, with what came of them."""

    def __init__(self, name: str, trial: Callable[[Random], Any], share: float, batch: int) -> None:
        self.name, self.trial, self.share, self.batch = name, trial, share, batch
        self.trials, self.seconds = 0, 0.0
        self.found: Counter[str] = Counter()
        self.by_command: Counter[str] = Counter()
        self.findings: list[dict[str, str]] = []

    def run(self, seed: int) -> None:
        """Run a batch of trials."""
        started = time.monotonic()
        for _ in range(self.batch):
            self.one(seed, self.trials)
            self.trials += 1
        self.seconds += time.monotonic() - started

    def one(self, seed: int, number: int) -> None:
        """Run one trial and count what came of it."""
        try:
            done = self.trial(Random(f"{seed}:{self.name}:{number}"))
            if isinstance(done, str):
                self.by_command[done] += 1
        except Wrong as wrong:
            self._note(number, wrong.kind, wrong.detail)
        except AssertionError as error:
            self._note(number, "wrong", str(error) or traceback.format_exc())
        except Exception:
            self._note(number, "traceback", traceback.format_exc())

    def _note(self, number: int, kind: str, detail: str) -> None:
        self.found[kind] += 1
        print(f"{self.name}:{number}: {kind}: {detail[:600]!a}", file=sys.stderr, flush=True)
        if len(self.findings) < KEPT:
            self.findings.append({"trial": str(number), "kind": kind, "detail": detail})


def make_areas(folder: Path, names: list[str]) -> list[Area]:
    """Return the areas of these names; all of them without a name."""
    rest = (1 - sum(SHARES.values())) / len(AREAS)
    areas = [Area(name, trial, rest, BATCH) for name, trial in AREAS.items()]
    areas = [area for area in areas if not names or area.name in names]
    for name, make in (("commands", Commands), ("kills", Kills)):
        if not names or name in names:
            areas.append(Area(name, make(folder / name).trial, SHARES[name], 1))
    return areas


def figures(areas: list[Area], started: float, seed: int) -> dict[str, Any]:
    """Return all figures as JSON."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seed": seed,
        "minutes": round((time.monotonic() - started) / 60, 1),
        "cpu_minutes": round(sum(one.ru_utime + one.ru_stime for one in (usage, children)) / 60, 1),
        "peak_memory_mb": usage.ru_maxrss >> 10,
        "areas": {
            area.name: {
                "trials": area.trials,
                "seconds": round(area.seconds),
                **{kind: area.found[kind] for kind in KINDS},
                "by_command": dict(sorted(area.by_command.items())),
                "findings": area.findings,
            }
            for area in areas
        },
    }


def table(found: dict[str, Any]) -> str:
    """Return the figures as a table."""
    lines = [
        "| area | trials | tracebacks | hangs | losses | wrong results |",
        "|---|---|---|---|---|---|",
    ]
    for name, area in found["areas"].items():
        counts = " | ".join(f"{area[kind]:,}" for kind in KINDS)
        lines.append(f"| {name} | {area['trials']:,} | {counts} |")
    lines.append(
        f"\n{found['minutes']} minutes, {found['cpu_minutes']} CPU minutes, "
        f"peak {found['peak_memory_mb']:,} MB, seed {found['seed']}"
    )
    return "\n".join(lines)


def fuzz(areas: list[Area], minutes: float, seed: int, out: Path) -> dict[str, Any]:
    """Run the areas in turn until the time is over or Ctrl-C; write the figures."""
    started = written = time.monotonic()
    write(out, figures(areas, started, seed))
    with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() < started + 60 * minutes:
            min(areas, key=lambda area: area.seconds / area.share).run(seed)
            if time.monotonic() > written + 60:
                written = time.monotonic()
                write(out, figures(areas, started, seed))
    found = figures(areas, started, seed)
    write(out, found)
    return found


def write(out: Path, found: dict[str, Any]) -> None:
    aside = out.with_name(f"{out.name}.new")
    aside.write_text(
        json.dumps(found, indent=1) + "\n", encoding="utf-8", errors="backslashreplace"
    )
    aside.replace(out)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--areas", nargs="+", help="only these, such as commands or kills")
    parser.add_argument("--only", help="one trial, as AREA:NUMBER")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="twowiki-fuzz-"))
    try:
        one = [options.only.rpartition(":")[0]] if options.only else []
        areas = make_areas(folder, options.areas or one)
        if options.only:
            name, _, number = options.only.rpartition(":")
            (area,) = (one for one in areas if one.name == name)
            area.one(options.seed, int(number))
            print(area.findings or "nothing was found")
            return 1 if area.findings else 0
        found = fuzz(areas, options.minutes, options.seed, options.out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table(found))
    return 1 if any(area[kind] for area in found["areas"].values() for kind in KINDS) else 0


if __name__ == "__main__":
    sys.exit(main())
