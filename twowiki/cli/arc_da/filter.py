"""Conversion, stage 1: read ARC's questions and remove those that depend on their options.

The folder WORK is made here and holds everything that follows. Rules are data: a preset or a YAML
file. `released` fits the released data; `paper_literal` is the paper's printed list, which would
remove hundreds of questions that were released.

  twowiki arc-da filter work --arc ARC-V1-Feb2018-2 --part train dev
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument(
        "--arc",
        "--arc-dir",
        dest="arc",
        metavar="SOURCE",
        nargs="+",
        required=True,
        help="ARC's files, folder or zip",
    )
    parser.add_argument(
        "--part", nargs="+", choices=("train", "dev", "test"), help="only these splits of ARC"
    )
    parser.add_argument(
        "--rules", default="released", help="released, paper_literal, or a YAML file"
    )
    parser.add_argument(
        "--difficulty",
        choices=("easy", "challenge"),
        help="of questions whose file does not tell it",
    )
    parser.add_argument(
        "--assume-split",
        choices=("train", "dev", "test"),
        help="of questions whose file does not tell it",
    )


def run(args: argparse.Namespace) -> int:
    """Filter, and print what each rule removed."""
    from twowiki.arc_da.conversion.filter import load_rules, render_filtered
    from twowiki.arc_da.conversion.workflow import Workspace, run_filter
    from twowiki.arc_da.sources import read_multiple_choice

    rules = load_rules(args.rules)
    questions = [
        question._replace(
            difficulty=question.difficulty or args.difficulty,
            split=question.split or args.assume_split,
        )
        for question in read_multiple_choice(args.arc)
    ]
    if args.part:
        questions = [question for question in questions if question.split in args.part]
    with Workspace.opened(args.work, make=True) as work:
        result = run_filter(work, questions, rules)
    print(render_filtered(result.counts, f"rules '{rules.name}'"), end="")
    if result.counts["asks_earlier"]:
        print(f"{result.counts['asks_earlier']} ask in an earlier sentence than the last")
    if result.was_done:
        print("nothing has changed since the last run")
    print(f"next: twowiki arc-da export-tasks {args.work}")
    return 0
