"""The paper's tables are counted right, on a case done by hand and through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.made_up import write_release
from twowiki.cli.main import main
from twowiki.data.schema import Example, parse_record
from twowiki.data.statistics import answer_class, compute_statistics

Records = list[dict[str, Any]]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("yes", "yes"),
        ("No", "no"),
        ("5 March 1944", "date"),
        ("March 5, 1944", "date"),
        ("March 1944", "date"),
        ("1944", "date"),
        ("44 BC", "date"),
        ("the film", "named in the question"),
        ("May Day", "other"),
        ("March", "other"),
        (None, "hidden"),
    ],
)
def test_answer_classes(answer: str | None, expected: str) -> None:
    example = Example("1", "Who made The Film?", None, (), answer=answer)
    assert answer_class(example) == expected


def test_means_by_hand(records: Records) -> None:
    found = compute_statistics(parse_record(record) for record in records[4:6]).to_dict()
    row = found["types"]["comparison"]
    assert row["examples"] == 2
    assert row["question_words"] == (12 + 11) / 2
    assert row["answer_words"] == (2 + 1) / 2
    assert row["supporting_facts"] == row["evidences"] == 2
    assert row["paragraphs"] == 2.5
    assert found["types"]["total"] == row
    assert found["answer_classes"] == {
        "yes": {"examples": 1, "share": 0.5},
        "named in the question": {"examples": 1, "share": 0.5},
    }
    assert found["relations"] == {"country": 2, "publication date": 2}


def test_the_command(tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]) -> None:
    write_release(tmp_path / "r", records)
    output = tmp_path / "stats.json"
    assert main(["stats", str(tmp_path / "r"), "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "train: types and lengths" in printed
    assert "hidden" in printed
    values = json.loads(output.read_text(encoding="utf-8"))
    assert set(values) == {"train", "validation", "test"}
    assert values["test"]["types"]["total"]["answer_words"] is None
    assert main(["stats", str(tmp_path / "r"), "--split", "holdout"]) == 2
    assert "it has train, validation, test" in capsys.readouterr().err
