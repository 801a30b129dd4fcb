"""The README stays true: its commands exist, its links lead somewhere, its configs parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from twowiki.cli.main import command_parser, command_path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)


def shell_lines(page: Path) -> list[str]:
    """The command lines of a page's unnamed blocks, continued lines joined."""
    found = []
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language not in ("", "sh", "bash"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = line.removeprefix("$ ").strip()
            if words.startswith(("twowiki ", "python -m twowiki ")):
                found.append(words.removeprefix("python -m ").split("  #")[0])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_docs_exists_with_its_flags(page: Path) -> None:
    for line in shell_lines(page):
        if re.match(r"twowiki \w[\w-]*:", line):
            continue  # an error message
        words = shlex.split(line.replace("[", " ").replace("]", " ").replace("|", " "))
        text = command_parser(command_path(words[1:])).format_help()
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", line):
            assert flag in text, f"{line}: {flag}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"`((?:bench|twowiki|tests|metrics)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_compile(page: Path) -> None:
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            compile(block, page.name, "exec")


CONFIGS = sorted((ROOT / "twowiki" / "training" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_parses(path: Path) -> None:
    from twowiki.training.task import read_settings

    assert read_settings(["--config", path.stem]).output_dir


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert re.search(rf"^{target}:", makefile, re.M), target
