"""Index a corpus of sentences, so that `twowiki arc-da retrieve` can look questions up.

CORPUS may be text (a sentence a line), JSON lines, a JSON array of {title, text}, Parquet, a
table, packed, in a zip, or a folder of these; ARC's corpus and GenericsKB are found in their
releases. Equal sentences are kept once. A run that was cut off goes on when started again.

  twowiki arc-da index GenericsKB-Best.tsv science_index
  twowiki arc-da index ARC-V1-Feb2018-2.zip arc_index --engine tantivy
  twowiki arc-da index corpus.jsonl served --engine server --server http://localhost:9200

The engine bm25s holds up to about two million sentences, tantivy any number; `server` sends them
to Elasticsearch or OpenSearch (a key is read from TWOWIKI_SEARCH_API_KEY).
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files, folders or zips")
    parser.add_argument("out", metavar="OUT", help="folder of the index, new or cut off")
    parser.add_argument(
        "--engine",
        choices=("auto", "bm25s", "tantivy", "server"),
        default="auto",
        help="auto: bm25s, above two million sentences tantivy (default)",
    )
    parser.add_argument(
        "--analyzer",
        choices=("en", "std"),
        default="en",
        help="en: no stop words, stemmed (default); std: words as they stand, in lower case",
    )
    parser.add_argument(
        "--split",
        choices=("auto", "yes", "no"),
        default="auto",
        help="cut texts into sentences; auto: documents alone, not lines (default)",
    )
    parser.add_argument(
        "--title-first", action="store_true", help="put a document's title before its sentences"
    )
    parser.add_argument("--server", default="", metavar="URL", help="of Elasticsearch, OpenSearch")
    parser.add_argument(
        "--server-index", default="arc_da", metavar="NAME", help="the index there (default arc_da)"
    )


def run(args: argparse.Namespace) -> int:
    """Index, and say what the index holds."""
    from twowiki.retrieval.corpora import Corpus
    from twowiki.retrieval.index import Setting, build_index

    corpus = Corpus(args.corpus, splitting=args.split, title_first=args.title_first)
    setting = Setting(args.engine, args.analyzer, args.server, args.server_index)
    manifest = build_index(corpus, Path(args.out), setting)
    version = f" {manifest['engine_version']}" if manifest["engine_version"] else ""
    print(f"{manifest['sentences']} sentences, {manifest['engine']}{version}, "
          f"analyzer {manifest['analyzer']}")  # fmt: skip
    for reason, count in manifest["dropped"].items():
        print(f"  left out: {reason}: {count}")
    print(f"written to {args.out}")
    return 0
