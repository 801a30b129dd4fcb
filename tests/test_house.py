"""Functions stay short, and each subject is read in a few files; no limit is ever raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "twowiki"
# subject -> (files in reading order, lines at most)
READING_PATHS: dict[str, tuple[str, int]] = {
    "what counts as right": (
        "data/schema metric/normalization metric/evidence metric/scoring metric/results "
        "metric/report",
        1_430,
    ),
    "the baseline": (
        "models/text models/labels models/processing_baseline models/features "
        "models/modeling_baseline models/outputs models/decoding",
        2_030,
    ),
    "the encoder, beyond what it shares": (
        "models/configuration_encoder models/processing_encoder models/modeling_encoder "
        "models/backbone models/decoding_encoder models/questions",
        1_835,
    ),
    "training": (
        "train training/settings training/data training/feature_store training/loop "
        "training/checkpoints training/evaluation",
        1_730,
    ),
    "generation": (
        "generation/pipeline generation/settings generation/queries generation/samples "
        "generation/selection generation/sampling generation/contexts generation/splits "
        "generation/outputs generation/report",
        2_180,
    ),
}


def lengths() -> Iterator[tuple[int, str]]:
    """Code lines of every function, its docstring left out."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                first = node.body[0]
                if ast.get_docstring(node, clean=False) is not None:
                    length -= (first.end_lineno or first.lineno) - first.lineno + 1
                yield length, f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}"


def test_functions_stay_short() -> None:
    found = sorted(lengths())
    assert found[len(found) * 9 // 10][0] <= 25
    assert [name for length, name in found if length > 60] == []


@pytest.mark.parametrize("subject", READING_PATHS)
def test_a_subject_is_read_in_few_lines(subject: str) -> None:
    files, limit = READING_PATHS[subject]
    counts = {
        name: len((PACKAGE / f"{name}.py").read_text(encoding="utf-8").splitlines())
        for name in files.split()
    }
    assert sum(counts.values()) <= limit, counts
