"""Sub-questions are exported, answered by any system, and scored hop by hop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twowiki
from tests.made_up import ALIASES, write_array
from twowiki.cli.main import main
from twowiki.errors import DataError

Records = list[dict[str, Any]]


@pytest.fixture
def gold(tmp_path: Path, records: Records) -> Path:
    return write_array(tmp_path / "dev.json", records)


def predictions(answers: dict[str, str]) -> dict[str, Any]:
    return {"answer": answers, "sp": {}, "evidence": {}}


def test_right_answers_score_full_and_one_wrong_hop_shows(gold: Path, records: Records) -> None:
    twowiki.export(gold, gold.parent / "hops", format="sub-questions")
    steps = list(twowiki.read_examples(gold.parent / "hops" / "dev.jsonl"))
    assert len(steps) == sum(len(record["evidences"]) for record in records)
    assert steps[0].context == next(iter(twowiki.read_examples(gold))).context
    right = {step.id: step.answer or "" for step in steps}
    whole = {record["_id"]: record["answer"] for record in records}
    report = twowiki.score(predictions(whole), gold, sub_answers=predictions(right))
    found = report.to_dict()["sub_questions"]
    assert {name: one["em"] for name, one in found["hops"].items()} == {
        "hop 1": 100,
        "hop 2": 100,
        "composition": 100,
    }
    assert found["composition_em"]["every_hop_right"] == {"n": len(records), "em": 100}
    assert "composition EM, every hop right: 100.00 of 8 questions" in report.render()
    first = steps[0].id
    report = twowiki.score(
        predictions({**whole, records[1]["_id"]: "nowhere"}),
        gold,
        sub_answers=predictions({**right, first: "nowhere"}),
    )
    found = report.to_dict()["sub_questions"]
    assert found["hops"]["hop 1"]["em"] < 100
    assert found["hops"]["hop 2"]["em"] == 100
    assert found["composition_em"] == {
        "every_hop_right": {"n": 7, "em": pytest.approx(100 * 6 / 7)},
        "a_hop_wrong": {"n": 1, "em": 100},
    }


def test_what_is_missing_is_wrong_and_counted(gold: Path) -> None:
    report = twowiki.score(predictions({}), gold, sub_answers=predictions({}))
    found = report.to_dict()["sub_questions"]
    assert found["missing"] == sum(one["n"] for one in found["hops"].values()) - 8
    assert found["hops"]["composition"]["em"] == 0


def test_aliases_count_by_id(gold: Path, tmp_path: Path, records: Records) -> None:
    aliases = tmp_path / "id_aliases.json"
    aliases.write_text(ALIASES, encoding="utf-8")
    record = records[0]
    assert record["evidences_id"][1][2] == "Q103"
    answers = {f"{record['_id']}#1": record["evidences"][0][2], f"{record['_id']}#2": "Brin Moor"}
    for names, em in ((None, 0.0), (aliases, 100.0)):
        report = twowiki.score(predictions({}), [record], names, sub_answers=predictions(answers))
        assert report.hops is not None
        assert dict(report.hops.means())["hop 2"].em == em


def test_gold_without_triples_has_no_hops(records: Records) -> None:
    bare = [{**records[0], "evidences": [], "evidences_id": []}]
    with pytest.raises(DataError, match="no sub-questions"):
        twowiki.score(predictions({}), bare, sub_answers=predictions({})).render()


def test_the_documented_commands(
    gold: Path, tmp_path: Path, records: Records, capsys: pytest.CaptureFixture[str]
) -> None:
    hops = tmp_path / "hops"
    assert main(["export", str(gold), str(hops), "--format", "sub-questions"]) == 0
    rows = [json.loads(line) for line in (hops / "dev.jsonl").read_text("utf-8").splitlines()]
    answers = {row["id"]: row["golden_answers"][0] for row in rows}
    for name, given in (("hops.json", answers), ("whole.json", {})):
        (tmp_path / name).write_text(json.dumps(predictions(given)), encoding="utf-8")
    arguments = ["score", str(tmp_path / "whole.json"), str(gold)]
    assert main([*arguments, "--sub-answers", str(tmp_path / "hops.json")]) == 0
    out = capsys.readouterr().out
    assert "hop 1" in out
    assert "composition EM, every hop right: 0.00 of 8 questions" in out
