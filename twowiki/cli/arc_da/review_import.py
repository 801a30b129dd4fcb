"""Conversion, stage 6: read the edited table back into the review's log.

Each change is one event of an append-only log, WORK/60_review_events.jsonl: who, when, what it was
before, what it is now. A row that cannot be carried out is told and left; the others are carried
out. Exit status 1 if there were any. Reading the same table twice adds nothing.

  twowiki arc-da review-import work work/50_review/review.csv --reviewer kim
"""

from __future__ import annotations

import argparse

from twowiki.cli.arc_da import written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument("table", help="the edited review.csv, or an export of Label Studio")
    parser.add_argument("--reviewer", type=written, default="", help="who reviewed")
    parser.add_argument(
        "--at", help="time to write into the log, as 2026-01-31T12:00:00Z (by default now)"
    )
    parser.add_argument(
        "--longest", type=int, default=5, help="words; longer answers need a short version beside"
    )
    parser.add_argument(
        "--force", action="store_true", help="carry out rows that another reviewer changed since"
    )


def run(args: argparse.Namespace) -> int:
    """Append the events, and print what could not be carried out."""
    import sys
    from datetime import UTC, datetime

    from twowiki.arc_da.conversion.review_table import import_review
    from twowiki.arc_da.conversion.workflow import Workspace
    from twowiki.errors import DataError

    try:
        given = datetime.now(UTC) if args.at is None else datetime.fromisoformat(args.at)
    except ValueError:
        raise DataError(f"--at {args.at!r} is no time", remedy="Write 2026-01-31T12:00Z") from None
    at = given.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with Workspace.opened(args.work) as work:
        found = import_review(
            work,
            args.table,
            reviewer=args.reviewer,
            at=at,
            longest=args.longest,
            force=args.force,
        )
    for name, count in found.counts.items():
        print(f"{name:<20}{count:>8,}")
    for question_id, problem in found.problems:
        print(f"{question_id}: {problem}", file=sys.stderr)
    print(f"next: twowiki arc-da release {args.work}")
    return 1 if found.problems else 0
