"""Score predictions: answer, supporting facts, evidence, and the three together (joint).

Equal to the authors' evaluator 1.1 to the last digit, corners included. PREDICTIONS is the
official file {"answer": {id: ...}, "sp": ..., "evidence": ...}, or JSON lines of rows {"id",
"answer", "supporting_facts", "evidences"}. GOLD is dev.json, a release's zip, an exported or
hub-style folder (its validation split), Parquet, or a data set's name on the hub. ALIASES is the
release's id_aliases.json; without it the gold's own strings alone count.

    twowiki score predictions.json dev.json id_aliases.json --by-type --confidence 0.95
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

from twowiki.metric.settings import MATCHINGS, VERSIONS

if TYPE_CHECKING:
    from twowiki.metric.predictions import PredictionSet
    from twowiki.metric.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("predictions", metavar="PREDICTIONS", help="what the system says (.json, .jsonl, .gz)")
    add("gold", metavar="GOLD", help="what is true: a file, a folder, or a name on the hub")
    add("aliases", metavar="ALIASES", nargs="?", help="id_aliases.json: other names by id")
    add("--version", choices=VERSIONS, default="1.1", help="the evaluator (default: 1.1)")
    add(
        "--matching",
        choices=MATCHINGS,
        default="official",
        help="of triples: official counts "
        "several spellings of one gold triple, one_to_one never exceeds 100 (default: official)",
    )
    add("--by-type", action="store_true", help="add the figures of each question type")
    add("--confidence", type=float, metavar="SHARE", help="add bootstrap intervals, e.g. 0.95")
    add("--compare", metavar="OTHER", help="another system's predictions, for a paired test")
    add("--output", metavar="FILE", help="write the report as JSON")
    add("--per-example", metavar="FILE", help="write each example's figures as JSON lines")
    add("--json", action="store_true", help="print the report as JSON instead of tables")
    add(
        "--from-llm",
        action="store_true",
        help="PREDICTIONS holds the raw texts of a language "
        'model, one JSON object a line: {"id", "output"}; see `twowiki prompt --help`',
    )
    add("--subset", metavar="FILE", help="score these ids alone: one a line, or a JSON list")
    add("--config", metavar="NAME", help="which config of a folder or hub data set")
    add(
        "--split",
        metavar="NAME",
        help="which split of a folder, zip or hub data set (default: validation)",
    )
    add("--resamples", type=int, default=1000, metavar="N", help="of the bootstrap (default: 1000)")
    add("--rounds", type=int, default=10_000, metavar="N", help="of the test (default: 10000)")
    add("--seed", type=int, default=0, metavar="N", help="of bootstrap and test (default: 0)")
    options = parser.add_argument_group(
        "variants", "off by default; each one that is on stands in the signature"
    )
    flag = options.add_argument
    flag("--strict", action="store_true", help="both sides empty: f1, prec, recall 100, not 0")
    flag("--strip-titles", action="store_true", help="ignore blanks at the ends of titles")
    flag("--coerce-indices", action="store_true", help='read sentence ids like "0" as numbers')
    flag("--unicode", action="store_true", help="make dashes, quotes and composed letters equal")
    flag("--contains", action="store_true", help="add the figure contains: the answer is in it")


def run(args: argparse.Namespace) -> int:
    """Score, print, and write what was asked for."""
    from twowiki.io.files import write_json, write_json_lines
    from twowiki.io.json_files import collector_paused

    with collector_paused():
        report = _score(args)
        try:
            if args.output:
                write_json(args.output, report.to_dict())
            if args.per_example:
                write_json_lines(args.per_example, report.per_example())
        finally:  # what was computed is shown, whatever became of the files
            for warning in report.warnings:
                print(f"warning: {warning}", file=sys.stderr)
            print(json.dumps(report.to_dict()) if args.json else report.render())
        gc.freeze()  # the process ends here: nothing is left to collect
    return 0


def _score(args: argparse.Namespace) -> Report:
    from twowiki.metric.score import score
    from twowiki.metric.settings import ScoreSettings

    predictions, other = args.predictions, args.compare
    if args.from_llm:
        from twowiki.llm.outputs import read_llm_outputs

        predictions = read_llm_outputs(predictions)
        other = other and _read_either(other)
    return score(
        predictions,
        args.gold,
        args.aliases,
        compare_with=other,
        command=getattr(args, "command_line", None),
        settings=ScoreSettings(
            **{one.name: getattr(args, one.name) for one in fields(ScoreSettings)}
        ),
    )


def _read_either(path: str) -> PredictionSet:
    """Read the other system's file: predictions, or a model's raw texts."""
    from twowiki.errors import DataError
    from twowiki.llm.outputs import read_llm_outputs
    from twowiki.metric.predictions import read_predictions

    try:
        return read_predictions(path)
    except DataError as error:
        try:
            return read_llm_outputs(path)
        except DataError:
            raise error from None
