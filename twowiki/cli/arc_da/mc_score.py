"""Score generated text on ARC's multiple-choice questions: the closest option is the answer.

`unifiedqa` compares as UnifiedQA's evaluation does; `robust` compares normalised words; `label`
reads labels (`B`, `(B)`, `A;B`), where k labels with the right one among them get 1/k. Answers by
ARC's id or by ARC-DA's. An answer that is close to no option is counted as `no match`.

  twowiki arc-da mc-score predictions.jsonl ARC-V1-Feb2018-2 --part dev
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("predictions", help="the system's texts: .jsonl, .json, .csv, .tsv, .txt")
    parser.add_argument("arc", nargs="+", help="ARC's files, folder or zip")
    parser.add_argument("--part", nargs="+", choices=("train", "dev", "test"), help="these splits")
    parser.add_argument(
        "--method", choices=("unifiedqa", "robust", "label"), default="unifiedqa", help="see above"
    )
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument("--out", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--rows", metavar="FILE", help="write one record a question (.jsonl)")


def run(args: argparse.Namespace) -> int:
    """Print accuracies."""
    from twowiki.arc_da.metric.multiple_choice import render_choices, score_choices
    from twowiki.arc_da.predictions import read_answers
    from twowiki.arc_da.sources import read_multiple_choice
    from twowiki.errors import DataError
    from twowiki.io.files import write_json, write_json_lines

    if args.resamples < 1 or args.seed < 0:
        raise DataError("--resamples must be at least 1, --seed at least 0")
    questions = read_multiple_choice(args.arc)
    questions = [q for q in questions if not args.part or q.split in args.part]
    hidden = [question for question in questions if question.answer_key is None]
    questions = [question for question in questions if question.answer_key is not None]
    if not questions:
        remedy = "Give ARC's files with answer keys, and check --part"
        raise DataError("no question with a key to score", file=args.arc[0], remedy=remedy)
    names = {question.question_id: question.question_id for question in questions}
    names |= {question.id: question.question_id for question in questions}
    ids = list(dict.fromkeys(names.values()))
    given = read_answers(args.predictions, ids, aliases=names)
    report = score_choices(
        questions, given, method=args.method, resamples=args.resamples, seed=args.seed
    )
    rows = report.pop("rows")
    print(render_choices(report), end="")
    if hidden:
        print(f"questions with a hidden key, left out: {len(hidden)}")
    if args.out:
        write_json(args.out, report)
    if args.rows:
        write_json_lines(args.rows, rows)
    return 0
