"""Time and memory of a BM25 index of paragraphs, beside bm25s as its own page shows it.

  .venv/bin/python bench/bench_retrieval.py                        # 100,000 paragraphs, both
  .venv/bin/python bench/bench_retrieval.py --paragraphs 1000000 --ours    # a million, ours alone

The reference reads the same corpus.jsonl into a list, tokenizes it with stop words and a stemmer,
indexes and saves it. Both run in processes of their own; ratios are of one run, side by side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple

_OURS = """
from pathlib import Path
from twowiki.retrieval import IndexSettings, ParagraphCorpus, SentenceIndex, build_index
build_index(ParagraphCorpus([sys.argv[1]]), Path(sys.argv[2]), IndexSettings(engine=sys.argv[4]))
built = used()
index = SentenceIndex(sys.argv[2])
index.search(questions, 10)
"""
_REFERENCE = """
import bm25s
from twowiki.arc_da.metric.scoring import stem
stems = lambda words: [stem(word) for word in words]
records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
corpus = [record["title"] + " " + record["text"] for record in records]
tokens = bm25s.tokenize(corpus, stopwords="en", stemmer=stems, show_progress=False)
retriever = bm25s.BM25(k1=1.2, b=0.75)
retriever.index(tokens, show_progress=False)
retriever.save(sys.argv[2])
built = used()
asked = bm25s.tokenize(questions, stopwords="en", stemmer=stems, show_progress=False)
retriever.retrieve(asked, k=10, show_progress=False)
"""
_FRAME = """
import json, resource, sys
def used():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime
questions = [line.strip() for line in open(sys.argv[3], encoding="utf-8")]
{}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([built, used() - built, peak]))
"""


class Cost(NamedTuple):
    """Processor seconds of indexing and of all questions, and peak memory (MiB)."""

    build: float
    search: float
    memory: float


def write_corpus(path: Path, paragraphs: int, seed: int = 0) -> None:
    """Write paragraphs of 40 to 100 words, of which some are common and most are rare."""
    random = Random(seed)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(paragraphs):
            count = random.randint(40, 100)
            words = [f"w{int(random.paretovariate(0.6)) % 400_000}" for _ in range(count)]
            record = {"_id": f"d{number}", "title": f"Page {number}", "text": " ".join(words)}
            stream.write(json.dumps(record) + "\n")


def write_questions(path: Path, count: int, seed: int = 1) -> None:
    """Write questions of eight words."""
    random = Random(seed)
    lines = (
        " ".join(f"w{int(random.paretovariate(0.4)) % 400_000}" for _ in range(8))
        for _ in range(count)
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def cost_of(code: str, folder: Path, engine: str) -> Cost:
    """Run a program of its own over the folder's corpus and questions."""
    names = ["corpus.jsonl", f"index-{abs(hash((code, engine)))}", "questions.txt"]
    done = subprocess.run(
        [sys.executable, "-c", _FRAME.format(code), *(str(folder / name) for name in names),
         engine],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paragraphs", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--engine", default="bm25s", choices=("bm25s", "tantivy"))
    parser.add_argument("--ours", action="store_true", help="leave the reference out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_retrieval_") as name:
        folder = Path(name)
        write_corpus(folder / "corpus.jsonl", args.paragraphs)
        write_questions(folder / "questions.txt", args.questions)
        size = (folder / "corpus.jsonl").stat().st_size
        print(f"{args.paragraphs:,} paragraphs, {size / 1e6:.0f} MB; engine {args.engine}")
        ours = cost_of(_OURS, folder, args.engine)
        print(
            f"index {1e6 * ours.build / args.paragraphs:.0f} s a million, peak {ours.memory:.0f} "
            f"MiB; a question {1000 * ours.search / args.questions:.1f} ms"
        )
        if not args.ours:
            other = cost_of(_REFERENCE, folder, args.engine)
            print(
                f"bm25s by itself over ours: index {other.build / ours.build:.2f}, peak memory "
                f"{other.memory / ours.memory:.2f}, questions {other.search / ours.search:.2f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
