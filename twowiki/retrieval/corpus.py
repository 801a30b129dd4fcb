"""The data set for retrieval: a corpus of distinct paragraphs, relevance judgements, two measures.

In: examples (rows and official records too). Out: documents with ids made of their content,
question-to-document maps, judgements that hold the gold paragraphs alone, and `title_recall@k` and
`all_gold@k`. Titles are compared as they stand; distractors are never relevant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    """Distinct paragraphs, and which question has which of them as its context."""

    documents: dict[str, Document]  # by id, in order of first occurrence
    contexts: dict[str, list[str]]  # question id -> document ids, in the context's order
    report: dict[str, int]


class Qrels(NamedTuple):
    """Relevance judgements: only what is relevant stands in them."""

    relevant: dict[str, list[str]]  # question id -> document ids
    report: dict[str, int]


def build_corpus(examples: Examples) -> Corpus:
    """Collect the paragraphs of all contexts, each (title, text) once.

    Args:
        examples: of any split; several splits may be chained.

    Returns:
        The corpus. Document ids depend on title and text alone, not on order or other questions.

    Raises:
        DataError: two questions of one id.
    """
    documents: dict[str, Document] = {}
    contexts: dict[str, list[str]] = {}
    paragraphs = 0
    for example in _examples(examples):
        if example.id in contexts:
            raise DataError("two questions have one id", record=example.id, field="_id")
        found = map(document_of, example.context)
        contexts[example.id] = [documents.setdefault(one.id, one).id for one in found]
        paragraphs += len(example.context)
    titles = {document.title for document in documents.values()}
    report = {
        "questions": len(contexts),
        "paragraphs": paragraphs,
        "documents": len(documents),
        "titles": len(titles),
        "titles_with_several_texts": _several(document.title for document in documents.values()),
        "empty_documents": sum(not document.text for document in documents.values()),
    }
    return Corpus(documents, contexts, report)


def build_qrels(examples: Examples) -> Qrels:
    """Judge the paragraphs that the supporting facts name as relevant, and nothing else.

    Args:
        examples: with gold.

    Returns:
        Judgements by document id (as `build_corpus` gives them); a gold title that the context
        lacks is counted in the report and has no judgement.
    """
    relevant: dict[str, list[str]] = {}
    dangling = 0
    for example in _examples(examples):
        titles = dict.fromkeys(fact.title for fact in example.supporting_facts)
        found = [paragraph for paragraph in example.context if paragraph.title in titles]
        relevant[example.id] = list(dict.fromkeys(document_of(one).id for one in found))
        dangling += len(titles.keys() - {paragraph.title for paragraph in found})
    if relevant and not any(relevant.values()):
        raise DataError(
            "no question has a supporting fact in its context",
            remedy="Test splits hide them: take train or validation",
        )
    report = {
        "questions": len(relevant),
        "judgements": sum(map(len, relevant.values())),
        "questions_without": sum(not documents for documents in relevant.values()),
        "dangling_titles": dangling,
    }
    return Qrels(relevant, report)


def document_of(paragraph: Paragraph) -> Document:
    """Give a paragraph's document; its id is a hash of title and text."""
    text = joined(paragraph.sentences)
    content = f"{paragraph.title}\n{text}".encode("utf-8", "surrogatepass")
    return Document(hashlib.sha256(content).hexdigest()[:16], paragraph.title, text)


def joined(sentences: Sequence[str]) -> str:
    """Join sentences, with one blank where neither side brings one."""
    text = ""
    for sentence in sentences:
        glue = " " if text and sentence and not text[-1].isspace() else ""
        text += ("" if sentence[:1].isspace() else glue) + sentence
    return text.strip()


def title_recall_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Give the percentage of gold titles among the first k ranked ones (0-100).

    A title that is ranked twice takes two places and counts once.
    """
    wanted = _wanted(gold, k)
    return 100.0 * len(wanted.intersection(ranked[:k])) / len(wanted)


def all_gold_at_k(ranked: Sequence[str], gold: Collection[str], k: int) -> int:
    """Tell whether all gold titles are among the first k ranked ones (1 or 0)."""
    return int(_wanted(gold, k).issubset(ranked[:k]))


def score_rankings(
    ranked: Mapping[str, Sequence[str]], gold: Examples, ks: Sequence[int] = (2, 5, 10)
) -> dict[str, Any]:
    """Average both measures over all gold questions; an unranked question scores 0.

    Args:
        ranked: question id to titles, best first.
        gold: examples with supporting facts.
        ks: where to cut the rankings.

    Returns:
        `title_recall@k` (0-100) and `all_gold@k` (share of questions, 0-1) for each k, `n`, and
        how many questions are `missing` in the rankings.
    """
    titles = {
        example.id: {fact.title for fact in example.supporting_facts} for example in _examples(gold)
    }
    titles = {name: wanted for name, wanted in titles.items() if wanted}
    if not titles:
        raise DataError("no question has supporting facts", remedy="Test splits hide them")
    figures: dict[str, Any] = {}
    for k in ks:
        pairs = [(ranked.get(name, ()), wanted) for name, wanted in titles.items()]
        recalls = [title_recall_at_k(found, wanted, k) for found, wanted in pairs]
        alls = [all_gold_at_k(found, wanted, k) for found, wanted in pairs]
        figures[f"title_recall@{k}"] = sum(recalls) / len(recalls)
        figures[f"all_gold@{k}"] = sum(alls) / len(alls)
    figures["n"] = len(titles)
    figures["missing"] = sum(name not in ranked for name in titles)
    return figures


def _wanted(gold: Collection[str], k: int) -> set[str]:
    if k < 1:
        raise DataError(f"k is {k}", remedy="Give at least 1")
    if isinstance(gold, str) or not gold:
        raise DataError("no gold titles to recall", remedy="Give a set of titles")
    return set(gold)


def _examples(examples: Examples) -> Iterator[Example]:
    for example in examples:
        yield example if isinstance(example, Example) else parse_record(example)


def _several(titles: Iterable[str]) -> int:
    seen: set[str] = set()
    several: set[str] = set()
    for title in titles:
        (several if title in seen else seen).add(title)
    return len(several)
