"""Show where a conversion stands: each stage's state, what each removed, one question's history.

twowiki arc-da status work
twowiki arc-da status work --question ARCEZ_Mercury_7041633
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("work", help="the conversion's folder")
    parser.add_argument("--question", metavar="ID", help="print the events of this question")


def run(args: argparse.Namespace) -> int:
    """Print the stages, or one question's events."""
    from twowiki.arc_da.conversion.release import render_stages
    from twowiki.arc_da.conversion.review import describe_event
    from twowiki.arc_da.conversion.review_table import log_of
    from twowiki.arc_da.conversion.workflow import (
        FILTERED,
        SCREENED,
        STAGES,
        Workspace,
        read_review,
        stage_counts,
        wanted_people,
    )
    from twowiki.errors import DataError

    with Workspace.opened(args.work) as work:
        if not work.manifest():
            remedy = f"Begin with: twowiki arc-da filter {args.work} --arc ARC"
            raise DataError("no conversion has begun here", file=args.work, remedy=remedy)
        if args.question:
            for event in log_of(work, args.question):
                print(describe_event(event))
            return 0
        states = work.states()
        for name, state in states.items():
            print(f"{name:<18}{state}")
        print(f"workers a question: {wanted_people(work)}")
        if FILTERED in states["screen"]:
            print(f"no counts, for {FILTERED} changed since the screening")
        elif work.path(SCREENED).exists():
            print("\n" + render_stages(stage_counts(read_review(work))), end="")
    waiting = next((name for name, state in states.items() if state != "done"), None)
    print(f"next: {STAGES[waiting].command} {args.work}" if waiting else "all stages are done")
    return 0
