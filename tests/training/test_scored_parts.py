"""A run obeys the config of its data, and selects its model by a metric that the data has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.metric.test_hotpotqa import record
from twowiki.data.schema import Prediction, parse_record
from twowiki.errors import DataError
from twowiki.training.data import find_sources
from twowiki.training.evaluation import score_predictions, score_record
from twowiki.training.reports import headline, render_by_type
from twowiki.training.scored_parts import check_selection
from twowiki.training.settings import BaselineArguments


def settings(folder: Path, **changes: Any) -> BaselineArguments:
    """Settings of a run on HotpotQA's records in files whose names tell nothing."""
    (folder / "a.json").write_text(json.dumps([record()]))
    file = str(folder / "a.json")
    return BaselineArguments(train_file=file, validation_file=file, **changes)


def test_the_config_decides_how_files_are_read(tmp_path: Path) -> None:
    train, validation = find_sources(settings(tmp_path, data_config="hotpotqa"))
    assert [one.type for one in train.examples()] == ["bridge"]
    assert validation.config == "hotpotqa"
    (tmp_path / "dev.json").write_text(json.dumps([record()]))
    (tmp_path / "train.json").write_text(json.dumps([record()]))
    by_folder = BaselineArguments(data_dir=str(tmp_path), data_config="hotpotqa")
    assert [one.type for one in find_sources(by_folder)[0].examples()] == ["bridge"]
    with pytest.raises(DataError, match="data_config"):
        settings(tmp_path, data_config="hotpot").check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric_for_best_model": "evi_f1"}, "'evi_f1', which hotpotqa does not have"),
        ({"score_parts": ["answer"]}, "'joint_f1', which hotpotqa does not have"),
        ({"score_parts": ["evidence"]}, "the gold has no evidence"),
    ],
)
def test_a_metric_that_the_data_lacks_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    config = settings(tmp_path, data_config="hotpotqa", **changes)
    with pytest.raises(DataError, match=message):
        check_selection(config, find_sources(config)[1])


def test_scores_of_a_run_have_the_parts_that_there_are() -> None:
    example = parse_record(record(), "hotpotqa")
    perfect = Prediction(example.answer, example.supporting_facts, ())
    report = score_predictions([example], [perfect], config="hotpotqa")
    kept = score_record(report)
    assert kept["metrics"]["joint_f1"] == 100.0
    assert "evi_f1" not in kept["metrics"]
    table = render_by_type(kept["by_type"], kept["metrics"])
    assert "evi_f1" not in table
    assert "bridge" in table
    assert headline(kept["metrics"], "s") == "joint_em 100.00  joint_f1 100.00  s"
    alone = score_predictions([example], [perfect], config="hotpotqa", parts=["answer"])
    assert headline(score_record(alone)["metrics"], "s") == "em 100.00  f1 100.00  s"
