"""Measure how far the automatic figures agree with people.

From a table of outputs with human credit (columns id, SYSTEM, credit-SYSTEM): it holds no gold
answers, so one system is left out at a time and the others' fully credited answers are its gold.
Or from ratings, with the gold and the files that were rated.

  twowiki arc-da metric-agreement challenge300-outputs.tsv
  twowiki arc-da metric-agreement rating/ratings.jsonl --gold dev.jsonl --system t5=t5.jsonl
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("judgements", help="a table with credit columns, or ratings")
    parser.add_argument("--gold", help="ARC-DA's gold, for ratings")
    parser.add_argument("--split", help="train, dev or test, where the gold holds several")
    parser.add_argument(
        "--system", nargs="+", metavar="NAME=FILE", default=[], help="the rated files, for ratings"
    )
    parser.add_argument("--resamples", type=int, default=1000, help="of the bootstrap")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument("--out", metavar="FILE", help="write the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Print systems' means and the figures' correlations with people."""
    from twowiki.arc_da.metric.scoring import score_all
    from twowiki.arc_da.predictions import read_answers
    from twowiki.arc_da.sources import read_gold_questions
    from twowiki.cli.arc_da.rate_export import named_files
    from twowiki.errors import DataError
    from twowiki.human.agreement import without_nan
    from twowiki.human.metric_agreement import (
        judge_ratings,
        leave_one_out,
        read_outputs,
        render_agreement,
        summarize_agreement,
    )
    from twowiki.human.ratings import read_ratings
    from twowiki.io.files import write_json

    if args.resamples < 1 or args.seed < 0:
        raise DataError("--resamples must be at least 1, --seed at least 0")
    gold_from = "the release's gold answers"
    skipped: dict[str, int] = {}
    if args.gold:
        gold = read_gold_questions(args.gold, split=args.split)
        systems = {name: read_answers(f, gold) for name, f in named_files(args.system).items()}
        if not systems:
            raise DataError("ratings need the files that were rated", remedy="--system NAME=FILE")
        golds = {record: question.answers for record, question in gold.items() if question.has_gold}
        judged = judge_ratings(
            read_ratings(args.judgements, expert=True), golds, systems, score_all
        )
    else:
        judged, skipped = leave_one_out(read_outputs(args.judgements), score_all)
        gold_from = "other systems' fully credited answers, one system left out at a time"
    report = {
        "gold_from": gold_from,
        "skipped": skipped,
        **summarize_agreement(judged, resamples=args.resamples, seed=args.seed),
    }
    print(render_agreement(report), end="")
    print(f"gold answers: {gold_from}")
    if any(skipped.values()):
        left = ", ".join(f"{name} {count}" for name, count in skipped.items())
        print(f"questions left out, as no other system got full credit: {left}")
    if args.out:
        write_json(args.out, without_nan(report))
    return 0
