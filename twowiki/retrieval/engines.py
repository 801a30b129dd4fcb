"""Engines that retrieve sentences by BM25 (k1 1.2, b 0.75), behind one interface.

In: a store of sentences, then questions. Out: sentence numbers with scores, best first. `bm25s`
holds a corpus of up to about two million sentences in memory-mapped arrays; `tantivy` is for more.
Both index the words of `analysis`, so that they differ in rounding only; the search server is in
`elasticsearch`. Ties are ordered by sentence number, whatever the engine.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from twowiki.io.files import progress
from twowiki.io.records import collector_paused
from twowiki.retrieval.analysis import analyze
from twowiki.retrieval.sentence_store import SentenceStore

K1, B = 1.2, 0.75
SLACK = 50  # hits beyond k, so that ties at the end are ordered by number
_COMMIT = 200_000  # sentences between tantivy's commits
_HEAP = 256 << 20  # bytes that tantivy collects before it writes a segment


class Found(NamedTuple):
    """A sentence's number and its score."""

    number: int
    score: float


class SentenceEngine(Protocol):
    """Retrieves sentences by number."""

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Return the k best sentences of each question, best first; all share a word with it."""


class Bm25sEngine:
    """The arrays of `bm25s`, of which only the matching sentences are scored.

    Args:
        folder: where `build` wrote.
        analyzer: that of the index.
    """

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
    def build(store: SentenceStore, folder: Path, analyzer: str) -> None:
        """Index a store; the folder is there once all is done."""
        import bm25s

        if folder.is_dir():
            return

        vocabulary: dict[str, int] = {}
        documents = []
        with collector_paused():
            for sentence in progress(store.sentences(), what="indexing", total=len(store)):
                words = analyze(sentence.text, analyzer)
                documents.append([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            if not vocabulary:  # only stop words
                vocabulary[""] = 0
            retriever: Any = bm25s.BM25(method="lucene", k1=K1, b=B)
            retriever.index((documents, vocabulary), show_progress=sys.stderr.isatty())
        aside = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(aside, ignore_errors=True)
        retriever.save(aside, show_progress=False)
        aside.rename(folder)

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Sum the scores of each question's words, over the sentences that have them."""
        return [self._best(analyze(question, self.analyzer), k) for question in questions]

    def _best(self, words: Sequence[str], k: int) -> list[Found]:
        ids = [self.vocabulary[word] for word in words if word and word in self.vocabulary]
        matches = []
        for one in ids:
            rows = slice(int(self.starts[one]), int(self.starts[one + 1]))
            self.scores[self.indices[rows]] += self.data[rows]
            matches.append(np.asarray(self.indices[rows]))
        if not matches:
            return []
        numbers = np.unique(np.concatenate(matches))
        scores = self.scores[numbers]
        self.scores[numbers] = 0
        if len(numbers) > k:
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            numbers, scores = numbers[scores >= least], scores[scores >= least]
        order = np.lexsort((numbers, -scores))[:k]
        found = zip(numbers[order].tolist(), scores[order].tolist(), strict=True)
        return [Found(number, score) for number, score in found if score > 0]


class TantivyEngine:
    """A tantivy index of the words of `analysis`; sentence numbers are its only stored field.

    Args:
        folder: where `build` wrote.
        analyzer: that of the index.
    """

    def __init__(self, folder: Path, analyzer: str) -> None:
        self.analyzer = analyzer
        self.index: Any = _open_tantivy(folder)
        self.index.reload()
        self.searcher = self.index.searcher()

    @staticmethod
    def build(store: SentenceStore, folder: Path, analyzer: str, *, batch: int = _COMMIT) -> None:
        """Index a store; what an interrupted build committed is kept."""
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
        """Search for any of each question's words; query syntax has no meaning."""
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


def _open_tantivy(folder: Path) -> Any:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("words", tokenizer_name="words", index_option="freq")
    schema.add_unsigned_field("number", stored=True, indexed=False, fast=False)
    index = tantivy.Index(schema.build(), path=str(folder), reuse=True)
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("words", analyzer)
    return index
