"""Conversion, stage 3: read the workers' answers back.

Takes exports of Label Studio (JSON, JSON_MIN, CSV), filled sheets, Mechanical Turk's results, and
JSON lines with question_id, worker_id, answers, category; told apart by their fields. Answers are
merged by question and worker, so a file may be read twice. Workers' ids are replaced by a keyed
hash; the key stays in WORK/worker.key, and another key is refused later, for a person would count
twice. Refused answers keep their reason.

  twowiki arc-da import-answers work export.json answers_1.csv --worker anna
"""

from __future__ import annotations

import argparse

from twowiki.cli.arc_da import written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument("files", nargs="+", help="files with answers")
    parser.add_argument(
        "--worker", type=written, default="", help="who filled the sheets, where they do not say"
    )
    parser.add_argument(
        "--key-file", help="secret that hides workers' ids (by default WORK/worker.key)"
    )


def run(args: argparse.Namespace) -> int:
    """Merge the answers, and print the counts."""
    from twowiki.arc_da.conversion.workflow import Workspace, import_answers

    with Workspace.opened(args.work) as work:
        result = import_answers(work, args.files, worker=args.worker, key_file=args.key_file)
    counts = result.counts
    came = ", ".join(f"{count} {name}" for name, count in counts["submissions"].items())
    print(f"submissions: {came or 'none'}")
    print(f"records: {counts['records']} of {counts['workers']} workers")
    for title in ("status", "refused", "conflicts", "flags", "categories"):
        for name, count in counts[title].items():
            print(f"  {title:<12}{name:<40}{count:>8,}")
    print(f"next: twowiki arc-da screen {args.work}")
    return 0
