"""A model is pushed with the report of its own run, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hub.folders import space_folder
from twowiki.errors import DataError
from twowiki.hub.push import plan_push
from twowiki.hub.run_record import check_run_files, run_id
from twowiki.io.files import sha256_of


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made_by = {"run": "abc", "step": 5}
    write(tmp_path / "best" / "run.json", made_by)
    write(tmp_path / "predictions.json", {"answer": {"q": "a"}})
    hashes = {"predictions.json": sha256_of(tmp_path / "predictions.json")}
    scores = {**made_by, "metrics": {}, "files": hashes}
    write(tmp_path / "scores.json", scores)
    write(tmp_path / "report.json", {"run": "abc", "scores": scores, "steps": 9})
    return tmp_path


def test_files_of_one_run_are_taken(output: Path) -> None:
    check_run_files(output)
    check_run_files(output, "abc")
    for name in ("predictions.json", "report.json", "scores.json"):
        (output / name).unlink()
        check_run_files(output)
    (output / "best" / "run.json").unlink()
    check_run_files(output)  # a model of an earlier version


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("best/run.json", {"run": "other"}, r"scores\.json.*is of run abc, .*of run other"),
        ("best/run.json", {"step": 7}, r"scores\.json.*is of step 5, .*of step 7"),
        ("scores.json", {"run": "other"}, r"scores\.json.*is of run other"),
        ("scores.json", {"step": 4}, r"scores\.json.*is of step 4"),
        ("report.json", {"run": "other"}, r"report\.json.*is of run other"),
        ("report.json", {"scores": {"run": "abc", "step": 4}}, r"report\.json.*is of step 4"),
        ("predictions.json", {"answer": {}}, r"predictions\.json: is not as the run wrote it"),
    ],
)
def test_files_of_two_runs_are_refused(
    name: str, changes: dict[str, Any], problem: str, output: Path
) -> None:
    path = output / name
    write(path, json.loads(path.read_text("utf-8")) | changes)
    with pytest.raises(DataError, match=problem):
        check_run_files(output)
    if name == "best/run.json" and "run" in changes:
        path.unlink()
        with pytest.raises(DataError, match="is of run abc"):
            check_run_files(output)


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("twowiki", True),
        ("twowiki[train]", True),
        ("twowiki[train,metric] >= 0.1", True),
        ("./twowiki-0.1.0-py3-none-any.whl", False),
        ("twowiki @ git+https://example.org/twowiki@abc", False),
        ("twowiki-extra", False),
    ],
)
def test_a_space_that_cannot_be_built_is_warned_about(
    line: str, warned: bool, tmp_path: Path
) -> None:
    folder = space_folder(tmp_path / "space")
    (folder / "requirements.txt").write_text(f"gradio\n{line}\n", encoding="utf-8")
    wheel = "twowiki-0.1.0-py3-none-any.whl"
    (folder / wheel).write_bytes(b"PK")
    plan = plan_push(folder, "me/demo", "demo")
    assert wheel in plan.paths
    assert any("pip wheel" in note for note in plan.notes) == warned


def test_a_run_has_one_id_whatever_the_order_of_its_settings() -> None:
    assert run_id({"a": 1, "b": [2]}) == run_id({"b": [2], "a": 1})
    assert len({run_id({"a": n}) for n in range(9)}) == 9
    assert len(run_id({})) == 12
