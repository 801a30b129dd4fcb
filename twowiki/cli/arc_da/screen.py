"""Conversion, stage 4: the additional filter.

Keeps a question if at least two workers answered it and two workers' answers share a word that is
no stop word. One that fails while workers are missing is pending: later answers can only help it.

  twowiki arc-da screen work
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument("--min-workers", type=int, default=2, help="workers who must have answered")
    parser.add_argument("--min-sharing", type=int, default=2, help="workers who must share a word")
    parser.add_argument(
        "--people",
        type=int,
        help="workers a question was given to (by default as export-tasks was told, else 5)",
    )
    parser.add_argument("--stemming", action="store_true", help="compare the words' stems")
    parser.add_argument("--stop-words", metavar="FILE", help="one word a line, instead of ours")


def run(args: argparse.Namespace) -> int:
    """Screen, and print the verdicts."""
    from twowiki.arc_da.conversion.screening import PAPER_REMOVED, REASONS, ScreenSettings
    from twowiki.arc_da.conversion.workflow import Workspace, run_screen, wanted_people
    from twowiki.errors import DataError
    from twowiki.io.records import read_lines

    given = (args.min_workers, args.min_sharing, 1 if args.people is None else args.people)
    if min(given) < 1:
        raise DataError("--min-workers, --min-sharing and --people must be at least 1")
    with Workspace.opened(args.work) as work:
        people = args.people or wanted_people(work)
        settings = ScreenSettings(args.min_workers, args.min_sharing, people, args.stemming)
        if args.stop_words:
            words = " ".join(read_lines(args.stop_words)).casefold().split()
            settings = settings._replace(stop_words=tuple(sorted(set(words))))
        result = run_screen(work, settings)
    counts = result.counts
    verdicts = ", ".join(f"{name} {count:,}" for name, count in counts["verdicts"].items())
    print(f"{counts['questions']:,} questions: {verdicts}")
    for name, count in counts["reasons"].items():
        print(f"  {name:<18}{count:>8,}  {REASONS[name]}")
    share = counts["percent_of_source"]
    print(f"removed {share}% of all of ARC's questions given (the paper: {PAPER_REMOVED}%)")
    print(f"next: twowiki arc-da review-export {args.work}")
    return 0
