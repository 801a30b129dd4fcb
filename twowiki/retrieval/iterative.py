"""Retrieve and read in turns, one query a hop: a baseline for questions that take several pages.

In: questions, and an index of paragraphs. Out: one `HopRanking` per question. The first query is
the question. A reader then makes the next one from the question and the best new paragraphs;
without another the reader is `read_names`, which takes the names that these add. A query that a
reader leaves empty ends its question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from twowiki.data.schema import Example
from twowiki.errors import DataError
from twowiki.retrieval.analysis import analyze
from twowiki.retrieval.corpus import Document
from twowiki.retrieval.index import Hit, SentenceIndex
from twowiki.retrieval.rankings import context_of

Reader = Callable[[Sequence[str], Sequence[Sequence[Document]]], Sequence[str]]
READ = 2  # paragraphs of each hop that are read
_NAME = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?:\s+(?:(?:of|the|de|von|van|la)\s+)?[^\W\d_a-z][\w'’.-]*)*"
)


class HopRanking(NamedTuple):
    """The paragraphs of a question, best first, each with the hop that found it; the queries."""

    hits: tuple[Hit, ...]
    hops: tuple[int, ...]
    queries: tuple[str, ...]


def retrieve_by_hops(
    index: SentenceIndex,
    questions: Sequence[str],
    *,
    k: int = 10,
    hops: int = 1,
    read: Reader | None = None,
) -> list[HopRanking]:
    """Retrieve the k best paragraphs of each question in one or several hops.

    Args:
        index: of paragraphs.
        questions: the questions.
        k: the number of paragraphs of each; hops take turns.
        hops: the number of queries of each.
        read: returns the next query of each question, from the questions and the best paragraphs
            of the hop before.

    Raises:
        DataError: the index holds sentences.
    """
    if index.unit != "paragraph":
        remedy = "Index the corpus with `twowiki index --unit paragraph`"
        raise DataError("it holds sentences, not paragraphs", file=index.folder, remedy=remedy)
    read = read or read_names
    queries = [[question] for question in questions]
    found: list[list[list[Hit]]] = [[] for _ in questions]
    for hop in range(hops):
        searched = [number for number, own in enumerate(queries) if len(own) == hop + 1 and own[-1]]
        results = index.search([queries[number][-1] for number in searched], k + READ * hop)
        for number, hits in zip(searched, results, strict=True):
            seen = {hit.number for part in found[number] for hit in part[:READ]}
            found[number].append([hit for hit in hits if hit.number not in seen])
        if hop + 1 < hops and searched:
            best = [[hit.entry for hit in found[number][-1][:READ]] for number in searched]
            made = read([questions[number] for number in searched], best)
            for number, query in zip(searched, made, strict=True):
                queries[number].append(query)
    return [_in_turns(parts, own, k) for parts, own in zip(found, queries, strict=True)]


def read_names(questions: Sequence[str], paragraphs: Sequence[Sequence[Document]]) -> list[str]:
    """Return each question with the names that its paragraphs add to it; empty without any.

    Args:
        questions: the questions.
        paragraphs: the best paragraphs of a hop, by question.
    """
    return [_with_names(*pair) for pair in zip(questions, paragraphs, strict=True)]


def _with_names(question: str, paragraphs: Sequence[Document]) -> str:
    names: dict[str, None] = {}
    for document in paragraphs:
        known = set(analyze(f"{question} {document.title}", "en"))
        for match in _NAME.finditer(document.text):
            name = match.group().rstrip(".")
            if set(analyze(name, "en")) - known:
                names[name] = None
    return " ".join([question, *names]) if names else ""


def triple_reader(model: Any, batch_size: int = 48) -> Reader:
    """Return a reader that adds the objects of the triples that a model of this package finds.

    Args:
        model: what `twowiki.load_model` returns.
        batch_size: windows per batch.
    """

    def read(questions: Sequence[str], paragraphs: Sequence[Sequence[Document]]) -> list[str]:
        examples = [
            Example(str(number), question, None, context_of(documents))
            for number, (question, documents) in enumerate(zip(questions, paragraphs, strict=True))
        ]
        answers = model.answer(examples, batch_size=batch_size)
        return [_with_objects(*pair) for pair in zip(questions, answers, strict=True)]

    return read


def _with_objects(question: str, answer: Any) -> str:
    known = set(analyze(question, "en"))
    names = dict.fromkeys(str(triple[-1]) for triple in answer.evidences)
    new = [name for name in names if set(analyze(name, "en")) - known]
    return " ".join([question, *new]) if new else ""


def _in_turns(parts: Sequence[Sequence[Hit]], queries: Sequence[str], k: int) -> HopRanking:
    """Merge the hops' hits: the best one of each hop, then the next, each paragraph once."""
    ranked: dict[int, tuple[Hit, int]] = {}
    longest = max(map(len, parts), default=0)
    for place in range(longest):
        for hop, part in enumerate(parts, 1):
            for hit in part[place : place + 1]:
                ranked.setdefault(hit.number, (hit, hop))
    kept = list(ranked.values())[:k]
    searched = tuple(query for query in queries if query)
    return HopRanking(tuple(hit for hit, _ in kept), tuple(hop for _, hop in kept), searched)
