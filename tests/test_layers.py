"""Imports go down the layers only, hidden ones included, and the light parts stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "twowiki"
# from the bottom up; the packages of one layer do not import each other
LAYERS = (
    ("errors", "_version"),
    ("io",),
    ("data", "models"),
    ("metric",),
    ("human",),
    ("arc_da",),
    ("pages",),
    ("generation", "retrieval"),
    ("llm",),
    ("worlds",),
    ("builder",),
    ("hub", "rewards"),
    ("training",),
    ("text2text",),
    ("cli", "train"),
    ("__main__",),
)
LAYER = {name: number for number, layer in enumerate(LAYERS) for name in layer}
# pure text handling and names, which light code may share with the models
SHARED = {"models.text"}
# upward and sideways imports that are still to go; the list only shrinks
EXPECTED: set[tuple[str, str]] = set()


def modules() -> dict[str, Path]:
    """Module name below `twowiki` (with dots) -> its file; a package by its own name."""
    names = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(part for part in parts if part != "__init__") or "__init__"] = file
    return names


def imports_of(name: str, file: Path, known: dict[str, Path]) -> set[str]:
    """Modules of this package that a file imports anywhere, but for type checkers."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = ["twowiki", *filter(None, package.split("."))]
                base = ".".join([*above[: len(above) + 1 - node.level], *filter(None, [base])])
            targets = [f"{base}.{alias.name}" for alias in node.names] + [base]
        else:
            targets = []
        found.update(
            target.removeprefix("twowiki.")
            for target in targets
            if target.startswith("twowiki.") and target.removeprefix("twowiki.") in known
        )
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(file.read_text(encoding="utf-8")))
    return found - {name}


def arrows() -> set[tuple[str, str]]:
    known = modules()
    return {
        (name, target)
        for name, file in known.items()
        if name != "__init__"
        for target in imports_of(name, file, known)
    }


def top(name: str) -> str:
    return name.partition(".")[0]


def test_every_module_has_a_layer() -> None:
    assert {top(name) for name in modules()} - {"__init__"} <= set(LAYER)


def test_imports_go_down_only() -> None:
    wrong = {
        (name, target)
        for name, target in arrows()
        if top(name) != top(target) and target not in SHARED
        if LAYER[top(target)] >= LAYER[top(name)]
    }
    assert wrong == EXPECTED


def test_modules_import_in_no_circle() -> None:
    edges: dict[str, set[str]] = {}
    for name, target in arrows():
        if not target.startswith(f"{name}.") and not name.startswith(f"{target}."):
            edges.setdefault(name, set()).add(target)
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for target in sorted(edges.get(name, ())):
                walk(target, (*path, name))
            done.add(name)

    for name in sorted(edges):
        walk(name, ())


def public_definitions(file: Path) -> set[str]:
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found.update(t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("twowiki", "torch datasets evaluate pyarrow numpy transformers"),
        ("twowiki.metric.scoring", "torch datasets evaluate transformers"),
        ("twowiki.data.sources", "torch datasets evaluate transformers"),
        ("twowiki.data.validation", "torch datasets evaluate transformers duckdb"),
        ("twowiki.builder.builder", "torch evaluate duckdb orjson scipy"),
        ("twowiki.generation.difficulty", "torch datasets duckdb orjson scipy"),
        ("twowiki.worlds.dumps", "torch datasets duckdb orjson scipy"),
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
