"""The model's card: what it says, that the hub takes it, and that an edited one stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hub.folders import METRICS, SIGNATURE, report_of_a_run
from tests.joint_files import ROOT
from twowiki.cli.main import main
from twowiki.hub.model_card import (
    card_for,
    is_unedited,
    make_card,
    public_command,
    render_model_card,
    write_model_card,
)

CONFIG = {"model_type": "twowiki_baseline", "architectures": ["TwoWikiBaselineForMultihopQA"]}


@pytest.fixture
def best(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "best"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "run" / "report.json").write_text(json.dumps(report_of_a_run()), encoding="utf-8")
    return folder


def loaded(card: str) -> Any:
    from huggingface_hub import ModelCard

    return ModelCard(card)


def test_the_hub_reads_every_score_of_the_report() -> None:
    data = loaded(render_model_card(report_of_a_run(), CONFIG, "me/m")).data
    metrics = {result.metric_name: result.metric_value for result in data.eval_results}
    assert metrics == {
        name: 63.137 if name == "joint_f1" else 50.0
        for name in ("em", "f1", "sp_em", "sp_f1", "evi_em", "evi_f1", "joint_em", "joint_f1")
    }
    assert {result.metric_config for result in data.eval_results} == {SIGNATURE}
    assert {result.dataset_name for result in data.eval_results} == {"2WikiMultiHopQA"}
    assert data.pipeline_tag == "question-answering"
    assert data.library_name == "transformers"
    assert data.base_model is None


def test_everything_that_a_reader_wants_is_said() -> None:
    card = render_model_card(report_of_a_run(), CONFIG, "me/m")
    for message in (
        "| comparison | 4 | 50.00 |",
        "| all | 9 | 50.00 |",
        "| 63.14 |",
        "| 95% interval |  | 40.0-60.0 |",
        "| ceiling |  | 98.50 |",
        f"Signature: `{SIGNATURE}`",
        "277,071 weights beside the word vectors",
        "train.json, data, 40 windows, content abababababab, 3 answer_not_found",
        "CPU, 1 process, 1 thread, 12 CPU seconds",
        "torch 2.13.0",
        "commit | abc123",
        'from_pretrained("me/m", trust_remote_code=True)',
        'load_model("me/m")',
        "## Limits",
        "flatter",
    ):
        assert message in card, message


def test_places_of_the_machine_are_not_shown() -> None:
    assert "/home/me" not in render_model_card(report_of_a_run(), CONFIG, "me/m")
    command = ["/a/b/train.py", "--data_dir", "/home/me/x y/dev.json", "--rate=1/2", "~/z/w"]
    assert public_command(command) == "train.py --data_dir dev.json --rate=1/2 w"


def test_invented_data_comes_first() -> None:
    source = {"source": "world people=800,films=600,seed=7", "windows": 9}
    card = render_model_card(
        report_of_a_run(data={"train": source, "validation": source}), CONFIG, "me/m"
    )
    text = "questions on a fictional world"
    assert f"**Trained on {text}**: it knows nothing of the real world" in card
    assert text in {result.dataset_name for result in loaded(card).data.eval_results}


def test_another_task_has_its_own_figures() -> None:
    scores = {"metrics": {"f1": 31.5, "rougeL": 30.25}, "signature": "arc_da|v:0.1.0"}
    report = report_of_a_run(scores=scores, ceiling=None)
    card = render_model_card(report, {"architectures": ["T5ForConditionalGeneration"]}, "me/t5")
    assert "| all |  | 31.50 | 30.25 |" in card
    assert "T5ForConditionalGeneration.from_pretrained" in card
    assert {r.metric_name for r in loaded(card).data.eval_results} == {"f1", "rougeL"}


TEXT_CONFIG = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}


@pytest.fixture
def text_run(tmp_path: Path) -> Path:
    """The best model of a text-to-text run on ARC-DA, as training leaves it."""
    folder = tmp_path / "run" / "best"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(TEXT_CONFIG), encoding="utf-8")
    text_format = json.dumps({"task": "arc_da", "preset": "arcda"})
    (folder / "text_format.json").write_text(text_format, encoding="utf-8")
    summary = {"n": 20, "intervals": {"f1": [30.0, 33.0], "rougeL": [29.0, 32.0]}}
    report = report_of_a_run(
        model="google/t5-v1_1-base",
        scores={
            "metrics": {"f1": 31.5, "rougeL": 30.25, "mc_accuracy": 40.0},
            "by_type": {"easy": {"f1": 35.0, "rougeL": 34.0}},
            "signature": "arc_da|v:0.1.0",
            "report": summary,
        },
        ceiling=None,
        data={
            "train": {"questions": 9, "gold": "ab" * 32, "notes": {"context is cut": 2}},
            "validation": {"questions": 20, "gold": "cd" * 32, "notes": {}},
            "contamination": "unknown",
        },
    )
    (folder.parent / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


def test_a_text_model_gets_the_full_card(text_run: Path) -> None:
    assert write_model_card(text_run, repo="me/t5")
    card = (text_run / "README.md").read_text(encoding="utf-8")
    data = loaded(card).data
    assert data.language == "en"
    assert data.base_model == "google/t5-v1_1-base"
    assert data.pipeline_tag == "text2text-generation"
    assert data.tags == ["ARC-DA", "science", "text-to-text"]
    assert {one.dataset_name for one in data.eval_results} == {"ARC-DA"}
    for text in (
        "# T5ForConditionalGeneration, corrected",
        '"preset": "arcda"',
        "twowiki predict --model me/t5 --task arc_da DATA OUT",
        "| started from | google/t5-v1_1-base |",
        "| train data | 9 questions, gold abababababab, 2 context is cut |",
        "| contamination | unknown |",
        "| easy |  | 35.00 | 34.00 |  |",
        "| all | 20 | 31.50 | 30.25 | 40.00 |",
        "| 95% interval |  | 30.0-33.0 | 29.0-32.0 |  |",
        "torch 2.13.0",
    ):
        assert text in card, text


def test_a_model_that_started_from_nothing_names_no_base() -> None:
    card = render_model_card(report_of_a_run(model="tiny-t5"), TEXT_CONFIG, "me/t5")
    assert "started from" not in card
    assert loaded(card).data.base_model is None
    assert loaded(card).data.license == "apache-2.0"


def test_a_started_from_model_is_named() -> None:
    config = CONFIG | {"backbone_name": "someone/encoder"}
    card = render_model_card({}, config, "me/m")
    assert loaded(card).data.base_model == "someone/encoder"
    assert loaded(card).data.license == "other"
    assert "that of the base model" in loaded(card).data.license_name.replace("-", " ")
    local = render_model_card({}, CONFIG | {"backbone_name": "/home/me/encoder"}, "me/m")
    assert "/home/me" not in local
    assert "| started from | encoder |" in local


def test_without_a_report_nothing_is_claimed() -> None:
    card = render_model_card({}, CONFIG, "me/m")
    assert "Unknown: the folder came without the report" in card
    assert loaded(card).data.eval_results is None


def test_the_same_report_gives_the_same_bytes(best: Path) -> None:
    assert make_card(best) == make_card(best)
    assert write_model_card(best)
    assert not write_model_card(best)
    assert is_unedited((best / "README.md").read_text(encoding="utf-8"))


def test_an_edited_card_is_its_authors(best: Path) -> None:
    write_model_card(best)
    place = best / "README.md"
    place.write_text(place.read_text(encoding="utf-8").replace("English", "German"), "utf-8")
    assert card_for(best, "me/m") is None
    assert not write_model_card(best)
    assert "German" in place.read_text(encoding="utf-8")


def test_a_card_outlives_the_report_of_its_run(best: Path) -> None:
    write_model_card(best)
    (best.parent / "report.json").unlink()
    assert card_for(best, "me/m") is None


def test_the_command_writes_the_card(
    best: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["card", str(best.parent)]) == 0
    assert f"written to {best / 'README.md'}" in capsys.readouterr().out
    assert main(["card", str(best.parent), str(tmp_path / "card.md"), "--repo", "me/m"]) == 0
    assert 'load_model("me/m")' in (tmp_path / "card.md").read_text(encoding="utf-8")
    (tmp_path / "card.md").write_text("edited", encoding="utf-8")
    assert main(["card", str(best.parent), str(tmp_path / "card.md")]) == 0
    assert "card.md, which had been edited" in capsys.readouterr().out
    assert main(["card", str(tmp_path)]) == 2
    assert "no saved model" in capsys.readouterr().err


def test_its_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.hub.folders import model_folder

    folder = model_folder(tmp_path / "run") / "best"
    from twowiki.models.auto import register_models

    register_models()

    code = make_card(folder, str(folder)).split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert isinstance(names["prediction"]["answer"], str)


def test_the_card_of_the_reported_run_is_written_by_code() -> None:
    text = (ROOT / "model_card.md").read_text(encoding="utf-8")
    assert is_unedited(text)
    metrics = {one.metric_name: one.metric_value for one in loaded(text).data.eval_results}
    assert f"| {metrics['joint_f1']:.2f} |" in text
    assert f"Signature: `{loaded(text).data.eval_results[0].metric_config}`" in text


def test_metrics_are_those_of_the_joint_metric() -> None:
    from twowiki.metric.results import METRIC_NAMES

    assert set(METRICS) == set(METRIC_NAMES)


def test_a_card_names_data_metrics_and_citation() -> None:
    report = report_of_a_run(run="abc123abc123")
    card = render_model_card(report, CONFIG, "me/m")
    data = loaded(card).data
    assert data.datasets == ["xanhho/2WikiMultihopQA"]
    assert data.metrics == ["exact_match", "f1"]
    assert {one.dataset_type for one in data.eval_results} == {"xanhho/2WikiMultihopQA"}
    assert "ho-etal-2020-constructing" in card
    assert "https://huggingface.co/datasets/xanhho/2WikiMultihopQA" in card
    assert "| run | `abc123abc123` (" in card


def test_a_card_of_a_world_names_no_data_set_of_the_hub() -> None:
    report = report_of_a_run()
    for split in ("train", "validation"):
        report["data"][split] |= {"source": "world people=99", "config": "world"}
    for source in ("world people=99", "data_w"):
        report["data"]["validation"]["source"] = source
        card = render_model_card(report, CONFIG, "me/m")
        data = loaded(card).data
        assert data.datasets is None
        assert {one.dataset_type for one in data.eval_results} == {"world"}
        assert {one.dataset_config for one in data.eval_results} == {"world"}
        assert {one.dataset_name for one in data.eval_results} == {"questions on a fictional world"}
        assert "has the form and the method of the following paper" in card
        assert "data_ids_april7" not in card
