"""Knowledge and reasoning types of questions, from a side file: how often each occurs (Figure 2).

In: JSON lines or a table with id, knowledge, reasoning (lists, or texts parted by `;`), by ARC's id
or ARC-DA's. Out: shares of each type among ARC's questions and among ARC-DA's. No such file ships
with the data; Boratko et al. (2018) describe the categories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from twowiki.arc_da.records import read_records
from twowiki.errors import DataError

KINDS = ("knowledge", "reasoning")


def read_types(path: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read a side file: by id, the types of each kind.

    Raises:
        DataError: a record has no id, or neither kind.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for number, record in read_records(path):
        name = record.get("id") or record.get("question_id")
        if not isinstance(name, str) or not any(kind in record for kind in KINDS):
            remedy = 'Write {"id": "...", "knowledge": ["..."], "reasoning": ["..."]}'
            raise DataError("no id, or no types", file=path, record=number, remedy=remedy)
        found[name] = {kind: _listed(record.get(kind), path, number) for kind in KINDS}
    return found


def count_types(
    types: Mapping[str, Mapping[str, tuple[str, ...]]], ids: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Count the types of the questions whose ARC-DA id or ARC id is known; a question counts once.

    Args:
        types: what `read_types` gives.
        ids: (ARC-DA's id, ARC's id) of each question.
    """
    known = [types.get(name) or types.get(arc_id) for name, arc_id in ids]
    annotated = [entry for entry in known if entry]
    return {
        "questions": len(known),
        "annotated": len(annotated),
        **{
            kind: dict(Counter(name for entry in annotated for name in entry[kind]).most_common())
            for kind in KINDS
        },
    }


def render_types(counts: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the shares beside each other, a column for each set of questions."""
    lines = []
    for kind in KINDS:
        names = list(dict.fromkeys(name for found in counts.values() for name in found[kind]))
        lines.append("".join([f"{kind:<36}", *(f"{title:>14}" for title in counts)]))
        for name in names:
            cells = [
                f"{100 * found[kind].get(name, 0) / found['annotated']:.1f}%"
                if found["annotated"]
                else "-"
                for found in counts.values()
            ]
            lines.append("".join([f"  {name:<34}", *(f"{cell:>14}" for cell in cells)]))
    totals = ", ".join(
        f"{title} {found['annotated']} of {found['questions']}" for title, found in counts.items()
    )
    return "\n".join([*lines, f"questions with types: {totals}"]) + "\n"


def _listed(value: Any, path: str, number: int) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [part.strip() for part in value.split(";") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DataError("types must be a list of texts", file=path, record=number)
    return tuple(dict.fromkeys(value))
