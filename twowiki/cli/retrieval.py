"""Score rankings of paragraphs: title_recall@k and all_gold@k.

title_recall@k is the percentage of a question's gold titles among its first k ranked titles, and
all_gold@k the share of questions whose gold titles are all there; both are means over all gold
questions. RANKED is {"id": ["best title", ...]}, lines of {"id", "titles"}, or a TREC run with
--corpus.

    twowiki retrieval ranked.jsonl dev.json --k 2 5 10
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("ranked", metavar="RANKED", help="the rankings")
    add("gold", metavar="GOLD", help="a file, a release's zip, or a folder, with gold")
    add("--k", type=int, nargs="+", default=[2, 5, 10], metavar="K", help="(default: 2 5 10)")
    add("--corpus", metavar="FILE", help="corpus.jsonl, for a TREC run of document ids")
    add("--output", metavar="FILE", help="write the figures as JSON")
    add("--config", metavar="NAME", help="which config of a folder or zip")
    add("--split", metavar="NAME", help="which split (default: validation)")


def run(args: argparse.Namespace) -> int:
    """Score and print."""
    from twowiki.data.sources import examples_of
    from twowiki.io.files import write_json
    from twowiki.retrieval.corpus import score_retrieval
    from twowiki.retrieval.rankings import read_rankings

    ranked = read_rankings(args.ranked, args.corpus)
    gold = examples_of(args.gold, args.config, args.split)
    figures = score_retrieval(ranked, gold, args.k)
    if args.output:
        write_json(args.output, figures)
    for name, value in figures.items():
        print(f"{name}  {value:.2f}" if isinstance(value, float) else f"{name}  {value}")
    return 0
