"""Training the encoder: the run end to end, resumed, with adapters, from another run's model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import load_file

from tests.small_encoder import model_and_records, settings
from tests.small_model import examples
from twowiki.cli.main import main
from twowiki.data.schema import to_official
from twowiki.errors import DataError
from twowiki.models.labels import LABEL_NAMES
from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA
from twowiki.models.processing_encoder import EncoderCollator
from twowiki.training.adapters import add_adapters, has_adapters, merged_weights
from twowiki.training.encoder import (
    EncoderConfig,
    EncoderTask,
    add_relations,
    load_saved,
    make_encoder_optimizer,
)
from twowiki.training.evaluation import score_predictions, to_prediction
from twowiki.training.hf_trainer import joint_metrics
from twowiki.training.task import read_config, task_of
from twowiki.training.tiny_data import tiny_examples

ROOT = Path(__file__).parents[2]
SMALL = (
    "--task encoder --tiny_examples 24 --epochs 3 --batch_size 4 --eval_batch_size 3 "
    "--log_every 1 --max_validation_examples 9 --patience 0 --head_size 16 --triple_slots 5 "
    "--dropout 0.1 --learning_rate 1e-3 --head_learning_rate 3e-3 --warmup_steps 2 "
    "--schedule constant --window_tokens 200 --window_stride 8"
).split()


def save_backbone(folder: Path, kind: str = "bert") -> Path:
    """A tiny encoder as a folder that a run can start from."""
    model, _ = model_and_records(kind, examples()[:1])
    model.backbone.save_pretrained(folder)
    _, tokenizer = settings(kind)
    tokenizer.save_pretrained(folder)
    return folder


def run(backbone: Path, output: Path, *flags: str, check: bool = True) -> Any:
    command = [sys.executable, str(ROOT / "train.py"), *SMALL, "--backbone", str(backbone)]
    command += ["--output_dir", str(output), *flags]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=400, cwd=ROOT
    )
    if check:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def report(output: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((output / "report.json").read_text(encoding="utf-8"))
    return read


def losses(output: Path) -> list[float]:
    return [record["loss"] for record in report(output)["history"] if "loss" in record]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_backbone(tmp_path_factory.mktemp("backbone") / "tiny bert")


@pytest.fixture(scope="module")
def unbroken(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("run") / "unbroken"
    done = run(backbone, output)
    (output / "printed.txt").write_text(done.stdout, encoding="utf-8")
    return output


@pytest.mark.slow
def test_a_run_leaves_a_model_that_predicts_what_its_file_says(
    unbroken: Path, tmp_path: Path
) -> None:
    said, printed = report(unbroken), (unbroken / "printed.txt").read_text(encoding="utf-8")
    assert said["steps"] == 18
    assert said["ceiling"]["metrics"]["sp_em"] == 100.0
    assert set(said["scores"]["without"]) == {"chain_consistency", "derive_answers"}
    assert "without derive_answers: joint_f1" in printed
    assert said["scores"]["signature"] in printed.strip().splitlines()[-1]
    assert said["model_config"]["backbone_name"] == "tiny bert"
    assert sum(losses(unbroken)[-4:]) < sum(losses(unbroken)[:4])
    records = [to_official(example) for example in tiny_examples(9, seed=8)]
    (tmp_path / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    out = tmp_path / "out.json"
    assert main(["predict", str(unbroken / "best"), str(tmp_path / "dev.json"), str(out)]) == 0
    written = json.loads((unbroken / "predictions.json").read_text(encoding="utf-8"))
    assert json.loads(out.read_text(encoding="utf-8")) == written


@pytest.mark.slow
def test_a_run_that_broke_off_goes_on_as_if_it_had_not(
    unbroken: Path, backbone: Path, tmp_path: Path
) -> None:
    output = tmp_path / "broken"
    run(backbone, output, "--max_steps", "8", "--save_every", "8")
    run(backbone, output, "--resume", "auto")
    assert losses(output) == losses(unbroken)
    name = "checkpoints/step_18/model/model.safetensors"
    mine, theirs = load_file(output / name), load_file(unbroken / name)
    for key, value in theirs.items():
        torch.testing.assert_close(mine[key], value, atol=0, rtol=0)
    refused = run(backbone, output, "--resume", "auto", "--layer_decay", "0.5", check=False)
    assert refused.returncode == 2
    assert "layer_decay" in refused.stderr


@pytest.mark.slow
def test_a_run_with_adapters_resumes_and_leaves_plain_weights(
    backbone: Path, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    flags = ["--lora_rank", "2", "--gradient_checkpointing", "--epochs", "1"]
    run(backbone, tmp_path / "whole", *flags)
    run(backbone, tmp_path / "broken", *flags, "--max_steps", "3", "--save_every", "3")
    run(backbone, tmp_path / "broken", *flags, "--resume", "auto")
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    weights = load_file(tmp_path / "whole" / "best" / "model.safetensors")
    assert not any("lora" in name or "base_layer" in name for name in weights)
    model = TwoWikiEncoderForMultihopQA.from_pretrained(tmp_path / "whole" / "best")
    given = list(tiny_examples(9, seed=8))
    written = json.loads((tmp_path / "whole" / "predictions.json").read_text(encoding="utf-8"))
    for example, said in zip(given, model.answer(given), strict=True):
        assert written["answer"][example.id] == said.answer


def test_adapters_change_only_themselves_and_merge_exactly() -> None:
    pytest.importorskip("peft")
    model, records = model_and_records("bert", examples()[:2])
    batch = EncoderCollator(model.config)(records)
    before = model(**batch).start_logits
    names = set(model.state_dict())
    add_adapters(model.backbone, rank=2, alpha=4, targets="all-linear")
    assert has_adapters(model)
    torch.testing.assert_close(model(**batch).start_logits, before)  # they start as nothing
    trained = [n for n, p in model.named_parameters() if p.requires_grad and "backbone" in n]
    assert trained
    assert all("lora_" in name for name in trained)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(0, 0.1)
    after = model(**batch).start_logits
    assert (after - before).abs().max() > 1e-3
    state = merged_weights(model)
    assert set(state) == names
    plain = TwoWikiEncoderForMultihopQA(model.config).eval()
    plain.load_state_dict(state)
    torch.testing.assert_close(plain(**batch).start_logits, after, atol=1e-5, rtol=0)
    other, _ = model_and_records("bert", examples()[:1])
    with pytest.raises(ValueError, match="nothing_like_it"):
        add_adapters(other.backbone, rank=2, alpha=4, targets="nothing_like_it")


def test_rates_fall_with_depth_and_heads_have_their_own() -> None:
    model, _ = model_and_records("bert", examples()[:1])
    config = EncoderConfig(
        backbone="x", learning_rate=1e-4, head_learning_rate=1e-3, layer_decay=0.5
    )
    optimizer = make_encoder_optimizer(model, config)
    rate_of = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    rates = {name: rate_of[id(p)] for name, p in model.named_parameters()}
    assert len(rate_of) == len(list(model.parameters()))
    assert rates["relation_head.weight"] == pytest.approx(1e-3)
    assert rates["backbone.encoder.layer.1.output.dense.weight"] == pytest.approx(1e-4)
    assert rates["backbone.encoder.layer.0.output.dense.weight"] == pytest.approx(5e-5)
    assert rates["backbone.embeddings.word_embeddings.weight"] == pytest.approx(2.5e-5)


def test_relations_that_a_model_does_not_know_are_added_and_the_others_stay(
    tmp_path: Path,
) -> None:
    model, records = model_and_records("bert", examples()[:2])
    batch = EncoderCollator(model.config)(records)
    before, known = model(**batch).relation_logits, list(model.config.relations)
    add_relations(model, ["place of burial", "spouse of note"])
    after = model(**batch).relation_logits
    assert model.config.relations == [*known, "place of burial", "spouse of note"]
    torch.testing.assert_close(after[..., : len(known)], before[..., :-1])
    torch.testing.assert_close(after[..., -1], before[..., -1])
    model.save_pretrained(tmp_path)
    options = {"support_threshold": 0.3, "backbone_dropout": 0.25}
    config = EncoderConfig(init_from=str(tmp_path), model_options=options)
    again = load_saved(config, tmp_path, ["another", *known])
    assert again.config.relations[-1] == "another"
    assert again.config.support_threshold == 0.3
    assert again.backbone.encoder.layer[0].output.dropout.p == 0.25
    with pytest.raises(DataError, match="512 tokens"):
        load_saved(EncoderConfig(model_options={"window_tokens": 999}), tmp_path, known)
    assert again.relation_head.out_features == len(known) + 4


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "backbone"),
        (["--backbone", "no/such folder"], "backbone"),
        (["--backbone", "b", "--layer_decay", "0"], "layer_decay"),
        (["--backbone", "b", "--lora_rank", "-1"], "lora_rank"),
        (["--backbone", "b", "--metric", "bleu"], "metric"),
        (["--backbone", "b", "--tripel_slots", "3"], "unrecognized"),
    ],
)
def test_settings_that_no_run_can_have_are_named(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--task", "encoder", "--output_dir", str(tmp_path), "--tiny_examples", "4"]

    def start() -> None:
        config = read_config([*arguments, *flags])
        config.check()
        task_of(config).prepare(None)

    with pytest.raises((DataError, SystemExit)) as raised:
        start()
    assert said in str(raised.value) + capsys.readouterr().err


def test_model_options_are_settings_with_their_help() -> None:
    options, texts = EncoderConfig.option_types(), EncoderConfig.option_texts()
    assert {"triple_slots", "chain_consistency", "derive_answers", "window_tokens"} <= set(options)
    assert set(options) <= set(texts)
    assert not {"relations", "backbone_config", "title_marker_id"} & set(options)
    config = read_config(["--task", "encoder", "--backbone", "b", "--derive_answers", "no"])
    assert config.model_options == {"derive_answers": False}


def test_a_task_trains_on_files_and_loses_nothing(tmp_path: Path, backbone: Path) -> None:
    records = [to_official(example) for example in examples()[:6]]
    for name in ("train.json", "dev.json"):
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    config = EncoderConfig(
        backbone=str(backbone), data_dir=str(tmp_path), output_dir=str(tmp_path / "run")
    )
    task = EncoderTask(config)
    task.prepare(None)
    assert len(task.prepared.train) == 6
    model = task.build_model().eval()
    _, loader = task.make_loaders(4)
    predicted = dict(task.predict(model, loader))
    assert sorted(predicted) == list(range(6))
    outcome = task.score(predicted)
    assert list(outcome.files["predictions.json"]["answer"]) == [r["_id"] for r in records]
    assert outcome.metrics["joint_f1"] < 50
    assert task.report()["ceiling"]["metrics"]["joint_f1"] == 100.0
    task.save(model, tmp_path / "saved")
    again = TwoWikiEncoderForMultihopQA.from_pretrained(tmp_path / "saved")
    said = again.answer(examples()[:6])
    assert [one.answer for one in said] == list(
        outcome.files["predictions.json"]["answer"].values()
    )


@pytest.mark.slow
def test_the_trainer_of_transformers_trains_and_scores_it(tmp_path: Path) -> None:
    from transformers import Trainer, TrainingArguments

    given = examples()[:4]
    model, records = model_and_records("bert", given, window_tokens=128, window_stride=8)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=2,
            per_device_eval_batch_size=3,
            max_steps=2,
            label_names=LABEL_NAMES,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            dataloader_pin_memory=False,
        ),
        data_collator=EncoderCollator(model.config),
        train_dataset=records,  # type: ignore[arg-type]
        eval_dataset=records,  # type: ignore[arg-type]
        compute_metrics=joint_metrics(records, given, model.config),
    )
    trainer.train()
    metrics = trainer.evaluate()
    assert numpy.isfinite(metrics["eval_loss"])
    said = [to_prediction(answer) for answer in model.answer(given)]
    scored = score_predictions(given, said)
    assert metrics["eval_joint_f1"] == scored.metrics["joint_f1"]
    assert metrics["eval_sp_f1"] == pytest.approx(scored.metrics["sp_f1"])
    trainer.save_model(str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "modeling_encoder.py").is_file()
