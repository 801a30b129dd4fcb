"""How far automatic metrics agree with people, answer by answer and system by system.

In: answers that people judged, and a function that scores an answer. Out: means of people and
metrics beside each other, correlations with intervals. Two sources: ratings of systems on a data
set, with its gold answers; or a table of several systems' outputs with human credit that holds no
gold answers. There, one system is left out at a time, and the other systems' fully credited
answers serve as its gold answers; a question where no other system got full credit is left out
for that system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twowiki.errors import DataError
from twowiki.human.agreement import EQUAL, correlations, ranking_auc
from twowiki.human.ratings import Rating, prediction_sha
from twowiki.io.records import read_records
from twowiki.metric.tables import render_table

CREDIT = "credit-"
_COLUMNS = "Columns: id, SYSTEM ..., credit-SYSTEM ..."
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

# question id, answer, gold answers -> metrics, 0-1, by name
AnswerScorer = Callable[[str, str, Sequence[str]], Mapping[str, float]]


class JudgedAnswer(NamedTuple):
    """One system's answer to one question: people's credit and the metrics, all 0-1."""

    system: str
    question_id: str
    human: float
    metrics: Mapping[str, float]


class Outputs(NamedTuple):
    """Systems' answers and people's credit for some of them, by system and question id."""

    answers: dict[str, dict[str, str]]
    credits: dict[str, dict[str, float]]
    questions: dict[str, str]  # texts by id, where the table has them


def read_outputs(path: str) -> Outputs:
    """Read a table with a column per system, and `credit-SYSTEM` for those that were judged.

    Raises:
        DataError: there is no such column, or a credit is not a number from 0 to 1.
    """
    answers: dict[str, dict[str, str]] = {}
    credits: dict[str, dict[str, float]] = {}
    questions: dict[str, str] = {}
    for number, record in read_records(path):
        systems = [name[len(CREDIT) :] for name in record if str(name).startswith(CREDIT)]
        missing = [name for name in systems if record.get(name) is None]
        question = record.get("id") or record.get("question_id")
        if not systems or missing or not question:
            absent = f"no column {missing[0]!r}" if missing else "no credit-SYSTEM column, or no id"
            raise DataError(absent, file=path, record=number, remedy=_COLUMNS)
        questions[question] = str(record.get("question") or "")
        for name in systems:
            answers.setdefault(name, {})[question] = _LINE_BREAK.sub(" ", record[name])
            if str(record[CREDIT + name] or "").strip():
                credits.setdefault(name, {})[question] = _credit(record, name, path)
    if len(credits) < 2:
        raise DataError("fewer than two systems have credit", file=path, remedy=_COLUMNS)
    return Outputs(answers, credits, questions)


def leave_one_out(
    outputs: Outputs, scorer: AnswerScorer
) -> tuple[list[JudgedAnswer], dict[str, int]]:
    """Score each system against the other systems' fully credited answers.

    Returns:
        The judged answers, and for each system how many questions had no such gold answer.
    """
    judged: list[JudgedAnswer] = []
    skipped: dict[str, int] = {}
    for system, credits in outputs.credits.items():
        skipped[system] = 0
        for question, human in credits.items():
            golds = _other_answers(outputs, system, question)
            if not golds:
                skipped[system] += 1
                continue
            metrics = scorer(question, outputs.answers[system][question], golds)
            judged.append(JudgedAnswer(system, question, human, metrics))
    return judged, skipped


def judge_ratings(
    ratings: Iterable[Rating],
    golds: Mapping[str, Sequence[str]],
    systems: Mapping[str, Mapping[str, str]],
    scorer: AnswerScorer,
) -> list[JudgedAnswer]:
    """Join ratings (their mean, where there are several) with the metrics of the same answers.

    Args:
        ratings: ratings of systems' answers.
        golds: gold answers by question id; other questions are left out.
        systems: answers by question id, by the system's name.
        scorer: returns the metrics of an answer against its gold answers.

    Raises:
        DataError: a rating is of another answer than the system's file holds.
    """
    given: dict[tuple[str, str], list[float]] = {}
    for rating in ratings:
        answer = systems.get(rating.system, {}).get(rating.question_id)
        if rating.expected or answer is None or rating.question_id not in golds:
            continue
        if rating.prediction_sha not in ("", prediction_sha(answer)):
            problem = f"the rated answer of {rating.system!r} is not the one in its file"
            remedy = "Pass the file that the rating tasks were made from"
            raise DataError(problem, record=rating.question_id, remedy=remedy)
        given.setdefault((rating.system, rating.question_id), []).append(rating.rating)
    return [
        JudgedAnswer(
            system,
            question,
            sum(values) / len(values),
            scorer(question, systems[system][question], golds[question]),
        )
        for (system, question), values in given.items()
    ]


def summarize_agreement(
    judged: Sequence[JudgedAnswer], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Summarize judged answers.

    Returns:
        By system the means (0-100); by metric Pearson's r with a 95% interval (questions drawn
        with replacement), Spearman's rho, Kendall's tau, `auc` (how often a fully credited answer
        has a higher value than one without credit, ties half) with its interval, `auc_over_f1`
        (the difference to F1's, on the same draws, with its interval), and `systems_tau`, Kendall's
        tau between people's order of the systems and the metric's.

    Raises:
        DataError: there is nothing to compare, or scipy is not installed.
    """
    if not judged:
        remedy = "Pass the gold, and the systems by the names that the ratings have"
        raise DataError("no answer is both judged and scored", remedy=remedy)
    names = list(judged[0].metrics)
    systems = list(dict.fromkeys(entry.system for entry in judged))
    human = np.array([entry.human for entry in judged])
    values = np.array([[entry.metrics[name] for name in names] for entry in judged])
    of_system = np.array([systems.index(entry.system) for entry in judged])
    means = {
        system: {
            "n": int((of_system == index).sum()),
            "human": 100 * float(human[of_system == index].mean()),
            **dict(
                zip(names, (100 * values[of_system == index].mean(axis=0)).tolist(), strict=True)
            ),
        }
        for index, system in enumerate(systems)
    }
    numbers = {q: i for i, q in enumerate(dict.fromkeys(entry.question_id for entry in judged))}
    questions = np.array([numbers[entry.question_id] for entry in judged])
    ends = _pearson_intervals(human, values, questions, resamples=resamples, seed=seed)
    drawn = _auc_draws(human, values, questions, resamples=resamples, seed=seed)
    base = drawn[:, [names.index("f1") if "f1" in names else 0]]
    auc_ends = [_inner_range(column) for column in drawn.T]
    over_ends = [_inner_range(column) for column in (drawn - base).T]
    people = [means[system]["human"] for system in systems]
    right, decided = human >= 1.0, (human >= 1.0) | (human <= 0.0)
    return {
        "n": len(judged),
        "questions": len(numbers),
        "systems": means,
        "figures": {
            name: {
                **correlations(values[:, column].tolist(), human.tolist()),
                "pearson_interval": [float(end) for end in ends[column]],
                "auc": ranking_auc(values[decided, column].tolist(), right[decided].tolist()),
                "auc_interval": list(auc_ends[column]),
                "auc_over_f1_interval": list(over_ends[column]),
                "systems_tau": correlations(people, [means[s][name] for s in systems])["kendall"],
            }
            for column, name in enumerate(names)
        },
    }


