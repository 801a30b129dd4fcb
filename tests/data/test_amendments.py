"""Amendments change the gold of the records that they name, wherever gold is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.test_audit import record
from twowiki import DataError, export, load_dataset, read_amendments, read_examples, score
from twowiki.cli.main import main

PREDICTION = {
    "answer": {"q1": "Oru", "q2": "Brinmoor"},
    "sp": {"q1": [], "q2": []},
    "evidence": {"q1": [], "q2": []},
}
ANSWER = {"id": "q1", "field": "answer", "was": "Brinmoor", "value": "Oru", "reason": "read"}
FACTS = {"id": "q1", "field": "supporting_facts", "value": [["Oru", 0]], "reason": "read"}
DROP = {"id": "q2", "drop": True, "reason": "ambiguous"}


def write(folder: Path, *amendments: dict[str, Any]) -> Path:
    """Write a data set of two questions, and amendments of it."""
    (folder / "dev.json").write_text(json.dumps([record(), record(_id="q2")]))
    path = folder / "amend.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in amendments))
    return path


def test_scores_use_the_amended_gold_and_say_so(tmp_path: Path) -> None:
    amend, gold = write(tmp_path, ANSWER, DROP), tmp_path / "dev.json"
    plain, report = score(PREDICTION, gold), score(PREDICTION, gold, amend=amend)
    assert (plain.n, plain.metrics["em"]) == (2, 50.0)
    assert (report.n, report.metrics["em"]) == (1, 100.0)
    assert f"|amended:{read_amendments(amend).hash[:6]}|" in report.signature
    assert "amended" not in plain.signature
    assert report.to_dict()["amendments"]["left_out"] == 1
    assert "gold amended by amend.jsonl: 1 changed, 1 left out" in report.render()
    assert not any("extra" in warning for warning in report.warnings)


def test_the_commands_take_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    amend = write(tmp_path, ANSWER, {**DROP, "id": "q9"})
    (tmp_path / "p.json").write_text(json.dumps(PREDICTION))
    paths = [str(tmp_path / name) for name in ("p.json", "dev.json")]
    assert main(["score", *paths, "--amend", str(amend)]) == 0
    shown = capsys.readouterr()
    assert "|amended:" in shown.out
    assert "1 amendment of records that were not scored (first: q9)" in shown.err
    assert main(["report", *paths, str(tmp_path / "o.html"), "--amend", str(amend)]) == 0
    assert "amended:" in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_rows_are_amended_and_the_description_says_so(tmp_path: Path) -> None:
    amend = write(tmp_path, ANSWER, FACTS, DROP)
    options: dict[str, Any] = {"split": "validation", "cache_dir": str(tmp_path / "cache")}
    rows = load_dataset(data_dir=tmp_path, amendments=amend, **options)
    assert (rows["id"], rows["answer"]) == (["q1"], ["Oru"])
    assert rows[0]["supporting_facts"] == [{"title": "Oru", "sent_id": 0}]
    assert "amended by amend.jsonl" in rows.info.description
    assert len(load_dataset(data_dir=tmp_path, **options)) == 2
    streamed = load_dataset(data_dir=tmp_path, amendments=amend, streaming=True, **options)
    assert [row["answer"] for row in streamed] == ["Oru"]


def test_an_export_is_amended_and_its_card_says_so(tmp_path: Path) -> None:
    amend, out = write(tmp_path, ANSWER, DROP), tmp_path / "out"
    assert export(tmp_path / "dev.json", out, amendments=amend) == {"validation": 1}
    name = read_amendments(amend).name
    assert f"is amended by {name}." in (out / "README.md").read_text(encoding="utf-8")
    assert [one.answer for one in read_examples(out, split="validation")] == ["Oru"]
    with pytest.raises(DataError, match="exported as Parquet"):
        export(tmp_path / "dev.json", tmp_path / "rl", format="rl", amendments=amend)


@pytest.mark.parametrize(
    ("amendment", "message"),
    [
        ({**ANSWER, "was": "Salt"}, "the amendment expects 'Salt', the record has 'Brinmoor'"),
        ({**ANSWER, "reason": ""}, "the reason is missing"),
        ({**ANSWER, "field": "anwser"}, "Did you mean answer"),
        ({**ANSWER, "field": "context"}, "cannot be amended"),
        ({"id": "q1", "reason": "read"}, "neither field nor drop"),
        ({**ANSWER, "valeu": 1}, "Did you mean value"),
        ({**ANSWER, "value": 5}, "not a text"),
        ({**FACTS, "value": [["Oru"]]}, "supporting fact 0"),
    ],
)
def test_amendments_that_cannot_be_used_are_refused(
    amendment: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        score(PREDICTION, tmp_path / "dev.json", amend=write(tmp_path, amendment))
    assert "amend.jsonl" in str(caught.value)


def test_a_field_is_amended_once_and_a_file_holds_something(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="amended twice"):
        read_amendments(write(tmp_path, ANSWER, ANSWER))
    path = write(tmp_path)
    path.write_text("[]")
    with pytest.raises(DataError, match="holds no amendment"):
        read_amendments(path)


def test_a_table_holds_lists_as_json(tmp_path: Path) -> None:
    path = tmp_path / "amend.csv"
    path.write_text('id,field,value,reason\nq1,supporting_facts,"[[""Oru"", 0]]",read\n')
    (item,) = read_amendments(path).items["q1"]
    assert [list(fact) for fact in item.value] == [["Oru", 0]]


def test_a_config_without_gold_of_this_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be amended"):
        load_dataset("arc_da", data_dir=tmp_path, amendments=write(tmp_path, ANSWER))
