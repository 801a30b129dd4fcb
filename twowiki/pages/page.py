"""Write the report of a score as one HTML page that needs nothing else. Pure.

In: `ReportFindings`, and the report and curves of a run where there is one. Out: the page, with
the picture of the curves in it.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.errors import existing_file
from twowiki.io.records import read_object
from twowiki.metric.blame import STEPS
from twowiki.metric.error_analysis import ERROR_TYPES, OUTCOMES, Category, entries
from twowiki.metric.normalization import CLOSED_ANSWERS, normalize_answer
from twowiki.metric.report import Report, Summary
from twowiki.metric.report_text import PEOPLE_TITLES
from twowiki.metric.results import PARTS, UNTYPED
from twowiki.pages.collect import ReportFindings, Shown, check_of, paragraphs_of, question_of
from twowiki.pages.evidence import locate_facts, make_graph, mark_paragraphs
from twowiki.pages.layout import render_layout

PART_NAMES = {"answer": "answer", "sp": "sentences", "evidence": "evidence", "joint": "joint"}
_METRIC_NAMES = {"em": "EM", "f1": "F1", "prec": "precision", "recall": "recall"}
CURVE_SCORES = ("joint_f1", "f1", "sp_f1", "evi_f1", "joint_em")
_RUN_SETTINGS = ("steps", "epochs", "stopped", "seed", "batch_size", "weights", "cpu_seconds",
                 "commit", "command")  # fmt: skip
_KINDS = {kind.key: kind for kind in (*OUTCOMES, *ERROR_TYPES)}


class ShownRun(NamedTuple):
    """A training run to show: its report.json, and its curves as a PNG, empty without any."""

    report: Mapping[str, Any]
    curves: bytes = b""


def read_run(path: Path) -> ShownRun:
    """Read a run's report and curves, from its folder or from report.json itself."""
    path = path / "report.json" if path.is_dir() else path
    existing_file(path, "Name the folder that a training run wrote (with report.json in it)")
    value = read_object(path, "Name a training run's folder")
    curves = path.with_name("curves.png")
    return ShownRun(value, curves.read_bytes() if curves.is_file() else b"")


def render_page(
    findings: ReportFindings, *, title: str, seed: int, run: ShownRun | None = None
) -> str:
    """Return the page.

    Args:
        findings: what one pass over the gold found.
        title: the page's title.
        seed: of the choice of examples, for the page to name.
        run: a training run to show.
    """
    report = findings.report
    whole = Summary(report.n, report.metrics, report.intervals)
    return render_layout(
        "report.html",
        title=title,
        command=report.command,
        script="report.js",
        report=report,
        seed=seed,
        parts=_shown_parts(report),
        part_names=PART_NAMES,
        metric_names=_METRIC_NAMES,
        groups=[*report.types.items(), ("all", whole)],
        types=list(report.types),
        outcomes=_counts_table(OUTCOMES, findings, "outcome"),
        errors=_counts_table(ERROR_TYPES, findings, "error"),
        steps=STEPS,
        run=None if run is None else _run_values(run),
        people_titles=PEOPLE_TITLES,
        examples=[_example_values(shown, findings) for shown in findings.shown],
    )


def _shown_parts(report: Report) -> dict[str, str]:
    """Return the parts that the gold has, and joint where there is one, with their prefixes."""
    there = report.metrics
    return {part: prefix for part, prefix in PARTS.items() if there[f"{prefix}f1"] is not None}


def _counts_table(
    kinds: Sequence[Category], findings: ReportFindings, field: str
) -> dict[str, Any]:
    """Count questions by outcome or error: in all, by type, and among the examples shown.

    Every outcome has a row; an error only if there is one.
    """
    is_outcome = field == "outcome"
    counts = findings.outcomes if is_outcome else findings.error_types
    shown = Counter(
        key for one in findings.shown for key in ((one.outcome,) if is_outcome else one.error_types)
    )
    rows = []
    for kind in kinds:
        by_type = [counts[name, kind.key] for name in findings.report.types]
        count = sum(by_type)
        if count or is_outcome:
            share = 100 * count / max(1, findings.report.n)
            rows.append(
                {"kind": kind, "count": count, "share": share, "by_type": by_type,
                 "shown": shown[kind.key]}
            )  # fmt: skip
    return {"field": field, "rows": rows}


