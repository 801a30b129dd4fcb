"""Write an audit as one HTML page that needs nothing else. Pure.

In: an `Audit` with the examples that it kept. Out: the page, in the style of the report page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twowiki.data.audit import Audit
from twowiki.data.schema import Example
from twowiki.pages.evidence import locate_facts, make_graph, mark_paragraphs
from twowiki.pages.layout import render_layout


def render_audit_page(found: Audit, *, title: str, command: str | None = None) -> str:
    """Return the page.

    Args:
        found: the audit.
        title: the page's title.
        command: the command line that made it, for the page to name.
    """
    findings = found.to_dict()["findings"]
    return render_layout(
        "audit.html",
        title=title,
        command=command,
        audit=found,
        types=sorted(found.records),
        rows=[_row(kind, row, found) for kind, row in findings.items()],
    )


def _row(kind: str, row: Mapping[str, Any], found: Audit) -> dict[str, Any]:
    cases = [_case(example, text) for example, text in found.shown.get(kind, ())]
    return {**row, "kind": kind, "found": len(row["cases"]), "cases": cases}


def _case(example: Example, text: str) -> dict[str, Any]:
    facts = [list(fact) for fact in example.supporting_facts or ()]
    positions, _ = locate_facts(example.context, facts)
    answers = [("gold", "gold answer", example.answer)]
    return {
        "id": example.id,
        "type": example.type or "untyped",
        "question": example.question,
        "answer": example.answer,
        "found": text,
        "paragraphs": list(
            mark_paragraphs(example.context, dict.fromkeys(positions, "found"), answers)
        ),
        "has_triples": bool(example.evidences),
        "graph": make_graph([tuple(triple) for triple in example.evidences or ()]),
    }
