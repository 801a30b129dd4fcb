"""Text-to-text runs from start to end: resumed bit by bit, the six cells, both kinds of models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import twowiki
from tests.arc_da_files import arc_da, read_lines, write_lines
from tests.science_world import write_world
from tests.text_runs import losses, metrics, read, run_training
from tests.tiny_data import tiny_examples
from twowiki.arc_da.metric.report import ArcDaSettings, score_system, summarize_system
from twowiki.arc_da.sources import read_gold_questions
from twowiki.data.schema import to_official
from twowiki.hub.model_card import is_unedited

pytestmark = pytest.mark.slow
FEW = {
    "max_steps": 9,
    "num_train_epochs": 3,
    "per_device_train_batch_size": 16,
    "logging_steps": 1,
    "eval_steps": 9,
    "dropout": 0.1,
    "max_new_tokens": 3,
    "tiny_width": 32,
    "max_train_samples": 40,
    "max_eval_samples": 20,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_world(tmp_path_factory.mktemp("world"))


def science(world: dict[str, Path], **settings: Any) -> dict[str, Any]:
    return {
        "task": "arc_da",
        "train_file": world["train"],
        "validation_file": world["dev"],
        "contexts": world["contexts"],
        **FEW,
        **settings,
    }


def last_weights(output: Path) -> dict[str, torch.Tensor]:
    folder = max(output.glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
    return load_file(folder / "model.safetensors")


CASES = {
    "T5, adafactor, both kinds, drawn anew": {"optim": "adafactor", "resample": "yes"},
    "language model, adapters": {
        "model_name_or_path": "tiny-causal",
        "lora_r": 2,
        "preset": "plain",
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_broke_off_goes_on_as_if_it_had_not(
    case: str, world: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = science(world, arc=world["arc"], **CASES[case])
    run_training(tmp_path / "whole", **settings)
    run_training(tmp_path / "broken", **{**settings, "max_steps": 4, "save_steps": 4})
    run_training(tmp_path / "broken", **settings, resume_from_checkpoint="auto")
    assert len(losses(tmp_path / "whole")) == 9
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    whole, broken = last_weights(tmp_path / "whole"), last_weights(tmp_path / "broken")
    for name, value in whole.items():
        torch.testing.assert_close(broken[name], value, atol=0, rtol=0)
    changed = {**settings, "n_a": 2, "resume_from_checkpoint": "auto"}
    assert run_training(tmp_path / "broken", check=False, **changed) == 2
    assert "n_a" in capsys.readouterr().err


def test_a_run_leaves_everything_that_it_promises(
    world: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_training(tmp_path / "out", **science(world, arc=world["arc"], num_beams=2))
    printed = capsys.readouterr().out
    report, scores = read(tmp_path / "out", "report.json"), read(tmp_path / "out", "scores.json")
    assert report["decoding"] == {"num_beams": 2, "max_new_tokens": 3}
    assert report["format"]["preset"] == "arcda"
    assert report["model"] == "tiny-t5"
    assert report["data"]["contamination"] == "unknown"
    assert report["data"]["echo"]["f1"] == 0.0
    assert report["data"]["contexts"].keys() == {"contexts.jsonl"}
    assert report["config"]["n_a"] == 4
    assert scores["signature"] in printed
    assert (tmp_path / "out" / "curves.png").read_bytes().startswith(b"\x89PNG")
    said = read(tmp_path / "out", "predictions.json")
    gold = {k: v for k, v in read_gold_questions(world["dev"]).items() if k in said}
    assert len(gold) == len(said) == 20
    again = summarize_system(score_system(gold, said), ArcDaSettings(resamples=1000))
    assert again["f1"] == scores["metrics"]["f1"]
    assert again["signature"] == scores["signature"]
    rows = read(tmp_path / "out", "rows.json")
    assert [row["question_id"] for row in rows] == list(gold)
    assert {row["sentences"] for row in rows} == {1}
    mc = read(tmp_path / "out", "mc_scores.json")
    assert mc["accuracy"] == scores["metrics"]["mc_accuracy"]
    chosen = read(tmp_path / "out", "mc_predictions.json")
    assert len(chosen) == 20
    assert all(name.startswith("ARCEZ_dev_mc_") for name in chosen)
    card = (tmp_path / "out" / "best" / "README.md").read_text(encoding="utf-8")
    assert '"preset": "arcda"' in card
    assert f"| all | 20 | {scores['metrics']['f1']:.2f} |" in card
    assert "model-index:" in card
    assert is_unedited(card)


def test_the_best_model_says_elsewhere_what_it_said_in_training(
    world: dict[str, Path], tmp_path: Path
) -> None:
    from twowiki.cli.main import main

    for name, extra in (
        ("t5", {}),
        ("causal", {"model_name_or_path": "tiny-causal", "num_beams": 2}),
    ):
        out = tmp_path / name
        run_training(out, **science(world, **extra))
        drawn = read(out, "predictions.json")
        lines = [one for one in read_lines(world["dev"]) if one["question_id"] in drawn]
        dev = write_lines(tmp_path / f"{name}.jsonl", lines)
        said = tmp_path / f"{name}_said.json"
        flags = ["--task", "arc_da", "--contexts", str(world["contexts"]), "--batch-size", "3"]
        assert main(["predict", "--model", str(out / "best"), *flags, str(dev), str(said)]) == 0
        assert json.loads(said.read_text("utf-8")) == read(out, "predictions.json")


def test_what_must_not_be_trained_on_stops_a_run(
    world: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = [*read_lines(world["train"])[:8], read_lines(world["dev"])[0]]
    train = write_lines(tmp_path / "train.jsonl", planted)
    settings = science(world, train_file=train)
    assert run_training(tmp_path / "out", check=False, **settings) == 2
    assert "ARCEZ_dev_0" in capsys.readouterr().err
    start = {**science(world), "max_steps": 1}
    run_training(tmp_path / "start", **start)
    other = {**start, "model_name_or_path": tmp_path / "start" / "best", "preset": "unifiedqa"}
    assert run_training(tmp_path / "other", check=False, **other) == 2
    assert "--preset arcda" in capsys.readouterr().err


CELLS = {
    "t5_da": ("tiny-t5", False, False),
    "t5_da_ir": ("tiny-t5", True, False),
    "uqa_da": ("start", False, False),
    "uqa_da_ir": ("start", True, False),
    "uqa_damc": ("start", False, True),
    "uqa_damc_ir": ("start", True, True),
}


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The real questions, sentences of the stand-in corpus, a start on multiple choice alone."""
    folder = tmp_path_factory.mktemp("real")
    assert arc_da("index", shared / "data/two_wiki/corpus_6119.json", folder / "index") == 0
    for kind, questions in (("da", "arc_da"), ("mc", "arc")):
        data, out = shared / "data" / questions, folder / f"{kind}.jsonl"
        assert arc_da("retrieve", folder / "index", data, out, "--kind", kind) == 0
    data = {"data_dir": shared / "data/arc_da", "arc": shared / "data/arc", "folder": folder}
    settings = {**cell_settings(data), "max_eval_samples": 50, "max_new_tokens": 2}
    run_training(
        folder / "start",
        **settings,
        arc=data["arc"],
        direct_answers="no",
        metric_for_best_model="mc_accuracy",
    )
    return data


