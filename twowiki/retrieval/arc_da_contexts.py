"""Sentences for each question: retrieved with the question alone, near-equal ones once.

In: questions by id, an index. Out: a `Context` a question, and the file that training and
prediction read: JSON lines of `question_id`, `query`, `index`, `sentences` (text, score, title).
A record says whether the options helped to find the sentences; such sentences would give a
direct-answer question its options, so they are refused for these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple

from twowiki.arc_da.schema import MultipleChoice, Question
from twowiki.errors import DataError
from twowiki.io.records import read_records
from twowiki.metric.significance import bootstrap_intervals
from twowiki.retrieval.analysis import analyze, plain_key
from twowiki.retrieval.index import Hit, SentenceIndex

SENTENCES = 10  # a question (paper, section 5)
NEAR = 0.9  # share of common words from which on two sentences say the same
QUERIES = ("question", "question_options")
MOST = 400  # hits that are looked at for one question
SHORTEST_COPY = 5  # words of a question that a sentence may be said to contain


class Context(NamedTuple):
    """A question's sentences, best first, and what was passed over, by reason."""

    question_id: str
    hits: tuple[Hit, ...]
    passed: Mapping[str, int]


class Wanted(NamedTuple):
    """What to look for and how many sentences to keep.

    Attributes:
        query: `question`, or `question_options` (multiple choice alone).
        sentences: to keep a question.
        near: share of common words from which on a sentence repeats a better one; 1 keeps all
            but those of the same words.
        copies: keep sentences that hold the question itself (pages of test banks do).
    """

    query: str = "question"
    sentences: int = SENTENCES
    near: float = NEAR
    copies: bool = False


def query_of(item: Question | MultipleChoice, wanted: Wanted) -> str:
    """Write what a question is looked up by; its gold answers never are.

    Raises:
        DataError: options are asked for where they must not help.
    """
    if wanted.query not in QUERIES:
        remedy = f"It is one of {', '.join(QUERIES)}"
        raise DataError(f"is {wanted.query!r}", field="query", remedy=remedy)
    if isinstance(item, Question):
        if wanted.query != "question":
            remedy = "Use --query question; options are for multiple choice"
            problem = "the options must not help to find a direct answer"
            raise DataError(problem, record=item.question_id, field="query", remedy=remedy)
        return item.question
    options = " ".join(choice.text for choice in item.choices)
    return f"{item.stem} {options}" if wanted.query == "question_options" else item.stem


def find_contexts(
    index: SentenceIndex, items: Sequence[Question | MultipleChoice], wanted: Wanted
) -> list[Context]:
    """Find sentences for a batch of questions.

    Args:
        index: where to look.
        items: questions.
        wanted: how many, and what is passed over.
    """
    queries = [query_of(item, wanted) for item in items]
    depth = min(MOST, 3 * wanted.sentences + 20)
    contexts = []
    for item, query, hits in zip(items, queries, index.search(queries, depth), strict=True):
        context = choose(item, hits, wanted)
        if len(context.hits) < wanted.sentences and len(hits) == depth < MOST:
            context = choose(item, index.search([query], MOST)[0], wanted)
        contexts.append(context)
    return contexts


def choose(item: Question | MultipleChoice, hits: Iterable[Hit], wanted: Wanted) -> Context:
    """Keep the best sentences that say something new."""
    asked = plain_key(item.question if isinstance(item, Question) else item.stem)
    copyable = len(asked.split()) >= SHORTEST_COPY
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    passed: dict[str, int] = {}
    for hit in hits:
        if len(kept) == wanted.sentences:
            break
        mine = frozenset(analyze(hit.sentence.text, "en"))
        reason = None
        if copyable and not wanted.copies and f" {asked} " in f" {plain_key(hit.sentence.text)} ":
            reason = "holds_the_question"
        elif any(_alike(mine, other, wanted.near) for other in words):
            reason = "near_duplicate"
        if reason:
            passed[reason] = passed.get(reason, 0) + 1
            continue
        kept.append(hit)
        words.append(mine)
    return Context(item.question_id, tuple(kept), passed)


def to_record(context: Context, wanted: Wanted, index: str) -> dict[str, Any]:
    """Write a question's sentences as a line of the contexts file."""
    sentences = [
        {
            "text": hit.sentence.text,
            "score": round(hit.score, 6),
            **({"title": hit.sentence.title} if hit.sentence.title else {}),
        }
        for hit in context.hits
    ]
    return {
        "question_id": context.question_id,
        "query": wanted.query,
        "index": index,
        "sentences": sentences,
        "passed_over": dict(context.passed),
    }


