"""Write typed Parquet shards and a dataset card: a folder that load_dataset reads by itself.

  twowiki export data_ids_april7.zip out
  python -c 'from datasets import load_dataset; print(load_dataset("out", "data_ids_april7"))'

A killed export goes on where it stopped; other configs in OUT stay.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from twowiki.builder.export import SHARD_ROWS

    parser.add_argument("source", help="a release's zip, a file, or a folder of files")
    parser.add_argument("out", help="the folder to write")
    parser.add_argument(
        "--config",
        help="data_ids_april7 (default), data_ids, data, hotpotqa or arc_da; "
        "by default told from the source's name",
    )
    parser.add_argument("--arc-dir", help="arc_da: the folder of ARC's own files, for the choices")
    parser.add_argument(
        "--shard-rows",
        type=int,
        default=SHARD_ROWS,
        help="rows a shard, a multiple of 1000 (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Export and say what was written."""
    from twowiki.builder.export import export

    counts = export(
        args.source, args.out, args.config, arc_dir=args.arc_dir, shard_rows=args.shard_rows
    )
    for split, rows in counts.items():
        print(f"{split}: {rows:,} rows")
    print(f"written to {args.out}")
    return 0
