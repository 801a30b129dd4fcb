"""Write the report of a generated data set as one HTML page that needs nothing else. Pure.

In: the report of a generation, and the sentence of its certificate where there is one. Out: the
page: types, splits, lengths, relations and answers as bars, what was dropped and why as a funnel,
sample questions with their evidence, and how difficult a world's questions are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from twowiki.data.schema import Example
from twowiki.metric.results import UNTYPED
from twowiki.pages.evidence import make_graph
from twowiki.pages.layout import render_layout

PAGE = "page"  # of a report: what only the page shows, and `report.json` leaves out
_MOST_BARS = 25
_PLAIN = {True: "yes", False: "no", None: "none", "": "none"}


class ShownQuestions:
    """What a page shows of the questions themselves.

    Args:
        most: samples of each type.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lengths: Counter[int] = Counter()
        self._samples: dict[str, list[dict[str, Any]]] = {}

    def add(self, example: Example) -> None:
        """Count a question, and keep the first ones of each type."""
        self._lengths[len(example.question.split())] += 1
        kept = self._samples.setdefault(example.type or UNTYPED, [])
        if len(kept) < self._most:
            kept.append(_sample(example))

    def questions(self, types: Iterable[str]) -> dict[str, list[dict[str, str]]]:
        """Return the samples of some types without their evidence."""
        fields = ("id", "question", "answer")
        return {
            kind: [{name: one[name] for name in fields} for one in self._samples.get(kind, [])]
            for kind in types
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the lengths of questions in words, and the samples by type."""
        return {"lengths": dict(self._lengths), "samples": self._samples}


def _sample(example: Example) -> dict[str, Any]:
    """Return a question with its gold sentences and triples."""
    pages = dict(example.context)
    return {
        "id": example.id,
        "question": example.question,
        "answer": example.answer or "",
        "sentences": [
            [fact.title, pages[fact.title][fact.sent_id].strip()]
            for fact in example.facts
            if fact.title in pages
        ],
        "evidences": [list(triple) for triple in example.triples],
    }


def render_generation_page(report: Mapping[str, Any], certificate: str = "") -> str:
    """Return the page.

    Args:
        report: what `report.json` holds, and under `page` the lengths of questions, and samples
            with their sentences and triples.
        certificate: of shortcuts, as a sentence.
    """
    types = report["types"]
    return render_layout(
        "generation.html",
        title="Fictional data set" if "world" in report else "Generated data set",
        command=None,
        report=report,
        certificate=certificate,
        types=types,
        type_bars=_bars((kind, row["samples"]) for kind, row in types.items()),
        lengths=_histogram(report[PAGE]["lengths"]),
        relations=_bars(report["relations"].items()),
        answers=_bars((kind, row["samples"]) for kind, row in report["answer_types"].items()),
        funnel=_funnel(report),
        settings=_settings(report["settings"]),
        world=_settings(report.get("world", {})),
        shown={
            kind: [{**one, "graph": make_graph(one["evidences"])} for one in rows]
            for kind, rows in report[PAGE]["samples"].items()
        },
    )


def _bars(counts: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the largest counts, each with its share of the largest one, and what is left out."""
    listed = list(counts)
    shown, others = listed[:_MOST_BARS], listed[_MOST_BARS:]
    if others:
        shown.append((f"{len(others)} others", sum(count for _, count in others)))
    most = max((count for _, count in shown), default=0) or 1
    return [{"name": name, "count": count, "share": 100 * count / most} for name, count in shown]


def _histogram(counts: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return a bar for every length, in their order; lengths that nothing has are left out."""
    ordered = sorted(counts.items())
    most = max((count for _, count in ordered), default=1)
    return [
        {"name": f"{length} words", "count": count, "share": 100 * count / most}
        for length, count in ordered
    ]


def _funnel(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return how many candidates are left after each reason that drops some."""
    drops = [
        (where, reason, count)
        for where, reasons in report["dropped"].items()
        for reason, count in sorted(reasons.items(), key=lambda entry: -entry[1])
    ]
    total = left = report["samples"] + sum(count for _, _, count in drops)
    rows = [{"where": "", "reason": "candidates", "count": None, "left": total, "share": 100.0}]
    for where, reason, count in drops:
        left -= count
        share = 100 * left / max(1, total)
        rows.append(
            {"where": where, "reason": reason, "count": count, "left": left, "share": share}
        )
    return rows


def _settings(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as a person writes them."""
    return [(name, _text(value)) for name, value in values.items()]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return _PLAIN.get(value, str(value))
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items()) or "none"
    if isinstance(value, Sequence):
        return ", ".join(map(_text, value)) or "none"
    return str(value)
