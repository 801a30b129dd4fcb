"""Human scores from ratings, as GENIE gives them: 0-100 with 95% intervals.

Ratings: JSON lines or CSV with system, question_id, rater, rating (`strongly agree` ... `strongly
disagree`, worth 1, .75, .5, .25, 0), and for test items `expected` (good or bad). Prints each
system's score, the ceiling that gold answers reach if they were rated, agreement between raters
(Krippendorff's alpha), and raters who fail the test items, with the scores without them. With
fewer than about ten raters the intervals are too narrow: a bootstrap knows no other raters.

  twowiki arc-da genie rating/ratings.jsonl
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("ratings", help="ratings, .jsonl or .csv")
    parser.add_argument(
        "--over",
        choices=("items", "raters", "two_way"),
        default="two_way",
        help="what the bootstrap draws: items, raters, or both",
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals")
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap and the raters' fit")
    parser.add_argument(
        "--detector",
        choices=("threshold", "component"),
        default="threshold",
        help="what makes a rater bad: an accuracy up to --least, or not being in the best group",
    )
    parser.add_argument("--least", type=float, default=0.9, help="accuracy that is not enough")
    parser.add_argument("--components", type=int, default=1, help="groups of raters in the fit")
    parser.add_argument("--cut-off", type=float, default=0.999, help="probability to exclude at")
    parser.add_argument("--out", metavar="FILE", help="write the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the scores, the agreement, the excluded raters."""
    from twowiki.errors import DataError
    from twowiki.human.agreement import without_nan
    from twowiki.human.ratings import read_ratings
    from twowiki.human.scores import HumanSettings, render_scores, score_ratings
    from twowiki.io.files import write_json

    if not 0 < args.confidence < 1 or args.resamples < 1 or args.seed < 0:
        raise DataError("--confidence must lie between 0 and 1, --resamples and --seed not below")
    if not (0 <= args.least <= 1 and 0 <= args.cut_off <= 1):
        raise DataError("--least is an accuracy, --cut-off a probability: both from 0 to 1")
    if args.components < 1 or (args.detector == "component" and args.components < 2):
        raise DataError("--detector component needs --components 2 or more")
    settings = HumanSettings(
        over=args.over,
        confidence=args.confidence,
        resamples=args.resamples,
        seed=args.seed,
        detector=args.detector,
        least=args.least,
        components=args.components,
        cut_off=args.cut_off,
    )
    try:
        report = score_ratings(read_ratings(args.ratings), settings)
    except DataError as error:
        raise error.at(args.ratings) from None
    print(render_scores(report), end="")
    alphas = ", ".join(
        f"{level} {'-' if value != value else f'{value:.3f}'}"
        for level, value in report["alpha"].items()
    )
    print(f"Krippendorff's alpha: {alphas}")
    raters = report["raters"]
    print(f"raters: {raters['count']}, tested {raters['tested']} ({raters['prior']})")
    for name in raters["excluded"]:
        verdict = raters["verdicts"][name]
        print(f"  excluded {name}: {verdict['right']} right, {verdict['wrong']} wrong")
    if args.out:
        write_json(args.out, without_nan(report))
    return 0
