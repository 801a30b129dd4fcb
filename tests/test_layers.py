"""Imports follow the arrows, and the light parts stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "twowiki"
# layer -> what it must not import; the core knows none of the shells above it
FORBIDDEN = {
    "errors": {"twowiki"},
    "fields": {"twowiki.schema", "twowiki.sources", "twowiki.builders"},
    "schema": {"twowiki.sources", "twowiki.builders", "twowiki.scoring", "twowiki.modeling"},
    "sources": {"twowiki.builders", "twowiki.scoring", "twowiki.modeling", "datasets"},
    "columns": {"twowiki.builders", "twowiki.sources", "datasets"},
    "scoring": {"twowiki.modeling", "twowiki.builders", "torch", "datasets", "evaluate"},
    "report": {"twowiki.modeling", "twowiki.builders", "torch", "datasets", "evaluate"},
    "modeling": {"twowiki.generation", "twowiki.commands", "twowiki.arc_da"},
    "worlds": {
        "twowiki.generation",
        "twowiki.modeling",
        "twowiki.builders",
        "twowiki.commands",
        "torch",
        "datasets",
        "duckdb",
    },
    "generation": {"twowiki.modeling", "twowiki.commands", "torch"},
    "pages": {"twowiki.training", "twowiki.generation", "twowiki.commands", "torch", "datasets"},
    "arc_da": {"twowiki.modeling", "twowiki.commands", "twowiki.generation", "torch"},
}


def top_level_imports(path: Path) -> set[str]:
    """Modules imported when the file is imported (not inside functions or for type checkers)."""
    found: set[str] = set()

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
                visit([*node.body, *node.orelse])
            elif isinstance(node, ast.Try):
                visit([*node.body, *node.orelse, *node.finalbody])

    visit(ast.parse(path.read_text(encoding="utf-8")).body)
    return found


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_imports_never_turn_back(layer: str) -> None:
    place = PACKAGE / layer
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    for file in files:
        for name in top_level_imports(file):
            for banned in FORBIDDEN[layer]:
                hit = name == banned or name.startswith(banned + ".")
                assert not hit, f"{file.relative_to(PACKAGE)} imports {name}"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("twowiki", "torch datasets evaluate pyarrow numpy transformers"),
        ("twowiki.scoring", "torch datasets evaluate transformers"),
        ("twowiki.sources", "torch datasets evaluate transformers"),
        ("twowiki.validation", "torch datasets evaluate transformers duckdb"),
        ("twowiki.builders", "torch evaluate duckdb"),
    ],
)
def test_importing_stays_light(module: str, absent: str) -> None:
    code = f"import sys, {module}; print([m for m in {absent.split()} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_an_installed_package_holds_every_data_file() -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["twowiki"]
    for file in PACKAGE.rglob("*"):
        if (
            file.is_file()
            and file.suffix not in (".py", ".pyc")
            and "__pycache__" not in file.parts
        ):
            assert any(file.match(pattern.removeprefix("**/")) for pattern in patterns), file
