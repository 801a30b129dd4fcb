"""Score a system's answers against ARC-DA's gold answers: F1 and ROUGE-L, 0-100.

Both take the best gold answer of each question, then the plain mean over questions. The table
gives 95% bootstrap intervals, and counts what the figures do not see. A missing answer scores 0;
a question without gold answers is left out; both are listed in the report.

  twowiki arc-da score predictions.jsonl ARC-DA-v1.1 --split dev
  twowiki arc-da score mine.jsonl dev.jsonl --versus other.jsonl --out report.json --rows rows.jsonl
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.cli.arc_da import written
from twowiki.errors import DataError

if TYPE_CHECKING:
    from twowiki.arc_da.metric.report import ArcDaSettings
    from twowiki.arc_da.schema import Question

EXTRAS = ("exact_match", "contains", "f1_folded", "rougeL_unicode", "rougeL_no_stem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("predictions", help="the system's answers: .jsonl, .json, .csv, .tsv, .txt")
    parser.add_argument("gold", help="ARC-DA: a file, the release's folder or its zip")
    parser.add_argument("--split", help="train, dev or test, where the gold holds several")
    parser.add_argument("--subset", metavar="FILE", help="score only the ids listed in this file")
    parser.add_argument(
        "--versus",
        metavar="FILE",
        nargs="+",
        default=[],
        help="other systems' answers, to be tested against the first (paired test)",
    )
    parser.add_argument(
        "--also",
        nargs="+",
        choices=EXTRAS,
        default=[],
        metavar="FIGURE",
        help=f"figures beside F1 and ROUGE-L, never instead of them: {', '.join(EXTRAS)}",
    )
    parser.add_argument(
        "--golds",
        choices=("all", "no_mc"),
        default="all",
        help="no_mc: take the multiple-choice original's right option out of the gold answers",
    )
    parser.add_argument(
        "--arc",
        "--arc-dir",
        dest="arc",
        metavar="DIR",
        nargs="+",
        help="ARC's files, for --golds no_mc",
    )
    parser.add_argument(
        "--by",
        nargs="+",
        choices=("difficulty", "gold_answers", "question_word"),
        default=["difficulty"],
        help="groups to print (the report holds all of them)",
    )
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals")
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap")
    parser.add_argument("--rounds", type=int, default=10_000, help="of the paired test")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap and the test")
    parser.add_argument("--out", metavar="FILE", help="write the whole report as JSON")
    parser.add_argument("--rows", metavar="FILE", help="write one record a question (.jsonl)")


def run(args: argparse.Namespace) -> int:
    """Score, print the table, write what was asked for."""
    from twowiki.arc_da.metric.comparison import compare_systems, render_comparison
    from twowiki.arc_da.metric.report import (
        ArcDaSettings,
        answer_records,
        render_arc_da_report,
        score_system,
        summarize_system,
    )
    from twowiki.arc_da.predictions import read_answers
    from twowiki.human.agreement import without_nan
    from twowiki.io.files import write_json, write_json_lines

    settings = ArcDaSettings(
        tuple(dict.fromkeys(args.also)), args.golds, args.confidence, args.resamples, args.seed
    )
    _check(settings, args.rounds)
    everything, questions = _read_gold(args)
    systems = {}
    for name in dict.fromkeys([args.predictions, *args.versus]):
        answers = read_answers(name, everything)
        systems[name] = score_system(questions, answers, settings.extras)
    first = systems.pop(args.predictions)
    if not first.scores:
        remedy = "A blind test set cannot be scored here"
        raise DataError("no question has a gold answer", file=args.gold, remedy=remedy)
    report = summarize_system(first, settings)
    if args.golds == "no_mc":
        joined = sum(question.key_text is not None for question in first.questions.values())
        report["right_options_known"] = joined
    print(render_arc_da_report(report, groups=args.by), end="")
    if args.golds == "no_mc":
        print(f"right options known, and no gold answers: {joined} of {report['n']} questions")
    if systems:
        report["versus"] = compare_systems(first, systems, settings, rounds=args.rounds)
        print("\n" + render_comparison(report["versus"]), end="")
    if args.out:
        write_json(args.out, without_nan({**report, "run": _provenance(args)}))
    if args.rows:
        write_json_lines(args.rows, answer_records(first))
    return 0


def _check(settings: ArcDaSettings, rounds: int) -> None:
    if not 0 < settings.confidence < 1:
        raise DataError(f"--confidence must lie between 0 and 1, not {settings.confidence}")
    if settings.resamples < 1 or rounds < 1:
        raise DataError("--resamples and --rounds must be at least 1")
    if settings.seed < 0:
        raise DataError("--seed must not be negative")


def _read_gold(args: argparse.Namespace) -> tuple[Mapping[str, Question], Mapping[str, Question]]:
    """Read all of the gold, and the questions to be scored."""
    from twowiki.arc_da.metric.report import without_choice_golds
    from twowiki.arc_da.predictions import read_ids
    from twowiki.arc_da.sources import (
        find_question_splits,
        index_by_id,
        read_gold_questions,
        read_multiple_choice,
    )

    splits = find_question_splits(args.gold)
    if args.split is None and len(splits) > 1:
        problem = f"holds several splits: {', '.join(splits)}"
        raise DataError(problem, file=args.gold, remedy="Name one with --split")
    everything = read_gold_questions(args.gold, split=args.split)
    questions: Mapping[str, Question] = everything
    if args.golds == "no_mc":
        if not args.arc:
            raise DataError("--golds no_mc needs ARC's files", remedy="Give them with --arc DIR")
        arc = index_by_id(read_multiple_choice(args.arc))
        questions = without_choice_golds(everything, arc)
        if not any(question.key_text is not None for question in questions.values()):
            problem = "knows the right option of none of these questions, so --golds no_mc is moot"
            remedy = "Give the ARC files of the same splits"
            raise DataError(problem, file=args.arc[0], remedy=remedy)
    if args.subset:
        questions = {record: questions[record] for record in read_ids(args.subset, everything)}
    return everything, questions


def _provenance(args: argparse.Namespace) -> dict[str, Any]:
    """Say which files, versions and command made the report."""
    from twowiki._version import __version__
    from twowiki.io.files import sha256_of

    named = [args.predictions, *args.versus, args.gold, *([args.subset] if args.subset else [])]
    return {
        "command": ["twowiki", *map(written, sys.argv[1:])],
        "files": {written(name): sha256_of(name) for name in named if Path(name).is_file()},
        "versions": {"twowiki": __version__, "python": sys.version.split()[0]},
    }
