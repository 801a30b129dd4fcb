"""Check the question filter against the release: which released questions would it remove?

Questions are joined by id. Exit status 1 if more than --allowed percent of them would be removed.

  twowiki arc-da audit-filter ARC-V1-Feb2018-2 ARC-DA-v1.1
  twowiki arc-da audit-filter ARC-V1-Feb2018-2 ARC-DA-v1.1 --rules released paper_literal
"""

from __future__ import annotations

import argparse

from twowiki.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("arc", help="ARC's files, folder or zip")
    parser.add_argument("arc_da", help="ARC-DA: a file, the release's folder or its zip")
    parser.add_argument(
        "--rules",
        nargs="+",
        default=["released"],
        help="rule sets to check: released, paper_literal, YAML files; the first one decides",
    )
    parser.add_argument("--allowed", type=float, default=1.0, help="percent of violations allowed")
    parser.add_argument("--list", action="store_true", help="list every violation")
    parser.add_argument("--json", metavar="FILE", help="write counts and violations as JSON")


def run(args: argparse.Namespace) -> int:
    """Print an audit of each rule set."""
    from twowiki.arc_da.conversion.filter import audit, load_rules, render_audit
    from twowiki.arc_da.sources import read_multiple_choice, read_questions
    from twowiki.io.files import write_json

    rule_sets = [load_rules(name) for name in args.rules]
    originals, released = read_multiple_choice(args.arc), list(read_questions(args.arc_da))
    results = [audit(originals, released, rules) for rules in rule_sets]
    if not results[0]["joined"]:
        remedy = "Give the ARC files of the same splits"
        raise DataError("none of its ids is in ARC's files", file=args.arc_da, remedy=remedy)
    listed = len(released) if args.list else 10
    print("\n".join(render_audit(found, listed=listed) for found in results), end="")
    if args.json:
        write_json(args.json, results)
    share = 100 * results[0]["violations"] / results[0]["joined"]
    return 1 if share > args.allowed else 0
