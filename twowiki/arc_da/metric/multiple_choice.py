"""Score generated text on multiple-choice questions: the closest option is the answer.

In: a prediction and the options as a list (never parsed out of a prompt). Out: a label. `unifiedqa`
compares as UnifiedQA's published evaluation does; `robust` compares normalized words (with ROUGE-L
as a tie-break, so it needs nltk). Both report when no option is close. Labels are ARC's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.metric.folding import answer_key
from twowiki.arc_da.metric.scoring import answer_tokens, f1_score, rouge_l
from twowiki.arc_da.schema import MultipleChoice
from twowiki.errors import DataError
from twowiki.metric.report import make_signature, summarize
from twowiki.metric.tables import format_score, render_table

_ROUND_TRIP = re.compile("[{}^\\\\`\u2047<]")  # what T5's vocabulary returns as another character
_LABEL = re.compile(r"\(?([A-Za-z0-9])\)?[.:]?")


class ClosestOption(NamedTuple):
    """The option chosen for a text; `similarity` 0: none is close, so the first is taken."""

    position: int
    similarity: float


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
    """Compare normalized words; F1 unless they are the same, ROUGE-L as a tie-break.

    4 for equal texts, 3 for other wordings of one answer (numbers, signs and units agree), 2 for
    the same words in order.
    """
    if option.strip() == prediction.strip():
        return 4.0
    if answer_key(option) == answer_key(prediction):
        return 3.0
    if answer_tokens(option) == answer_tokens(prediction):
        return 2.0 if answer_tokens(option) else 0.0
    return f1_score(prediction, option) + rouge_l(prediction, option) / 1000


def closest_option(
    prediction: str,
    options: Sequence[str],
    *,
    method: str = "unifiedqa",
    likelihoods: Sequence[float] | None = None,
) -> ClosestOption:
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
    tied = [index for index, value in enumerate(values) if value == best]
    if likelihoods is not None and method == "robust":
        tied.sort(key=lambda index: -likelihoods[index])
    return ClosestOption(tied[0], best)


def named_labels(prediction: str, labels: Sequence[str]) -> list[str]:
    """Read labels out of `B`, `(B)`, `B.` or `A;B`; `2` may mean B, and B may mean 2.

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


def credit_answer(
    prediction: str, question: MultipleChoice, method: str
) -> tuple[float, str, bool]:
    """Return the credit for one question.

    With `label`, a text that names k labels, the key among them, gets 1/k (ARC's own rule).

    Returns:
        The credit between 0 and 1, the label chosen, and whether nothing matched.

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
    label = labels[chosen.position]
    return float(label == question.answer_key), label, chosen.similarity == 0


def score_choices(
    questions: Iterable[MultipleChoice],
    answers: Mapping[str, str],
    *,
    method: str = "unifiedqa",
    title: str = "",
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Score a system on multiple choice: accuracy over all, Easy and Challenge, 0-100.

    A missing answer scores 0 and is listed; `no_match` counts answers that no option is close to.
    `title` is the way of choosing in the signature, by default the method.
    """
    rows = []
    for question in questions:
        answer = answers.get(question.question_id)
        credit, label, nothing = (0.0, "", False)
        if answer is not None:
            credit, label, nothing = credit_answer(answer, question, method)
        rows.append(
            {
                "question_id": question.question_id,
                "difficulty": question.difficulty or "unknown",
                "answer_key": question.answer_key,
                "chosen": label,
                "credit": credit,
                "no_match": nothing,
                "missing": answer is None,
            }
        )
    groups = sorted({str(row["difficulty"]) for row in rows}, reverse=True)
    return {
        "metric": "arc_mc",
        "signature": make_signature(
            "arc_mc", f"method:{title or method}", "missing:0", f"n:{len(rows)}"
        ),
        **_accuracy(rows, resamples, seed),
        "by": {
            "difficulty": {
                group: _accuracy(
                    [row for row in rows if row["difficulty"] == group], resamples, seed
                )
                for group in groups
            }
        },
        "missing": [row["question_id"] for row in rows if row["missing"]],
        "rows": rows,
    }


def render_choices(report: Mapping[str, Any]) -> str:
    """Return the accuracies as text, with the signature and the number of missing answers."""
    lines = [["", "n", "accuracy", "no match"]]
    for title, part in {"all": report, **report["by"]["difficulty"]}.items():
        cell = format_score(part["accuracy"], part["interval"])
        lines.append([title, str(part["n"]), cell, str(part["no_match"])])
    text = f"{render_table(lines)}\n{report['signature']}\n"
    if report["missing"]:
        text += f"missing answers, scored 0: {len(report['missing'])}\n"
    return text


def _accuracy(rows: Sequence[Mapping[str, Any]], resamples: int, seed: int) -> dict[str, Any]:
    credits = [(row["credit"],) for row in rows]
    found = summarize(credits, ["accuracy"], confidence=0.95, resamples=resamples, seed=seed)
    return {
        "n": found.n,
        "accuracy": found.metrics["accuracy"],
        "interval": list((found.intervals or {})["accuracy"]),
        "no_match": sum(row["no_match"] for row in rows),
    }


def _label_like(name: str, labels: Sequence[str]) -> str | None:
    if name in labels:
        return name
    if name.upper() in labels:
        return name.upper()
    index = int(name) - 1 if name.isdigit() else ord(name.upper()) - ord("A")
    other_series = bool(labels) and labels[0].isdigit() != name.isdigit()
    return labels[index] if other_series and 0 <= index < len(labels) else None


def _without_quotes(text: str) -> str:
    return _ROUND_TRIP.sub(" ", text.replace('"', "").replace("'", ""))
