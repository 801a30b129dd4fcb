"""Score a direct answer against its gold answers: F1 as for SQuAD, ROUGE-L as in the paper.

In: texts. Out: an `AnswerScore` with metrics between 0 and 1. Each metric takes its own best gold
answer (paper, "Evaluation Metrics"). Pure: no file, no clock, no randomness. ROUGE-L equals
`rouge_score` 0.1.2 with stemming to the last bit: the stems are those of nltk's `PorterStemmer`
in its default mode, as there. Tokens and stems are cached, and the longest common subsequence is
found with bit vectors (Hyyrö, 2004), so long texts cost little. Without nltk there is F1 alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from twowiki.errors import import_extra
from twowiki.metric.normalization import CachedNormalizer, normalize_answer

CACHED = 1 << 16  # texts and words whose tokens are kept
SHORT = 400  # product of two lengths up to which plain lists are quicker than counters
MIN_STEMMED = 4
_ASCII_WORD = re.compile(r"[a-z0-9]+")

Tokens = tuple[str, ...]
Similarity = Callable[[str, str], float]


class AnswerScore(NamedTuple):
    """The metrics of one answer, 0-1, and for each the position of its best gold answer."""

    metrics: dict[str, float]
    best_gold: dict[str, int]


def f1_score(prediction: str, gold: str) -> float:
    """Measure the overlap of words, order ignored, as SQuAD does; 0 if either side has none."""
    return _overlap(answer_tokens(prediction), answer_tokens(gold))


def rouge_l(prediction: str, gold: str, *, stemming: bool = True) -> float:
    """Measure ROUGE-L's F as `rouge_score` does: ASCII words only, stemmed by default."""
    words = rouge_tokens if stemming else rouge_words
    return _sequence_f1(words(prediction), words(gold))


def exact_match(prediction: str, gold: str) -> float:
    """Compare as SQuAD does: the same words in the same order, articles and punctuation aside."""
    return float(answer_tokens(prediction) == answer_tokens(gold))


def contains(prediction: str, gold: str) -> float:
    """Return whether the prediction holds the gold answer's words one after the other."""
    inner, outer = answer_tokens(gold), answer_tokens(prediction)
    starts = range(len(outer) - len(inner) + 1)
    return float(
        bool(inner) and any(outer[start : start + len(inner)] == inner for start in starts)
    )


EXTRAS: dict[str, Similarity] = {
    "exact_match": exact_match,
    "contains": contains,
    "rougeL_no_stem": lambda prediction, gold: rouge_l(prediction, gold, stemming=False),
}


METRICS: dict[str, Similarity] = {"f1": f1_score, "rougeL": rouge_l, **EXTRAS}
HEADLINE = ("f1", "rougeL")
NO_ROUGE = "ROUGE-L needs nltk: pip install 'twowiki[metric]'"


def headline_metrics() -> tuple[str, ...]:
    """Return the names of the paper's two metrics, or F1 alone where nltk is not installed."""
    return HEADLINE if find_spec("nltk") else HEADLINE[:1]


def score_all(prediction: str, golds: Sequence[str]) -> dict[str, float]:
    """Return every metric of one answer, 0-1, by name; it needs nltk."""
    return score_answer(prediction, golds, tuple(METRICS)).metrics


def score_answer(
    prediction: str, golds: Sequence[str], names: Sequence[str] = HEADLINE
) -> AnswerScore:
    """Score one prediction against its gold answers; each metric takes its own best gold.

    Args:
        prediction: the system's one answer; empty scores 0.
        golds: at least one gold answer.
        names: metrics out of `METRICS`.

    Raises:
        ValueError: without gold answers, or for an unknown metric.
        DataError: a metric needs stems, and nltk is not installed.
    """
    if not golds:
        raise ValueError("no gold answers, so no score")
    if unknown := [name for name in names if name not in METRICS]:
        raise ValueError(f"unknown metrics {unknown}; available: {', '.join(METRICS)}")
    metrics: dict[str, float] = {}
    best_gold: dict[str, int] = {}
    for name in names:
        metrics[name], best_gold[name] = _best(prediction, golds, METRICS[name])
    return AnswerScore(metrics, best_gold)


@lru_cache(maxsize=CACHED)
def answer_tokens(text: str) -> Tokens:
    """Return the words of a text as SQuAD normalizes it: no case, ASCII punctuation, articles."""
    return tuple(normalize_answer(text).split())


@lru_cache(maxsize=CACHED)
def rouge_words(text: str) -> Tokens:
    """Return ROUGE's words: runs of ASCII letters and digits, lower case, nothing else."""
    return tuple(_ASCII_WORD.findall(text.lower()))


@lru_cache(maxsize=CACHED)
def rouge_tokens(text: str) -> Tokens:
    """Return ROUGE's words and stem those of at least four letters."""
    return tuple(map(_rouge_stems.__getitem__, _ASCII_WORD.findall(text.lower())))


def lcs_length(first: Tokens, second: Tokens) -> int:
    """Count the longest common subsequence; a bit of `row` stays 1 where no match ends."""
    positions = _position_bits(second)
    full = (1 << len(second)) - 1
    row = full
    for token in first:
        if token in positions:
            hits = row & positions[token]
            row = ((row + hits) | (row - hits)) & full
    return len(second) - row.bit_count()


@lru_cache(maxsize=256)
def _position_bits(tokens: Tokens) -> dict[str, int]:
    """Return each token's positions as bits; one prediction meets several gold answers."""
    positions: dict[str, int] = {}
    for position, token in enumerate(tokens):
        positions[token] = positions.get(token, 0) | 1 << position
    return positions


def stem(word: str) -> str:
    """Return the stem of a lower-case word, as nltk's `PorterStemmer` cuts it by default.

    Raises:
        DataError: nltk is not installed.
    """
    stem_of: Callable[[str, bool], str] = _stemmer().stem
    return stem_of(word, False)


@cache
def _stemmer() -> Any:
    return import_extra("nltk.stem.porter", "metric").PorterStemmer()


# ROUGE leaves words of up to three letters as they are
_rouge_stems = CachedNormalizer(lambda word: stem(word) if len(word) >= MIN_STEMMED else word)


def _best(prediction: str, golds: Sequence[str], similarity: Similarity) -> tuple[float, int]:
    """Find the highest similarity and the first gold that has it."""
    best, position = -1.0, 0
    for index, gold in enumerate(golds):
        value = similarity(prediction, gold)
        if value > best:
            best, position = value, index
            if value == 1.0:
                break
    return best, position


def _overlap(predicted: Tokens, gold: Tokens) -> float:
    if not predicted or not gold:
        return 0.0
    if predicted == gold:
        return 1.0
    shared = _shared_words(predicted, gold)
    return _harmonic(shared / len(predicted), shared / len(gold))


def _shared_words(first: Tokens, second: Tokens) -> int:
    """Count common words, each as often as both have it; short answers need no counters."""
    if len(first) * len(second) > SHORT:
        return sum((Counter(first) & Counter(second)).values())
    rest = list(second)
    for word in first:
        if word in rest:
            rest.remove(word)
    return len(second) - len(rest)


def _sequence_f1(predicted: Tokens, gold: Tokens) -> float:
    if not predicted or not gold:
        return 0.0
    if predicted == gold:
        return 1.0
    shared = lcs_length(gold, predicted)
    return _harmonic(shared / len(predicted), shared / len(gold))


def _harmonic(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0
