"""A small conversion that the tests start from: three workers a question, then the screening."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.arc_da_files import ARC, arc_da, read_table, write_lines, write_table

CROWD = {
    "ARCEZ_Pond_1": ["liquid changing to a solid", "phase transition", "change of state; a phase"],
    "ARCEZ_Pond_3": ["food", "shelter; food", "food"],
    "ARCEZ_Kite_1": ["gravity", "Gravity.", "the wind"],
    "ARCEZ_Kite_2": ["a ruler", "tape measure", "a tape"],
    "ARCCH_Glade_1": ["they carry water", "they hold the plant up", "carry water"],
    "ARCEZ_Marsh_1": ["an invisible gas in the air", "an invisible gas", "gas"],
    "ARCEZ_Marsh_2": ["methane", "natural gas", "don't know"],
}
ALONE = {"ARCEZ_Marsh_2"}  # no word in common: fails when all have answered


def begin(folder: Path, people: int = 3) -> Path:
    """Run the stages up to the screening, with three workers a question."""
    assert arc_da("filter", folder, "--arc", ARC) == 0
    (folder / "worker.key").write_text("secret\n", encoding="utf-8")
    lines = [
        said(question, f"w{place}", text)
        for question, texts in CROWD.items()
        for place, text in enumerate(texts)
    ]
    assert give(folder, lines) == 0
    assert arc_da("screen", folder, "--people", people) == 0
    assert arc_da("review-export", folder) == 0
    return folder


def said(question: str, worker: str, answers: Any, **more: Any) -> dict[str, Any]:
    return {"question_id": question, "worker_id": worker, "answers": answers, **more}


def give(folder: Path, lines: Iterable[Mapping[str, Any]], name: str = "in.jsonl") -> int:
    """Import workers' answers."""
    return arc_da("import-answers", folder, write_lines(folder / name, lines))


def edit(work: Path, changes: Mapping[str, Mapping[str, str]], name: str = "edited.csv") -> Path:
    """Edit rows of the review table."""
    path = work / "50_review" / "review.csv"
    rows = read_table(path)
    for row in rows:
        row.update(changes.get(row["question_id"], {}))
    return write_table(path.with_name(name), rows)


def imported(work: Path, table: Path, *more: str, reviewer: str = "kim") -> int:
    return arc_da("review-import", work, table, "--reviewer", reviewer,
                  "--at", "2026-01-31T12:00:00Z", *more)  # fmt: skip
