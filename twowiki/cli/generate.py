"""Generate a 2WikiMultiHopQA-style data set from a Wikidata dump and Wikipedia summaries.

  twowiki generate --wikidata latest-all.json.gz --paragraphs para_with_hyperlink.jsonl --out DIR
  twowiki generate --world "people=2000,films=1500,seed=7" --out DIR

DIR gets train.json, dev.json and test.json in the authors' format, id_aliases.json, report.html,
report.json, provenance.jsonl and a Parquet folder. Run it again after a stop: it goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES
from twowiki.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add(
        "--wikidata",
        type=Path,
        metavar="DUMP",
        help="Wikidata JSON dump, one entity a line: plain, .gz or .bz2 (.gz reads fastest)",
    )
    add(
        "--paragraphs",
        type=Path,
        metavar="FILE",
        help="Wikipedia summaries: para_with_hyperlink JSON lines (plain, .gz, .bz2, .zip), "
        "wikimedia/wikipedia Parquet or JSON lines, or pages-articles XML; a file or a folder",
    )
    add(
        "--world",
        metavar="SETTINGS",
        help="a fictional world instead of dumps: people, films, seed, unique_names, aliases, "
        "missing, mismatch, brief (see twowiki world --help)",
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
    add(
        "--mix",
        choices=("even", "paper"),
        default="even",
        help="paper: four times --limit-per-type in all, the types in the shares of the paper's "
        "Table 2 (default: %(default)s)",
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
        "--probe",
        default="lexical",
        metavar="READER",
        help="the single-hop reader that splits by difficulty: lexical (quick), a folder or name "
        'of a Hugging Face encoder, or file:PATH of {"id", "f1"} lines (default: %(default)s)',
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


def _inputs(args: argparse.Namespace) -> tuple[Path, Path, Any]:
    """Give the dumps, and the settings of the world whose dumps they are (None for real ones)."""
    if args.world is not None:
        from twowiki.worlds.dataset import prepare_dumps
        from twowiki.worlds.settings import parse_world

        if args.wikidata or args.paragraphs:
            raise DataError("--world and dumps", remedy="Give one or the other.")
        world = parse_world(args.world)
        return *prepare_dumps(world, (args.work or args.out / "work") / "world"), world
    if args.wikidata is None or args.paragraphs is None:
        raise DataError(
            "no dumps", remedy="Give --wikidata and --paragraphs, or --world for a fictional world."
        )
    return args.wikidata, args.paragraphs, None


def run(args: argparse.Namespace) -> int:
    """Generate and say what came out."""
    from twowiki.builder.generate import generate
    from twowiki.generation.settings import GenerateConfig, Resources

    if args.workers < 1:
        raise DataError(f"--workers is {args.workers}", remedy="Give a number from 1.")
    named = [kind for text in args.types for kind in text.split(",") if kind]
    wanted = {kind.strip().replace("-", "_") for kind in named}
    wikidata, paragraphs, world = _inputs(args)
    config = GenerateConfig(
        wikidata=wikidata,
        paragraphs=paragraphs,
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
        mix=args.mix,
        probe=args.probe,
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
    for kind, row in report["types"].items() if args.mix == "paper" else ():
        limit = config.limit_of(kind) or 0
        if row["samples"] < 0.8 * limit:
            print(
                f"--mix paper: {row['samples']:,} of {limit:,} {kind} samples; lower "
                "--limit-per-type, or give larger dumps",
                file=sys.stderr,
            )
    splits = {name: sum(counts.values()) for name, counts in report["splits"].items()}
    print(", ".join(f"{name} {count:,}" for name, count in splits.items()))
    if world is not None and report["samples"]:
        from twowiki.generation.difficulty import render_difficulty
        from twowiki.worlds.dataset import add_difficulty

        print(render_difficulty(add_difficulty(world, args.out, report)))
    print(f"report: {args.out / 'report.html'}")
    if not report["samples"]:
        print("no sample passed: see the reasons in the report", file=sys.stderr)
        return 1
    return 0
