"""Write the report of a score as one HTML page that needs nothing else. Pure.

In: `ReportFindings` of one system or several, and the run that made the predictions where there is
one. Out: the page, with the rows of all questions packed in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.metric.blame import STEPS
from twowiki.metric.error_analysis import ERROR_TYPES, OUTCOMES, Category, entries
from twowiki.metric.normalization import CLOSED_ANSWERS, normalize_answer
from twowiki.metric.report import Summary
from twowiki.metric.report_text import PEOPLE_TITLES
from twowiki.metric.results import PARTS, UNTYPED
from twowiki.pages.collect import (
    Assessment,
    ReportFindings,
    Shown,
    SystemFindings,
    paragraphs_of,
    question_of,
)
from twowiki.pages.evidence import locate_facts, make_graph, mark_paragraphs
from twowiki.pages.layout import render_layout
from twowiki.pages.run_curves import ShownRun, run_values
from twowiki.pages.systems import (
    MEASURE_NAMES,
    PART_NAMES,
    Scale,
    by_hop,
    by_type,
    changes_of,
    differences_of,
    shown_parts,
    slopes_of,
)

_KINDS = {kind.key: kind for kind in (*OUTCOMES, *ERROR_TYPES)}


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
    report, systems = findings.report, findings.systems
    parts = shown_parts(report.metrics)
    hops = by_hop(systems, parts)
    whole = Summary(report.n, report.metrics, report.intervals)
    return render_layout(
        "report.html",
        title=title,
        command=report.command,
        script="report.js",
        report=report,
        systems=systems,
        seed=seed,
        parts=parts,
        part_names=PART_NAMES,
        metric_names=MEASURE_NAMES,
        groups=[*report.types.items(), ("all", whole)],
        types=list(report.types),
        outcomes=_counts_table(OUTCOMES, systems, "outcome"),
        errors=_counts_table(ERROR_TYPES, systems, "error"),
        hops=hops,
        steps=STEPS,
        run=None if run is None else run_values(run),
        people_titles=PEOPLE_TITLES,
        examples=[_example_values(shown, findings) for shown in findings.shown],
        rows=findings.rows,
        packed=findings.packed,
        compared=_compared(systems, parts, hops) if len(systems) > 1 else None,
    )


def _compared(
    systems: Sequence[SystemFindings], parts: Mapping[str, str], hops: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what only a page of several systems has."""
    names = [f"{prefix}f1" for prefix in parts.values()]
    headline = names[0]
    groups = by_type(systems)
    ends = [
        end
        for _, rows in groups
        for _, one in rows
        for end in (one.metrics[headline], *((one.intervals or {}).get(headline, ())))
    ]
    scale = Scale.around(ends)
    slopes = [
        slopes_of(
            f"{PART_NAMES[next(iter(parts))]} F1 by question type",
            [(kind, [one.metrics[headline] for _, one in rows]) for kind, rows in groups],
        )
    ]
    if hops:
        slopes.append(slopes_of("Gold that was found, by hop", _lines_by_hop(hops)))
    return {
        "slopes": slopes,
        "headline": headline,
        "names": names,
        "pairs": differences_of(systems, names),
        "changes": changes_of(systems),
        "scale": scale,
        "groups": [
            (kind, [(name, one, scale.place(one.metrics[headline],
                                            (one.intervals or {}).get(headline)))
                    for name, one in rows])
            for kind, rows in groups
        ],
    }  # fmt: skip


def _lines_by_hop(hops: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[float]]]:
    """Return the shares of the systems, for each kind of gold and hop that all of them have."""
    lines: dict[str, list[float]] = {}
    for row in hops:
        for hop, share in row["shares"]:
            if share is not None:
                lines.setdefault(f"{row['what']}, hop {hop}", []).append(share)
    return list(lines.items())


