"""The scores of a system on ARC-DA as one HTML page that needs nothing else. Pure.

In: the report of a system, with its scores by question. Out: the page: metrics with intervals, by
group of questions, other systems beside it, what the metrics do not see, and sample questions, as
many right as partly right and wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twowiki.arc_da.metric.report import SystemScores
from twowiki.pages.collect import EvenSample
from twowiki.pages.evidence import file_name
from twowiki.pages.layout import render_layout
from twowiki.pages.systems import Scale

_NAMES = {"f1": "F1", "rougeL": "ROUGE-L"}
_GROUPS = {"difficulty": "difficulty", "gold_answers": "number of gold answers",
           "question_word": "question word"}  # fmt: skip
_BANDS = ("right", "partly right", "wrong")


def render_arc_da_page(
    report: Mapping[str, Any],
    scored: SystemScores,
    *,
    title: str,
    shown: int = 60,
    seed: int = 0,
    command: str | None = None,
) -> str:
    """Return the page.

    Args:
        report: what `summarize_system` returned, with `versus` where systems were compared.
        scored: the scores by question.
        title: the page's title.
        shown: most questions, drawn by the seed.
        seed: of the draw.
        command: the command line that made it, for the page to name.
    """
    names = list(report["intervals"])
    groups = [("all", [("all", report)])]
    groups += [(_GROUPS[name], list(report["by"][name].items())) for name in _GROUPS]
    ends = [end for _, rows in groups for _, one in rows for end in one["intervals"]["f1"]]
    scale = Scale.around(ends)
    return render_layout(
        "arc_da.html",
        title=title,
        command=command,
        report=report,
        names=names,
        called={name: _NAMES.get(name, name) for name in names},
        groups=[
            (group, [(label, one, scale.place(one["f1"], one["intervals"]["f1"]))
                     for label, one in rows])
            for group, rows in groups
        ],
        scale=scale,
        versus={file_name(name): one for name, one in report.get("versus", {}).items()},
        bands=_draw(scored, shown, seed),
        seed=seed,
    )  # fmt: skip


def _draw(scored: SystemScores, shown: int, seed: int) -> list[dict[str, Any]]:
    """Return sample questions by band of F1."""
    sample: EvenSample[tuple[str, dict[str, Any]]] = EvenSample(shown, seed)
    counts = dict.fromkeys(_BANDS, 0)
    for record, question in scored.questions.items():
        metrics = scored.scores[record].metrics
        band = _BANDS[0 if metrics["f1"] == 1 else 1 if metrics["f1"] > 0 else 2]
        counts[band] += 1
        case = {
            "id": record,
            "question": question.question,
            "difficulty": question.difficulty or "unknown",
            "answer": scored.answers[record],
            "golds": list(question.answers),
            "scores": {_NAMES.get(name, name): 100 * value for name, value in metrics.items()},
            "pitfalls": [name.replace("_", " ") for name in scored.pitfalls[record]],
        }
        sample.add(band, record, (band, case))
    found = sample.items()
    return [
        {
            "name": band,
            "count": counts[band],
            "cases": [case for name, case in found if name == band],
        }
        for band in _BANDS
    ]
