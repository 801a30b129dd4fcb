"""Hop by hop: the answers to a question's sub-questions beside the answer to the whole.

In: predictions for the records of `twowiki export --format sub-questions`, whose ids are the
question's id, `#` and the number of the sub-question, from 1. Out: EM and F1 of each hop and of the
composition, and how often the composition is right where every hop is, or where one is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from twowiki.data.schema import Example, SubQuestion, Triple, TripleIds
from twowiki.data.sub_questions import sub_id, sub_questions
from twowiki.errors import DataError
from twowiki.metric.predictions import PredictionSet
from twowiki.metric.results import NONE, ExampleResult, Gold, PartScore
from twowiki.metric.scoring import Scorer
from twowiki.metric.tables import format_score, render_table

COMPOSITION = "composition"


class HopMeans(NamedTuple):
    """The answers of one hop, or of the whole questions: their number, EM and F1, 0-100."""

    n: int
    em: float
    f1: float


@dataclass
class HopScores:
    """Adds up the scores of sub-questions and of their questions.

    Attributes:
        predictions: those of the sub-questions.
        missing: the number of sub-questions without a prediction.
    """

    predictions: PredictionSet
    missing: int = 0
    _scores: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    _right: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})

    def add(self, gold: Gold, record: Any, result: ExampleResult, scorer: Scorer) -> None:
        """Score the sub-questions of an example; one without triples has none."""
        steps = sub_questions(record if isinstance(record, Example) else _example_of(gold))
        if not steps:
            return
        whole = True
        for number, step in enumerate(steps, 1):
            score = self._best(sub_id(gold.id, number), step, steps, gold, scorer)
            self._scores.setdefault(f"hop {step.hop}", []).append(score[:2])
            whole = whole and score[0] == 1.0
        em, f1 = result.metrics[:2]
        self._scores.setdefault(COMPOSITION, []).append((em, f1))
        self._right[whole].append(em)

    def _best(
        self, name: str, step: SubQuestion, steps: list[SubQuestion], gold: Gold, scorer: Scorer
    ) -> PartScore:
        """Return the best score against all answers of the same question."""
        answer = self.predictions.of(name).answer
        if answer is None:
            self.missing += 1
            return NONE
        ids = [triple[2] for triple in gold.evidences_id]
        ids = ids if len(ids) == len(steps) else [None] * len(steps)
        golds = [
            Gold(name, one.answer, (), (), answer_id=answer_id)
            for one, answer_id in zip(steps, ids, strict=True)
            if one.question == step.question
        ]
        return max(scorer.score_answer(answer, one) for one in golds)

    def to_dict(self) -> dict[str, Any]:
        """Return the means as JSON values."""
        return {
            "hops": {name: means._asdict() for name, means in self.means()},
            "missing": self.missing,
            "composition_em": {
                name: {"n": len(self._right[whole]), "em": _mean(self._right[whole])}
                for name, whole in (("every_hop_right", True), ("a_hop_wrong", False))
            },
        }

    def means(self) -> Iterator[tuple[str, HopMeans]]:
        """Yield each hop's means, then those of the composition.

        Raises:
            DataError: no example has a sub-question.
        """
        if not self._scores:
            remedy = "Score gold with evidences, or with sub-questions of its own"
            raise DataError("the gold has no sub-questions", remedy=remedy)
        for name in sorted(self._scores, key=lambda name: (name == COMPOSITION, name)):
            pairs = self._scores[name]
            ems, f1s = zip(*pairs, strict=True)
            yield name, HopMeans(len(pairs), _mean(ems) or 0.0, _mean(f1s) or 0.0)

    def render(self) -> str:
        """Return the table as text."""
        rows = [["answers", "n", "EM", "F1"]]
        for name, (n, em, f1) in self.means():
            rows.append([name, f"{n:,}", format_score(em), format_score(f1)])
        found = self.to_dict()["composition_em"]
        lines = [
            f"composition EM, {name.replace('_', ' ')}: "
            + (f"{one['em']:.2f} of {one['n']:,} questions" if one["n"] else "no question")
            for name, one in found.items()
        ]
        lines += [f"sub-questions without a prediction: {self.missing:,}"] if self.missing else []
        return "\n".join([render_table(rows), *lines])


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return 100 * sum(values) / len(values) if values else None


def _example_of(gold: Gold) -> Example:
    """Return what sub-questions need of a gold: its triples and type."""
    return Example(
        gold.id,
        "",
        gold.type,
        (),
        evidences=tuple(Triple(*triple) for triple in gold.evidences),
        evidences_id=tuple(TripleIds(*ids) for ids in gold.evidences_id),
        answer=gold.answer,
    )
