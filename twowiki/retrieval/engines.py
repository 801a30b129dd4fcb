"""Engines that retrieve by BM25 (k1 1.2, b 0.75), behind one interface.

In: a store of entries (sentences or paragraphs), then questions. Out: entry numbers with scores,
best first. `bm25s` holds a corpus of up to about two million entries in memory-mapped arrays;
`tantivy` is for more. Both index the words of `analysis`, so that they differ in rounding only; the
search server is in `elasticsearch`, encoders are in `dense`. Ties are ordered by entry number.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from twowiki.io.files import progress
from twowiki.io.records import collector_paused
from twowiki.retrieval.analysis import analyze
from twowiki.retrieval.postings import K1, B, Postings
from twowiki.retrieval.sentence_store import SentenceStore

UNFINISHED = ".bm25s.tmp"  # the folder of arrays that are being written
SLACK = 50  # hits beyond k, so that ties at the end are ordered by number
_COMMIT = 200_000  # entries between tantivy's commits
_HEAP = 256 << 20  # bytes that tantivy collects before it writes a segment


class Found(NamedTuple):
    """An entry's number and its score."""

    number: int
    score: float


class SentenceEngine(Protocol):
    """Retrieves entries by number."""

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Return the k best entries of each question, best first."""


class Bm25sEngine:
    """The arrays of `bm25s`, of which only the matching entries are scored.

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
        self.data, self.indices = np.asarray(arrays["data"]), np.asarray(arrays["indices"])
        self.starts = np.asarray(arrays["indptr"])
        self.scores = np.zeros(int(arrays["num_docs"]), dtype=np.float32)

    @staticmethod
    def build(store: SentenceStore, folder: Path, analyzer: str) -> None:
        """Index a store; the folder is there once all is done."""
        import bm25s

        if folder.is_dir():
            return
        entries = progress(store.entries(), what="indexing", total=len(store))
        postings = Postings(len(store))
        with collector_paused():
            for number, entry in enumerate(entries):
                postings.add(number, analyze(entry.indexed, analyzer))
        retriever: Any = bm25s.BM25(method="lucene", k1=K1, b=B)
        retriever.nonoccurrence_array = None
        retriever.scores = postings.scores()
        retriever.vocab_dict = postings.vocabulary
        aside = folder.with_name(UNFINISHED)
        shutil.rmtree(aside, ignore_errors=True)
        retriever.save(aside, show_progress=False)
        aside.rename(folder)

    def search(self, questions: Sequence[str], k: int) -> list[list[Found]]:
        """Sum the scores of each question's words, over the entries that have them."""
        return [self._best(analyze(question, self.analyzer), k) for question in questions]

    def _best(self, words: Sequence[str], k: int) -> list[Found]:
        ids = [self.vocabulary[word] for word in words if word and word in self.vocabulary]
        for one in ids:
            rows = slice(int(self.starts[one]), int(self.starts[one + 1]))
            np.add.at(self.scores, self.indices[rows], self.data[rows])
        numbers = np.flatnonzero(self.scores)
        scores = self.scores[numbers]
        self.scores[numbers] = 0
        if len(numbers) > k:
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            numbers, scores = numbers[scores >= least], scores[scores >= least]
        order = np.lexsort((numbers, -scores))[:k]
        found = zip(numbers[order].tolist(), scores[order].tolist(), strict=True)
        return [Found(number, score) for number, score in found if score > 0]


class TantivyEngine:
    """A tantivy index of the words of `analysis`; entry numbers are its only stored field.

    Args:
        folder: where `build` wrote.
        analyzer: that of the index.
    """

    def __init__(self, folder: Path, analyzer: str) -> None:
        self.analyzer = analyzer
        self.index: Any = _open_tantivy(folder)
        self.index.reload()
        self.searcher = self.index.searcher()

    @property
    def count(self) -> int:
        """Entries of the index; none where its list of files is missing."""
        return int(self.searcher.num_docs)

    @staticmethod
    def build(store: SentenceStore, folder: Path, analyzer: str, *, batch: int = _COMMIT) -> None:
        """Index a store; what an interrupted build committed is kept."""
        import tantivy

        folder.mkdir(parents=True, exist_ok=True)
        index: Any = _open_tantivy(folder)
        index.reload()
        done = index.searcher().num_docs
        writer: Any = index.writer(heap_size=_HEAP, num_threads=1)
        stream = enumerate(store.entries(done), start=done)
        bar = iter(progress(stream, what="indexing", total=len(store) - done))
        while block := list(islice(bar, batch)):
            for number, entry in block:
                document: Any = tantivy.Document()
                document.add_text("words", " ".join(analyze(entry.indexed, analyzer)))
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
