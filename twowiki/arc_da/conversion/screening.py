"""The additional filter: merge the workers' answers, and keep questions that two of them share.

In: crowd records of one question. Out: merged answers with their support, categories, and a
verdict with its witness. The paper keeps a question if at least two workers answered it, and if
two answers of different workers share a word that is not a stop word. It names neither a stop list
nor stemming; here: the 33 English stop words of Lucene, no stemming, both settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from twowiki.arc_da.conversion.crowd import CrowdRecord
from twowiki.arc_da.metric.folding import answer_key, unicode_words
from twowiki.arc_da.metric.scoring import stem

PAPER_SCREENED = 10  # percent of ARC's questions, by the paper's additional filter
LUCENE_STOP_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is"),
        *("it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there"),
        *("these", "they", "this", "to", "was", "will", "with"),
    )
)
SCREEN_REASONS = {
    "too_few_workers": "fewer workers than needed gave an answer",
    "no_shared_word": "no two workers' answers share a word that is not a stop word",
}


class ScreenSettings(NamedTuple):
    """The additional filter's numbers; the paper's where it names any."""

    min_workers: int = 2
    min_sharing: int = 2
    people: int = 5
    stemming: bool = False
    stop_words: tuple[str, ...] = tuple(sorted(LUCENE_STOP_WORDS))
    least_agreement: float = 0.0  # of a worker with the others and the right options; 0 = off


class Witness(msgspec.Struct, frozen=True):
    """A word that two workers' answers share."""

    word: str
    workers: list[str]
    answers: list[str]


class MergedAnswer(msgspec.Struct, frozen=True):
    """Wordings of one answer (`folding.answer_key`); `text` is the most frequent one."""

    text: str
    workers: list[str]
    support: int
    wordings: dict[str, int]


class ScreenedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers' answers say of a question.

    `verdict` is pass, fail or pending; `reason` (in `SCREEN_REASONS`) unless it passes; `witness`
    if it passes.
    """

    question_id: str
    verdict: str
    reason: str | None
    witness: Witness | None = None
    workers: int
    workers_answered: int
    answers: list[MergedAnswer]
    categories: dict[str, int]
    category: str | None = None


def screen_question(
    question_id: str, records: Iterable[CrowdRecord], settings: ScreenSettings
) -> ScreenedQuestion:
    """Judge one question by its workers' records.

    A question that fails while workers are still missing is `pending`, since later answers can
    only help it; a worker whose answer was refused is missing.
    """
    done = [record for record in records if record.is_done]
    answered = [record for record in done if record.status == "answered"]
    sharing, witness = _sharing(answered, settings)
    reason = None
    if len(answered) < settings.min_workers:
        reason = "too_few_workers"
    elif sharing < settings.min_sharing:
        reason = "no_shared_word"
    verdict = "pass" if reason is None else "fail"
    if reason is not None and len(done) < settings.people:
        verdict = "pending"
    categories = Counter(record.category for record in done if record.category)
    return ScreenedQuestion(
        question_id=question_id,
        verdict=verdict,
        reason=reason,
        witness=witness if reason is None else None,
        workers=len(done),
        workers_answered=len(answered),
        answers=merge_answers(answered),
        categories=dict(sorted(categories.items())),
        category=majority_category(categories),
    )


def wanted_answers(records: Sequence[CrowdRecord], people: int, active: bool) -> int:
    """Return how many more workers a question should be given to.

    Args:
        records: what came back so far.
        people: most workers.
        active: two workers are enough where they share a word; else one more at a time.
    """
    settings = ScreenSettings(people=people)
    done = sum(record.is_done for record in records)
    if not active:
        return max(0, people - done)
    if done < settings.min_workers:
        return settings.min_workers - done
    passes = screen_question("", records, settings).verdict == "pass"
    return 0 if passes or done >= people else 1


def merge_answers(records: Iterable[CrowdRecord]) -> list[MergedAnswer]:
    """Merge answers of one key, most workers first, then in order of arrival."""
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for record in records:
        for answer in record.answers:
            groups.setdefault(answer_key(answer), []).append((answer, record.worker))
    merged = []
    for given in groups.values():
        wordings = Counter(text for text, _ in given)
        workers = list(dict.fromkeys(worker for _, worker in given))
        best = max(wordings, key=lambda text: wordings[text])
        merged.append(MergedAnswer(best, workers, len(workers), dict(wordings)))
    return sorted(merged, key=lambda answer: -answer.support)


def majority_category(categories: Mapping[str, int]) -> str | None:
    """Return the category that most workers ticked; None where two are level."""
    ranked = sorted(categories, key=lambda name: -categories[name])
    if not ranked or [categories[name] for name in ranked[1:2]] == [categories[ranked[0]]]:
        return None
    return ranked[0]


def content_words(text: str, settings: ScreenSettings) -> list[str]:
    """List a text's words without stop words, stemmed if the settings say so."""
    kept = [word for word in unicode_words(text) if word not in settings.stop_words]
    return [stem(word) if word.isascii() else word for word in kept] if settings.stemming else kept


def count_screened(records: Sequence[ScreenedQuestion], total: int) -> dict[str, Any]:
    """Count verdicts and reasons; `total` is the number of questions before any filter."""
    failed = [record for record in records if record.verdict == "fail"]
    return {
        "questions": len(records),
        "verdicts": dict(sorted(Counter(record.verdict for record in records).items())),
        "reasons": dict(sorted(Counter(str(record.reason) for record in failed).items())),
        "percent_of_source": 100 * len(failed) / total if total else None,
    }


def _sharing(
    records: Sequence[CrowdRecord], settings: ScreenSettings
) -> tuple[int, Witness | None]:
    """Count the workers of the largest group that shares one word; return a first witness."""
    users: dict[str, dict[str, str]] = {}
    for record in records:
        for answer in record.answers:
            for word in content_words(answer, settings):
                users.setdefault(word, {}).setdefault(record.worker, answer)
    best = max((len(found) for found in users.values()), default=0)
    if len(records) == 1 or best < 2:
        return min(best, 1), None
    word = next(word for word, found in users.items() if len(found) == best)
    (first, answer), (second, other) = islice(users[word].items(), 2)
    return best, Witness(word, [first, second], [answer, other])
