"""How far people agree with each other on multi-hop questions, by question type.

In: people's answers by question and person. Out: for each pair of people on one question, whether
the answers are equal, and the F1 of sentences and triples, as means; Krippendorff's alpha of the
answers. Texts are compared as the metric compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from twowiki.data.schema import Prediction
from twowiki.human.agreement import krippendorff_alpha
from twowiki.metric.normalization import normalize_answer, normalize_name
from twowiki.metric.results import UNTYPED, score_counts

Answers = Mapping[str, Mapping[str, Prediction]]


def chain_agreement(answers: Answers, types: Mapping[str, str | None]) -> dict[str, Any]:
    """Return agreement over all questions, and by type.

    Args:
        answers: by question id and person.
        types: the question types by id.

    Returns:
        By type, and under `all`: the questions with two answers or more, the pairs, the shares of
        equal answers and the mean F1 of sentences and triples (0-100), and `alpha` of the answers.
    """
    groups: dict[str, dict[str, Mapping[str, Prediction]]] = {"all": {}}
    for name, given in answers.items():
        if len(given) > 1:
            groups["all"][name] = given
            groups.setdefault(types.get(name) or UNTYPED, {})[name] = given
    return {group: _agreement(questions) for group, questions in groups.items()}


def _agreement(questions: Answers) -> dict[str, Any]:
    rows = [
        _compare(one, other)
        for given in questions.values()
        for one, other in combinations(given.values(), 2)
    ]
    columns = list(zip(*rows, strict=True))
    means = [100 * sum(column) / len(rows) for column in columns] or [float("nan")] * 3
    return {
        "questions": len(questions),
        "pairs": len(rows),
        **dict(zip(("answer_equal", "sentences_f1", "triples_f1"), means, strict=True)),
        "alpha": krippendorff_alpha(_ratings(questions), level="nominal"),
    }


def _ratings(questions: Answers) -> Iterable[tuple[str, str, float]]:
    """Yield each answer as a number: equal ones have the same."""
    numbers: dict[str, int] = {}
    for name, given in questions.items():
        for person, one in given.items():
            text = normalize_answer(str(one.answer or ""))
            yield name, person, float(numbers.setdefault(text, len(numbers)))


def _compare(one: Prediction, other: Prediction) -> tuple[float, float, float]:
    equal = normalize_answer(str(one.answer or "")) == normalize_answer(str(other.answer or ""))
    facts = [{(t.lower(), n) for t, n in part.supporting_facts or ()} for part in (one, other)]
    triples = [
        {tuple(normalize_name(str(text)) for text in triple) for triple in part.evidences or ()}
        for part in (one, other)
    ]
    return float(equal), _f1(*facts), _f1(*triples)


def _f1(one: set[Any], other: set[Any]) -> float:
    if not one and not other:
        return 1.0
    return score_counts(len(one & other), len(one), len(other), exact=False)[1]
