"""Training end to end, as users start it: one process and two, broken off and resumed."""

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

import twowiki
from tests.small_model import examples, model_and_windows, setting
from twowiki.data.schema import Example, to_official
from twowiki.models.labels import LABEL_NAMES
from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA
from twowiki.models.processing_baseline import BaselineCollator
from twowiki.training.tiny_data import tiny_examples

ROOT = Path(__file__).parents[2]
SMALL = (
    "--tiny_examples 24 --epochs 3 --batch_size 4 --eval_batch_size 3 --log_every 1 "
    "--max_validation_examples 9 --patience 0 --word_dim 12 --hidden_size 8 --char_hidden 6 "
    "--relation_dim 6 --dropout 0.1 --learning_rate 1e-2 --warmup_steps 2 "
    "--schedule constant"
).split()
TWO = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "29517"]


def run(output: Path, *flags: str, two: bool = False, check: bool = True) -> Any:
    """Start train.py as a user does; a gloo run that died at its exit is started once more."""
    command = [sys.executable, *(TWO if two else []), str(ROOT / "train.py")]
    command += ["--output_dir", str(output), *SMALL, *flags]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    for attempt in range(2):
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=400, cwd=ROOT
        )
        if done.returncode == 0 or not (two and attempt == 0 and "SIGABRT" in done.stderr):
            break
    if check:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def report(output: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((output / "report.json").read_text(encoding="utf-8"))
    return read


def losses(output: Path) -> list[float]:
    return [record["loss"] for record in report(output)["history"] if "loss" in record]


def weights(output: Path) -> dict[str, torch.Tensor]:
    last = sorted((output / "checkpoints").glob("step_*"), key=lambda p: int(p.name[5:]))[-1]
    return load_file(last / "model" / "model.safetensors")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 18 steps, with what it printed in printed.txt."""
    output = tmp_path_factory.mktemp("run") / "unbroken"
    done = run(output, "--trackers", "tensorboard")
    (output / "printed.txt").write_text(done.stdout, encoding="utf-8")
    return output


@pytest.mark.slow
def test_a_run_leaves_everything_that_it_promises(unbroken: Path) -> None:
    said, printed = report(unbroken), (unbroken / "printed.txt").read_text(encoding="utf-8")
    assert said["steps"] == 18
    assert said["hardware"]["processes"] == 1
    assert said["config"]["seed"] == 13
    assert said["versions"]["torch"] == torch.__version__
    assert said["data"]["train"]["content"] != said["data"]["validation"]["content"]
    assert said["ceiling"]["metrics"]["sp_em"] == 100.0
    assert set(said["scores"]["by_type"]) <= set(said["ceiling"]["by_type"])
    signature = said["scores"]["signature"]
    assert signature in printed.strip().splitlines()[-1]
    assert "joint_f1" in printed.strip().splitlines()[-1]
    assert sum(losses(unbroken)[-4:]) < sum(losses(unbroken)[:4])
    assert (unbroken / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list(unbroken.rglob("events.out.tfevents*"))
    names = sorted(path.name for path in (unbroken / "checkpoints").iterdir())
    assert names == ["step_12", "step_18"]


@pytest.mark.slow
def test_the_prediction_file_scores_as_the_report_says(unbroken: Path) -> None:
    gold = [to_official(e) for e in tiny_examples(9, seed=8)]
    scored = twowiki.score(str(unbroken / "predictions.json"), gold)
    assert scored.metrics == report(unbroken)["scores"]["metrics"]
    assert not scored.missing_ids


@pytest.mark.slow
def test_a_run_that_broke_off_inside_an_epoch_goes_on_as_if_it_had_not(
    unbroken: Path, tmp_path: Path
) -> None:
    output = tmp_path / "broken"
    run(output, "--max_steps", "8", "--save_every", "8")
    run(output, "--resume", "auto")
    assert losses(output) == losses(unbroken)
    mine, theirs = weights(output), weights(unbroken)
    for name, value in theirs.items():
        torch.testing.assert_close(mine[name], value, atol=0, rtol=0)
    refused = run(output, "--resume", "auto", "--learning_rate", "1.0", check=False)
    assert refused.returncode == 2
    assert "learning_rate" in refused.stderr


@pytest.mark.slow
def test_the_seed_decides_the_losses(unbroken: Path, tmp_path: Path) -> None:
    run(tmp_path / "same", "--max_steps", "5")
    run(tmp_path / "other", "--max_steps", "5", "--seed", "14")
    assert losses(tmp_path / "same") == losses(unbroken)[:5]
    assert losses(tmp_path / "other") != losses(unbroken)[:5]


@pytest.mark.slow
def test_two_processes_predict_each_example_once_and_score_as_one(tmp_path: Path) -> None:
    two = tmp_path / "two"
    run(two, "--max_steps", "2", "--dropout", "0.0", "--save_every", "1", two=True)
    assert report(two)["hardware"]["processes"] == 2
    predictions = json.loads((two / "predictions.json").read_text(encoding="utf-8"))
    assert sorted(predictions["answer"]) == sorted(e.id for e in tiny_examples(9, seed=8))
    # the model of two processes, asked in one: the same predictions
    model = TwoWikiBaselineForMultihopQA.from_pretrained(two / "best")
    given = list(tiny_examples(9, seed=8))
    for example, said in zip(given, model.answer(given), strict=True):
        assert predictions["answer"][example.id] == said.answer
        assert predictions["sp"][example.id] == [list(fact) for fact in said.supporting_facts]
    resumed = run(
        two,
        "--max_steps",
        "3",
        "--dropout",
        "0.0",
        "--save_every",
        "1",
        "--resume",
        "auto",
        two=True,
    )
    assert "going on from" in resumed.stdout
    assert report(two)["steps"] == 3


@pytest.mark.slow
def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    done = run(tmp_path / "nan", "--learning_rate", "1e30", "--clip_norm", "0", check=False)
    assert done.returncode == 2
    assert "the loss is nan at step" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_files_of_real_form_train_and_the_model_predicts_from_a_shell(tmp_path: Path) -> None:
    given = list(tiny_examples(20, seed=5))
    for name, part in (("train.json", given[:14]), ("dev.json", given[14:])):
        records = [to_official(example, config="data") for example in part]
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    output = tmp_path / "out"
    run(output, "--data_dir", str(tmp_path), "--max_steps", "2", "--settings", "reproduce",
        "--splitter", "words", "--hidden_size", "8")  # fmt: skip
    assert report(output)["config"]["optimizer"] == "sgd"
    command = [sys.executable, "-m", "twowiki", "predict", str(output / "best")]
    command += [str(tmp_path / "dev.json"), str(tmp_path / "said.json"), "--part", "4"]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    again = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
    assert sorted(again["answer"]) == sorted(example.id for example in given[14:])


@pytest.mark.slow
def test_the_trainer_of_transformers_trains_and_scores_it(tmp_path: Path) -> None:
    from transformers import Trainer, TrainingArguments

    from twowiki.training.hf_trainer import joint_metrics

    given: list[Example] = examples()[:4]
    model, windows = model_and_windows(setting(), given)
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
        data_collator=BaselineCollator(model.config),
        train_dataset=windows,  # type: ignore[arg-type]
        eval_dataset=windows,  # type: ignore[arg-type]
        processing_class=model.answer_tokenizer,
        compute_metrics=joint_metrics(windows, given, model.config),
    )
    trainer.train()
    metrics = trainer.evaluate()
    assert numpy.isfinite(metrics["eval_loss"])
    answers = model.answer(given)
    from twowiki.training.evaluation import score_predictions, to_prediction

    scored = score_predictions(given, [to_prediction(answer) for answer in answers])
    assert metrics["eval_joint_f1"] == scored.metrics["joint_f1"]
    assert metrics["eval_sp_f1"] == pytest.approx(scored.metrics["sp_f1"])
    trainer.save_model(str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "modeling_baseline.py").is_file()


FRESH = """
import sys, json
sys.modules["twowiki"] = None
from transformers import AutoModel, AutoTokenizer
model = AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], trust_remote_code=True)
said = model.predict("Who?", [("A b", ["A b is here.", "C."])])
model.save_pretrained(sys.argv[2])
tokenizer.save_pretrained(sys.argv[2])
print(json.dumps(said["sentences"]))
"""


@pytest.mark.slow
def test_a_saved_folder_works_where_the_package_is_not(tmp_path: Path) -> None:
    model, _ = model_and_windows()
    first, second = tmp_path / "run 1.5-a", tmp_path / "again"
    model.save_pretrained(first)
    model.answer_tokenizer.save_pretrained(first)
    config = json.loads((first / "config.json").read_text(encoding="utf-8"))
    assert not any("--" in value for value in config["auto_map"].values())
    expected = model.predict("Who?", [("A b", ["A b is here.", "C."])])["sentences"]
    for place, target, folder in ((".", second, first), (str(second), tmp_path / "x", tmp_path)):
        environment = {
            **os.environ,
            "HF_HOME": str(tmp_path / f"home {target.name}"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": "",
        }
        done = subprocess.run(
            [sys.executable, "-c", FRESH, place, str(target)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        said = json.loads(done.stdout.strip().splitlines()[-1])
        for one, other in zip(said, expected, strict=True):
            assert one["score"] == pytest.approx(other["score"], abs=1e-6)
        assert {path.name for path in first.glob("*.py")} == {p.name for p in target.glob("*.py")}


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_made_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    from twowiki import train
    from twowiki.training import evaluation

    make_loader = evaluation.make_loader

    def too_big(*given: Any, batch_size: int, **options: Any) -> Any:
        if options["training"] and batch_size > 3:
            raise RuntimeError("CUDA out of memory.")
        return make_loader(*given, batch_size=batch_size, **options)

    monkeypatch.setattr(evaluation, "make_loader", too_big)
    assert train.main(["--output_dir", str(tmp_path), *SMALL, "--max_steps", "2"]) == 0
    assert "out of memory: going on with batches of 3, not 4" in capsys.readouterr().out
    assert report(tmp_path)["batch_size"] == 3


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--push_to_hub", "--hub_repo", "nowhere"], "hub_repo"),
        (["--mixed_precision", "fp16"], "mixed_precision"),
        (["--batch_size", "0"], "batch_size"),
        (["--metric", "joint"], "metric"),
        (["--train_file", "absent.json", "--validation_file", "absent.json"], "absent.json"),
    ],
)
def test_what_cannot_work_is_said_before_training(
    flags: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    from twowiki import train

    assert train.main(["--output_dir", str(tmp_path), *SMALL, "--max_steps", "1", *flags]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_real_items_are_learnt_by_heart(shared: Path) -> None:
    """Train = test: a sanity check on real data, no measure of quality."""
    command = [
        sys.executable,
        str(ROOT / "bench" / "overfit_real.py"),
        "--short",
        "--minutes",
        "12",
    ]
    command.append(str(shared / "data" / "two_wiki" / "dev250.json"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
