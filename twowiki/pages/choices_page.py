"""Multiple choice beside direct answers, for one system, as one HTML page. Pure.

In: the multiple-choice originals with the labels chosen, and the scores of the direct answers to
the same questions. Out: counts of the four outcomes, and the page: what a system knows when it sees
the options and does not say without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.metric.report import SystemScores
from twowiki.arc_da.schema import MultipleChoice
from twowiki.pages.layout import render_layout

OUTCOME_NAMES = {
    (True, False): "multiple choice right, direct answer wrong",
    (False, True): "multiple choice wrong, direct answer right",
    (True, True): "both right",
    (False, False): "both wrong",
}


class ComparedQuestion(NamedTuple):
    """One question, asked both ways.

    Attributes:
        original: the multiple-choice question.
        chosen: the label that the system chose.
        question_id: the direct-answer question's id.
        f1: of the direct answer, 0-1.
        threshold: F1 from which a direct answer counts as right.
    """

    original: MultipleChoice
    chosen: str
    question_id: str
    f1: float
    threshold: float

    @property
    def outcome(self) -> tuple[bool, bool]:
        """Whether the choice and the direct answer are right."""
        return self.chosen == self.original.answer_key, self.f1 >= self.threshold


def compare_ways(
    originals: Iterable[MultipleChoice],
    rows: Iterable[Mapping[str, Any]],
    direct: SystemScores,
    *,
    threshold: float,
) -> list[ComparedQuestion]:
    """Join the questions that were asked both ways, in the order of the direct answers.

    Args:
        originals: the multiple-choice questions.
        rows: the rows of `score_choices`.
        direct: the scores of the direct answers.
        threshold: F1 (0-1) from which a direct answer counts as right.
    """
    by_id = {one.question_id: one for one in originals}
    by_id |= {one.id: one for one in by_id.values()}
    chosen = {str(row["question_id"]): str(row["chosen"]) for row in rows}
    found = []
    for record, question in direct.questions.items():
        original = by_id.get(record) or by_id.get(question.arc_id)
        if original is not None and original.question_id in chosen:
            f1 = direct.scores[record].metrics["f1"]
            label = chosen[original.question_id]
            found.append(ComparedQuestion(original, label, record, f1, threshold))
    return found


def count_outcomes(compared: Sequence[ComparedQuestion]) -> dict[str, int]:
    """Count the four outcomes, by name."""
    found = [one.outcome for one in compared]
    return {name: found.count(outcome) for outcome, name in OUTCOME_NAMES.items()}


def render_choices_page(
    compared: Sequence[ComparedQuestion],
    direct: SystemScores,
    *,
    title: str,
    shown: int = 200,
    command: str | None = None,
) -> str:
    """Return the page; of each outcome at most `shown` questions, in order.

    Args:
        compared: what `compare_ways` found.
        direct: the scores of the direct answers, with questions and answers.
        title: the page's title.
        shown: most questions of an outcome.
        command: the command line that made it, for the page to name.
    """
    groups = []
    for outcome, name in OUTCOME_NAMES.items():
        met = [one for one in compared if one.outcome == outcome]
        cases = [_case(one, direct) for one in met[:shown]]
        groups.append({"name": name, "key": name.replace(" ", "-").replace(",", ""),
                       "count": len(met), "cases": cases})  # fmt: skip
    return render_layout(
        "choices.html",
        title=title,
        command=command,
        total=len(compared),
        threshold=compared[0].threshold if compared else 1.0,
        groups=groups,
    )


def _case(one: ComparedQuestion, direct: SystemScores) -> dict[str, Any]:
    question = direct.questions[one.question_id]
    return {
        "id": one.question_id,
        "stem": one.original.stem,
        "question": question.question,
        "difficulty": question.difficulty or "unknown",
        "options": [
            {"label": choice.label, "text": choice.text,
             "right": choice.label == one.original.answer_key, "chosen": choice.label == one.chosen}
            for choice in one.original.choices
        ],
        "answer": direct.answers[one.question_id],
        "golds": list(question.answers),
        "f1": 100 * one.f1,
    }  # fmt: skip
