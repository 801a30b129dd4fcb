"""Conversion, stage 5: write the table for the expert review.

One row a question, to be edited in a spreadsheet or in Label Studio. Change `question` to reword
it; take answers out of `answers` or write more into it (`heat | warm weather`); put short versions
of long answers into `short`; write `accept` or `reject` into `decision`, and for a rejection its
`reason`: too_open, invalid, ambiguous, needs_options. Settled questions are not shown again.

  twowiki arc-da review-export work
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument("--all", action="store_true", help="also questions that are settled")
    parser.add_argument("--force", action="store_true", help="overwrite a table that was edited")


def run(args: argparse.Namespace) -> int:
    """Write the table and the tasks."""
    from twowiki.arc_da.conversion.review_table import export_review
    from twowiki.arc_da.conversion.workflow import REVIEW, Workspace

    with Workspace.opened(args.work) as work:
        counts = export_review(work, everything=args.all, overwrite=args.force)
    print(f"{counts['exported']:,} of {counts['questions']:,} questions to review")
    print(f"  {work.path(REVIEW) / 'review.csv'}")
    print(f"  {work.path(REVIEW) / 'label_studio_tasks.json'}")
    print(f"next: twowiki arc-da review-import {args.work} TABLE --reviewer NAME")
    return 0
