"""How far the automatic figures agree with people, answer by answer and system by system.

In: answers that people judged. Out: means of people and figures beside each other, correlations
with intervals. Two sources: ratings of systems on ARC-DA, with its gold answers; or a table of
several systems' outputs with human credit that holds no gold answers. There, one system is left
out at a time, and the other systems' fully credited answers stand in as its gold answers; a
question where no other system got full credit is left out for that system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twowiki.arc_da.metric.scoring import EXTRAS, score_answer
from twowiki.arc_da.schema import Question
from twowiki.errors import DataError
from twowiki.human.agreement import correlations, kendall_tau, ranks
from twowiki.human.ratings import Rating, prediction_sha
from twowiki.io.records import read_records

FIGURES = ("f1", "rougeL", *EXTRAS)
CREDIT = "credit-"
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


class Judged(NamedTuple):
    """One system's answer to one question: people's credit (0-1), the figures (0-1, in order)."""

    system: str
    question_id: str
    human: float
    figures: tuple[float, ...]


class Outputs(NamedTuple):
    """Systems' answers and people's credit for some of them, by system and question id."""

    answers: dict[str, dict[str, str]]
    credits: dict[str, dict[str, float]]


def read_outputs(path: str) -> Outputs:
    """Read a table with a column a system, and `credit-SYSTEM` columns for those that were judged.

    Raises:
        DataError: there is no such column, or a credit is no figure from 0 to 1.
    """
    answers: dict[str, dict[str, str]] = {}
    credits: dict[str, dict[str, float]] = {}
    for number, record in read_records(path):
        systems = [name[len(CREDIT) :] for name in record if str(name).startswith(CREDIT)]
        missing = [name for name in systems if record.get(name) is None]
        question = record.get("id") or record.get("question_id")
        if not systems or missing or not question:
            problem = (
                f"no column {missing[0]!r}" if missing else "no credit-SYSTEM column, or no id"
            )
            remedy = "Columns: id, SYSTEM ..., credit-SYSTEM ..."
            raise DataError(problem, file=path, record=number, remedy=remedy)
        for name in systems:
            answers.setdefault(name, {})[question] = _LINE_BREAK.sub(" ", record[name])
            if str(record[CREDIT + name] or "").strip():
                credits.setdefault(name, {})[question] = _credit(record, name, path)
    if len(credits) < 2:
        problem = "fewer than two systems have credit"
        raise DataError(problem, file=path, remedy="Columns: id, SYSTEM ..., credit-SYSTEM ...")
    return Outputs(answers, credits)


def leave_one_out(outputs: Outputs) -> tuple[list[Judged], dict[str, int]]:
    """Score each system against the other systems' fully credited answers.

    Returns:
        The judged answers, and for each system how many questions had no such gold answer.
    """
    judged: list[Judged] = []
    skipped: dict[str, int] = {}
    for system, credits in outputs.credits.items():
        skipped[system] = 0
        for question, human in credits.items():
            golds = _other_answers(outputs, system, question)
            if not golds:
                skipped[system] += 1
                continue
            row = score_answer(outputs.answers[system][question], golds, tuple(EXTRAS))
            judged.append(Judged(system, question, human, (row.f1, row.rouge_l, *row.extras)))
    return judged, skipped


def judge_ratings(
    ratings: Iterable[Rating],
    questions: Mapping[str, Question],
    systems: Mapping[str, Mapping[str, str]],
) -> list[Judged]:
    """Put ratings (their mean, where there are several) beside the figures of the same answers.

    Raises:
        DataError: a rating is of another answer than the system's file holds.
    """
    given: dict[tuple[str, str], list[float]] = {}
    for rating in ratings:
        if rating.expected or rating.system not in systems:
            continue
        answer = systems[rating.system].get(rating.question_id)
        if answer is None or rating.question_id not in questions:
            continue
        if rating.prediction_sha not in ("", prediction_sha(answer)):
            problem = f"the rated answer of {rating.system!r} is not the one in its file"
            remedy = "Give the file that the rating tasks were made from"
            raise DataError(problem, record=rating.question_id, remedy=remedy)
        given.setdefault((rating.system, rating.question_id), []).append(rating.rating)
    judged = []
    for (system, question), values in given.items():
        row = score_answer(systems[system][question], questions[question].answers, tuple(EXTRAS))
        figures = (row.f1, row.rouge_l, *row.extras)
        judged.append(Judged(system, question, sum(values) / len(values), figures))
    return judged


def agreement_report(
    judged: Sequence[Judged], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Sum up judged answers.

    Returns:
        By system the means (0-100); by figure Pearson's r with a 95% interval (questions drawn
        with replacement), Spearman's rho, Kendall's tau, `auc` (how often a fully credited answer
        has a higher figure than one without credit, ties half), and `systems_tau`, Kendall's tau
        between people's order of the systems and the figure's.

    Raises:
        DataError: there is nothing to compare.
    """
    if not judged:
        raise DataError(
            "no answer is both judged and scored",
            remedy="Give the gold, and the systems by the names that the ratings have",
        )
    systems = list(dict.fromkeys(entry.system for entry in judged))
    human = np.array([entry.human for entry in judged])
    figures = np.array([entry.figures for entry in judged])
    of_system = np.array([systems.index(entry.system) for entry in judged])
    means = {
        name: {
            "n": int((of_system == place).sum()),
            "human": 100 * float(human[of_system == place].mean()),
            **{
                figure: 100 * float(figures[of_system == place, column].mean())
                for column, figure in enumerate(FIGURES)
            },
        }
        for place, name in enumerate(systems)
    }
    questions = {q: i for i, q in enumerate(dict.fromkeys(entry.question_id for entry in judged))}
    drawn_from = np.array([questions[entry.question_id] for entry in judged])
    ends = _pearson_intervals(human, figures, drawn_from, resamples=resamples, seed=seed)
    people = np.array([means[name]["human"] for name in systems])
    return {
        "n": len(judged),
        "questions": len(questions),
        "systems": means,
        "figures": {
            figure: {
                **correlations(list(figures[:, column]), list(human)),
                "pearson_interval": [float(end) for end in ends[column]],
                "auc": _auc(figures[:, column], human),
                "systems_tau": kendall_tau(
                    people, np.array([means[name][figure] for name in systems])
                ),
            }
            for column, figure in enumerate(FIGURES)
        },
    }


