"""The blocks of docs/data.md run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import datasets
import pytest

from tests.made_up import write_array, write_lines
from twowiki.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "When was the town of Tavik's mother founded?",
    "paragraphs": [
        {"idx": 0, "title": "Brinmoor", "paragraph_text": "A town.", "is_supporting": True}
    ],
    "question_decomposition": [],
    "answer": "1066",
    "answer_aliases": ["AD 1066"],
    "answerable": True,
}


def blocks(language: str, section: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    write_array(tmp_path / "dev.json", records)
    write_array(tmp_path / "dev_sample.json", records)
    write_lines(tmp_path / "musique_ans_v1.0_dev.jsonl", [MUSIQUE])
    answers = {"answer": {record["_id"]: record["answer"] for record in records}}
    for name in ("predictions.json", "hop_predictions.json"):
        (tmp_path / name).write_text(json.dumps({**answers, "sp": {}, "evidence": {}}))


def test_the_python_blocks_run(capsys: pytest.CaptureFixture[str]) -> None:
    first = next(
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        if "dev[:2]" in block
    )
    names: dict[str, Any] = {}
    for block in [
        first,
        *blocks("python", "Files of other tools"),
        *blocks("python", "Formats for other tools"),
    ]:
        exec(block, names)
    assert len(names["rows"]) == 2
    out = capsys.readouterr().out
    assert "100.0 None" in out
    assert "Counter({'answered': 2})" in out
    assert {path.name for path in Path("out_rl").iterdir()} >= {"dev.jsonl", "report.json"}


def test_the_commands_run(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        line.removeprefix("twowiki ").split()
        for section in ("Formats for other tools", "Sub-questions")
        for block in blocks("", section)
        for line in block.splitlines()
    ]
    assert len(commands) == 4
    for command in commands:
        assert main(command) == 0
    assert "composition EM" in capsys.readouterr().out
