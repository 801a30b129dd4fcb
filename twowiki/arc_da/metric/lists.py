"""Score lists of answers against lists of gold answers, without ids: for training loops.

In: texts. Out: means (0-100), counts, signature. The same rows as `report` sums up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twowiki.arc_da.metric.report import FIGURES, Settings, figures_of, score_system, signature
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError


def score_lists(
    predictions: Sequence[str], references: Sequence[Sequence[str]], also: Sequence[str] = ()
) -> dict[str, Any]:
    """Score answers: the best gold answer of each question, the plain mean over questions.

    Args:
        predictions: one text a question.
        references: gold answers of each question; an empty list leaves the question out.
        also: figures beside F1 and ROUGE-L, out of `scoring.EXTRAS`.

    Returns:
        `f1`, `rougeL` and the figures of `also`, 0-100; `n`, `excluded`, `pitfalls`, `signature`.

    Raises:
        DataError: the lists differ in length, a reference is no list, or nothing can be scored.
    """
    if len(predictions) != len(references):
        problem = f"{len(predictions)} predictions for {len(references)} references"
        raise DataError(problem, remedy="Give one list of gold answers for each prediction")
    questions, answers = {}, {}
    for place, (prediction, golds) in enumerate(zip(predictions, references, strict=True)):
        if not isinstance(golds, list | tuple) or not all(isinstance(g, str) for g in golds):
            remedy = "Give a list of gold answers for each question: [['ice', 'frozen water']]"
            raise DataError(
                "a text, not a list" if isinstance(golds, str) else "no list of texts",
                record=place,
                field="references",
                remedy=remedy,
            )
        if not isinstance(prediction, str):
            remedy = "Give one text a question, '' where there is none"
            raise DataError("no text", record=place, field="predictions", remedy=remedy)
        questions[str(place)] = Question(str(place), None, "", tuple(golds))
        answers[str(place)] = prediction
    settings = Settings(extras=tuple(dict.fromkeys(also)))
    scored = score_system(questions, answers, settings.extras)
    if not scored.rows:
        problem = "no question has a gold answer, so there is no score"
        raise DataError(problem, remedy="Give a split with gold answers")
    means = figures_of(scored, scored.rows).mean(axis=0)
    names = [*FIGURES, *settings.extras]
    pitfalls: dict[str, int] = {}
    for found in scored.pitfalls.values():
        for name in found:
            pitfalls[name] = pitfalls.get(name, 0) + 1
    return {
        **{name: float(mean) for name, mean in zip(names, means, strict=True)},
        "n": len(scored.rows),
        "excluded": len(scored.no_gold),
        "pitfalls": pitfalls,
        "signature": signature(scored, settings),
    }
