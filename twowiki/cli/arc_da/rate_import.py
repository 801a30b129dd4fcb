"""Read ratings back: filled sheets or exports of Label Studio, merged into FOLDER/ratings.jsonl.

A rater who rates a task again replaces the first rating. Raters' ids are replaced by a keyed hash;
the key stays in FOLDER/rater.key.

  twowiki arc-da rate-import rating rating/ratings.csv --rater kim
"""

from __future__ import annotations

import argparse

from twowiki.cli.arc_da import written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", help="the folder that rate-export made")
    parser.add_argument("files", nargs="+", help="filled sheets, or exports of Label Studio")
    parser.add_argument(
        "--rater", type=written, default="", help="who rated, where the file does not say"
    )


def run(args: argparse.Namespace) -> int:
    """Merge the ratings."""
    from pathlib import Path

    from twowiki.errors import require_file
    from twowiki.human.pseudonyms import pseudonym, read_secret
    from twowiki.human.ratings import read_ratings
    from twowiki.human.tasks import RATINGS, merge_ratings, read_key, read_task_ratings
    from twowiki.io.files import locked, write_json_lines

    folder = Path(args.folder)
    remedy = f"Make the tasks with: twowiki arc-da rate-export {folder} GOLD --system NAME=FILE"
    key_file = require_file(folder / "key.jsonl", remedy)
    with locked(folder):
        key = read_key(str(key_file))
        path = folder / RATINGS
        known = read_ratings(str(path)) if path.exists() else []
        secret = read_secret(folder / "rater.key", given=None, used=bool(known))
        new = [
            rating._replace(rater=pseudonym(rating.rater, secret))
            for file in args.files
            for rating in read_task_ratings(file, key, rater=args.rater)
        ]
        ratings = merge_ratings(known, new)
        write_json_lines(path, (rating._asdict() for rating in ratings))
    raters = len({rating.rater for rating in ratings})
    print(f"{len(ratings) - len(known)} new, {len(ratings)} ratings of {raters} raters in {path}")
    print(f"next: twowiki arc-da genie {path}")
    return 0