def render_agreement(report: Mapping[str, Any]) -> str:
    """Write the report as two tables: systems' means, and the figures' agreement with people."""
    lines = ["".join([f"{'system':<20}{'n':>6}{'human':>8}", *(f"{f:>16}" for f in FIGURES)])]
    for name, means in report["systems"].items():
        cells = "".join(f"{means[figure]:>16.2f}" for figure in FIGURES)
        lines.append(f"{name[:19]:<20}{means['n']:>6}{means['human']:>8.2f}{cells}")
    lines.append("")
    lines.append(
        f"{'figure':<16}{'Pearson r':>24}{'Spearman':>10}{'Kendall':>9}{'AUC':>7}"
        f"{'systems tau':>13}"
    )
    for figure, found in report["figures"].items():
        low, high = found["pearson_interval"]
        lines.append(
            f"{figure:<16}{found['pearson']:>9.3f} [{low:.3f}, {high:.3f}]".ljust(40)
            + f"{found['spearman']:>10.3f}{found['kendall']:>9.3f}{found['auc']:>7.3f}"
            + f"{found['systems_tau']:>13.3f}"
        )
    lines.append(f"{report['n']} judged answers to {report['questions']} questions")
    return "\n".join(lines) + "\n"


def _other_answers(outputs: Outputs, system: str, question: str) -> list[str]:
    found = [
        outputs.answers[other][question]
        for other, credits in outputs.credits.items()
        if other != system and credits.get(question) == 1.0
    ]
    return list(dict.fromkeys(answer for answer in found if answer.strip()))


def _pearson_intervals(
    human: NDArray[np.float64],
    figures: NDArray[np.float64],
    questions: NDArray[np.int64],
    *,
    resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Draw questions with replacement, with all their answers; give (figures, 2)."""
    generator = np.random.default_rng(seed)
    count = int(questions.max()) + 1
    drawn = np.empty((resamples, figures.shape[1]))
    for row in range(resamples):
        times = np.bincount(generator.integers(count, size=count), minlength=count)
        weights = times[questions].astype(np.float64)
        weights /= weights.sum()
        people = human - weights @ human
        apart = figures - weights @ figures
        spread = np.sqrt((weights @ apart**2) * (weights @ people**2))
        product = weights @ (apart * people[:, None])
        drawn[row] = np.divide(product, spread, out=np.full(len(spread), np.nan), where=spread > 0)
    return np.array([_inner_range(column) for column in drawn.T])


def _inner_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Give the middle 95% of the defined values; nan if there are none."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


def _auc(values: NDArray[np.float64], human: NDArray[np.float64]) -> float:
    right, wrong = human >= 1.0, human <= 0.0
    if not right.any() or not wrong.any():
        return float("nan")
    chosen = right | wrong
    placed = ranks(values[chosen])
    above = placed[right[chosen]].sum() - right.sum() * (right.sum() + 1) / 2
    return float(above / (right.sum() * wrong.sum()))


def _credit(record: Mapping[str, Any], name: str, path: str) -> float:
    try:
        value = float(record[CREDIT + name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        problem = f"{record[CREDIT + name]!r} is no credit from 0 to 1"
        raise DataError(
            problem,
            file=path,
            record=record.get("id"),
            field=CREDIT + name,
            remedy="Write a figure from 0 to 1, or nothing",
        )
    return value
