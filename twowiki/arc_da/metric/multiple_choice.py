"""Score generated text on multiple-choice questions: the closest option is the answer.

In: a prediction and the options as a list (never parsed out of a prompt). Out: a label. `unifiedqa`
compares as UnifiedQA's published evaluation does; `robust` compares normalised words, and says so
when no option is close. Labels are ARC's own, looked up, never counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from twowiki._version import __version__
from twowiki.arc_da.metric.scoring import answer_tokens, f1_score, rouge_l
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError
from twowiki.metric.significance import bootstrap_intervals

METHODS = ("unifiedqa", "robust", "label")
_ROUND_TRIP = re.compile("[{}^\\\\`\u2047<]")  # what T5's vocabulary gives back as another sign
_LABEL = re.compile(r"\(?([A-Za-z0-9])\)?[.:]?")


class Chosen(NamedTuple):
    """The option taken for a text; `similarity` 0 means that none is close (the first is taken)."""

    place: int
    similarity: float

    @property
    def no_match(self) -> bool:
        """Whether nothing ties the text to the option."""
        return self.similarity == 0


def unifiedqa_similarity(option: str, prediction: str) -> float:
    """Compare as UnifiedQA's evaluation (its second version, which lower-cases both sides).

    3 for equal texts, 2 for texts equal without quotes and without the signs that T5's vocabulary
    loses, else the share of common words where either has a space, else 0.
    """
    first, second = option.lower().strip(), prediction.lower().strip()
    if first == second:
        return 3.0
    first, second = _without_quotes(first), _without_quotes(second)
    if first == second:
        return 2.0
    if " " not in first and " " not in second:
        return 0.0
    words, others = first.split(" "), second.split(" ")
    return len(set(words) & set(others)) / max(len(words), len(others))


def robust_similarity(option: str, prediction: str) -> float:
    """Compare normalised words: 2 for the same words in order, else F1, ROUGE-L as a tie-break."""
    if answer_tokens(option) == answer_tokens(prediction):
        return 2.0 if answer_tokens(option) or option.strip() == prediction.strip() else 0.0
    return f1_score(prediction, option) + rouge_l(prediction, option) / 1000


def closest_option(
    prediction: str,
    options: Sequence[str],
    *,
    method: str = "unifiedqa",
    likelihoods: Sequence[float] | None = None,
) -> Chosen:
    """Choose the option closest to a text; the first one wins a tie.

    Args:
        prediction: the generated text.
        options: the options' texts in order, any number of them.
        method: `unifiedqa` or `robust`.
        likelihoods: of each option under the model; with `robust` they decide ties.

    Raises:
        ValueError: without options, or for an unknown method.
    """
    similarities: dict[str, Callable[[str, str], float]] = {
        "unifiedqa": unifiedqa_similarity,
        "robust": robust_similarity,
    }
    if not options or method not in similarities:
        raise ValueError("needs options" if not options else f"unknown method {method!r}")
    if likelihoods is not None and len(likelihoods) != len(options):
        raise ValueError("needs one likelihood for each option")
    values = [similarities[method](option, prediction) for option in options]
    best = max(values)
    tied = [place for place, value in enumerate(values) if value == best]
    if likelihoods is not None and method == "robust":
        tied.sort(key=lambda place: -likelihoods[place])
    return Chosen(tied[0], best)


def named_labels(prediction: str, labels: Sequence[str]) -> list[str]:
    """Read labels out of `B`, `(B)`, `B.` or `A;B`; numbers and letters are told apart by place.

    Returns:
        The labels as the question writes them; empty if the text names none of them.
    """
    named: list[str] = []
    for part in prediction.strip().split(";"):
        match = _LABEL.fullmatch(part.strip())
        if match is None:
            return []
        found = _label_like(match[1], labels)
        if found is None:
            return []
        named.append(found)
    return list(dict.fromkeys(named))


def credit(prediction: str, question: MultipleChoice, method: str) -> tuple[float, str, bool]:
    """Give credit for one question.

    With `label`, a text that names k labels, the key among them, gets 1/k (ARC's own rule).

    Returns:
        The credit between 0 and 1, the label taken, and whether nothing matched.

    Raises:
        DataError: the question's key is hidden.
    """
    if question.answer_key is None:
        raise DataError("the key is hidden", record=question.id, field="answerKey")
    labels = [choice.label for choice in question.choices]
    if method == "label":
        named = named_labels(prediction, labels)
        share = 1 / len(named) if question.answer_key in named else 0.0
        return share, ";".join(named), not named
    chosen = closest_option(prediction, [c.text for c in question.choices], method=method)
    label = labels[chosen.place]
    return float(label == question.answer_key), label, chosen.no_match


def score_choices(
    questions: Iterable[MultipleChoice],
    answers: Mapping[str, str],
    *,
    method: str = "unifiedqa",
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Score a system on multiple choice: accuracy over all, Easy and Challenge, 0-100.

    A missing answer scores 0 and is listed; `no_match` counts answers that no option is close to.
    """
    listed = list(questions)
    rows = []
    for question in listed:
        given = answers.get(question.question_id)
        value, label, nothing = (0.0, "", False)
        if given is not None:
            value, label, nothing = credit(given, question, method)
        rows.append(
            {
                "question_id": question.question_id,
                "difficulty": question.difficulty or "unknown",
                "answer_key": question.answer_key,
                "chosen": label,
                "credit": value,
                "no_match": nothing,
                "missing": given is None,
            }
        )
    groups = sorted({str(row["difficulty"]) for row in rows}, reverse=True)
    return {
        "metric": "arc_mc",
        "signature": f"arc_mc|method:{method}|missing:0|n:{len(rows)}|v:{__version__}",
        **_accuracy(rows, resamples, seed),
        "by": {
            "difficulty": {
                group: _accuracy([r for r in rows if r["difficulty"] == group], resamples, seed)
                for group in groups
            }
        },
        "missing": [row["question_id"] for row in rows if row["missing"]],
        "rows": rows,
    }


def _accuracy(rows: Sequence[Mapping[str, Any]], resamples: int, seed: int) -> dict[str, Any]:
    values = 100 * np.array([row["credit"] for row in rows], dtype=np.float64)
    low, high = bootstrap_intervals(values, resamples=resamples, seed=seed)[0]
    return {
        "n": len(rows),
        "accuracy": float(values.mean()),
        "interval": [float(low), float(high)],
        "no_match": sum(row["no_match"] for row in rows),
    }


def _label_like(name: str, labels: Sequence[str]) -> str | None:
    if name in labels:
        return name
    if name.upper() in labels:
        return name.upper()
    place = int(name) - 1 if name.isdigit() else ord(name.upper()) - ord("A")
    other_kind = bool(labels) and labels[0].isdigit() != name.isdigit()
    return labels[place] if other_kind and 0 <= place < len(labels) else None


def _without_quotes(text: str) -> str:
    return _ROUND_TRIP.sub(" ", text.replace('"', "").replace("'", ""))