def render_agreement(report: Mapping[str, Any]) -> str:
    """Return the report as two tables: systems' means, and the metrics' agreement with people."""
    names = list(report["figures"])
    systems = [["system", "n", "human", *names]]
    for name, means in report["systems"].items():
        cells = [f"{means[column]:.2f}" for column in ("human", *names)]
        systems.append([name[:19], str(means["n"]), *cells])
    metrics = [
        ["metric", "Pearson r", "Spearman", "Kendall", "AUC", "AUC beyond F1's", "systems tau"]
    ]
    base = report["figures"].get("f1", {}).get("auc", float("nan"))
    for name, found in report["figures"].items():
        cells = [_with_ends(found["pearson"], found["pearson_interval"])]
        cells += [f"{found[key]:.3f}" for key in ("spearman", "kendall")]
        cells.append(_with_ends(found["auc"], found["auc_interval"]))
        over = _with_ends(found["auc"] - base, found["auc_over_f1_interval"])
        cells += ["" if name == "f1" else over, f"{found['systems_tau']:.3f}"]
        metrics.append([name, *cells])
    counts = f"{report['n']} judged answers to {report['questions']} questions"
    return f"{render_table(systems)}\n\n{render_table(metrics)}\n{counts}\n"


def _with_ends(value: float, ends: Sequence[float]) -> str:
    return f"{value:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


def _other_answers(outputs: Outputs, system: str, question: str) -> list[str]:
    found = [
        outputs.answers[other][question]
        for other, credits in outputs.credits.items()
        if other != system and credits.get(question) == 1.0
    ]
    return list(dict.fromkeys(answer for answer in found if answer.strip()))


def _drawn_times(
    questions: NDArray[np.int64], resamples: int, seed: int
) -> Iterator[NDArray[np.int64]]:
    """Draw questions with replacement; yield how often each answer's question was drawn."""
    generator = np.random.default_rng(seed)
    count = int(questions.max()) + 1
    for _ in range(resamples):
        drawn = generator.integers(count, size=count)
        yield np.bincount(drawn, minlength=count)[questions]


def _pearson_intervals(
    human: NDArray[np.float64],
    values: NDArray[np.float64],
    questions: NDArray[np.int64],
    *,
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return the ends of each metric's 95% interval of Pearson's r, shape (metrics, 2)."""
    drawn = np.empty((resamples, values.shape[1]))
    for row, times in enumerate(_drawn_times(questions, resamples, seed)):
        weights = times / times.sum()
        people = human - weights @ human
        apart = values - weights @ values
        spread = np.sqrt((weights @ apart**2) * (weights @ people**2))
        product = weights @ (apart * people[:, None])
        drawn[row] = np.divide(product, spread, out=np.full(len(spread), np.nan), where=spread > 0)
    return np.array([_inner_range(column) for column in drawn.T])


def _auc_draws(
    human: NDArray[np.float64],
    values: NDArray[np.float64],
    questions: NDArray[np.int64],
    *,
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Return each metric's AUC of each draw of the questions, shape (resamples, metrics)."""
    right, wrong = human >= 1.0, human <= 0.0
    levels = [np.unique(np.round(column / EQUAL), return_inverse=True)[1] for column in values.T]
    drawn = np.full((resamples, values.shape[1]), np.nan)
    for row, weights in enumerate(_drawn_times(questions, resamples, seed)):
        total = float((weights * right).sum() * (weights * wrong).sum())
        for column, level in enumerate(levels if total else []):
            above = np.bincount(level, weights=weights * right)
            below = np.bincount(level, weights=weights * wrong)
            drawn[row, column] = (above * (np.cumsum(below) - below / 2)).sum() / total
    return drawn


def _inner_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the middle 95% of the defined values; nan if there are none."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def _credit(record: Mapping[str, Any], name: str, path: str) -> float:
    try:
        value = float(record[CREDIT + name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        problem = f"{record[CREDIT + name]!r} is not a credit from 0 to 1"
        raise DataError(
            problem,
            file=path,
            record=record.get("id"),
            field=CREDIT + name,
            remedy="Write a number from 0 to 1, or nothing",
        )
    return value
