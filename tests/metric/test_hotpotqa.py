"""HotpotQA's rules: parity with its evaluator, and joint as the product of what a gold has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twowiki import DataError, Example, Fact, Prediction, score
from twowiki.cli.main import main
from twowiki.metric import score_examples
from twowiki.metric.settings import ScoreSettings

GOLDEN = Path(__file__).parents[1] / "golden" / "hotpotqa_evaluator.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
EVIDENCE = ("evi_em", "evi_f1", "evi_prec", "evi_recall")


def record(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A made-up record in HotpotQA's own form."""
    return {
        "_id": f"h{number}",
        "answer": "Brinmoor",
        "question": "Where was the mother of Tavik Orrel born?",
        "supporting_facts": [["Tavik Orrel", 0], ["Dessa Orrel", 0]],
        "context": [["Tavik Orrel", ["He."]], ["Dessa Orrel", ["Born in Brinmoor."]]],
        "type": "bridge",
        "level": "hard",
        **changes,
    }


PERFECT = {
    "answer": {"h1": "Brinmoor"},
    "sp": {"h1": [["Tavik Orrel", 0], ["Dessa Orrel", 0]]},
}


def test_all_figures_of_200_files_agree() -> None:
    assert len(CASES) == 200
    assert sum(0 < case["expected"]["joint_f1"] < 100 for case in CASES) > 50
    for case in CASES:
        report = score(case["prediction"], case["gold"])
        found = {name: report.metrics[name] for name in case["expected"]}
        assert found == pytest.approx(case["expected"], abs=1e-9)
        assert {report.metrics[name] for name in EVIDENCE} == {None}


def test_titles_are_compared_as_they_are_written() -> None:
    lower = {**PERFECT, "sp": {"h1": [["tavik orrel", 0], ["Dessa Orrel", 0]]}}
    assert score(lower, [record()]).metrics["sp_f1"] == 50.0
    wiki = record(type="compositional", evidences=[], level=None)
    assert score(lower, [wiki]).metrics["sp_f1"] == 100.0


def test_the_signature_names_evaluator_and_product() -> None:
    report = score(PERFECT, [record()])
    assert report.metrics["joint_f1"] == 100.0
    assert report.signature.startswith("twowiki_joint|evaluator:hotpotqa|joint:answer*support|")
    assert "matching" not in report.signature
    assert not report.warnings
    assert not report.missing_ids
    assert report.to_dict()["metrics"]["evi_f1"] is None
    assert report.to_dict()["parts"] == ["answer", "support"]
    assert "evidence       -       -       -       -" in report.render()
    assert next(iter(report.per_example()))["evi_em"] is None


def test_rows_and_examples_of_the_config_are_known_by_their_level() -> None:
    row = {**record(), "id": "h1", "evidences": [], "evidences_id": []}
    assert score(PERFECT, [row]).metrics["joint_em"] == 100.0
    example = Example(
        "h1", "Where?", "comparison", (), (Fact("Oru", 0),), answer="yes", level="easy"
    )
    report = score_examples({"h1": Prediction("yes", (Fact("Oru", 0),), None)}, [example])
    assert report.metrics["joint_f1"] == 100.0
    by_config = score_examples(
        {"h1": Prediction("yes", (Fact("Oru", 0),), None)},
        [example._replace(level=None)],
        ScoreSettings(config="hotpotqa"),
    )
    assert by_config.signature == report.signature


def test_rows_with_numbered_types_have_names() -> None:
    row = {**record(), "id": "h1", "evidences": [], "evidences_id": [], "type": 0}
    assert list(score(PERFECT, [row], by_type=True).types) == ["bridge"]
    assert list(score(PERFECT, [row], by_type=True, config="hotpotqa").types) == ["bridge"]


@pytest.mark.parametrize("known_by", [{}, {"type": "bridge"}, {"level": "hard"}])
def test_the_answer_alone_has_no_joint(known_by: dict[str, str]) -> None:
    gold = {"_id": "h1", "question": "Where?", "answer": "Brinmoor", **known_by}
    report = score({"answer": {"h1": "Brinmoor"}}, [gold], confidence=0.9, by_type=True)
    assert report.metrics["em"] == 100.0
    assert [report.metrics[name] for name in ("joint_em", "joint_f1", "sp_f1")] == [None] * 3
    assert "|joint:none|" in report.signature
    assert report.intervals is not None
    assert "joint_f1" not in report.intervals
    assert "joint_f1=-" in repr(report)


def test_records_that_disagree_are_refused_unless_the_config_is_named() -> None:
    whole = record(2, type="compositional", evidences=[["a", "b", "c"]], level=None)
    lacking = record(1, type="compositional", level=None)
    with pytest.raises(DataError, match="the first record of the gold does not") as caught:
        score(PERFECT, [lacking, whole])
    assert (caught.value.record, caught.value.field) == ("h2", "evidences")
    assert score(PERFECT, [lacking, whole], config="data").metrics["evi_f1"] == 0.0


def test_chosen_parts_alone_are_scored() -> None:
    gold = record(type="compositional", level=None, evidences=[["a", "b", "c"]])
    report = score(PERFECT, [gold], parts=["answer", "support"])
    assert report.metrics["joint_f1"] == 100.0
    assert report.metrics["evi_f1"] is None
    assert "|evaluator:1.1|joint:answer*support|" in report.signature
    with pytest.raises(DataError, match="the gold has no evidence"):
        score(PERFECT, [record()], parts=["evidence"])


def test_a_comparison_with_another_system_has_no_evidence_row() -> None:
    report = score(PERFECT, [record()], compare_with={"answer": {"h1": "no"}, "sp": {"h1": []}})
    assert report.comparison is not None
    assert "evi_f1" not in report.comparison.differences
    assert report.comparison.differences["joint_f1"].difference == 100.0
    assert "joint_f1" in report.render()


def test_commands_score_and_report_and_difficulty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, predictions = tmp_path / "dev_x.json", tmp_path / "p.json"
    gold.write_text(json.dumps([record(), record(2, type="comparison", answer="yes")]))
    predictions.write_text(json.dumps(PERFECT))
    assert main(["score", str(predictions), str(gold), "--by-type"]) == 0
    assert "joint:answer*support" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", str(predictions), str(gold), str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<b>joint</b>" in text
    assert "<b>evidence</b>" not in text
    assert main(["world", "--difficulty", str(gold), "--config", "hotpotqa"]) == 0
    out = capsys.readouterr().out
    assert "bridge" in out
    assert "two hops" not in out
