"""The file for the authors' leaderboard: one answer, facts and triples for every test question.

In: predictions in any form and the test split's questions. Out: the official dict, in the test
file's order, checked. A question left out, a fact that is no [title, number] or a triple that is
no three texts is an error that names the question: the leaderboard scores these 0 or fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from twowiki.errors import DataError
from twowiki.predictions import BLOCKS, PredictionSet
from twowiki.schema import Example, Prediction

CONTACT = "https://github.com/Alab-NII/2wikimultihop"
NEXT_STEPS = (
    "Test scores come from the authors of the data set: write to them (the submission guide at "
    f"{CONTACT} says how) with this file, the name of your model and, if you like, links to its "
    "code and paper."
)


class Submission(NamedTuple):
    """The official dict, and what was left out or is doubtful."""

    blocks: dict[str, dict[str, Any]]
    missing: list[str]
    unknown_titles: list[str]  # ids with a fact whose title the context lacks
    extra: int


def make_submission(
    said: PredictionSet, questions: Iterable[Example], *, allow_missing: bool = False
) -> Submission:
    """Put predictions into the leaderboard's form.

    Args:
        said: the predictions.
        questions: the test split's questions.
        allow_missing: write an empty answer, no facts and no triples for what is left out.

    Raises:
        DataError: a malformed value, or something left out.
    """
    blocks: dict[str, dict[str, Any]] = {block: {} for block in BLOCKS}
    missing: list[str] = []
    unknown: list[str] = []
    for example in questions:
        prediction = said.of(example.id)
        if any(part is None for part in prediction):
            missing.append(example.id)
        for block, value in zip(BLOCKS, _checked(prediction, example.id), strict=True):
            blocks[block][example.id] = value
        titles = {paragraph.title.lower() for paragraph in example.context}
        if any(title.lower() not in titles for title, _ in blocks["sp"][example.id]):
            unknown.append(example.id)
    if missing and not allow_missing:
        raise DataError(
            f"{len(missing)} of {len(blocks['answer'])} questions lack an answer, facts or triples",
            record=missing[0],
            remedy="Complete the predictions, or accept zeros for these with --allow-missing",
        )
    extra = sum(name not in blocks["answer"] for name in said.ids())
    return Submission(blocks, missing, unknown, extra)


def _checked(prediction: Prediction, name: str) -> tuple[str, list[Any], list[Any]]:
    answer: Any = prediction.answer
    if answer is not None and not isinstance(answer, str | int | float):
        raise _malformed(name, "answer", answer, "a text")
    facts = [_fact(fact, name) for fact in _listed(prediction.supporting_facts, name, "sp")]
    triples = [_triple(one, name) for one in _listed(prediction.evidences, name, "evidence")]
    return "" if answer is None else str(answer), facts, triples


def _listed(value: Any, name: str, block: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _malformed(name, block, value, "a list")
    return list(value)


def _fact(fact: Any, name: str) -> list[Any]:
    if isinstance(fact, list | tuple) and len(fact) == 2:
        title, sent_id = fact
        if isinstance(title, str) and type(sent_id) is int:
            return [title, sent_id]
    raise _malformed(name, "sp", fact, "[title, sentence number]")


def _triple(triple: Any, name: str) -> list[str]:
    if isinstance(triple, list | tuple) and len(triple) == 3:
        parts = [str(part) for part in triple if isinstance(part, str | int | float)]
        if len(parts) == 3:
            return parts
    raise _malformed(name, "evidence", triple, "[subject, relation, object]")


def _malformed(name: str, block: str, value: Any, wanted: str) -> DataError:
    problem = f"{value!r} is not {wanted}; the leaderboard's scorer would fail or give 0"
    return DataError(problem, record=name, field=block, remedy="Mend the prediction")
