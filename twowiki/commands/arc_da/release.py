"""Conversion, stage 7: write the reviewed questions in ARC-DA's format.

WORK/90_release gets a JSON-lines file a split, provenance.jsonl (for each answer, who gave it and
which events touched it), stats.json and a card. The same data and log give the same bytes.

  twowiki arc-da release work
"""

from __future__ import annotations

import argparse


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
    from twowiki.arc_da.conversion.workflow import run_release
    from twowiki.arc_da.conversion.workspace import RELEASE, Workspace
    from twowiki.errors import require_file

    allowed: list[str] = []
    if args.allow_repeats:
        path = require_file(args.allow_repeats, "Write one question id a line")
        allowed = path.read_text(encoding="utf-8-sig").split()
    work = Workspace(args.work)
    result = run_release(work, allowed=allowed)
    print(render_stages(result.counts), end="")
    for file in sorted(work.path(RELEASE).iterdir()):
        print(f"  {file}")
    return 0
