"""The public names are those that docs/api.md lists, each defined once, and light to reach."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.made_up import write_release
from tests.test_layers import modules, public_definitions

API = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
SECTIONS = {
    section.split("\n", 1)[0].strip(): re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    for section in API.split("\n## ")[1:]
}
# every command and every model of one kind defines these
SHARED = {"main", "add_arguments", "run"}


@pytest.mark.parametrize("package", SECTIONS)
def test_the_docs_list_the_public_names(package: str) -> None:
    assert sorted(import_module(package).__all__) == sorted(SECTIONS[package])


@pytest.mark.parametrize("package", [name for name in SECTIONS if name != "twowiki.models"])
def test_every_public_name_is_there(package: str) -> None:
    module = import_module(package)
    for name in SECTIONS[package]:
        assert getattr(module, name) is not None
    assert set(SECTIONS[package]) <= set(dir(module))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


def test_no_name_has_two_public_definitions() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module, file in modules().items():
        for name in public_definitions(file):
            places[name].append(module)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: twice[name] for name in sorted(set(twice) - SHARED)} == {}


DOOR = """
import sys
{first}
assert {light}
import {second}
options = dict(data_dir={folder!r}, split="validation", cache_dir={cache!r})
rows = datasets.load_dataset("twowiki", **options)
print(len(rows))
"""


LOOKED_FOR = "twowiki, importlib.util; importlib.util.find_spec('datasets')"


@pytest.mark.parametrize("first", ["twowiki", "datasets", LOOKED_FOR])
def test_the_door_of_datasets_is_open_after_import(
    first: str, tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    release = write_release(tmp_path / "release", records)
    second = "datasets" if first.startswith("twowiki") else "twowiki"
    code = DOOR.format(
        first=f"import {first}",
        second=second,
        light="'datasets' not in sys.modules" if second == "datasets" else "True",
        folder=str(release),
        cache=str(tmp_path / "cache"),
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == "3", done.stderr


def test_another_module_named_datasets_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("mine = 1\n")
    for code in ("import twowiki, datasets", "import datasets, twowiki"):
        done = subprocess.run(
            [sys.executable, "-c", f"{code}; print(datasets.mine)"],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        assert done.stdout.strip() == "1", done.stderr