def read_contexts(
    path: str | PathLike[str], *, direct_answer: bool = True
) -> dict[str, tuple[str, ...]]:
    """Read a contexts file: each question's sentences, best first.

    Args:
        path: the file that `twowiki arc-da retrieve` wrote, or JSON lines of `question_id` and
            `sentences` (texts, or objects with a `text`).
        direct_answer: refuse sentences that options helped to find.

    Raises:
        DataError: a record has another shape, an id comes twice, or options were used.
    """
    contexts: dict[str, tuple[str, ...]] = {}
    for number, record in read_records(str(path)):
        name = record.get("question_id", record.get("id"))
        if not isinstance(name, str):
            raise DataError("no question id", file=path, record=number, field="question_id")
        if name in contexts:
            raise DataError("this id came before", file=path, record=name, field="question_id")
        if direct_answer and record.get("query", "question") != "question":
            remedy = "Retrieve again with --query question"
            problem = "options helped to find these sentences, so they give the answer away"
            raise DataError(problem, file=path, record=name, field="query", remedy=remedy)
        contexts[name] = _texts(record.get("sentences"), path, name)
    return contexts


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Cut a stream into lists of one size; the last may be shorter."""
    stream = iter(items)
    while block := list(islice(stream, size)):
        yield block


def _texts(raw: Any, path: str | PathLike[str], record: str) -> tuple[str, ...]:
    if not isinstance(raw, list):
        raise DataError("must be a list", file=path, record=record, field="sentences")
    texts: list[str] = []
    for one in raw:
        text = one.get("text") if isinstance(one, Mapping) else one
        if not isinstance(text, str):
            raise DataError("must hold texts", file=path, record=record, field="sentences")
        texts.append(text)
    return tuple(texts)


def _alike(first: frozenset[str], second: frozenset[str], near: float) -> bool:
    shared = len(first & second)
    return shared >= near * (len(first) + len(second) - shared)


KS = (1, 5, 10)


def report_quality(
    questions: Sequence[Question],
    contexts: Mapping[str, Sequence[str]],
    *,
    ks: Sequence[int] = KS,
    resamples: int = 1_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure retrieval over all questions.

    Args:
        questions: those that were looked up.
        contexts: sentences by question id, best first.
        ks: where to cut.
        resamples: of the bootstrap that gives intervals.
        seed: of the same.

    Returns:
        Counts of sentences, and both figures (0-100) over the questions that have a gold answer
        which the question does not hold.
    """
    import numpy as np

    lists = [list(contexts.get(question.question_id, ())) for question in questions]
    asked = [(_phrases(q), _words(found)) for q, found in zip(questions, lists, strict=True)]
    asked = [(phrases, found) for phrases, found in asked if phrases]
    others = [found for _, found in asked]
    others = others[1:] + others[:1]
    figures: dict[str, Any] = {}
    for k in ks:
        hits = [any_in(phrases, found[:k]) for phrases, found in asked]
        chance = [any_in(p, o[:k]) for (p, _), o in zip(asked, others, strict=True)]
        values = 100 * np.array(hits, dtype=np.float64)
        figures[f"answer_in@{k}"] = float(values.mean()) if hits else None
        if hits:
            low, high = bootstrap_intervals(values, resamples=resamples, seed=seed)[0]
            figures[f"answer_in@{k}_interval"] = [float(low), float(high)]
        enough = len(asked) > 1
        figures[f"chance_in@{k}"] = 100 * sum(chance) / len(chance) if enough else None
    return {
        "questions": len(questions),
        "with_usable_gold": len(asked),
        "sentences": sum(map(len, lists)),
        "distinct_sentences": len({text for found in lists for text in found}),
        "questions_without_sentences": sum(not found for found in lists),
        **figures,
    }


def any_in(phrases: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]) -> bool:
    """Tell whether one of the phrases stands in one of the sentences, words in a row."""
    return any(_stands(phrase, words) for words in sentences for phrase in phrases)


def render_quality(report: Mapping[str, Any]) -> str:
    """Write the report as text."""
    lines = [
        f"questions                    {report['questions']:>8}",
        f"sentences                    {report['sentences']:>8}"
        f"  ({report['distinct_sentences']} distinct)",
        f"questions without sentences  {report['questions_without_sentences']:>8}",
    ]
    ks = [int(name.partition("@")[2]) for name in report if name.startswith("chance_in@")]
    for k in ks:
        value, chance = report[f"answer_in@{k}"], report[f"chance_in@{k}"]
        if value is not None:
            low, high = report[f"answer_in@{k}_interval"]
            cell = f"{value:8.2f} [{low:.1f}, {high:.1f}]"
            by_chance = "" if chance is None else f"   by chance {chance:.2f}"
            lines.append(f"answer_in@{k:<19}{cell}{by_chance}")
    lines.append(f"(over {report['with_usable_gold']} questions with a gold answer of their own)")
    return "\n".join(lines) + "\n"


def _phrases(question: Question) -> list[tuple[str, ...]]:
    """Give the gold answers' words, those that stand in the question left out."""
    asked = analyze(question.question, "en")
    found = dict.fromkeys(tuple(analyze(answer, "en")) for answer in question.answers)
    return [phrase for phrase in found if phrase and not _stands(phrase, asked)]


def _words(sentences: Sequence[str]) -> list[list[str]]:
    return [analyze(text, "en") for text in sentences]


def _stands(phrase: Sequence[str], words: Sequence[str]) -> bool:
    size = len(phrase)
    first = list(phrase)
    return any(words[start : start + size] == first for start in range(len(words) - size + 1))
