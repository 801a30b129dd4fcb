"""Print the paper's tables for any split: types, lengths, answer classes, relations.

  twowiki stats data_ids_april7.zip
  twowiki stats dev.json --output stats.json

Lengths are whitespace words. Splits are read one after the other, streamed.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", help="a release's zip, a file, or a folder of files")
    parser.add_argument("--config", help="the release or hotpotqa (default: told from the source)")
    parser.add_argument("--split", help="train, validation or test (default: all that are there)")
    parser.add_argument("--output", help="also write the tables as JSON")


def run(args: argparse.Namespace) -> int:
    """Count and print."""
    from twowiki.data.schema import types_of
    from twowiki.data.sources import find_splits, guess_config, read_examples
    from twowiki.data.statistics import overview_of
    from twowiki.errors import DataError
    from twowiki.io.files import progress, write_json

    config = args.config or guess_config(args.source)
    if config == "arc_da":
        raise DataError("ARC-DA has tables of its own", remedy="Use `twowiki arc-da stats`")
    types_of(config)
    splits = find_splits(args.source, config)
    if args.split and args.split not in splits:
        raise DataError(f"no split {args.split!r}; it holds {', '.join(splits)}", file=args.source)
    results = {}
    for split in [args.split] if args.split else splits:
        examples = read_examples(splits[split], config, split)
        result = overview_of(progress(examples, what=split))
        results[split] = result.to_dict()
        print(result.render(split))
    if args.output:
        write_json(args.output, results)
    return 0
