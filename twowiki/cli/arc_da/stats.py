"""Count questions, answers and words of ARC-DA, split by split, as Table 1 of the paper does.

"Words per answer" has two readings: the mean over answers, and the mean of per-question means;
both are printed. Release v1.1 is not the version that the paper's Table 1 describes.

  twowiki arc-da stats ARC-DA-v1.1 --arc ARC-V1-Feb2018-2
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("source", help="ARC-DA: a file, the release's folder or its zip")
    parser.add_argument("--split", help="train, dev or test; by default all there are")
    parser.add_argument(
        "--arc",
        "--arc-dir",
        dest="arc",
        metavar="DIR",
        nargs="+",
        help="ARC's files, to join the options",
    )
    parser.add_argument(
        "--types",
        metavar="FILE",
        help="knowledge and reasoning types by id: print their shares (and ARC's, with --arc)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the counts as JSON too")


def run(args: argparse.Namespace) -> int:
    """Print the table; give 1 if an id comes twice."""
    from twowiki.arc_da.sources import (
        find_question_splits,
        index_by_id,
        read_multiple_choice,
        read_questions,
        split_named,
    )
    from twowiki.arc_da.statistics import (
        count_split,
        count_types,
        find_repeats,
        read_types,
        render_statistics,
        render_types,
    )
    from twowiki.io.files import write_json

    originals = read_multiple_choice(args.arc) if args.arc else []
    arc = index_by_id(originals) if args.arc else None
    splits = [split_named(args.split)] if args.split else list(find_question_splits(args.source))
    questions = {split: list(read_questions(args.source, split=split, arc=arc)) for split in splits}
    counts = {split: count_split(listed) for split, listed in questions.items()}
    repeats = find_repeats(questions)
    print(render_statistics(counts, repeats), end="")
    report = {"splits": counts, "repeats": repeats}
    if args.types:
        types = read_types(args.types)
        ids = [(q.question_id, q.arc_id) for listed in questions.values() for q in listed]
        shares = {"ARC-DA": count_types(types, ids)}
        if originals:
            shares["ARC"] = count_types(types, [(q.question_id, q.id) for q in originals])
        print("\n" + render_types(shares), end="")
        report["types"] = shares
    if args.json:
        write_json(args.json, report)
    return 1 if repeats["same_id"] else 0
