"""Conversion, stage 7: write the reviewed questions in ARC-DA's format.

WORK/90_release gets a JSON-lines file a split, provenance.jsonl (for each answer, who gave it and
which events touched it), stats.json and a card. The same data and log give the same bytes.

  twowiki arc-da release work
"""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument(
        "--allow-repeats",
        metavar="FILE",
        help="question ids, one a line, whose text may stand in two splits",
    )


def run(args: argparse.Namespace) -> int:
    """Write the release, and print what each stage removed."""
    from twowiki.arc_da.conversion.release import render_stages
    from twowiki.arc_da.conversion.workflow import RELEASE, Workspace, run_release
    from twowiki.io.records import read_lines

    allowed = read_lines(args.allow_repeats) if args.allow_repeats else []
    with Workspace.opened(args.work) as work:
        result = run_release(work, allowed=[name.strip() for name in allowed if name.strip()])
        state = work.states()["screen"]
    print(render_stages(result.counts), end="")
    for file in sorted(work.path(RELEASE).iterdir()):
        print(f"  {file}")
    if state.startswith("stale"):
        print(f"note: screen is {state}; run it again", file=sys.stderr)
    return 0
