"""Scoring ARC-DA: ours against `rouge_score` and SQuAD's F1 called pair by pair, in one run.

1,397 questions with three gold answers each, as many as the test split has: made-up answers of one
to six words. Prints the ratio of medians and the largest difference between the two ROUGE-L.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))

from rouge_score import rouge_scorer

from twowiki.arc_da.metric import scoring

QUESTIONS, GOLDS, ROUNDS = 1397, 3, 5
ROOTS = (
    "energy light water gas liquid solid plant animal cell force gravity friction heat planet "
    "orbit mineral rock erosion weather climate species population habitat oxygen carbon nitrogen "
    "magnet current circuit reflect absorb evaporate condense freeze melt digest reproduce"
).split()
ENDINGS = ("", "s", "ed", "ing", "ation", "al", "ly", "ness", "ful")
SMALL = ("the", "a", "of", "in", "to", "by", "from", "an", "it", "is")


def make_answers(rng: Random) -> tuple[list[str], list[list[str]]]:
    def answer() -> str:
        words = [
            rng.choice(SMALL) if rng.random() < 0.25 else rng.choice(ROOTS) + rng.choice(ENDINGS)
            for _ in range(rng.randint(1, 6))
        ]
        return " ".join(words)

    golds = [[answer() for _ in range(GOLDS)] for _ in range(QUESTIONS)]
    predictions = [rng.choice(g) if rng.random() < 0.3 else answer() for g in golds]
    return predictions, golds


def ours(predictions: list[str], golds: list[list[str]]) -> list[float]:
    for remembered in (
        scoring.answer_tokens,
        scoring.rouge_words,
        scoring.rouge_tokens,
        scoring._position_bits,
    ):
        remembered.cache_clear()
    scoring._rouge_stems.clear()
    return [
        scoring.score_answer(prediction, listed).metrics["rougeL"]
        for prediction, listed in zip(predictions, golds, strict=True)
    ]


def pair_by_pair(predictions: list[str], golds: list[list[str]]) -> list[float]:
    best = []
    for prediction, listed in zip(predictions, golds, strict=True):
        figures = []
        for gold in listed:
            scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
            figures.append(scorer.score(gold, prediction)["rougeL"].fmeasure)
        best.append(max(figures))
    return best


def one_scorer(predictions: list[str], golds: list[list[str]]) -> list[float]:
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
    return [
        max(scorer.score(gold, prediction)["rougeL"].fmeasure for gold in listed)
        for prediction, listed in zip(predictions, golds, strict=True)
    ]


def main() -> None:
    predictions, golds = make_answers(Random(0))
    ways: dict[str, Callable[[list[str], list[list[str]]], list[float]]] = {
        "ours (F1 and ROUGE-L)": ours,
        "rouge_score, a fresh scorer a pair (ROUGE-L alone)": pair_by_pair,
        "rouge_score, one scorer (ROUGE-L alone)": one_scorer,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            results[name] = way(predictions, golds)
            times[name].append(time.process_time() - start)
    medians = {name: statistics.median(found) for name, found in times.items()}
    first = next(iter(ways))
    print(f"{QUESTIONS} questions x {GOLDS} gold answers, CPU seconds, median of {ROUNDS} rounds")
    for name, median in medians.items():
        print(f"  {name:<52}{median:8.3f}  {median / medians[first]:6.1f} x ours")
    pairs = zip(results[first], results["rouge_score, one scorer (ROUGE-L alone)"], strict=True)
    print(f"largest difference in ROUGE-L: {max(abs(a - b) for a, b in pairs)}")


if __name__ == "__main__":
    main()
