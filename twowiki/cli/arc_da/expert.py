"""The EXPERT column: a system's mean over experts' partial credit, 0-100.

Ratings: JSON lines or CSV with system, question_id, rater, rating (a figure from 0 to 1, or a word
of the rubric). The interval is over questions; with two experts or more, answers on which they lie
half a point or more apart are listed.

  twowiki arc-da expert expert.csv
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("ratings", help="ratings, .jsonl or .csv")
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument("--out", metavar="FILE", help="write the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the scores and the disagreements."""
    from twowiki.errors import DataError
    from twowiki.human.agreement import without_nan
    from twowiki.human.ratings import read_ratings
    from twowiki.human.scores import HumanSettings, render_scores, score_experts
    from twowiki.io.files import write_json

    if args.resamples < 1 or args.seed < 0:
        raise DataError("--resamples must be at least 1, --seed at least 0")
    settings = HumanSettings(resamples=args.resamples, seed=args.seed)
    try:
        report = score_experts(read_ratings(args.ratings, expert=True), settings)
    except DataError as error:
        raise error.at(args.ratings) from None
    print(render_scores(report), end="")
    alpha = report["alpha_interval"]
    if alpha == alpha:
        print(f"Krippendorff's alpha (interval): {alpha:.3f}")
    for found in report["disagreements"]:
        given = ", ".join(f"{who} {value:g}" for who, value in found["ratings"].items())
        print(f"  {found['item']}: {given}")
    if args.out:
        write_json(args.out, without_nan(report))
    return 0