def _example_values(shown: Shown, findings: ReportFindings) -> dict[str, Any]:
    """Return what the page shows of one example."""
    gold, prediction, checked = shown.gold, shown.prediction, check_of(findings, shown)
    paragraphs = paragraphs_of(shown)
    gold_facts, lost_gold = locate_facts(paragraphs, [fact for fact, _ in checked.gold_facts])
    facts, lost_predicted = locate_facts(paragraphs, [fact for fact, _ in checked.predicted_facts])
    answers = [
        answer
        for answer in (
            ("gold", "gold answer", gold.answer),
            ("predicted", "predicted answer", prediction.answer),
        )
        if not _is_closed(answer[2])
    ]
    metrics = shown.result.metrics
    return {
        "id": gold.id,
        "type": gold.type or UNTYPED,
        "question": question_of(shown) or f"question {gold.id}",
        "outcome": _KINDS[shown.outcome],
        "errors": [_KINDS[key] for key in shown.error_types],
        "gold_answer": gold.answer,
        "answer": prediction.answer,
        "answer_is_right": metrics[0] == 1.0,
        "f1": {
            PART_NAMES[part]: 100 * metrics[4 * n + 1]
            for n, part in enumerate(PARTS)
            if part in _shown_parts(findings.report)
        },
        "paragraphs": list(mark_paragraphs(paragraphs, _marks_of(gold_facts, facts), answers)),
        "lost_gold": lost_gold,
        "lost_predicted": lost_predicted,
        "graphs": "evidence" in findings.report.form.parts,
        "gold_graph": _graph(checked.gold_triples, "missed"),
        "gold_found": sum(hit for _, hit in checked.gold_triples),
        "gold_count": len(checked.gold_triples),
        "predicted_graph": _graph(checked.predicted_triples, "wrong"),
        "predicted_right": sum(hit for _, hit in checked.predicted_triples),
        "predicted_count": None
        if prediction.evidences is None
        else len(entries(prediction.evidences)),
    }


def _is_closed(answer: Any) -> bool:
    """Return whether an answer is yes or no, which are in no text."""
    return isinstance(answer, str) and normalize_answer(answer) in CLOSED_ANSWERS


def _marks_of(
    gold: Sequence[tuple[int, int]], predicted: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    marks = dict.fromkeys(gold, "gold") | dict.fromkeys(predicted, "predicted")
    return marks | dict.fromkeys(set(gold) & set(predicted), "both")


def _graph(triples: Sequence[tuple[Any, bool]], otherwise: str) -> Any:
    marks = ["right" if hit else otherwise for _, hit in triples]
    return make_graph([triple for triple, _ in triples], marks)


def _run_values(run: ShownRun) -> dict[str, Any]:
    """Return the picture of a run's curves, their last values, and what the run was."""
    picture = base64.b64encode(run.curves).decode()
    settings = [
        (name, run.report[name]) for name in _RUN_SETTINGS if run.report.get(name) is not None
    ]
    hardware = run.report.get("hardware")
    if isinstance(hardware, Mapping):
        settings += list(hardware.items())
    return {
        "curves": f"data:image/png;base64,{picture}" if picture else "",
        "last_values": _last_values(run.report.get("history")),
        "settings": [(name, _value_text(value)) for name, value in settings],
    }


def _last_values(history: Any) -> list[tuple[str, str]]:
    """Return the last loss, with its parts, and the last validation scores."""
    records = [one for one in history if isinstance(one, Mapping)] if history else []
    losses = [one for one in records if _is_number(one.get("loss"))]
    scores = [one["metrics"] for one in records if isinstance(one.get("metrics"), Mapping)]
    values: dict[str, Any] = {}
    if losses:
        parts = losses[-1].get("losses")
        values = {"loss": losses[-1]["loss"], **(parts if isinstance(parts, Mapping) else {})}
    values = {f"training {name}": value for name, value in values.items()}
    if scores:
        names = [name for name in CURVE_SCORES if name in scores[-1]] or sorted(scores[-1])[:8]
        values |= {f"validation {name}": scores[-1][name] for name in names}
    return [(name, f"{value:.4g}") for name, value in values.items() if _is_number(value)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _value_text(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return f"{value:,}" if type(value) is int else value
