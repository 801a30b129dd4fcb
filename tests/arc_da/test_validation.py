"""`twowiki validate` and `twowiki export` know ARC-DA by its records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.arc_da_files import RELEASE, write_lines
from twowiki.arc_da import validate_questions
from twowiki.cli.main import main


def question(
    name: str, text: str = "", tag: str = "EASY-TRAIN", **more: object
) -> dict[str, object]:
    return {"question_id": name, "tag": tag, "question": text or f"What is {name}?",
            "answers": ["ice"], **more}  # fmt: skip


def test_every_oddity_is_found(tmp_path: Path) -> None:
    train = [
        question("ARCEZ_1", "What is ice?"),
        question("ARCEZ_1"),
        question("ARCEZ_2", "WHAT is ice"),
        question("q3", tag="TRAIN"),
        question("ARCCH_4"),
        question("ARCEZ_5", answers=["-", "ice", "ice"]),
        question("ARCEZ_6", answers=[]),
        question("ARCEZ_7", answers=[3]),
    ]
    dev = [question("ARCEZ_2", tag="EASY-DEV"), question("ARCEZ_8")]
    for split, records in (("train", train), ("dev", dev)):
        write_lines(tmp_path / f"{split}.jsonl", records)
    (tmp_path / "test.jsonl").write_text("{broken", encoding="utf-8")
    found = validate_questions(tmp_path)
    assert found.records == {"train": 8, "validation": 2}
    assert {kind: ids for kind, ids in found.ids.items() if kind != "broken_file"} == {
        "duplicate_id": ["ARCEZ_1"],
        "repeated_question": ["ARCEZ_2"],
        "unknown_difficulty": ["q3"],
        "tag_mismatch": ["ARCCH_4", "ARCEZ_8"],
        "blank_answer": ["ARCEZ_5"],
        "repeated_answer": ["ARCEZ_5"],
        "hidden_gold": ["ARCEZ_6"],
        "unreadable_record": ["ARCEZ_7"],
        "shared_id": ["ARCEZ_2"],
    }
    assert found.counts["broken_file"] == 1
    assert not found.clean


@pytest.mark.parametrize("one", [False, True])
def test_the_commands_tell_it_by_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: bool
) -> None:
    folder = tmp_path / "full"
    folder.mkdir()
    for name in ("train", "dev"):
        (folder / f"{name}.jsonl").write_bytes((RELEASE / f"{name}.jsonl").read_bytes())
    source = folder / "train.jsonl" if one else folder
    assert main(["validate", str(source), "--output", str(tmp_path / "found.json")]) == 0
    assert "records: train" in capsys.readouterr().out
    assert "unreadable_record" not in json.loads((tmp_path / "found.json").read_text())["findings"]
    assert main(["export", str(source), str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"README.md", "arc_da"}
