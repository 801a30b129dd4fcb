"""Conversion, stage 2: write tasks for the workers who will answer the questions.

Five workers answer each question. `label-studio` makes tasks and a project to import; `csv` makes
a sheet for each worker; `mturk` makes an input table and a design for Mechanical Turk. All come
with a page of instructions. Run again after some answers came back, it writes only what is missing.

  twowiki arc-da export-tasks work --format label-studio csv
"""

from __future__ import annotations

import argparse

FORMATS = ("label-studio", "csv", "mturk")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument(
        "--format",
        nargs="+",
        choices=FORMATS,
        help="what to write; by default as last time, else label-studio; the sheets (csv) always",
    )
    parser.add_argument(
        "--people", type=int, help="workers a question (by default as last time, else 5)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the questions' order")
    parser.add_argument("--all", action="store_true", help="also questions that have all answers")
    parser.add_argument("--force", action="store_true", help="overwrite sheets that were filled in")


def run(args: argparse.Namespace) -> int:
    """Write the tasks."""
    from twowiki.arc_da.conversion.workflow import TASKS, Workspace, export_tasks
    from twowiki.errors import DataError

    if args.people is not None and not 1 <= args.people <= 50:
        raise DataError("--people must lie between 1 and 50")
    formats = list(dict.fromkeys([*args.format, "csv"])) if args.format else None
    with Workspace.opened(args.work) as work:
        result = export_tasks(
            work,
            formats,
            people=args.people,
            seed=args.seed,
            everything=args.all,
            overwrite=args.force,
        )
    counts = result.counts
    print(f"{counts['questions']:,} questions lack {counts['answers_wanted']:,} answers")
    for name in counts["files"]:
        print(f"  {work.path(TASKS) / name}")
    for name in result.gone:
        print(f"  {work.path(name)} of the export before is gone")
    print(f"next: twowiki arc-da import-answers {args.work} FILES")
    return 0
