"""Scoring 12,576 predictions: ratios against the authors' algorithm, side by side in one run.

The reference is the authors' v1.1 algorithm written from its description (reference_evaluator.py);
on a quiet machine its whole process takes the 4.0-4.4 CPU seconds that the original takes. The
made-up release (made_up_release.py) has the real one's size: gold of about 58 MB with contexts,
17.6 MB of other names. Both sides run in turn; CPU seconds are user + system, medians are printed,
and the two must agree in all figures.

    python bench/bench_scoring.py [--examples 12576] [--rounds 5]
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_up_release
import numpy as np
import reference_evaluator

from twowiki.data.aliases import AliasTable, read_aliases
from twowiki.io.records import collector_paused
from twowiki.metric.gold_sources import open_gold
from twowiki.metric.predictions import read_predictions
from twowiki.metric.report import summarize
from twowiki.metric.results import METRIC_NAMES
from twowiki.metric.score import score
from twowiki.metric.scoring import Scorer
from twowiki.metric.settings import ScoreSettings
from twowiki.metric.significance import bootstrap_intervals, paired_randomization

HERE = Path(__file__).parent


def child_seconds(command: list[str]) -> tuple[float, str]:
    """Run a process; give its CPU seconds and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def own_seconds(action: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.process_time()
    found = action(*arguments)
    return time.process_time() - start, found


def compare(name: str, theirs: list[float], ours: list[float], least: float | None) -> None:
    """Print both medians and the median of the ratios of neighbouring runs."""
    ratio = statistics.median(one / other for one, other in zip(theirs, ours, strict=True))
    print(
        f"{name:34}  reference {statistics.median(theirs):6.2f} CPU s  "
        f"twowiki {statistics.median(ours):6.3f} CPU s  ratio {ratio:5.1f}"
        + (f"  (aim: {least:g})" if least else "")
    )


def check_equal(theirs: dict[str, float], ours: dict[str, float]) -> None:
    worst = max(abs(theirs[key] - ours[key]) for key in theirs)
    if worst > 1e-9:
        raise SystemExit(f"the two disagree by {worst}")


def whole_command(release: made_up_release.Release, rounds: int) -> None:
    """The process that a user starts, reading and printing included, intervals off."""
    files = [str(path) for path in release]
    reference = [sys.executable, str(HERE / "reference_evaluator.py"), *files]
    ours = [sys.executable, "-m", "twowiki", "score", *files, "--json"]
    theirs_seconds, our_seconds = [], []
    for _ in range(rounds):
        seconds, out = child_seconds(reference)
        theirs_seconds.append(seconds)
        rounded = json.loads(out)
        seconds, out = child_seconds(ours)
        our_seconds.append(seconds)
        found = json.loads(out)["metrics"]
        if any(round(found[key], 2) != value for key, value in rounded.items()):
            raise SystemExit("the printed figures differ")
    compare("whole command, version 1.1", theirs_seconds, our_seconds, 4)


def scoring_alone(release: made_up_release.Release, rounds: int) -> None:
    """Structures in memory: the figures alone, and `twowiki.score` with its checks and hashes."""
    predictions = json.loads(release.predictions.read_text(encoding="utf-8"))
    gold = json.loads(release.gold.read_text(encoding="utf-8"))
    with release.aliases.open(encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    said, true = read_predictions(predictions), [one for one, _ in open_gold(gold)]

    def figures(version: str, names: AliasTable) -> dict[str, float]:
        scorer = Scorer(ScoreSettings(version=version), names.aliases_of)
        with collector_paused():
            rows = [scorer.score_example(said.of(one.id), one) for one in true]
        return summarize([row.metrics for row in rows], METRIC_NAMES).metrics

    ways = {
        "scoring alone, version 1.1": ("1.1", figures, 10),
        "twowiki.score, version 1.1": (
            "1.1",
            lambda version, names: score(predictions, gold, names, version=version).metrics,
            None,
        ),
        "scoring alone, version 1.0": ("1.0", figures, None),
    }
    for name, (version, way, least) in ways.items():
        theirs_seconds, our_seconds = [], []
        for _ in range(rounds):
            seconds, ours = own_seconds(way, version, read_aliases(lines))
            our_seconds.append(seconds)
            spoilt = copy.deepcopy(predictions), gold if version == "1.1" else without_context(gold)
            seconds, theirs = own_seconds(reference_evaluator.evaluate, *spoilt, lines, version)
            theirs_seconds.append(seconds)
            check_equal(theirs, ours)
        compare(name, theirs_seconds, our_seconds, least)


def without_context(gold: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Copy the gold, which version 1.0 of the reference rewrites in place."""
    return [
        {key: copy.deepcopy(value) for key, value in record.items() if key != "context"}
        for record in gold
    ]


def resampling(count: int) -> None:
    """Intervals and the paired test of rows that are there already."""
    rows = np.random.default_rng(0).random((count, 16))
    for name, action, given in (
        ("1,000 bootstrap resamples", bootstrap_intervals, [rows]),
        ("10,000 rounds of the paired test", paired_randomization, [rows, rows[::-1]]),
    ):
        start = time.perf_counter()
        seconds, _ = own_seconds(action, *given)
        wall = time.perf_counter() - start
        print(f"{name:34}  {count:,} rows: {wall:.2f} s, {seconds:.2f} CPU s  (aim: 2 s)")


def help_text(rounds: int) -> None:
    command = [sys.executable, "-m", "twowiki", "score", "--help"]
    seconds = statistics.median(child_seconds(command)[0] for _ in range(rounds))
    print(f"{'twowiki score --help':34}  {seconds:.2f} CPU s  (aim: 0.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=made_up_release.DEV_SIZE)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        release = made_up_release.write_release(Path(folder), args.examples)
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in release)
        print(f"{args.examples:,} examples: {sizes}")
        whole_command(release, args.rounds)
        scoring_alone(release, args.rounds)
    resampling(args.examples)
    help_text(args.rounds)


if __name__ == "__main__":
    main()
