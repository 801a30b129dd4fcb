"""250 real items with made predictions, as the authors' evaluators score them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twowiki.metric.results import METRIC_NAMES
from twowiki.metric.score import score

NAMES = ("dev250_predictions.json", "dev250.json", "id_aliases.json")


@pytest.fixture(scope="module")
def places(shared: Path) -> list[Path]:
    return [shared / "data" / "two_wiki" / name for name in NAMES]


@pytest.fixture(scope="module")
def expected(places: list[Path]) -> Any:
    return json.loads((places[1].parent / "dev250_expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_overall(places: list[Path], expected: Any, version: str) -> None:
    report = score(*places, version=version)
    assert report.metrics == expected["overall"][version]
    assert report.n == 250
    assert report.warnings == () if version == "1.1" else report.warnings != ()


def test_by_type_and_per_example(places: list[Path], expected: Any) -> None:
    report = score(*places, by_type=True)
    types = expected["by_type_v1.1"]
    assert set(report.types) == set(types)
    for name, figures in types.items():
        for key, value in figures.items():
            assert report.types[name].metrics[key] == pytest.approx(value, abs=1e-9), (name, key)
    rows = {row["id"]: row for row in report.per_example()}
    assert set(rows) == set(expected["per_example_v1.1"])
    for name, figures in expected["per_example_v1.1"].items():
        assert {key: rows[name][key] for key in METRIC_NAMES} == pytest.approx(figures, abs=1e-9), (
            name
        )


def test_parsed_structures_give_the_same(places: list[Path], expected: Any) -> None:
    predictions, gold = (json.loads(place.read_text(encoding="utf-8")) for place in places[:2])
    aliases = [json.loads(line) for line in places[2].read_text(encoding="utf-8").splitlines()]
    report = score(predictions, gold, aliases)
    assert report.metrics == expected["overall"]["1.1"]
    assert report.signature == score(*places).signature


def test_gold_against_itself_is_perfect(places: list[Path]) -> None:
    report = score(places[1], places[1], places[2])
    assert {value for key, value in report.metrics.items() if key.endswith("f1")} == {100.0}
    assert report.metrics["joint_em"] == 100.0
    assert report.metrics == score(places[1], places[1], matching="one_to_one").metrics
