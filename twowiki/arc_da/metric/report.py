"""Score a system on ARC-DA: rows, means over questions, by group, intervals, signature.

In: questions with gold answers, answers by id. Out: a report of plain values and its text. Figures
are on the scale 0-100; the mean is plain, over all questions that have a gold answer. Pure: the
command reads and writes the files.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from twowiki._version import __version__
from twowiki.arc_da.metric.folding import names_letter_a, numerals
from twowiki.arc_da.metric.scoring import Row, answer_tokens, rouge_words, score_answer
from twowiki.arc_da.schema import MultipleChoice, Question, attach_choices
from twowiki.arc_da.sentences import question_sentence
from twowiki.metric.significance import bootstrap_intervals

FIGURES = ("f1", "rougeL")
ASKERS = ("what", "which", "how", "why", "where", "when", "who", "name")


class Settings(NamedTuple):
    """What can move a report besides the data; all of it stands in the report."""

    extras: tuple[str, ...] = ()
    golds: str = "all"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0


class Scored(NamedTuple):
    """A system's rows by question id, in the gold's order, and what was left out or missing."""

    questions: dict[str, Question]
    answers: dict[str, str]
    rows: dict[str, Row]
    pitfalls: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    no_gold: tuple[str, ...]


def score_system(
    questions: Mapping[str, Question], answers: Mapping[str, str], extras: Sequence[str] = ()
) -> Scored:
    """Score a system's answers; a missing answer is scored as empty and listed.

    Questions without gold answers are left out of every mean, and listed.
    """
    asked = {record: question for record, question in questions.items() if question.has_gold}
    said = {record: answers.get(record, "") for record in asked}
    rows = {
        record: score_answer(said[record], question.answers, extras)
        for record, question in asked.items()
    }
    pitfalls = {
        record: name_pitfalls(answers.get(record), asked[record].answers, row)
        for record, row in rows.items()
    }
    missing = tuple(record for record in asked if record not in answers)
    no_gold = tuple(record for record in questions if record not in asked)
    return Scored(asked, said, rows, pitfalls, missing, no_gold)


def without_choice_golds(
    questions: Mapping[str, Question], arc: Mapping[str, MultipleChoice]
) -> dict[str, Question]:
    """Take the multiple-choice original's right option out of the gold answers.

    Release v1.1 counts it among them, which favours systems that saw ARC's options.
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


def signature(scored: Scored, settings: Settings) -> str:
    """Name everything that can move the figures, in one line."""
    also = f"also:{','.join(settings.extras)}|" if settings.extras else ""
    return (
        f"arc_da|f1:squad|rougeL:stem|tokenizer:ascii|best_of_golds|mean|golds:{settings.golds}|"
        f"missing:0|{also}n:{len(scored.rows)}|gold:{gold_hash(scored.questions.values())}|"
        f"v:{__version__}"
    )


def make_report(scored: Scored, settings: Settings) -> dict[str, Any]:
    """Sum up a system's rows: means, intervals, groups, pitfalls, what was missing.

    Raises:
        ValueError: no question has a gold answer.
    """
    if not scored.rows:
        raise ValueError("no question has a gold answer, so there is no score")
    records = list(scored.rows)
    answers = sum(len(question.answers) for question in scored.questions.values())
    return {
        "metric": "arc_da",
        "signature": signature(scored, settings),
        **_summary(scored, records, settings),
        "by": {
            name: {group: _summary(scored, ids, settings) for group, ids in groups.items()}
            for name, groups in group_questions(scored.questions).items()
        },
        "pitfalls": _count_pitfalls(scored),
        "missing": list(scored.missing),
        "excluded": {"no_gold": list(scored.no_gold)},
        "gold": {
            "hash": gold_hash(scored.questions.values()),
            "answers": answers,
            "answers_per_question": answers / len(records),
            "splits": sorted({q.source_split or "?" for q in scored.questions.values()}),
        },
        "settings": settings._asdict(),
    }


def group_questions(questions: Mapping[str, Question]) -> dict[str, dict[str, list[str]]]:
    """Sort question ids into groups: by difficulty, number of gold answers, question word."""
    groups: dict[str, dict[str, list[str]]] = {
        "difficulty": {},
        "gold_answers": {},
        "question_word": {},
    }
    for record, question in questions.items():
        count = len(question.answers)
        words = question_sentence(question.question).lower().split()
        word = next((asker for asker in ASKERS if words and words[0] == asker), "other")
        groups["difficulty"].setdefault(question.difficulty or "unknown", []).append(record)
        groups["gold_answers"].setdefault(str(count) if count < 5 else "5+", []).append(record)
        groups["question_word"].setdefault(word, []).append(record)
    ordered = {name: dict(sorted(group.items())) for name, group in groups.items()}
    ordered["difficulty"] = dict(sorted(groups["difficulty"].items(), reverse=True))
    return ordered


def as_rows(scored: Scored, extras: Sequence[str]) -> list[dict[str, Any]]:
    """Write one record a question: texts, best gold answers, figures, pitfalls."""
    return [
        {
            "question_id": record,
            "tag": scored.questions[record].tag,
            "difficulty": scored.questions[record].difficulty,
            "question": scored.questions[record].question,
            "answers": list(scored.questions[record].answers),
            "prediction": scored.answers[record],
            "best_for_f1": scored.questions[record].answers[row.f1_gold],
            "best_for_rougeL": scored.questions[record].answers[row.rouge_l_gold],
            "f1": 100 * row.f1,
            "rougeL": 100 * row.rouge_l,
            **{name: 100 * value for name, value in zip(extras, row.extras, strict=True)},
            "pitfalls": list(scored.pitfalls[record]),
        }
        for record, row in scored.rows.items()
    ]


