"""Write tasks for people to rate systems' answers: blind, shuffled, each answer once.

OUT gets a sheet (ratings.csv), Label Studio tasks with a project, and key.jsonl, which says which
system gave which answer: keep it from the raters. With --gold-system, gold answers are rated as a
system of their own; what they reach is the ceiling of the scores. Test items judge the raters.

  twowiki arc-da rate-export rating ARC-DA-v1.1 --split dev --system t5=t5.jsonl uqa=uqa.jsonl
"""

from __future__ import annotations

import argparse

from twowiki.cli.arc_da import written
from twowiki.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("out", help="folder for the tasks")
    parser.add_argument("gold", help="ARC-DA: a file, the release's folder or its zip")
    parser.add_argument("--split", help="train, dev or test, where the gold holds several")
    parser.add_argument(
        "--system", nargs="+", metavar="NAME=FILE", default=[], help="systems' answers"
    )
    parser.add_argument("--gold-system", action="store_true", help="rate gold answers as a system")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="only so many questions, drawn by the seed"
    )
    parser.add_argument("--tests", type=int, default=20, help="test items to judge raters by")
    parser.add_argument("--people", type=int, default=1, help="ratings an answer")
    parser.add_argument("--seed", type=int, default=0, help="of sample, order and test items")
    parser.add_argument("--force", action="store_true", help="overwrite tasks and ratings")


def run(args: argparse.Namespace) -> int:
    """Write the tasks."""
    from pathlib import Path
    from random import Random

    from twowiki.arc_da.predictions import read_answers
    from twowiki.arc_da.sources import read_gold_questions
    from twowiki.human.tasks import RATINGS, make_tasks, rating_task_files
    from twowiki.io.files import locked, refuse_edited, write_together

    if args.sample is not None and args.sample < 1:
        raise DataError("--sample must be at least 1")
    if args.tests < 0 or args.people < 1:
        raise DataError("--tests must not be negative, --people at least 1")
    out = Path(args.out)
    gold = read_gold_questions(args.gold, split=args.split)
    questions = {record: question for record, question in gold.items() if question.has_gold}
    if args.sample:
        drawn = set(Random(args.seed).sample(sorted(questions), min(args.sample, len(questions))))
        questions = {record: q for record, q in questions.items() if record in drawn}
    systems = {name: read_answers(file, gold) for name, file in named_files(args.system).items()}
    if not systems and not args.gold_system:
        raise DataError("no system to rate", remedy="Give --system NAME=FILE or --gold-system")
    key = make_tasks(
        questions, systems, gold_system=args.gold_system, tests=args.tests, seed=args.seed
    )
    files = rating_task_files(key, people=args.people)
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        if not args.force:
            remedy = "Name another folder, or overwrite with --force (what people wrote is lost)"
            if (out / "key.jsonl").exists():
                raise DataError("holds rating tasks already", file=out, remedy=remedy)
            refuse_edited(out, {**files, RATINGS: ""}, {}, remedy=remedy)
        write_together(out, files, remove=[RATINGS])
    tests = sum(bool(entry.expected) for entry in key)
    print(f"{len(key)} tasks in {out}, {tests} of them tests; keep key.jsonl from the raters")
    print(f"next: twowiki arc-da rate-import {out} FILES")
    return 0


def named_files(given: list[str]) -> dict[str, str]:
    """Read NAME=FILE pairs.

    Raises:
        DataError: there is no `=`, or a name comes twice.
    """
    found: dict[str, str] = {}
    for pair in given:
        name, mark, file = pair.partition("=")
        if not mark or not name or not file or name in found:
            raise DataError(f"{pair!r} is no new NAME=FILE", remedy="Write --system t5=t5.jsonl")
        found[written(name)] = file
    return found