def _counts_table(
    kinds: Sequence[Category], systems: Sequence[SystemFindings], field: str
) -> dict[str, Any]:
    """Count questions by outcome or error, in all and by type, for each system.

    Every outcome has a row; an error only if there is one.
    """
    is_outcome = field == "outcome"
    rows = []
    for kind in kinds:
        counted = []
        for system in systems:
            counts = system.outcomes if is_outcome else system.error_types
            by_type = [counts[name, kind.key] for name in system.report.types]
            count = sum(by_type)
            share = 100 * count / max(1, system.report.n)
            counted.append({"count": count, "share": share, "by_type": by_type})
        if is_outcome or any(one["count"] for one in counted):
            rows.append({"kind": kind, "systems": counted})
    return {"field": field, "rows": rows}


def _example_values(shown: Shown, findings: ReportFindings) -> dict[str, Any]:
    """Return what the page shows of one example."""
    gold, paragraphs = shown.gold, paragraphs_of(shown)
    first = findings.systems[0].classifier.match_entries(shown.systems[0].prediction, gold)
    gold_facts, lost_gold = locate_facts(paragraphs, [fact for fact, _ in first.gold_facts])
    systems = [
        _judged_values(system, judged, shown, findings.report.form.parts)
        for system, judged in zip(findings.systems, shown.systems, strict=True)
    ]
    located = [locate_facts(paragraphs, one["facts"]) for one in systems]
    answers = [("gold", "gold answer", gold.answer)]
    several = len(systems) > 1
    for one in systems:
        label = f"answer of {one['name']}" if several else "predicted answer"
        answers.append(("predicted", label, one["answer"]))
    by_place: dict[tuple[int, int], list[str]] = {}
    for one, (places, lost) in zip(systems, located, strict=True):
        one["lost"] = lost
        for place in dict.fromkeys(places):
            by_place.setdefault(place, []).append(one["name"])

    def names_of(paragraph: int, sent_id: int) -> str:
        found = by_place.get((paragraph, sent_id), []) if several else []
        return f"by {', '.join(found)}" if found else ""

    shown_answers = [answer for answer in answers if not _is_closed(answer[2])]
    marks = _marks_of(gold_facts, list(by_place))
    return {
        "id": gold.id,
        "row": shown.row,
        "type": gold.type or UNTYPED,
        "question": question_of(shown) or f"question {gold.id}",
        "gold_answer": gold.answer,
        "systems": systems,
        "paragraphs": list(mark_paragraphs(paragraphs, marks, shown_answers, names_of)),
        "lost_gold": lost_gold,
        "graphs": "evidence" in findings.report.form.parts,
        "gold_graph": systems[0]["gold_graph"]
        if not several
        else make_graph([triple for triple, _ in first.gold_triples]),
        "gold_count": len(first.gold_triples),
    }


def _judged_values(
    system: SystemFindings, judged: Assessment, shown: Shown, parts: Sequence[str]
) -> dict[str, Any]:
    """Return what the page shows of one system's prediction."""
    checked = system.classifier.match_entries(judged.prediction, shown.gold)
    metrics, triples = judged.result.metrics, judged.prediction.evidences
    scored = shown_parts(system.report.metrics)
    return {
        "name": system.name,
        "outcome": _KINDS[judged.outcome],
        "errors": [_KINDS[key] for key in judged.error_types],
        "answer": judged.prediction.answer,
        "answer_is_right": metrics[0] == 1.0,
        "f1": {PART_NAMES[part]: 100 * metrics[4 * list(PARTS).index(part) + 1] for part in scored},
        "facts": [fact for fact, _ in checked.predicted_facts],
        "gold_graph": _graph(checked.gold_triples, "missed"),
        "gold_found": sum(hit for _, hit in checked.gold_triples),
        "graph": _graph(checked.predicted_triples, "wrong"),
        "right": sum(hit for _, hit in checked.predicted_triples),
        "count": None if triples is None else len(entries(triples)),
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
