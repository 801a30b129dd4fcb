"""The data set for retrieval: a corpus of distinct paragraphs, and relevance judgments.

In: examples (rows and official records too). Out: documents with ids made of their content, the
documents of each question's context, and judgments that hold the gold paragraphs alone. Titles are
compared unchanged; distractors are never relevant. Two questions with one id are refused, and
splits without gold have no judgments.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Example, Paragraph, gold_paragraphs, parse_record
from twowiki.errors import DataError

Examples = Iterable[Example | Mapping[str, Any]]


class Document(NamedTuple):
    """One distinct paragraph; its sentences start at these characters of the text."""

    id: str
    title: str
    text: str
    starts: tuple[int, ...] = ()

    @property
    def paragraph(self) -> Paragraph:
        """The paragraph with its sentences, without blanks around them; `sent_id` as it was."""
        ends = (*self.starts[1:], len(self.text))
        cut = zip(self.starts, ends, strict=True) if self.starts else ((0, len(self.text)),)
        return Paragraph(self.title, tuple(self.text[start:end].strip() for start, end in cut))

    @property
    def indexed(self) -> str:
        """What an index holds of it: title and text."""
        return f"{self.title} {self.text}"

    @property
    def key(self) -> str:
        """What two records of one document share."""
        return self.id


class Corpus(NamedTuple):
    """Distinct paragraphs, and the documents of each question's context."""

    documents: dict[str, Document]  # by id, in order of first occurrence
    contexts: dict[str, list[str]]  # question id -> document ids, in the context's order
    report: dict[str, int]


class Qrels(NamedTuple):
    """Relevance judgments: they list what is relevant."""

    relevant: dict[str, list[str]]  # question id -> document ids
    report: dict[str, int]


def build_corpus(examples: Examples) -> Corpus:
    """Return the paragraphs of all contexts, each (title, text) once.

    Args:
        examples: of any split; several splits may be chained.

    Returns:
        The corpus. Document ids depend on title and text alone, not on order or other questions.

    Raises:
        DataError: two questions with one id.
    """
    documents: dict[str, Document] = {}
    contexts: dict[str, list[str]] = {}
    for example in typed_examples(examples):
        if example.id in contexts:
            raise DataError("two questions have one id", record=example.id, field="_id")
        found = map(document_of, example.context)
        contexts[example.id] = [documents.setdefault(one.id, one).id for one in found]
    titles = Counter(document.title for document in documents.values())
    report = {
        "questions": len(contexts),
        "paragraphs": sum(map(len, contexts.values())),
        "documents": len(documents),
        "titles": len(titles),
        "titles_with_several_texts": sum(count > 1 for count in titles.values()),
        "empty_documents": sum(not document.text for document in documents.values()),
    }
    return Corpus(documents, contexts, report)


def build_qrels(examples: Examples) -> Qrels:
    """Return judgments: the paragraphs that the supporting facts name are relevant.

    Args:
        examples: with gold.

    Returns:
        Judgments by document id (those of `build_corpus`). A gold title that is not in the context
        is counted in the report and has no judgment.
    """
    relevant: dict[str, list[str]] = {}
    dangling = 0
    for example in typed_examples(examples):
        gold, lacking = gold_paragraphs(example)
        relevant[example.id] = list(dict.fromkeys(document_of(one).id for one in gold))
        dangling += len(lacking)
    if relevant and not any(relevant.values()):
        raise DataError(
            "no question has a supporting fact in its context",
            remedy="Test splits hide them: use train or validation",
        )
    report = {
        "questions": len(relevant),
        "judgments": sum(map(len, relevant.values())),
        "questions_without": sum(not documents for documents in relevant.values()),
        "dangling_titles": dangling,
    }
    return Qrels(relevant, report)


def document_of(paragraph: Paragraph) -> Document:
    """Return the document of a paragraph; its id is a hash of title and text."""
    text, starts = _joined(paragraph.sentences)
    return Document(id_of_document(paragraph.title, text), paragraph.title, text, starts)


def id_of_document(title: str, text: str) -> str:
    """Return the id that title and text alone decide."""
    content = f"{title}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]


def document_record(document: Document) -> dict[str, Any]:
    """Return a document's line of corpus.jsonl: BEIR's three keys, and where sentences start."""
    record = {"_id": document.id, "title": document.title, "text": document.text}
    return {**record, "metadata": {"sentence_starts": list(document.starts)}}


def join_sentences(sentences: Sequence[str]) -> str:
    """Return sentences as one text, with a space where neither side has one."""
    return _joined(sentences)[0]


def _joined(sentences: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the text, without blanks around it, and where each sentence starts in it."""
    text, starts = "", []
    for sentence in sentences:
        glue = " " if text and sentence and not text[-1].isspace() else ""
        starts.append(len(text))
        text += ("" if sentence[:1].isspace() else glue) + sentence
    plain = text.strip()
    moved = len(text) - len(text.lstrip())
    return plain, tuple(min(max(0, start - moved), len(plain)) for start in starts)


def typed_examples(examples: Examples) -> Iterator[Example]:
    """Yield examples, raw records parsed."""
    for example in examples:
        yield example if isinstance(example, Example) else parse_record(example)
