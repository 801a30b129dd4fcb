"""The leaderboard's file: complete, in the test split's order, malformed values named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.joint_files import CONTEXT, FACTS, TRIPLES, several, write, write_lines
from twowiki.cli.main import main

HIDDEN: dict[str, Any] = {
    "answer": "", "supporting_facts": [], "evidences": [], "evidences_id": [], "answer_id": None,
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, Path]:
    golds, blocks = several(3)
    test = [{**record, **HIDDEN} for record in golds[::-1]]
    return (
        str(write(tmp_path / "p.json", blocks)),
        str(write(tmp_path / "test.json", test)),
        tmp_path / "out.json",
    )


def test_it_is_the_official_form_in_the_split_s_order(
    files: tuple[str, str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    predictions, test, out = files
    assert main(["submission", predictions, test, str(out)]) == 0
    made = json.loads(out.read_text())
    assert list(made) == ["answer", "sp", "evidence"]
    assert all(list(block) == ["q2", "q1", "q0"] for block in made.values())
    assert made["sp"]["q0"] == FACTS
    assert made["evidence"]["q0"] == TRIPLES
    assert "github.com/Alab-NII/2wikimultihop" in capsys.readouterr().out


def test_what_is_left_out_is_named(
    files: tuple[str, str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, test, out = files
    blocks = several(3)[1]
    del blocks["evidence"]["q1"]
    blocks["answer"]["q9"] = "x"
    blocks["sp"]["q0"] = [["Elsewhere", 0]]
    path = str(write(tmp_path / "p.json", blocks))
    assert main(["submission", path, test, str(out)]) == 2
    assert "record q1" in capsys.readouterr().err
    assert not out.exists()
    assert main(["submission", path, test, str(out), "--allow-missing"]) == 0
    err = capsys.readouterr().err
    assert "1 questions are incomplete" in err
    assert "first: q0" in err
    assert "1 predicted ids" in err
    assert json.loads(out.read_text())["evidence"]["q1"] == []


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("answer", ["x"]),
        ("sp", [["A", "0"]]),
        ("sp", [["A", True]]),
        ("sp", "A"),
        ("evidence", [["a", "b"]]),
        ("evidence", [["a", "b", None]]),
        ("evidence", [5]),
    ],
)
def test_malformed_values_are_named(
    files: tuple[str, str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    block: str,
    value: Any,
) -> None:
    blocks = several(3)[1]
    blocks[block]["q1"] = value
    path = str(write(tmp_path / "p.json", blocks))
    assert main(["submission", path, files[1], str(files[2])]) == 2
    err = capsys.readouterr().err
    assert f"record q1, field '{block}'" in err


def test_from_rows_and_from_a_language_model(files: tuple[str, str, Path], tmp_path: Path) -> None:
    _, test, out = files
    reply = {"answer": "Brinmoor", "supporting_facts": FACTS, "evidences": TRIPLES}
    rows = write_lines(tmp_path / "rows.jsonl", [{"id": f"q{n}", **reply} for n in range(3)])
    assert main(["submission", str(rows), test, str(out)]) == 0
    once = out.read_bytes()
    raw = write_lines(
        tmp_path / "raw.jsonl", [{"id": f"q{n}", "output": json.dumps(reply)} for n in range(3)]
    )
    assert main(["submission", str(raw), test, str(out), "--from-llm"]) == 0
    assert out.read_bytes() == once
    assert CONTEXT
