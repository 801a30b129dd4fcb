"""Engines that find sentences by BM25 (k1 1.2, b 0.75), behind one interface.

`bm25s` holds a corpus of up to about two million sentences in memory-mapped arrays; `tantivy` is
for more. Both are given words that `analysis` made, so that they differ in rounding only. The
server's engine is in `server`. Ties are broken by sentence number, whatever the engine.
"""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from twowiki.io.files import progress
from twowiki.retrieval.analysis import analyze
from twowiki.retrieval.sentence_store import Store

K1, B = 1.2, 0.75
BATCH = 200_000  # sentences between tantivy's commits
SLACK = 50  # hits beyond those asked for, so that ties at the end are broken by number
_HEAP = 256 << 20  # bytes that tantivy gathers before it writes a segment


class Found(NamedTuple):
    """A sentence's number and its score."""

    number: int
    score: float


class Engine(Protocol):
    """Finds sentences by number."""

    name: str

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Give each question its k best sentences, best first; none that shares no word."""

    def close(self) -> None:
        """Let go of files and connections."""


class Bm25s:
    """The arrays that `bm25s` made, searched with scores of the matching sentences alone.

    Args:
        folder: where `build` wrote.
        analyzer: the index's.
    """

    name = "bm25s"

    def __init__(self, folder: Path, analyzer: str) -> None:
        import bm25s

        self.analyzer = analyzer
        found: Any = bm25s.BM25.load(folder, mmap=True, load_corpus=False)
        self.vocabulary: dict[str, int] = found.vocab_dict
        arrays = found.scores
        self.data, self.indices = arrays["data"], arrays["indices"]
        self.starts = np.asarray(arrays["indptr"])
        self.scores = np.zeros(int(arrays["num_docs"]), dtype=np.float32)

    @staticmethod
    def build(store: Store, folder: Path, analyzer: str) -> None:
        """Index a store; the folder appears when all is done."""
        import bm25s

        vocabulary: dict[str, int] = {}
        documents = []
        with _collector_paused():
            for sentence in progress(store.sentences(), what="indexing", total=len(store)):
                words = analyze(sentence.text, analyzer)
                documents.append([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            if not vocabulary:  # nothing but stop words
                vocabulary[""] = 0
            retriever: Any = bm25s.BM25(method="lucene", k1=K1, b=B)
            retriever.index((documents, vocabulary), show_progress=sys.stderr.isatty())
        aside = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(aside, ignore_errors=True)
        retriever.save(aside, show_progress=False)
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Add up the scores of each question's words, over the sentences that have them."""
        return [self._best(analyze(question, self.analyzer), k) for question in questions]

    def _best(self, words: Sequence[str], k: int) -> list[Found]:
        ids = [self.vocabulary[word] for word in words if word and word in self.vocabulary]
        places = []
        for one in ids:
            rows = slice(int(self.starts[one]), int(self.starts[one + 1]))
            self.scores[self.indices[rows]] += self.data[rows]
            places.append(np.asarray(self.indices[rows]))
        if not places:
            return []
        numbers = np.unique(np.concatenate(places))
        scores = self.scores[numbers]
        self.scores[numbers] = 0
        if len(numbers) > k:
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            numbers, scores = numbers[scores >= least], scores[scores >= least]
        order = np.lexsort((numbers, -scores))[:k]
        found = zip(numbers[order].tolist(), scores[order].tolist(), strict=True)
        return [Found(number, score) for number, score in found if score > 0]

    def close(self) -> None:
        """Do nothing: the arrays go with the object."""


class Tantivy:
    """A tantivy index of words made by `analysis`; sentence numbers are its one stored field."""

    name = "tantivy"

    def __init__(self, folder: Path, analyzer: str) -> None:
        self.analyzer = analyzer
        self.index: Any = _open_tantivy(folder)
        self.index.reload()
        self.searcher = self.index.searcher()

    @staticmethod
    def build(store: Store, folder: Path, analyzer: str, *, batch: int = BATCH) -> None:
        """Index a store; what was committed before is left as it is."""
        import tantivy

        folder.mkdir(parents=True, exist_ok=True)
        index: Any = _open_tantivy(folder)
        index.reload()
        done = index.searcher().num_docs
        writer: Any = index.writer(heap_size=_HEAP, num_threads=1)
        stream = enumerate(store.sentences(done), start=done)
        bar = iter(progress(stream, what="indexing", total=len(store) - done))
        while block := list(islice(bar, batch)):
            for number, sentence in block:
                document: Any = tantivy.Document()
                document.add_text("words", " ".join(analyze(sentence.text, analyzer)))
                document.add_unsigned("number", number)
                writer.add_document(document)
            writer.commit()
        writer.wait_merging_threads()

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Ask for any of each question's words; no query syntax is read."""
        return [self._best(analyze(question, self.analyzer), k) for question in questions]

    def _best(self, words: Sequence[str], k: int) -> list[Found]:
        import tantivy

        if not words:
            return []
        should: Any = tantivy.Occur.Should
        terms = [(should, tantivy.Query.term_query(self.index.schema, "words", w)) for w in words]
        hits: Any = self.searcher.search(tantivy.Query.boolean_query(terms), k + SLACK).hits
        found = [Found(self.searcher.doc(address)["number"][0], score) for score, address in hits]
        return sorted(found, key=lambda one: (-one.score, one.number))[:k]

    def close(self) -> None:
        """Do nothing: the files go with the object."""


def _open_tantivy(folder: Path) -> Any:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("words", tokenizer_name="words", index_option="freq")
    schema.add_unsigned_field("number", stored=True, indexed=False, fast=False)
    index = tantivy.Index(schema.build(), path=str(folder), reuse=True)
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("words", analyzer)
    return index


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from looking through millions of lists over and over."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
