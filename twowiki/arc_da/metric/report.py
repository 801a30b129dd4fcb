"""Score a system on ARC-DA: scores per question, means, groups, intervals, signature.

In: questions with gold answers, answers by question id. Out: a report of plain values, and its
text. Metrics are on the scale 0-100; the mean is plain, over all questions that have a gold
answer. Pure: the command reads and writes the files. ROUGE-L is left out, and the report says so,
where nltk is not installed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from twowiki.arc_da.metric.folding import exact_marks, names_letter_a
from twowiki.arc_da.metric.scoring import (
    NO_ROUGE,
    AnswerScore,
    answer_tokens,
    headline_metrics,
    rouge_words,
    score_answer,
)
from twowiki.arc_da.schema import MultipleChoice, Question, attach_choices
from twowiki.arc_da.sentences import question_sentence
from twowiki.metric.report import make_signature, summarize
from twowiki.metric.tables import format_score, render_table

QUESTION_WORDS = ("what", "which", "how", "why", "where", "when", "who", "name")
PITFALLS = {
    "order_only": "F1 is 1, but the words are in another order than in any gold answer",
    "number_changed": "F1 is 1, but a sign, decimal point, unit or the case of a symbol differs",
    "letter_a_lost": "F1 is 1, but a name such as 'vitamin A' lost its A as an article",
    "rouge_blind_gold": "a gold answer has no ASCII letter or digit: ROUGE-L is 0 even if met",
    "rouge_blind_prediction": "the prediction has no ASCII letter or digit: ROUGE-L is 0",
    "non_ascii_gold": "a gold answer holds letters outside ASCII, which ROUGE-L drops",
    "empty_gold": "a gold answer is nothing but articles and punctuation: F1 is 0 even if met",
    "empty_prediction": "the prediction is empty, or nothing but articles and punctuation",
    "several_answers": "the prediction holds ';': several answers in one lower F1 and ROUGE-L",
}


class ArcDaSettings(NamedTuple):
    """What can affect a report besides the data; all of it is part of the report."""

    extras: tuple[str, ...] = ()
    golds: str = "all"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0


class SystemScores(NamedTuple):
    """A system's scores by question id, in the gold's order, and what was left out or missing."""

    names: tuple[str, ...]
    questions: dict[str, Question]
    answers: dict[str, str]
    scores: dict[str, AnswerScore]
    pitfalls: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    no_gold: tuple[str, ...]
    judge: str = ""  # its part of the signature


def score_system(
    questions: Mapping[str, Question], answers: Mapping[str, str], extras: Sequence[str] = ()
) -> SystemScores:
    """Score a system's answers; a missing answer is scored as empty and listed.

    Questions without gold answers are left out of every mean, and listed.
    """
    names = (*headline_metrics(), *extras)
    scored = {record: question for record, question in questions.items() if question.has_gold}
    given = {record: answers.get(record, "") for record in scored}
    scores = {
        record: score_answer(given[record], question.answers, names)
        for record, question in scored.items()
    }
    pitfalls = {
        record: name_pitfalls(answers.get(record), scored[record].answers, score)
        for record, score in scores.items()
    }
    missing = tuple(record for record in scored if record not in answers)
    no_gold = tuple(record for record in questions if record not in scored)
    return SystemScores(names, scored, given, scores, pitfalls, missing, no_gold)


def with_judge(scored: SystemScores, values: Mapping[str, float], signature: str) -> SystemScores:
    """Add a judge's values (0-1, by question id) to a system's scores as the metric `judge`."""
    scores = {
        record: AnswerScore({**score.metrics, "judge": values[record]}, score.best_gold)
        for record, score in scored.scores.items()
    }
    return scored._replace(names=(*scored.names, "judge"), scores=scores, judge=signature)


def without_choice_golds(
    questions: Mapping[str, Question], arc: Mapping[str, MultipleChoice]
) -> dict[str, Question]:
    """Remove the multiple-choice original's right option from the gold answers.

    Release v1.1 counts it among them, which favors systems that saw ARC's options.
    """
    joined = {record: attach_choices(question, arc) for record, question in questions.items()}
    return {
        record: question._replace(
            answers=tuple(
                answer
                for answer in question.answers
                if answer_tokens(answer) != answer_tokens(question.key_text or "")
            )
        )
        for record, question in joined.items()
    }


def gold_hash(questions: Iterable[Question]) -> str:
    """Hash ids, questions and gold answers, whatever file they came from (12 hex digits)."""
    digest = hashlib.sha256()
    for question in questions:
        content = [question.question_id, question.question, list(question.answers)]
        digest.update(json.dumps(content, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()[:12]


def arc_da_signature(scored: SystemScores, golds: str = "all") -> str:
    """Return everything that can affect the metrics in one line."""
    has_rouge = "rougeL" in scored.names
    extras = [name for name in scored.names[len(headline_metrics()) :] if name != "judge"]
    return make_signature(
        "arc_da",
        "f1:squad",
        *(["rougeL:stem", "tokenizer:ascii"] if has_rouge else []),
        "best_of_golds",
        "mean",
        f"golds:{golds}",
        "missing:0",
        *([f"also:{','.join(extras)}"] if extras else []),
        *([scored.judge] if scored.judge else []),
        f"n:{len(scored.scores)}",
        f"gold:{gold_hash(scored.questions.values())}",
    )


def summarize_system(scored: SystemScores, settings: ArcDaSettings) -> dict[str, Any]:
    """Summarize a system's scores: means, intervals, groups, pitfalls, missing answers.

    Raises:
        ValueError: no question has a gold answer.
    """
    if not scored.scores:
        raise ValueError("no question has a gold answer, so there is no score")
    answers = sum(len(question.answers) for question in scored.questions.values())
    return {
        "metric": "arc_da",
        "signature": arc_da_signature(scored, settings.golds),
        **_summary(scored, settings),
        "by": {
            name: {group: _summary(scored, settings, ids) for group, ids in groups.items()}
            for name, groups in group_questions(scored.questions).items()
        },
        "pitfalls": _count_pitfalls(scored),
        "missing": list(scored.missing),
        "excluded": {"no_gold": list(scored.no_gold)},
        "gold": {
            "hash": gold_hash(scored.questions.values()),
            "answers": answers,
            "answers_per_question": answers / len(scored.scores),
            "splits": sorted({q.source_split or "?" for q in scored.questions.values()}),
        },
        "settings": settings._asdict(),
    }


def metric_rows(
    scored: SystemScores, records: Iterable[str] | None = None
) -> list[tuple[float, ...]]:
    """Return one row of metrics per question, 0-1; by default of all questions."""
    listed = scored.scores if records is None else records
    return [tuple(scored.scores[record].metrics.values()) for record in listed]


def mean_metrics(scored: SystemScores) -> dict[str, float]:
    """Return the mean of each metric, 0-100; 0 where no question has a gold answer."""
    if not scored.scores:
        return dict.fromkeys(scored.names, 0.0)
    return summarize(metric_rows(scored), scored.names).metrics


def _summary(
    scored: SystemScores, settings: ArcDaSettings, records: Iterable[str] | None = None
) -> dict[str, Any]:
    found = summarize(
        metric_rows(scored, records),
        scored.names,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    intervals = {name: list(ends) for name, ends in (found.intervals or {}).items()}
    return {"n": found.n, **found.metrics, "intervals": intervals}


def group_questions(questions: Mapping[str, Question]) -> dict[str, dict[str, list[str]]]:
    """Group question ids by difficulty, number of gold answers, and question word."""
    groups: dict[str, dict[str, list[str]]] = {
        "difficulty": {},
        "gold_answers": {},
        "question_word": {},
    }
    for record, question in questions.items():
        count = len(question.answers)
        first = question_sentence(question.question).lower().split()[:1]
        word = first[0] if first and first[0] in QUESTION_WORDS else "other"
        groups["difficulty"].setdefault(question.difficulty or "unknown", []).append(record)
        groups["gold_answers"].setdefault(str(count) if count < 5 else "5+", []).append(record)
        groups["question_word"].setdefault(word, []).append(record)
    ordered = {name: dict(sorted(group.items())) for name, group in groups.items()}
    ordered["difficulty"] = dict(sorted(groups["difficulty"].items(), reverse=True))
    return ordered


def answer_records(scored: SystemScores) -> list[dict[str, Any]]:
    """Return one record per question: texts, best gold answers, metrics, pitfalls."""
    return [
        {
            "question_id": record,
            "tag": question.tag,
            "difficulty": question.difficulty,
            "question": question.question,
            "answers": list(question.answers),
            "prediction": scored.answers[record],
            **{
                f"best_for_{name}": question.answers[scored.scores[record].best_gold[name]]
                for name in headline_metrics()
            },
            **{name: 100 * value for name, value in scored.scores[record].metrics.items()},
            "pitfalls": list(scored.pitfalls[record]),
        }
        for record, question in scored.questions.items()
    ]


def render_arc_da_report(
    report: Mapping[str, Any], *, groups: Sequence[str] = ("difficulty",)
) -> str:
    """Return a report as text: the table, the signature, the pitfalls that occurred."""
    names = list(report["intervals"])
    rows = [["", "n", *names], ["all", *_cells(report, names)]]
    for group in groups:
        for label, part in report["by"][group].items():
            title = label if group == "difficulty" else f"{group}={label}"
            rows.append([title, *_cells(part, names)])
    gold = report["gold"]
    lines = [render_table(rows), "", report["signature"]]
    lines += [] if "rougeL" in names else [NO_ROUGE]
    lines.append(
        f"gold: {gold['answers']} answers, {gold['answers_per_question']:.2f} per question, "
        f"source split {', '.join(gold['splits'])}"
    )
    left_out = len(report["excluded"]["no_gold"])
    lines += [f"missing answers, scored 0: {len(report['missing'])}"] if report["missing"] else []
    lines += [f"questions without gold answers, left out: {left_out}"] if left_out else []
    if report["pitfalls"]:
        lines.append("what these metrics do not see (counted, not corrected):")
        found = report["pitfalls"].items()
        lines += [f"  {name:<24}{one['questions']:>5}  {one['meaning']}" for name, one in found]
    return "\n".join(lines) + "\n"


def _cells(part: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [str(part["n"]), *(format_score(part[n], part["intervals"][n]) for n in names)]


def _count_pitfalls(scored: SystemScores) -> dict[str, Any]:
    found = {
        name: [record for record, names in scored.pitfalls.items() if name in names]
        for name in PITFALLS
    }
    return {
        name: {"questions": len(ids), "meaning": PITFALLS[name], "ids": ids}
        for name, ids in found.items()
        if ids
    }


def name_pitfalls(
    prediction: str | None, golds: Sequence[str], score: AnswerScore
) -> tuple[str, ...]:
    """Return the pitfalls of one scored question, in the order of `PITFALLS`.

    A missing prediction (`None`) has none of its own: it is listed as missing.
    """
    found = set(_gold_pitfalls(golds))
    if prediction is not None:
        found |= {*_prediction_pitfalls(prediction), *_match_pitfalls(prediction, golds, score)}
    return tuple(name for name in PITFALLS if name in found)


def _prediction_pitfalls(prediction: str) -> Iterator[str]:
    if not answer_tokens(prediction):
        yield "empty_prediction"
    elif not rouge_words(prediction):
        yield "rouge_blind_prediction"
    if ";" in prediction.strip(" ;"):
        yield "several_answers"


def _gold_pitfalls(golds: Sequence[str]) -> Iterator[str]:
    for gold in golds:
        if not rouge_words(gold):
            yield "rouge_blind_gold"
        if any(letter.isalpha() and not letter.isascii() for letter in gold):
            yield "non_ascii_gold"
        if not answer_tokens(gold):
            yield "empty_gold"


def _match_pitfalls(prediction: str, golds: Sequence[str], score: AnswerScore) -> Iterator[str]:
    """Check a full F1: a pitfall only if every gold answer that gives it has the fault."""
    if score.metrics["f1"] < 1.0:
        return
    tokens = answer_tokens(prediction)
    met = [gold for gold in golds if Counter(answer_tokens(gold)) == Counter(tokens)]
    if met and all(answer_tokens(gold) != tokens for gold in met):
        yield "order_only"
    marks = sorted(exact_marks(prediction))
    if met and all(sorted(exact_marks(gold)) != marks for gold in met):
        yield "number_changed"
    if met and all(names_letter_a(gold) != names_letter_a(prediction) for gold in met):
        yield "letter_a_lost"
