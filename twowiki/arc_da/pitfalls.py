"""Name what the automatic figures cannot see in one question: told beside the score, never in it.

In: a prediction, its gold answers, its row. Out: names out of `MEANINGS`. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from twowiki.arc_da.folding import names_letter_a, numerals
from twowiki.arc_da.scoring import Row, answer_tokens, rouge_words

MEANINGS = {
    "order_only": "F1 is 1, but the words stand in another order than in any gold answer",
    "number_changed": "F1 is 1, but a sign, decimal point or fraction differs",
    "letter_a_lost": "F1 is 1, but a name such as 'vitamin A' lost its A as an article",
    "rouge_blind_gold": "a gold answer has no ASCII letter or digit: ROUGE-L is 0 even if met",
    "rouge_blind_prediction": "the prediction has no ASCII letter or digit: ROUGE-L is 0",
    "non_ascii_gold": "a gold answer holds letters outside ASCII, which ROUGE-L drops",
    "empty_gold": "a gold answer is nothing but articles and punctuation: F1 is 0 even if met",
    "empty_prediction": "the prediction is empty, or nothing but articles and punctuation",
    "several_answers": "the prediction holds ';': several answers in one lower F1 and ROUGE-L",
}


def name_pitfalls(prediction: str | None, golds: Sequence[str], row: Row) -> tuple[str, ...]:
    """List the pitfalls of one scored question, in the order of `MEANINGS`.

    A missing prediction (`None`) has none of its own: it is listed as missing.
    """
    found = set(_of_golds(golds))
    if prediction is not None:
        found |= {*_of_prediction(prediction), *_of_match(prediction, golds, row)}
    return tuple(name for name in MEANINGS if name in found)


def _of_prediction(prediction: str) -> Iterator[str]:
    if not answer_tokens(prediction):
        yield "empty_prediction"
    elif not rouge_words(prediction):
        yield "rouge_blind_prediction"
    if ";" in prediction.strip(" ;"):
        yield "several_answers"


def _of_golds(golds: Sequence[str]) -> Iterator[str]:
    for gold in golds:
        if not rouge_words(gold):
            yield "rouge_blind_gold"
        if any(sign.isalpha() and not sign.isascii() for sign in gold):
            yield "non_ascii_gold"
        if not answer_tokens(gold):
            yield "empty_gold"


def _of_match(prediction: str, golds: Sequence[str], row: Row) -> Iterator[str]:
    """Look at a full F1: a pitfall only if every gold answer that gives it has the fault."""
    if row.f1 < 1.0:
        return
    said = answer_tokens(prediction)
    met = [gold for gold in golds if Counter(answer_tokens(gold)) == Counter(said)]
    if met and all(answer_tokens(gold) != said for gold in met):
        yield "order_only"
    if met and all(sorted(numerals(gold)) != sorted(numerals(prediction)) for gold in met):
        yield "number_changed"
    if met and all(names_letter_a(gold) != names_letter_a(prediction) for gold in met):
        yield "letter_a_lost"