def figures_of(scored: Scored, records: Iterable[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Collect rows as an array (n, 2 + extras), 0-100."""
    rows = [scored.rows[record] for record in records]
    return 100 * np.array([(row.f1, row.rouge_l, *row.extras) for row in rows], dtype=np.float64)


def render_report(report: Mapping[str, Any], *, groups: Sequence[str] = ("difficulty",)) -> str:
    """Write a report as text: the table, the signature, the pitfalls that occurred."""
    names = [*FIGURES, *report["settings"]["extras"]]
    lines = ["".join([f"{'':<18}{'n':>6}", *(f"{name:>24}" for name in names)])]
    lines.append(_line("all", report, names))
    for group in groups:
        for label, part in report["by"][group].items():
            title = label if group == "difficulty" else f"{group}={label}"
            lines.append(_line(title, part, names))
    gold = report["gold"]
    lines += ["", report["signature"]]
    lines.append(
        f"gold: {gold['answers']} answers, {gold['answers_per_question']:.2f} a question, "
        f"source split {', '.join(gold['splits'])}"
    )
    left_out = len(report["excluded"]["no_gold"])
    lines += [f"missing answers, scored 0: {len(report['missing'])}"] if report["missing"] else []
    lines += [f"questions without gold answers, left out: {left_out}"] if left_out else []
    if report["pitfalls"]:
        lines.append("what these figures do not see (counted, not corrected):")
        lines += [
            f"  {name:<24}{found['questions']:>5}  {found['meaning']}"
            for name, found in report["pitfalls"].items()
        ]
    return "\n".join(lines) + "\n"


def _line(title: str, part: Mapping[str, Any], names: Sequence[str]) -> str:
    cells = [
        f"{part[name]:.2f} [{part['intervals'][name][0]:.1f}, {part['intervals'][name][1]:.1f}]"
        for name in names
    ]
    return "".join([f"{title:<18}{part['n']:>6}", *(f"{cell:>24}" for cell in cells)])


def _summary(scored: Scored, records: Sequence[str], settings: Settings) -> dict[str, Any]:
    values = figures_of(scored, records)
    names = [*FIGURES, *settings.extras]
    ends = bootstrap_intervals(
        values, confidence=settings.confidence, resamples=settings.resamples, seed=settings.seed
    )
    means = values.mean(axis=0)
    return {
        "n": len(records),
        **{name: float(mean) for name, mean in zip(names, means, strict=True)},
        "intervals": {
            name: [float(low), float(high)] for name, (low, high) in zip(names, ends, strict=True)
        },
    }


def _count_pitfalls(scored: Scored) -> dict[str, Any]:
    found = {
        name: [record for record, names in scored.pitfalls.items() if name in names]
        for name in MEANINGS
    }
    return {
        name: {"questions": len(ids), "meaning": MEANINGS[name], "ids": ids}
        for name, ids in found.items()
        if ids
    }


MEANINGS = {
    "order_only": "F1 is 1, but the words stand in another order than in any gold answer",
    "number_changed": "F1 is 1, but a sign, decimal point or fraction differs",
    "letter_a_lost": "F1 is 1, but a name such as 'vitamin A' lost its A as an article",
    "rouge_blind_gold": "a gold answer has no ASCII letter or digit: ROUGE-L is 0 even if met",
    "rouge_blind_prediction": "the prediction has no ASCII letter or digit: ROUGE-L is 0",
    "non_ascii_gold": "a gold answer holds letters outside ASCII, which ROUGE-L drops",
    "empty_gold": "a gold answer is nothing but articles and punctuation: F1 is 0 even if met",
    "empty_prediction": "the prediction is empty, or nothing but articles and punctuation",
    "several_answers": "the prediction holds ';': several answers in one lower F1 and ROUGE-L",
}


def name_pitfalls(prediction: str | None, golds: Sequence[str], row: Row) -> tuple[str, ...]:
    """List the pitfalls of one scored question, in the order of `MEANINGS`.

    A missing prediction (`None`) has none of its own: it is listed as missing.
    """
    found = set(_of_golds(golds))
    if prediction is not None:
        found |= {*_of_prediction(prediction), *_of_match(prediction, golds, row)}
    return tuple(name for name in MEANINGS if name in found)


def _of_prediction(prediction: str) -> Iterator[str]:
    if not answer_tokens(prediction):
        yield "empty_prediction"
    elif not rouge_words(prediction):
        yield "rouge_blind_prediction"
    if ";" in prediction.strip(" ;"):
        yield "several_answers"


def _of_golds(golds: Sequence[str]) -> Iterator[str]:
    for gold in golds:
        if not rouge_words(gold):
            yield "rouge_blind_gold"
        if any(sign.isalpha() and not sign.isascii() for sign in gold):
            yield "non_ascii_gold"
        if not answer_tokens(gold):
            yield "empty_gold"


def _of_match(prediction: str, golds: Sequence[str], row: Row) -> Iterator[str]:
    """Look at a full F1: a pitfall only if every gold answer that gives it has the fault."""
    if row.f1 < 1.0:
        return
    said = answer_tokens(prediction)
    met = [gold for gold in golds if Counter(answer_tokens(gold)) == Counter(said)]
    if met and all(answer_tokens(gold) != said for gold in met):
        yield "order_only"
    if met and all(sorted(numerals(gold)) != sorted(numerals(prediction)) for gold in met):
        yield "number_changed"
    if met and all(names_letter_a(gold) != names_letter_a(prediction) for gold in met):
        yield "letter_a_lost"
