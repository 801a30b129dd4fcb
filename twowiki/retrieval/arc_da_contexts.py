"""Sentences for each question, retrieved with the question alone, near-equal ones once.

In: questions, and an index. Out: one `QuestionContext` per question, the file that training and
prediction read (JSON lines of `question_id`, `query`, `index`, `sentences`: text, score, title),
and a report of how often the sentences contain an answer. Each record has the query's kind: options
in the query would give a direct-answer question its options, so such sentences are refused there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.errors import DataError
from twowiki.io.records import read_records
from twowiki.metric.report import summarize
from twowiki.metric.tables import format_score, render_table
from twowiki.retrieval.analysis import analyze, plain_key
from twowiki.retrieval.index import Hit, SentenceIndex

QUERIES = ("question", "question_options")
_MOST_HITS = 400  # that are considered for one question
_SHORTEST_COPY = 5  # words of a question that counts as contained in a sentence


class QuestionContext(NamedTuple):
    """The sentences of a question, best first, and the number skipped, by reason."""

    question_id: str
    hits: tuple[Hit, ...]
    skipped: Mapping[str, int]


class ContextSettings(NamedTuple):
    """What to search for and which sentences to keep.

    Attributes:
        query: `question`, or `question_options` (only for multiple choice).
        sentences: number of sentences per question (the paper has 10).
        near: share of common words from which a sentence repeats a better one; at 1 only
            sentences of the same words do.
        copies: keep sentences that contain the question itself, as pages of test banks do.
    """

    query: str = "question"
    sentences: int = 10
    near: float = 0.9
    copies: bool = False


def query_of(item: Question | MultipleChoice, settings: ContextSettings) -> str:
    """Return the query of a question; gold answers are never part of it.

    Raises:
        DataError: options in the query of a direct-answer question.
    """
    if settings.query not in QUERIES:
        remedy = f"It is one of {', '.join(QUERIES)}"
        raise DataError(f"is {settings.query!r}", field="query", remedy=remedy)
    if isinstance(item, Question):
        if settings.query != "question":
            remedy = "Use --query question; options are for multiple choice"
            problem = "the options must not help to retrieve for a direct answer"
            raise DataError(problem, record=item.question_id, field="query", remedy=remedy)
        return item.question
    options = " ".join(choice.text for choice in item.choices)
    return f"{item.stem} {options}" if settings.query == "question_options" else item.stem


def find_contexts(
    index: SentenceIndex, items: Sequence[Question | MultipleChoice], settings: ContextSettings
) -> list[QuestionContext]:
    """Retrieve the sentences of a batch of questions.

    Args:
        index: where to search.
        items: questions.
        settings: how many to keep, and which to skip.
    """
    queries = [query_of(item, settings) for item in items]
    depth = min(_MOST_HITS, 3 * settings.sentences + 20)
    contexts = []
    for item, query, hits in zip(items, queries, index.search(queries, depth), strict=True):
        context = _select(item, hits, settings)
        if len(context.hits) < settings.sentences and len(hits) == depth < _MOST_HITS:
            context = _select(item, index.search([query], _MOST_HITS)[0], settings)
        contexts.append(context)
    return contexts


def _select(
    item: Question | MultipleChoice, hits: Iterable[Hit], settings: ContextSettings
) -> QuestionContext:
    """Keep the best sentences that are not near-duplicates of better ones."""
    question = plain_key(item.question if isinstance(item, Question) else item.stem)
    copyable = len(question.split()) >= _SHORTEST_COPY
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    skipped: dict[str, int] = {}
    for hit in hits:
        if len(kept) == settings.sentences:
            break
        own = frozenset(analyze(hit.entry.text, "en"))
        reason = None
        if copyable and not settings.copies and f" {question} " in f" {plain_key(hit.entry.text)} ":
            reason = "holds_the_question"
        elif any(_alike(own, other, settings.near) for other in words):
            reason = "near_duplicate"
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        kept.append(hit)
        words.append(own)
    return QuestionContext(item.question_id, tuple(kept), skipped)


def context_record(
    context: QuestionContext, settings: ContextSettings, index: str
) -> dict[str, Any]:
    """Return a line of the contexts file; `index` is the index's short hash."""
    sentences = [
        {
            "text": hit.entry.text,
            "score": round(hit.score, 6),
            **({"title": hit.entry.title} if hit.entry.title else {}),
        }
        for hit in context.hits
    ]
    return {
        "question_id": context.question_id,
        "query": settings.query,
        "index": index,
        "sentences": sentences,
        "passed_over": dict(context.skipped),
    }


def read_contexts(
    path: str | PathLike[str], *, direct_answer: bool = True
) -> dict[str, tuple[str, ...]]:
    """Read a contexts file: the sentences of each question, best first.

    Args:
        path: the file that `twowiki arc-da retrieve` wrote, or JSON lines of `question_id` and
            `sentences` (texts, or objects with a `text`).
        direct_answer: refuse sentences that were retrieved with options.

    Raises:
        DataError: a record of another shape, a repeated id, or options in the query.
    """
    contexts: dict[str, tuple[str, ...]] = {}
    for number, record in read_records(str(path)):
        name = record.get("question_id", record.get("id"))
        if not isinstance(name, str):
            raise DataError("no question id", file=path, record=number, field="question_id")
        if name in contexts:
            raise DataError("duplicate id", file=path, record=name, field="question_id")
        if direct_answer and record.get("query", "question") != "question":
            remedy = "Retrieve again with --query question"
            problem = "these sentences were retrieved with the options, so they reveal the answer"
            raise DataError(problem, file=path, record=name, field="query", remedy=remedy)
        contexts[name] = _texts(record.get("sentences"), path, name)
    return contexts


