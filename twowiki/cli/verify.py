"""Compare two generated data sets: every file, and the tables of every stage.

  twowiki verify A B

A and B are the --out folders of two `twowiki generate` runs, on whatever engine or number of
workers. The exit status is 0 if everything is equal, 1 if anything differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("one", type=Path, metavar="A", help="the first run's folder")
    parser.add_argument("two", type=Path, metavar="B", help="the second run's folder")
    parser.add_argument("--quiet", action="store_true", help="print differences alone")


def run(args: argparse.Namespace) -> int:
    """Print a line for each comparison."""
    from twowiki.generation.run_comparison import compare_runs

    different = 0
    for what, equal, detail in compare_runs(args.one, args.two):
        different += not equal
        if not equal or not args.quiet:
            print(f"{'equal    ' if equal else 'DIFFERENT'} {what}")
        if detail:
            print("  " + detail.replace("\n", "\n  "))
    print("the runs are equal" if not different else f"{different} differences")
    return 1 if different else 0
