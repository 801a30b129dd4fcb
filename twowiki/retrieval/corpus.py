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

from twowiki.data.schema import Example, Paragraph, parse_record
from twowiki.errors import DataError

Examples = Iterable[Example | Mapping[str, Any]]


class Document(NamedTuple):
    """One distinct paragraph."""

    id: str
    title: str
    text: str


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
        titles = dict.fromkeys(fact.title for fact in example.supporting_facts)
        found = [paragraph for paragraph in example.context if paragraph.title in titles]
        relevant[example.id] = list(dict.fromkeys(document_of(one).id for one in found))
        dangling += len(titles.keys() - {paragraph.title for paragraph in found})
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
    text = join_sentences(paragraph.sentences)
    content = f"{paragraph.title}\n{text}".encode("utf-8", "surrogatepass")
    return Document(hashlib.sha256(content).hexdigest()[:16], paragraph.title, text)


def join_sentences(sentences: Sequence[str]) -> str:
    """Return sentences as one text, with a space where neither side has one."""
    text = ""
    for sentence in sentences:
        glue = " " if text and sentence and not text[-1].isspace() else ""
        text += ("" if sentence[:1].isspace() else glue) + sentence
    return text.strip()


def typed_examples(examples: Examples) -> Iterator[Example]:
    """Yield examples, raw records parsed."""
    for example in examples:
        yield example if isinstance(example, Example) else parse_record(example)
