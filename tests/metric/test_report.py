"""The report: means, types, intervals, the paired test, JSON, the table, and the signature."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from tests.joint_files import FACTS, LADY, TRIPLES, gold, said, several, write
from twowiki._version import __version__
from twowiki.data.schema import Fact, Prediction, Triple, parse_record
from twowiki.errors import DataError
from twowiki.metric.predictions import to_official_file
from twowiki.metric.report import Report
from twowiki.metric.results import METRIC_NAMES
from twowiki.metric.score import score, score_examples
from twowiki.metric.settings import ScoreSettings


def report_of(count: int = 8, **options: object) -> Report:
    golds, blocks = several(count)
    return score(blocks, golds, **options)  # type: ignore[arg-type]


def test_one_of_three_exact() -> None:
    golds = [gold(_id=name) for name in ("q1", "q2", "q3")]
    wrong = {"answer": {"q2": "x", "q3": "y"}, "sp": {}, "evidence": {}}
    prediction = said()
    prediction["answer"].update(wrong["answer"])
    report = score(prediction, golds)
    assert report.metrics["em"] == 1 / 3 * 100
    assert report.to_dict()["matching"] == "official"
    assert report.to_dict()["version"] == "1.1"
    assert "33.33" in report.render()


def test_by_type_and_absent_types() -> None:
    golds = [
        gold(_id="a", type="comparison"), gold(_id="b", type="comparison"),
        gold(_id="c", type="inference"),
    ]  # fmt: skip
    prediction = {
        "answer": {"a": "Brinmoor", "b": "x", "c": "Brinmoor"},
        "sp": dict.fromkeys("abc", FACTS),
        "evidence": dict.fromkeys("abc", TRIPLES),
    }
    report = score(prediction, golds, by_type=True)
    assert list(report.types) == ["comparison", "inference"]
    assert report.types["comparison"].metrics["em"] == 50.0
    assert report.types["inference"].metrics["em"] == 100.0
    assert report.types["comparison"].n == 2
    assert report.metrics["em"] == pytest.approx(200 / 3)
    assert set(report.to_dict()["by_type"]) == {"comparison", "inference"}
    table = report.render()
    assert "comparison" in table
    assert "bridge_comparison" not in table
    assert "by_type" not in score(prediction, golds).to_dict()


def test_the_report_names_all_that_a_number_needs(tmp_path: Path) -> None:
    golds, blocks = several()
    paths = [
        write(tmp_path / "p.json", blocks), write(tmp_path / "dev.json", golds),
        write(tmp_path / "a.json", LADY),
    ]  # fmt: skip
    report = score(*paths, seed=3, config="data_ids_april7", command="twowiki score")
    found = report.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["n"] == 6
    assert found["seed"] == 3
    assert found["command"] == "twowiki score"
    assert found["versions"]["twowiki"] == __version__
    assert found["data"]["gold"]["config"] == "data_ids_april7"
    assert found["data"]["gold"]["split"] == "validation"
    for name, path in zip(("predictions", "gold", "aliases"), paths, strict=True):
        assert found["data"][name]["name"] == str(path)
        assert re.fullmatch("[0-9a-f]{64}", found["data"][name]["sha256"])
    assert found["missing"] == {"count": 0, "answer": 0, "sp": 0, "evidence": 0, "ids": []}
    assert found["subset"] is None
    assert list(found["metrics"]) == list(METRIC_NAMES)
    assert "intervals" not in found


def test_signature() -> None:
    pattern = (
        r"twowiki_joint\|evaluator:1\.1\|joint:answer\*support\*evidence\|matching:official\|aliases:no\|missing:0\|n:8\|"
        rf"gold:[0-9a-f]{{6}}\|v:{re.escape(__version__)}"
    )
    assert re.fullmatch(pattern, report_of().signature)
    on = ("strict", "strip_titles", "coerce_indices", "unicode", "contains")
    for option in on:
        signature = report_of(**{option: True}).signature
        assert f"|{option}:yes|" in signature
        assert not any(f"{other}:" in signature for other in on if other != option)
    golds, blocks = several()
    assert "aliases:yes" in score(blocks, golds, {}).signature
    assert "aliases:no" in score(blocks, golds, {}, version="1.0").signature
    assert "evaluator:1.0" in score(blocks, golds, version="1.0").signature
    assert "matching:one_to_one" in score(blocks, golds, matching="one_to_one").signature


def test_the_gold_hash_follows_the_content_and_not_the_order() -> None:
    golds, blocks = several()
    once = score(blocks, golds).signature
    assert score(blocks, golds[::-1]).signature == once
    changed = copy.deepcopy(golds)
    changed[0]["answer"] = "Oru"
    assert score(blocks, changed).signature != once
    typed = [{**record, "type": "inference"} for record in golds]
    assert score(blocks, typed).signature == once


def test_intervals_hold_the_means_and_follow_the_seed() -> None:
    report = report_of(40, confidence=0.9, resamples=300, seed=5)
    assert report.intervals is not None
    for key, (low, high) in report.intervals.items():
        assert low <= report.metrics[key] <= high
    assert report.intervals["em"][0] < report.metrics["em"] < report.intervals["em"][1]
    assert report.to_dict() == report_of(40, confidence=0.9, resamples=300, seed=5).to_dict()
    other = report_of(40, confidence=0.9, resamples=300, seed=6)
    assert other.intervals != report.intervals
    found = report.to_dict()
    assert found["bootstrap"] == {"confidence": 0.9, "resamples": 300}
    assert found["intervals"]["em"] == list(report.intervals["em"])
    by_type = report_of(40, confidence=0.9, by_type=True).to_dict()["by_type"]
    assert all(len(group["intervals"]) == 16 for group in by_type.values())
    assert "[90% intervals" in report.render()


@pytest.mark.parametrize(
    "options", [{"confidence": 95}, {"confidence": 0.0}, {"resamples": 0}, {"rounds": 0}]
)
def test_odd_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(DataError, match=next(iter(options))):
        report_of(**options)


def test_comparison_with_another_system() -> None:
    golds, blocks = several(40)
    other = copy.deepcopy(blocks)
    for name in list(other["answer"])[:30]:
        other["answer"][name] = "Oru"
    report = score(blocks, golds, compare_with=other, rounds=2000, seed=1)
    compared = report.comparison
    assert compared is not None
    assert compared.metrics == score(other, golds).metrics
    assert compared.differences["em"].difference == report.metrics["em"] - compared.metrics["em"]
    assert compared.differences["em"].p < 0.01
    assert compared.differences["sp_em"].p == 1.0
    turned = score(other, golds, compare_with=blocks, rounds=2000, seed=1).comparison
    assert turned is not None
    p_values = {name: one.p for name, one in compared.differences.items()}
    assert {name: one.p for name, one in turned.differences.items()} == p_values
    assert turned.differences["em"].difference == -compared.differences["em"].difference
    found = report.to_dict()["comparison"]
    assert found["rounds"] == 2000
    assert found["p_values"] == p_values
    assert "difference" in report.render()


def test_typed_examples_score_as_their_files_do() -> None:
    golds, blocks = several(9)
    blocks["sp"]["q1"], blocks["evidence"]["q2"] = [], []
    examples = [parse_record(record) for record in golds]
    predictions = {
        example.id: Prediction(
            blocks["answer"][example.id],
            tuple(Fact(*fact) for fact in blocks["sp"][example.id]),
            tuple(Triple(*triple) for triple in blocks["evidence"][example.id]),
        )
        for example in examples
    }
    settings = ScoreSettings(by_type=True, confidence=0.9, resamples=20)
    typed = score_examples(predictions, examples, settings, compare_with=predictions).to_dict()
    official = to_official_file(predictions)
    assert official == blocks
    read = score(official, golds, compare_with=official, settings=settings).to_dict()
    assert typed == read
    with pytest.raises(DataError, match="hidden"):
        score_examples(predictions, [examples[0]._replace(answer=None)])
    with pytest.raises(DataError, match="no record"):
        score_examples(predictions, [])


def test_an_unknown_option_is_named_with_the_nearest_one() -> None:
    golds, blocks = several(1)
    with pytest.raises(TypeError, match="'confidance'. Did you mean confidence"):
        score(blocks, golds, confidance=0.9)


def test_rows_give_the_means() -> None:
    report = report_of(7)
    rows = list(report.per_example())
    assert [row["id"] for row in rows] == [f"q{place}" for place in range(7)]
    for key in METRIC_NAMES:
        assert sum(row[key] for row in rows) / len(rows) == pytest.approx(report.metrics[key])
    assert rows[1]["type"] == "inference"
    assert rows[1]["missing"] == []
    missing = score(said(evidence=None), [gold()])
    assert next(missing.per_example())["missing"] == ["evidence"]


def test_warnings_are_shown_in_a_notebook_too() -> None:
    report = score(said(evidence=None), [gold()])
    lines = report.render().splitlines()
    assert lines[-len(report.warnings) :] == [f"warning: {one}" for one in report.warnings]
    assert report.render(warnings=False).splitlines()[-1] == report.signature


def test_two_decimals_are_printed_and_all_are_kept() -> None:
    report = report_of(7)
    assert str(report.metrics["em"]).startswith("57.142857")
    lines = report.render().splitlines()
    assert lines[0].split() == ["EM", "F1", "prec", "recall"]
    assert lines[1].split()[:2] == ["answer", "57.14"]
    assert lines[-1] == report.signature
    assert "contains" in report_of(contains=True).render()
    assert str(report) == report.render()
    assert "joint_f1=" in repr(report)


def test_a_report_travels() -> None:
    import pickle

    report = report_of(4, by_type=True)
    assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()
