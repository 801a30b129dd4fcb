"""Write a retrieval corpus: the distinct paragraphs of a split's contexts, in the BEIR layout.

OUT becomes a folder with corpus.jsonl ({"_id", "title", "text"}), queries.jsonl ({"_id", "text"}),
contexts.jsonl (each question's own paragraphs, {"_id", "documents"}) and report.json (counts). A
document's id is a hash of its title and text: the same in every run and whatever the order. Two
paragraphs of one title whose texts differ are two documents.

    twowiki corpus dev.json corpus/
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("source", metavar="SOURCE", help="a file, a release's zip, or a folder")
    add("output", metavar="OUT", help="the folder to write")
    add("--config", metavar="NAME", help="which config of a folder or zip")
    add("--split", metavar="NAME", help="which split (default: validation)")


def run(args: argparse.Namespace) -> int:
    """Write the corpus and print its counts."""
    from pathlib import Path

    from twowiki.data.sources import examples_of
    from twowiki.io.files import write_json, write_json_lines
    from twowiki.retrieval.corpus import build_corpus

    queries: list[dict[str, str]] = []

    def noted() -> object:
        for example in examples_of(args.source, args.config, args.split):
            queries.append({"_id": example.id, "text": example.question})
            yield example

    corpus = build_corpus(noted())  # type: ignore[arg-type]
    out = Path(args.output)
    write_json_lines(
        out / "corpus.jsonl",
        (
            {"_id": one.id, "title": one.title, "text": one.text}
            for one in corpus.documents.values()
        ),
    )
    write_json_lines(out / "queries.jsonl", queries)
    write_json_lines(
        out / "contexts.jsonl",
        ({"_id": name, "documents": documents} for name, documents in corpus.contexts.items()),
    )
    write_json(out / "report.json", corpus.report)
    for name, count in corpus.report.items():
        print(f"{name.replace('_', ' ')}: {count:,}")
    return 0
