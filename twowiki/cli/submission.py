"""Write the file for the authors' leaderboard, which scores the hidden test split.

PREDICTIONS in any form that `twowiki score` reads; TEST is the release's test split. The file has
the official form, one entry for each test question in the split's order; what is malformed or left
out is named first.

    twowiki submission predictions.jsonl test.json submission.json
"""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("predictions", metavar="PREDICTIONS", help="what the system says")
    add("test", metavar="TEST", help="the test split: a file, a release's zip, or a folder")
    add("output", metavar="OUT", help="the file to write")
    add("--allow-missing", action="store_true", help="write empty values for what is left out")
    add("--from-llm", action="store_true", help="PREDICTIONS holds a language model's raw texts")
    add("--config", metavar="NAME", help="which config of a folder or zip")
    add("--split", metavar="NAME", help="which split of a folder or zip (default: test)")


def run(args: argparse.Namespace) -> int:
    """Check, write, and say what to do next."""
    from twowiki.data.sources import examples_of
    from twowiki.io.files import write_json
    from twowiki.metric.predictions import (
        NEXT_STEPS,
        PredictionSource,
        make_submission,
        read_predictions,
    )

    source: PredictionSource = args.predictions
    if args.from_llm:
        from twowiki.llm.outputs import read_llm_outputs

        said = read_llm_outputs(args.predictions)
    else:
        said = read_predictions(source)
    questions = examples_of(args.test, args.config, args.split or "test")
    made = make_submission(said, questions, allow_missing=args.allow_missing)
    for note in said.notes:
        print(f"warning: {note}", file=sys.stderr)
    if made.missing:
        print(f"warning: {len(made.missing)} questions are incomplete", file=sys.stderr)
    if made.unknown_titles:
        count, first = len(made.unknown_titles), made.unknown_titles[0]
        problem = "name a title that the question's context lacks"
        print(
            f"warning: the facts of {count} questions {problem} (first: {first})", file=sys.stderr
        )
    if made.extra:
        print(f"warning: {made.extra} predicted ids are not in the split", file=sys.stderr)
    write_json(args.output, made.blocks, indent=None)
    print(f"{len(made.blocks['answer'])} questions written to {args.output}\n{NEXT_STEPS}")
    return 0
