"""How good the retrieved sentences are, as far as gold answers can tell.

`answer_in@k`: share of questions of which a gold answer's words stand, one after the other and
stemmed, in one of the first k sentences, answers that the question itself holds left out. A long
list of sentences holds some answer by chance, so `chance_in@k` measures the same with the
sentences of another question. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.arc_da.retrieval.analysis import analyze
from twowiki.arc_da.schema import Question
from twowiki.statistics import bootstrap_intervals

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
