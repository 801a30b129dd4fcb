"""Write relevance judgements: the paragraphs that the supporting facts name, and no distractor.

Two documents a question, four for a bridge-comparison. Document ids are those of `twowiki corpus`.
The file is BEIR's tab-separated table (query-id, corpus-id, score), or TREC's qrels with --trec.

    twowiki qrels dev.json corpus/qrels/validation.tsv
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("source", metavar="SOURCE", help="a file, a release's zip, or a folder, with gold")
    add("output", metavar="OUT", help="the file to write")
    add("--trec", action="store_true", help="write TREC's form (id 0 document 1)")
    add("--config", metavar="NAME", help="which config of a folder or zip")
    add("--split", metavar="NAME", help="which split (default: validation)")


def run(args: argparse.Namespace) -> int:
    """Write the judgements and print their counts."""
    from twowiki.data.sources import examples_of
    from twowiki.io.files import write_text
    from twowiki.retrieval.corpus import build_qrels

    qrels = build_qrels(examples_of(args.source, args.config, args.split))
    pairs = [(name, document) for name, found in qrels.relevant.items() for document in found]
    if args.trec:
        lines = [f"{name} 0 {document} 1" for name, document in pairs]
    else:
        lines = ["query-id\tcorpus-id\tscore", *(f"{name}\t{found}\t1" for name, found in pairs)]
    write_text(args.output, "\n".join(lines) + "\n")
    for name, count in qrels.report.items():
        print(f"{name.replace('_', ' ')}: {count:,}")
    return 0
