"""People as one more system: their mean, and the best of them on each question.

In: rows of people's answers (`person`, `id`, `answer`, `supporting_facts`, `evidences`), as
`twowiki people import` writes them, and the gold as it is scored. Out: a `PeopleSummary` of the
questions that people answered: the mean over people, the upper bound, and the system on the same
questions. The upper bound takes the best person of each question, each metric by itself (the
paper's section 5.3: "the best of them per sample").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.io.records import read_records
from twowiki.metric.parts import GoldForm, without_absent
from twowiki.metric.predictions import row_prediction
from twowiki.metric.report import Summary, summarize
from twowiki.metric.results import UNTYPED, ExampleResult, Gold
from twowiki.metric.scoring import Scorer

_WRITE = 'Write {"person": ..., "id": ..., "answer": ..., "supporting_facts": [], "evidences": []}'
PeopleAnswers = dict[str, dict[str, Prediction]]  # question id -> person -> answer


class PeopleRow(NamedTuple):
    """One row of a table: who, and their means."""

    name: str
    summary: Summary


class PeopleSummary(NamedTuple):
    """People and a system on the questions that people answered.

    Attributes:
        people: the number of people.
        answers: the number of their answers.
        rows: the mean of people, their upper bound, and the system.
        types: the same, by question type.
    """

    people: int
    answers: int
    rows: list[PeopleRow]
    types: dict[str, list[PeopleRow]]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "people": self.people,
            "answers": self.answers,
            **{row.name: row.summary.to_dict() for row in self.rows},
            "by_type": {
                name: {row.name: row.summary.to_dict() for row in rows}
                for name, rows in self.types.items()
            },
        }


def read_people(source: str | PathLike[str]) -> PeopleAnswers:
    """Read people's answers, by question and person.

    Raises:
        DataError: a row has no person or no id, or a person answered a question twice.
    """
    found: PeopleAnswers = {}
    for number, row in read_records(source):
        person, example_id = row.get("person"), row.get("id")
        for name, value in (("person", person), ("id", example_id)):
            if not isinstance(value, str) or not value:
                problem = f"the {name} is missing"
                raise DataError(problem, file=source, record=number, field=name, remedy=_WRITE)
        answers = found.setdefault(str(example_id), {})
        if person in answers:
            problem = f"{person} answered this question twice"
            raise DataError(problem, file=source, record=example_id, remedy="Keep one of the two")
        answers[str(person)] = row_prediction(row, str(example_id))
    if not found:
        raise DataError("holds no answer", file=source, remedy=_WRITE)
    return found


class PeopleScores:
    """Scores people's answers while a system is scored.

    Args:
        source: the file of people's answers.
    """

    def __init__(self, source: str | PathLike[str]) -> None:
        self.answers = read_people(source)
        self.name = Path(source).name
        self._scored: list[tuple[str, list[ExampleResult], ExampleResult]] = []
        self._met: set[str] = set()

    def add(self, gold: Gold, scorer: Scorer, system: ExampleResult) -> None:
        """Score the people who answered a question."""
        answers = self.answers.get(gold.id)
        if answers and gold.id not in self._met:
            self._met.add(gold.id)
            results = [scorer.score_example(one, gold) for one in answers.values()]
            self._scored.append((gold.type or UNTYPED, results, system))

    def unmet(self) -> list[str]:
        """Return the ids that people answered and that were not scored."""
        return [one for one in self.answers if one not in self._met]

    def summary(self, names: Sequence[str], form: GoldForm) -> PeopleSummary:
        """Return means over the questions that people answered.

        Raises:
            DataError: they answered none of the questions.
        """
        if not self._scored:
            problem = "people answered none of the questions that are scored"
            remedy = "The answers belong to another split, or to another data set"
            raise DataError(problem, file=self.name, remedy=remedy)
        types = dict.fromkeys(type_ for type_, _, _ in self._scored)
        return PeopleSummary(
            len({person for answers in self.answers.values() for person in answers}),
            sum(len(results) for _, results, _ in self._scored),
            list(self._rows(names, form, None)),
            {name: list(self._rows(names, form, name)) for name in types},
        )

    def _rows(
        self, names: Sequence[str], form: GoldForm, wanted: str | None
    ) -> Iterator[PeopleRow]:
        scored = [one for one in self._scored if wanted in (None, one[0])]
        tables: Mapping[str, list[tuple[float, ...]]] = {
            "average": [_means(results) for _, results, _ in scored],
            "upper_bound": [_bests(results) for _, results, _ in scored],
            "system": [system.metrics for _, _, system in scored],
        }
        for name, rows in tables.items():
            summary = summarize(rows, names)
            metrics = without_absent(summary.metrics, form)
            yield PeopleRow(name, summary._replace(metrics=metrics))


def _means(results: Sequence[ExampleResult]) -> tuple[float, ...]:
    columns = zip(*(result.metrics for result in results), strict=True)
    return tuple(sum(column) / len(results) for column in columns)


def _bests(results: Sequence[ExampleResult]) -> tuple[float, ...]:
    return tuple(map(max, zip(*(result.metrics for result in results), strict=True)))