def cell_settings(real: dict[str, Any]) -> dict[str, Any]:
    return {
        "task": "arc_da",
        "data_dir": real["data_dir"],
        "max_steps": 12,
        "tiny_width": 32,
        "tiny_vocabulary": 1500,
        "max_source_length": 192,
        "max_new_tokens": 4,
    }


def drawn_answers(real: dict[str, Any]) -> int:
    """Count instances of all training questions: at most four of one's different answers."""
    questions = read_gold_questions(real["data_dir"], split="train")
    return sum(
        min(4, len({" ".join(answer.split()) for answer in question.answers}))
        for question in questions.values()
    )


@pytest.mark.parametrize("cell", CELLS)
def test_each_cell_of_the_papers_matrix_runs_on_the_real_questions(
    cell: str, real: dict[str, Any], tmp_path: Path
) -> None:
    start, with_sentences, with_choice = CELLS[cell]
    folder = real["folder"]
    settings = cell_settings(real)
    settings["model_name_or_path"] = start if start == "tiny-t5" else folder / "start" / "best"
    if with_sentences:
        settings |= {"contexts": folder / "da.jsonl", "mc_contexts": folder / "mc.jsonl"}
    if with_choice:
        settings["arc"] = real["arc"]
    run_training(tmp_path / cell, **settings)
    report = read(tmp_path / cell, "report.json")
    data = report["data"]
    # one asks what a dev question asks, another (and three of 3,370) what dev's choices ask
    assert data["train"]["questions"] == (1248 if with_choice else 1249)
    assert data["validation"]["questions"] == 338
    assert data["train"]["multiple_choice"] == (3367 if with_choice else 0)
    direct, drawn = drawn_answers(real), data["train"]["instances_an_epoch"]
    left_out = direct - (drawn / 2 if with_choice else drawn)
    assert 1 <= left_out <= (8 if with_choice else 4)
    assert {"f1", "rougeL"} <= set(metrics(tmp_path / cell))
    assert ("mc_accuracy" in metrics(tmp_path / cell)) == with_choice
    assert report["format"]["sentences"] == (10 if with_sentences else 0)
    assert 5 < data["echo"]["f1"] < 10
    assert len(read(tmp_path / cell, "predictions.json")) == 338


def test_multihop_questions_are_learnt_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = [to_official(one) for one in tiny_examples(6, seed=3)]
    short = [
        {**one, "context": [c for c in one["context"]
                            if c[0] in {fact[0] for fact in one["supporting_facts"]}]}
        for one in examples
    ]  # fmt: skip
    data = tmp_path / "train.json"
    data.write_text(json.dumps(short), encoding="utf-8")
    settings = {
        "task": "two_wiki_text",
        "train_file": data,
        "validation_file": data,
        "max_steps": 250,
        "per_device_train_batch_size": 6,
        "max_new_tokens": 120,
        "tiny_vocabulary": 600,
    }
    run_training(tmp_path / "out", **settings)
    report = read(tmp_path / "out", "report.json")
    assert report["ceiling"]["metrics"]["joint_em"] == 100.0
    scores = read(tmp_path / "out", "scores.json")
    assert scores["metrics"]["sp_f1"] >= 60
    assert scores["metrics"]["f1"] >= 60
    assert "no form" not in scores["faults"]
    again = twowiki.score(str(tmp_path / "out" / "predictions.json"), str(data))
    assert again.metrics == scores["metrics"]
    assert "ceiling of the text form (6 examples)" in capsys.readouterr().out
