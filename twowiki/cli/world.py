"""Write a fictional world: a Wikidata dump and Wikipedia summaries of people that never were.

  twowiki world --people 2000 --films 1500 --seed 7 --out DIR

DIR gets wikidata.json (one entity a line, as in the dumps), paragraphs.jsonl (sentences and
links) and world.json (settings and counts); `twowiki generate` makes questions from them. The
same settings give the same bytes everywhere. With --difficulty DIR it measures a data set that
was generated: how far shortcuts go in it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from twowiki.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    add("--people", default=2000, help="people with a page (default: %(default)s)", **number)
    add("--films", default=1500, help="films; songs, books and the rest follow from both "
        "(default: %(default)s)", **number)  # fmt: skip
    add("--seed", default="0", help="what every draw depends on (default: %(default)s)")
    add("--out", type=Path, metavar="DIR", help="the folder to write")
    add("--unique-names", action="store_true", help="no two people share a name")
    add("--aliases", default=5, help="percent of mentions of people by another of their names "
        "(default: %(default)s)", **number)  # fmt: skip
    add("--missing", default=8, help="percent of what pages say that Wikidata lacks "
        "(default: %(default)s)", **number)  # fmt: skip
    add("--mismatch", default=0, help="percent of facts whose object the text names, but says "
        "something else of; the paper found 8 in its data (default: %(default)s)",
        **number)  # fmt: skip
    add("--brief", action="store_true", help="summaries of two or three sentences")
    add("--difficulty", type=Path, metavar="DIR", help="measure this generated folder instead")


def run(args: argparse.Namespace) -> int:
    """Write a world, or measure a data set."""
    if args.difficulty is not None:
        from twowiki.generation.difficulty import (
            measure_difficulty,
            read_gold_examples,
            render_difficulty,
        )

        print(render_difficulty(measure_difficulty(read_gold_examples(args.difficulty))))
        return 0
    from twowiki.worlds.dumps import write_world
    from twowiki.worlds.settings import WorldConfig

    if args.out is None:
        raise DataError("no folder to write", remedy="Give --out DIR")
    config = WorldConfig(
        people=args.people,
        films=args.films,
        seed=args.seed,
        unique_names=int(args.unique_names),
        aliases=args.aliases,
        missing=args.missing,
        mismatch=args.mismatch,
        brief=int(args.brief),
    )
    report = write_world(config, args.out)
    counts = report["counts"]
    print(
        f"{counts['entities']:,} entities, {counts['pages']:,} pages, "
        f"{counts['statements']:,} statements, {counts['sentences']:,} sentences"
    )
    print(f"now: twowiki generate --wikidata {args.out / 'wikidata.json'} "
          f"--paragraphs {args.out / 'paragraphs.jsonl'} --out DIR")  # fmt: skip
    return 0
