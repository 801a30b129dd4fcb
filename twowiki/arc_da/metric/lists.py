"""Score lists of answers against lists of gold answers, without ids: for training loops.

In: texts. Out: means (0-100), counts, signature, from the same scores as `report` summarizes.
It refuses lists that differ in length, and entries that are not text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from twowiki.arc_da.metric.report import arc_da_signature, mean_metrics, score_system
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError


def score_lists(
    predictions: Sequence[str], references: Sequence[Sequence[str]], also: Sequence[str] = ()
) -> dict[str, Any]:
    """Score answers: the best gold answer of each question, the plain mean over questions.

    Args:
        predictions: one text per question.
        references: gold answers of each question; an empty list leaves the question out.
        also: metrics beside F1 and ROUGE-L, out of `scoring.EXTRAS`.

    Returns:
        `f1`, `rougeL` and the metrics of `also`, 0-100; `n`, `excluded`, `pitfalls`, `signature`.

    Raises:
        DataError: the lists differ in length, a reference is not a list, or nothing can be scored.
    """
    if len(predictions) != len(references):
        problem = f"{len(predictions)} predictions for {len(references)} references"
        raise DataError(problem, remedy="Pass one list of gold answers for each prediction")
    for index, (prediction, golds) in enumerate(zip(predictions, references, strict=True)):
        if not isinstance(golds, list | tuple) or not all(isinstance(g, str) for g in golds):
            problem = "a text, not a list" if isinstance(golds, str) else "not a list of texts"
            remedy = "Pass a list of gold answers for each question: [['ice', 'frozen water']]"
            raise DataError(problem, record=index, field="references", remedy=remedy)
        if not isinstance(prediction, str):
            remedy = "Pass one text per question, '' where there is none"
            raise DataError("not a text", record=index, field="predictions", remedy=remedy)
    questions = {
        str(index): Question(str(index), None, "", tuple(golds))
        for index, golds in enumerate(references)
    }
    answers = {str(index): prediction for index, prediction in enumerate(predictions)}
    scored = score_system(questions, answers, tuple(dict.fromkeys(also)))
    if not scored.scores:
        problem = "no question has a gold answer, so there is no score"
        raise DataError(problem, remedy="Pass a split with gold answers")
    return {
        **mean_metrics(scored),
        "n": len(scored.scores),
        "excluded": len(scored.no_gold),
        "pitfalls": dict(Counter(name for found in scored.pitfalls.values() for name in found)),
        "signature": arc_da_signature(scored),
    }
