"""Generate a 2WikiMultiHopQA-style data set from a Wikidata dump and Wikipedia summaries.

  twowiki generate --wikidata latest-all.json.gz --paragraphs para_with_hyperlink.jsonl --out DIR

DIR gets train.json, dev.json and test.json in the authors' format, id_aliases.json, report.html,
report.json, provenance.jsonl and a Parquet folder. Run it again after a stop: it goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from twowiki.errors import DataError
from twowiki.schema import TWO_WIKI_TYPES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add(
        "--wikidata",
        type=Path,
        required=True,
        metavar="DUMP",
        help="Wikidata JSON dump, one entity a line: plain, .gz or .bz2 (.gz reads fastest)",
    )
    add(
        "--paragraphs",
        type=Path,
        required=True,
        metavar="FILE",
        help="Wikipedia summaries: para_with_hyperlink JSON lines (plain, .gz, .bz2, .zip), "
        "wikimedia/wikipedia Parquet or JSON lines, or pages-articles XML; a file or a folder",
    )
    add("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    add(
        "--types",
        nargs="+",
        default=list(TWO_WIKI_TYPES),
        metavar="TYPE",
        help=f"question types, separated by spaces or commas (default: {' '.join(TWO_WIKI_TYPES)})",
    )
    add(
        "--limit-per-type",
        default="1000",
        metavar="N",
        help="samples of each type, or all: every pair compared, nothing balanced away; for small "
        "dumps (default: %(default)s)",
    )
    add("--seed", default="0", help="what every draw depends on (default: %(default)s)")
    add(
        "--title-case",
        choices=("clean", "paper"),
        default="clean",
        help="paper: the released questions' style (It'S, (Film)); clean: names as they are",
    )
    add(
        "--yes-share",
        type=float,
        default=0.5,
        metavar="X",
        help="share of yes among the yes/no questions of a type (default: %(default)s)",
    )
    add(
        "--drop-unstated",
        action="store_true",
        help="drop inferred relations that can fail and that Wikidata does not state itself",
    )
    add(
        "--allow-truncated",
        action="store_true",
        help="go on with what a truncated or damaged dump gave",
    )
    add(
        "--engine",
        choices=("duckdb", "spark"),
        default="duckdb",
        help="where the queries run; the output is the same (default: %(default)s)",
    )
    add("--master", default="local[2]", help="Spark's master (default: %(default)s)")
    add(
        "--workers",
        type=int,
        default=min(2, os.cpu_count() or 1),
        metavar="N",
        help="processes and threads; the output is the same (default: %(default)s)",
    )
    add(
        "--memory",
        default="2GB",
        metavar="SIZE",
        help="the engine's memory limit; more is put on disk (default: %(default)s)",
    )
    add(
        "--work",
        type=Path,
        metavar="DIR",
        help="folder of the stages, kept for resuming and `twowiki explain` (default: OUT/work)",
    )


def _limit(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise DataError(f"--limit-per-type is {text!r}", remedy="Give a number from 1, or all.")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Generate and say what came out."""
    from twowiki.generation.config import GenerateConfig, Resources
    from twowiki.generation.pipeline import generate

    if args.workers < 1:
        raise DataError(f"--workers is {args.workers}", remedy="Give a number from 1.")
    named = [kind for text in args.types for kind in text.split(",") if kind]
    wanted = {kind.strip().replace("-", "_") for kind in named}
    config = GenerateConfig(
        wikidata=args.wikidata,
        paragraphs=args.paragraphs,
        types=tuple(
            [kind for kind in TWO_WIKI_TYPES if kind in wanted]
            + sorted(wanted - set(TWO_WIKI_TYPES))
        ),
        limit_per_type=_limit(args.limit_per_type),
        seed=args.seed,
        title_case=args.title_case,
        yes_share=args.yes_share,
        drop_unstated=args.drop_unstated,
        allow_truncated=args.allow_truncated,
    )
    resources = Resources(
        work=args.work or args.out / "work",
        engine=args.engine,
        workers=args.workers,
        memory=args.memory,
        master=args.master,
    )
    report = generate(config, args.out, resources)
    for kind, row in report["types"].items():
        print(f"{kind:18} {row['samples']:>9,}")
    splits = {name: sum(counts.values()) for name, counts in report["splits"].items()}
    print(", ".join(f"{name} {count:,}" for name, count in splits.items()))
    print(f"report: {args.out / 'report.html'}")
    if not report["samples"]:
        print("no sample passed: see the reasons in the report", file=sys.stderr)
        return 1
    return 0
