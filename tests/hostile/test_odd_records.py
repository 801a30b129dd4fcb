"""Odd records and settings are reported, names keep their marks, terminals get no escapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twowiki.cli.main import main
from twowiki.data.validation import validate
from twowiki.errors import DataError, printable
from twowiki.io.arguments import read_settings_file
from twowiki.llm.parsing import parse_llm_output
from twowiki.training.task import settings_class

ESCAPE = "\x1b]0;owned\x07\x9b2J"
RECORD: dict[str, Any] = {
    "_id": "a", "question": "Who?", "answer": "Tal", "type": "inference",
    "context": [["Oru", ["Oru is of Tal."]]], "supporting_facts": [["Oru", 0]],
    "evidences": [["Oru", "father", "Tal"]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change"),
    [("missing_answer", {"answer": None}), ("two_ids", {"id": "b"})],
)
def test_odd_records_are_found(kind: str, change: dict[str, Any]):
    findings = validate([RECORD | change])
    assert findings.counts[kind] == 1
    assert not findings.clean
    assert kind not in validate([RECORD]).counts


def test_ids_of_two_splits_are_found(tmp_path: Path):
    for name, names in (("train", "ab"), ("dev", "bc"), ("test", "d")):
        records = [RECORD | {"_id": one} for one in names]
        (tmp_path / f"{name}.json").write_text(json.dumps(records))
    findings = validate(tmp_path)
    assert findings.ids["shared_id"] == ["b"]
    assert findings.details["shared_id"] == {"train and validation": 1}


@pytest.mark.parametrize("command", ["validate", "stats", "score"])
def test_no_escape_of_an_id_reaches_the_terminal(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "dev.json"
    odd = {"type": "riddle" + ESCAPE, "supporting_facts": [["No" + ESCAPE, 0]]}
    path.write_text(json.dumps([RECORD | odd | {"_id": ESCAPE}]))
    main([command, *[str(path)] * (2 if command == "score" else 1)])
    printed = capsys.readouterr()
    assert not {"\x1b", "\x07", "\x9b"} & {*printed.out, *printed.err}


def test_control_characters_are_written_out():
    assert printable("a\x1b[31m\tb\nc\x9b") == "a\\x1b[31m\tb\nc\\x9b"
    assert str(DataError("bad", record=ESCAPE)).isprintable()


@pytest.mark.parametrize(
    ("text", "key"),
    [("epochs: 1\nepochs: 2\n", "epochs"), ("task: baseline\n\nseed: 1\ntask: encoder\n", "task")],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, key: str):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=f"field '{key}': the key stands twice"):
        read_settings_file(path, settings_class("baseline", None))


TITLES = ["(500) Days of Oru", 'I Cannot Say "Farewell"', "Oru (film)", '"Heroes" and "Villains"',
          "[Rec] of Oru"]  # fmt: skip


@pytest.mark.parametrize(
    "form", ["{}, 0", "- {} [0]", "{} (0)", "1. {}: sentence 0", '"{}", 0', "**{}**, 0"]
)
@pytest.mark.parametrize("title", TITLES)
def test_titles_keep_their_marks(title: str, form: str):
    if form.startswith('"') and title.startswith('"'):
        pytest.skip("these marks may be of either kind")
    text = f"Answer: x\nSupporting facts:\n{form.format(title)}\n"
    assert parse_llm_output(text).facts == [(title, 0)]


@pytest.mark.parametrize(
    "form", ["({}, director, {})", "{} | director | {}", "- ({} -> director -> {})"]
)
@pytest.mark.parametrize("title", TITLES)
def test_names_in_triples_keep_their_marks(title: str, form: str):
    text = f"Answer: x\nEvidence:\n{form.format(title, 'Tal (actor)')}\n"
    assert parse_llm_output(text).triples == [(title, "director", "Tal (actor)")]