def read_context_files(
    paths: Sequence[str],
    items: Sequence[Question | MultipleChoice],
    *,
    direct_answer: bool = True,
) -> dict[str, tuple[str, ...]]:
    """Read several contexts files; of a question that two of them have, the later one counts.

    Args:
        paths: the files; none for questions without sentences.
        items: the questions that are asked.
        direct_answer: refuse sentences that were retrieved with options.

    Raises:
        DataError: as of `read_contexts`, or the files have none of these questions.
    """
    contexts: dict[str, tuple[str, ...]] = {}
    for path in paths:
        contexts |= read_contexts(path, direct_answer=direct_answer)
    if paths and not any(item.question_id in contexts for item in items):
        remedy = "Retrieve for the questions that are asked: `twowiki arc-da retrieve`"
        raise DataError("have no sentences for these questions", file=paths[0], remedy=remedy)
    return contexts


def _texts(raw: Any, path: str | PathLike[str], record: str) -> tuple[str, ...]:
    if not isinstance(raw, list):
        raise DataError("must be a list", file=path, record=record, field="sentences")
    texts: list[str] = []
    for one in raw:
        text = one.get("text") if isinstance(one, Mapping) else one
        if not isinstance(text, str):
            raise DataError("must contain texts", file=path, record=record, field="sentences")
        texts.append(text)
    return tuple(texts)


def _alike(first: frozenset[str], second: frozenset[str], near: float) -> bool:
    shared = len(first & second)
    return shared >= near * (len(first) + len(second) - shared)


def report_quality(
    questions: Sequence[Question],
    contexts: Mapping[str, Sequence[str]],
    *,
    ks: Sequence[int] = (1, 5, 10),
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Return how often the first k sentences contain a gold answer, and how often by chance.

    Args:
        questions: the questions.
        contexts: sentences by question id, best first.
        ks: the cutoffs.
        resamples: of the bootstrap of the intervals.
        seed: of the same.

    Returns:
        Counts of sentences, and both percentages over the questions that have a gold answer which
        the question itself does not contain. Chance is that of another question's sentences.
    """
    lists = [list(contexts.get(question.question_id, ())) for question in questions]
    pairs = [
        (_own_answers(question), [_padded(text) for text in found])
        for question, found in zip(questions, lists, strict=True)
    ]
    pairs = [(answers, found) for answers, found in pairs if answers]
    others = [found for _, found in pairs[1:] + pairs[:1]]
    metrics: dict[str, Any] = {}
    for k in ks:
        name = f"answer_in@{k}"
        hits = [(float(_contains(found[:k], answers)),) for answers, found in pairs]
        chance = [
            _contains(found[:k], answers) for (answers, _), found in zip(pairs, others, strict=True)
        ]
        metrics[name] = None
        if hits:
            found = summarize(hits, [name], confidence=0.95, resamples=resamples, seed=seed)
            metrics[name] = found.metrics[name]
            metrics[f"{name}_interval"] = list((found.intervals or {})[name])
        enough = len(pairs) > 1
        metrics[f"chance_in@{k}"] = 100 * sum(chance) / len(chance) if enough else None
    return {
        "questions": len(questions),
        "with_usable_gold": len(pairs),
        "sentences": sum(map(len, lists)),
        "distinct_sentences": len({text for found in lists for text in found}),
        "questions_without_sentences": sum(not found for found in lists),
        **metrics,
    }


def render_quality(report: Mapping[str, Any]) -> str:
    """Return the report as text."""
    counts = ("questions", "sentences", "distinct_sentences", "questions_without_sentences")
    rows = [[name.replace("_", " "), str(report[name]), ""] for name in counts]
    ks = [name.partition("@")[2] for name in report if name.startswith("chance_in@")]
    for name, chance in ((f"answer_in@{k}", report[f"chance_in@{k}"]) for k in ks):
        if report[name] is not None:
            low, high = report[f"{name}_interval"]
            by_chance = "" if chance is None else f"by chance {chance:.2f}"
            rows.append([name, format_score(report[name], (low, high)), by_chance])
    usable = report["with_usable_gold"]
    return f"{render_table(rows)}\n(over {usable} questions with a gold answer of their own)\n"


def _own_answers(question: Question) -> list[str]:
    """Return the words of the gold answers that the question does not contain."""
    text = _padded(question.question)
    found = dict.fromkeys(_padded(answer) for answer in question.answers)
    return [answer for answer in found if answer.strip() and answer not in text]


def _contains(sentences: Sequence[str], answers: Sequence[str]) -> bool:
    return any(answer in sentence for sentence in sentences for answer in answers)


def _padded(text: str) -> str:
    """Return the index words of a text between spaces, so that substrings are whole words."""
    return f" {' '.join(analyze(text, 'en'))} "
