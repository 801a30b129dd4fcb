"""The additional filter: merge the workers' answers, and keep questions that two of them share.

In: crowd records of one question. Out: merged answers with their support, categories, and a
verdict with its witness. The paper keeps a question if at least two workers answered it, and if
two answers of different workers share a word that is no stop word. It names neither a stop list
nor stemming; here: the 33 English stop words of Lucene, no stemming, both settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from twowiki.arc_da.conversion.crowd_answers import has_said
from twowiki.arc_da.metric.folding import unicode_words
from twowiki.arc_da.metric.scoring import answer_tokens, stem

PAPER_REMOVED = 10  # percent of ARC's questions, by the paper's additional filter
STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is"),
        *("it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there"),
        *("these", "they", "this", "to", "was", "will", "with"),
    )
)
REASONS = {
    "too_few_workers": "fewer workers than needed gave an answer",
    "no_shared_word": "no two workers' answers share a word that is no stop word",
}


class ScreenSettings(NamedTuple):
    """The additional filter's numbers; the defaults are the paper's where it names any."""

    min_workers: int = 2
    min_sharing: int = 2
    people: int = 5
    stemming: bool = False
    stop_words: tuple[str, ...] = tuple(sorted(STOP_WORDS))


def screen_question(
    question_id: str, records: Iterable[Mapping[str, Any]], settings: ScreenSettings
) -> dict[str, Any]:
    """Judge one question by its workers' records.

    A question that fails while workers are still missing is `pending`, for later answers can only
    help it; a worker whose answer was refused is missing.

    Returns:
        The record: `verdict` pass, fail or pending; `reason` (in `REASONS`) unless it passes;
        `witness` (two workers, their answers, the shared word) if it passes.
    """
    listed = [record for record in records if has_said(record)]
    answered = [record for record in listed if record["status"] == "answered"]
    sharing, witness = _sharing(answered, settings)
    reason = None
    if len(answered) < settings.min_workers:
        reason = "too_few_workers"
    elif sharing < settings.min_sharing:
        reason = "no_shared_word"
    verdict = "pass" if reason is None else "fail"
    if reason is not None and len(listed) < settings.people:
        verdict = "pending"
    categories = Counter(record["category"] for record in listed if record["category"])
    return {
        "question_id": question_id,
        "verdict": verdict,
        "reason": reason,
        "witness": witness if reason is None else None,
        "workers": len(listed),
        "workers_answered": len(answered),
        "answers": merge_answers(answered),
        "categories": dict(sorted(categories.items())),
        "category": majority(categories),
    }


def merge_answers(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Merge answers that differ in case, punctuation and articles alone.

    Returns:
        Answers with the workers that gave them, most workers first, then in order of arrival; the
        wording is the most frequent one, the first of these.
    """
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for record in records:
        for answer in record["answers"]:
            groups.setdefault(answer_key(answer), []).append((answer, record["worker"]))
    merged = []
    for given in groups.values():
        wordings = Counter(text for text, _ in given)
        merged.append(
            {
                "text": max(wordings, key=lambda text: wordings[text]),
                "workers": list(dict.fromkeys(worker for _, worker in given)),
                "support": len({worker for _, worker in given}),
                "wordings": dict(wordings),
            }
        )
    return sorted(merged, key=lambda answer: -int(str(answer["support"])))


def answer_key(text: str) -> tuple[str, ...]:
    """Give what answers have in common that differ in case, punctuation and articles alone."""
    return answer_tokens(text) or (text.casefold(),)


def majority(categories: Mapping[str, int]) -> str | None:
    """Name the category that most workers ticked; None where two are level."""
    ranked = sorted(categories.values(), reverse=True)
    if not ranked or ranked[1:2] == ranked[:1]:
        return None
    return max(categories, key=lambda name: categories[name])


def content_words(text: str, settings: ScreenSettings) -> list[str]:
    """List a text's words without stop words, stemmed if the settings say so."""
    kept = [word for word in unicode_words(text) if word not in settings.stop_words]
    return [stem(word) if word.isascii() else word for word in kept] if settings.stemming else kept


def count_screened(records: Iterable[Mapping[str, Any]], total: int) -> dict[str, Any]:
    """Count verdicts and reasons; `total` is the number of questions before any filter."""
    listed = list(records)
    failed = [record for record in listed if record["verdict"] == "fail"]
    return {
        "questions": len(listed),
        "verdicts": dict(sorted(Counter(record["verdict"] for record in listed).items())),
        "reasons": dict(sorted(Counter(record["reason"] for record in failed).items())),
        "percent_of_source": round(100 * len(failed) / total, 2) if total else None,
    }


def _sharing(
    records: Sequence[Mapping[str, Any]], settings: ScreenSettings
) -> tuple[int, dict[str, Any] | None]:
    """Count the workers of the largest group that shares one word; give a first witness."""
    users: dict[str, dict[str, str]] = {}
    for record in records:
        for answer in record["answers"]:
            for word in content_words(answer, settings):
                users.setdefault(word, {}).setdefault(record["worker"], answer)
    best = max((len(found) for found in users.values()), default=0)
    if len(records) == 1 or best < 2:
        return min(best, 1), None
    word = next(word for word, found in users.items() if len(found) == best)
    pair = next(combinations(users[word].items(), 2))
    return best, {
        "word": word,
        "workers": [worker for worker, _ in pair],
        "answers": [answer for _, answer in pair],
    }
