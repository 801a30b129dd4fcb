"""The notebooks run as they stand, print what is kept, and keep little."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import load_script

FOLDER = Path(__file__).parent.parent / "examples"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 60_000  # bytes of a notebook with its outputs
PLACES = re.compile(
    r"/(?:tmp|home|root|usr|Users|opt|mnt|var)/|[A-Z]:\\\\|site-packages|0x[0-9a-f]{6}"
)


def by_name(path: Path) -> str:
    return path.name


def outputs_of(book: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in book["cells"] for output in cell.get("outputs", [])]


def test_there_are_seven() -> None:
    assert [path.stem[:2] for path in BOOKS] == ["01", "02", "03", "04", "05", "06", "07"]


@pytest.mark.parametrize("path", BOOKS, ids=by_name)
def test_what_is_kept_is_small_and_says_nothing_of_a_machine(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    book = json.loads(path.read_text(encoding="utf-8"))
    assert set(book["metadata"]) == {"kernelspec", "language_info"}
    outputs = outputs_of(book)
    assert outputs, "its outputs are not kept"
    for output in outputs:
        assert output["output_type"] != "error", output
        assert output.get("name") != "stderr", output
        text = json.dumps(output, ensure_ascii=False)
        assert "Traceback" not in text
        assert not PLACES.search(text), PLACES.search(text)
    codes = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in codes] == list(range(1, len(codes) + 1))
    for cell in book["cells"]:
        assert cell["metadata"] in ({}, {"tags": ["varies"]})


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=by_name)
def test_it_runs_and_prints_what_is_kept(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    import nbformat

    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    execute = load_script("examples/execute.py")
    kept = nbformat.read(path, as_version=4)
    (tmp_path / "here").mkdir()
    now = execute.execute(kept, tmp_path / "here")
    assert execute.differing(kept, now) == []
    varying = [cell for cell in now.cells if "varies" in cell.metadata.get("tags", [])]
    assert all(cell.outputs for cell in varying)
