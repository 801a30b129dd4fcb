"""docs/code.md names every module with the first sentence of its docstring.

`python -m tests.test_code_map` writes its tables anew; the text above them is written by hand.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, PAGE = ROOT / "twowiki", ROOT / "docs" / "code.md"
SECTION = re.compile(r"^## (\w+): .*$", re.MULTILINE)


def first_sentence(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\w)\.(?:\s|$)", paragraph)[0].rstrip(".").replace("|", "/")


def table(part: str) -> str:
    rows = [
        f"| `{file.relative_to(PACKAGE).with_suffix('').as_posix()}` | {first_sentence(file)} |"
        for file in sorted((PACKAGE / part).rglob("*.py"))
        if file.name != "__init__.py"
    ]
    return "\n".join(["| module | about |", "|---|---|", *rows])


def rendered() -> str:
    """The page with the tables that the docstrings give."""
    text = PAGE.read_text(encoding="utf-8")
    head = text[: next(SECTION.finditer(text)).start()]
    sections = [f"{match[0]}\n\n{table(match[1])}\n" for match in SECTION.finditer(text)]
    return head + "\n".join(sections)


def test_the_map_is_that_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert {match[1] for match in SECTION.finditer(text)} == packages
    assert text == rendered()


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
