"""Training end to end, as users start it: both models, two processes, broken off and resumed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

import twowiki
from tests.small_model import examples
from tests.text_runs import forget_processes
from tests.tiny_data import tiny_examples, tiny_files
from tests.training.runs import ROOT, losses, report, run, save_backbone, small_flags, weights
from twowiki.cli.main import main
from twowiki.data.schema import Example, to_official
from twowiki.errors import DataError
from twowiki.hub.push import plan_push
from twowiki.io.ownership import MARK

pytestmark = pytest.mark.slow


class Unbroken(NamedTuple):
    """A run of 18 steps, the flags that it was started with, and what it printed."""

    output: Path
    task: str
    flags: list[str]
    printed: str


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags that name the files of 24 training and 9 validation questions."""
    return tiny_files(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=["baseline", "encoder"])
def unbroken(
    request: pytest.FixtureRequest, data: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Unbroken:
    output, flags = tmp_path_factory.mktemp("run") / "unbroken", [*data]
    if request.param == "encoder":
        backbone = save_backbone(tmp_path_factory.mktemp("backbone") / "tiny bert")
        flags += ["--model_name_or_path", str(backbone)]
    done = run(output, *flags, "--report_to", "tensorboard", task=request.param)
    return Unbroken(output, request.param, flags, done.stdout)


def test_a_run_leaves_everything_that_it_promises(unbroken: Unbroken) -> None:
    import torch

    output, found = unbroken.output, report(unbroken.output)
    assert found["steps"] == 18
    assert found["hardware"]["processes"] == 1
    assert found["config"]["seed"] == 13
    assert found["versions"]["torch"] == torch.__version__
    assert found["data"]["train"]["content"] != found["data"]["validation"]["content"]
    assert found["ceiling"]["metrics"]["sp_em"] == 100.0
    assert set(found["scores"]["by_type"]) <= set(found["ceiling"]["by_type"])
    signed = next(
        line for line in unbroken.printed.splitlines() if found["scores"]["signature"] in line
    )
    assert "joint_f1" in signed
    assert sum(losses(output)[-4:]) < sum(losses(output)[:4])
    assert (output / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert list(output.rglob("events.out.tfevents*"))
    assert sorted(path.name for path in output.glob("checkpoint*")) == [
        "checkpoint-12", "checkpoint-18"
    ]  # fmt: skip
    if unbroken.task == "encoder":
        assert set(found["scores"]["without"]) == {
            "chain_consistency", "support_from_triples", "derive_answers", "chain_answers",
        }  # fmt: skip
        assert "without derive_answers: joint_f1" in unbroken.printed
        assert found["model_config"]["backbone_name"] == "tiny bert"


def test_the_best_model_predicts_what_its_file_holds_and_scores_as_reported(
    unbroken: Unbroken, tmp_path: Path
) -> None:
    records = [to_official(example) for example in tiny_examples(9, seed=8)]
    path = unbroken.output / "predictions.json"
    scored = twowiki.score(str(path), records)
    assert scored.metrics == report(unbroken.output)["scores"]["metrics"]
    assert not scored.missing_ids
    (tmp_path / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    best, out = str(unbroken.output / "best"), tmp_path / "out.json"
    flags = ["--batch-size", "3"]  # near ties depend on the batch
    assert main(["predict", best, str(tmp_path / "dev.json"), str(out), *flags]) == 0
    found = json.loads(out.read_text("utf-8"))
    assert found.pop("made_by")["step"] == 18
    assert found == json.loads(path.read_text("utf-8"))


def test_a_run_that_broke_off_inside_an_epoch_continues_as_if_it_had_not(
    unbroken: Unbroken, tmp_path: Path
) -> None:
    import torch

    output, flags = tmp_path / "broken", unbroken.flags
    run(output, *flags, "--max_steps", "8", "--save_steps", "8", task=unbroken.task)
    resume = [*flags, "--resume_from_checkpoint", "auto"]
    run(output, *resume, task=unbroken.task)
    assert losses(output) == losses(unbroken.output)
    mine, theirs = weights(output), weights(unbroken.output)
    for name, value in theirs.items():
        torch.testing.assert_close(mine[name], value, atol=0, rtol=0)
    for changes, problem in (
        ([*resume, "--weight_decay", "0.5"], "weight_decay"),
        (flags, "holds a run already"),
    ):
        refused = run(output, *changes, task=unbroken.task, check=False)
        assert refused.returncode == 2
        assert problem in refused.stderr


def test_the_seed_decides_the_losses(data: list[str], tmp_path: Path) -> None:
    for name, seed in (("one", "13"), ("same", "13"), ("other", "14")):
        run(tmp_path / name, *data, "--max_steps", "3", "--seed", seed)
    assert losses(tmp_path / "same") == losses(tmp_path / "one")
    assert losses(tmp_path / "other") != losses(tmp_path / "one")


def test_a_new_run_replaces_an_older_one_on_request(data: list[str], tmp_path: Path) -> None:
    output = tmp_path / "run"
    run(output, *data, "--max_steps", "2", "--save_steps", "1")
    run(output, *data, "--max_steps", "1", "--overwrite_output_dir")
    assert report(output)["steps"] == 1
    assert [path.name for path in output.glob("checkpoint*")] == ["checkpoint-1"]


def test_two_processes_predict_each_example_once_and_score_as_one(
    data: list[str], tmp_path: Path
) -> None:
    from twowiki.models.modeling_baseline import TwoWikiBaselineForMultihopQA

    two = tmp_path / "two"
    flags = [*data, "--dropout", "0.0", "--save_steps", "1"]
    run(two, *flags, "--max_steps", "2", two=True)
    assert report(two)["hardware"]["processes"] == 2
    predictions = json.loads((two / "predictions.json").read_text(encoding="utf-8"))
    given = list(tiny_examples(9, seed=8))
    assert sorted(predictions["answer"]) == sorted(example.id for example in given)
    # the model of two processes, run in one: the same predictions
    model = TwoWikiBaselineForMultihopQA.from_pretrained(two / "best")
    for example, answer in zip(given, model.answer(given), strict=True):
        assert predictions["answer"][example.id] == answer.answer
        assert predictions["sp"][example.id] == [list(fact) for fact in answer.supporting_facts]
    resume = ["--resume_from_checkpoint", "auto"]
    resumed = run(two, *flags, "--max_steps", "3", *resume, two=True)
    assert "continuing from" in resumed.stdout
    assert report(two)["steps"] == 3


def test_one_process_goes_on_with_what_two_have_begun(data: list[str], tmp_path: Path) -> None:
    output = tmp_path / "run"
    run(output, *data, "--max_steps", "4", "--save_steps", "4", two=True)  # an epoch has 3
    resumed = run(output, *data, "--resume_from_checkpoint", "auto")
    assert "continuing from" in resumed.stdout
    # of 24 examples in the second epoch 8 or so are done, of the third none: 4 a step
    found = report(output)
    assert found["epochs"] == 3
    assert 4 + 3 + 6 <= found["steps"] <= 4 + 5 + 6


SLOW_ENCODER = """
import sys, time
from datetime import timedelta
from torch.distributed.distributed_c10d import _set_pg_timeout
from twowiki import train
from twowiki.models.processing_baseline import BaselineProcessor
from twowiki.training import run, steps
encode, share = BaselineProcessor.encode_example, steps.share_weights
run.LONGEST_WAIT = timedelta(seconds=5)
def slow(self, *arguments):
    time.sleep(0.3)
    return encode(self, *arguments)
def unlimited(*arguments):
    share(*arguments)
    _set_pg_timeout(timedelta(seconds=300))
BaselineProcessor.encode_example, steps.share_weights = slow, unlimited
sys.exit(train.main(sys.argv[1:]))
"""


def test_a_process_that_encodes_long_is_waited_for(data: list[str], tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW_ENCODER, encoding="utf-8")  # 33 questions take twice the limit
    run(tmp_path / "run", *data, "--max_steps", "1", two=True, script=str(script))
    assert report(tmp_path / "run")["hardware"]["processes"] == 2


def test_what_was_encoded_before_a_run_is_not_encoded_again(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from twowiki.cli.main import main

    (tmp_path / "small.yaml").write_text("word_dim: 12\n", encoding="utf-8")
    given = [word.replace("_", "-") if word.startswith("--") else word for word in data]
    cache = tmp_path / "features"
    argv = ["encode", str(tmp_path / "small.yaml"), *given, "--cache-dir", str(cache)]
    assert main([*argv, "--set", "char_limit=16"]) == 0
    assert "train: 24 questions" in capsys.readouterr().out
    made = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    run(tmp_path / "run", *data, "--max_steps", "1", "--cache_dir", str(cache))
    assert {p: p.stat().st_mtime_ns for p in cache.rglob("*") if p.is_file()} == made


def test_a_loss_that_is_not_finite_stops_the_run(data: list[str], tmp_path: Path) -> None:
    flags = ["--learning_rate", "1e30", "--max_grad_norm", "0"]
    done = run(tmp_path / "nan", *data, *flags, check=False)
    assert done.returncode == 2
    assert "the loss is nan at step" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_of_real_form_train_and_the_model_predicts_from_a_shell(tmp_path: Path) -> None:
    given = list(tiny_examples(20, seed=5))
    for name, part in (("train.json", given[:14]), ("dev.json", given[14:])):
        records = [to_official(example, config="data") for example in part]
        (tmp_path / name).write_text(json.dumps(records), encoding="utf-8")
    output = tmp_path / "out"
    run(output, "--data_dir", str(tmp_path), "--max_steps", "2", "--settings", "reproduce",
        "--splitter", "words", "--hidden_size", "8")  # fmt: skip
    assert report(output)["config"]["optim"] == "sgd"
    command = [sys.executable, "-m", "twowiki", "predict", str(output / "best")]
    command += [str(tmp_path / "dev.json"), str(tmp_path / "out.json"), "--part", "4"]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    again = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert sorted(again["answer"]) == sorted(example.id for example in given[14:])


def test_a_run_with_adapters_resumes_and_leaves_plain_weights(
    data: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    from safetensors.torch import load_file

    from twowiki.models.modeling_encoder import TwoWikiEncoderForMultihopQA

    flags = [*data, "--model_name_or_path", str(save_backbone(tmp_path / "bert"))]
    flags += ["--lora_r", "2", "--gradient_checkpointing", "--num_train_epochs", "1"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(whole, *flags, task="encoder")
    run(broken, *flags, "--max_steps", "3", "--save_steps", "3", task="encoder")
    run(broken, *flags, "--resume_from_checkpoint", "auto", task="encoder")
    assert losses(broken) == losses(whole)
    state = load_file(whole / "best" / "model.safetensors")
    assert not any("lora" in name or "base_layer" in name for name in state)
    model = TwoWikiEncoderForMultihopQA.from_pretrained(whole / "best")
    given = list(tiny_examples(9, seed=8))
    written = json.loads((whole / "predictions.json").read_text(encoding="utf-8"))
    for example, answer in zip(given, model.answer(given), strict=True):
        assert written["answer"][example.id] == answer.answer


@pytest.mark.parametrize("kind", ["baseline", "encoder"])
def test_the_trainer_of_transformers_trains_and_scores_it(kind: str, tmp_path: Path) -> None:
    import numpy
    from transformers import Trainer, TrainingArguments

    from twowiki.training.evaluation import score_predictions, to_prediction
    from twowiki.training.hf_trainer import EncodedExamples, joint_metrics

    given: list[Example] = examples()[:4]
    model, windows, collator = small_trainable(kind, given)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=2,
            per_device_eval_batch_size=3,
            max_steps=2,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            dataloader_pin_memory=False,
        ),
        data_collator=collator,
        train_dataset=windows,
        eval_dataset=windows,
        processing_class=getattr(model, "answer_tokenizer", None),
        compute_metrics=joint_metrics(EncodedExamples(windows, given, {}), model),
    )
    trainer.train()
    metrics = trainer.evaluate()
    assert numpy.isfinite(metrics["eval_loss"])
    predictions = [to_prediction(answer) for answer in model.answer(given)]
    scored = score_predictions(given, predictions)
    assert metrics["eval_joint_f1"] == pytest.approx(scored.metrics["joint_f1"])
    assert metrics["eval_sp_f1"] == pytest.approx(scored.metrics["sp_f1"])
    trainer.save_model(str(tmp_path / "saved"))
    assert (tmp_path / "saved" / f"modeling_{kind}.py").is_file()


def small_trainable(kind: str, given: list[Example]) -> tuple[Any, Any, Any]:
    """A small model, windows of the examples, and the model's collator."""
    if kind == "baseline":
        from tests.small_model import model_and_windows, setting
        from twowiki.models.processing_baseline import BaselineCollator

        model, windows = model_and_windows(setting(), given)
        return model, windows, BaselineCollator(model.config)
    from tests.small_encoder import model_and_records
    from twowiki.models.processing_encoder import EncoderCollator

    encoder, records = model_and_records("bert", given, window_tokens=128, window_stride=8)
    return encoder, records, EncoderCollator(encoder.config)


FRESH = """
import sys, json
sys.modules["twowiki"] = None
from transformers import AutoModel, AutoTokenizer
model = AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], trust_remote_code=True)
answer = model.predict("Who?", [("A b", ["A b is here.", "C."])])
model.save_pretrained(sys.argv[2])
tokenizer.save_pretrained(sys.argv[2])
print(json.dumps(answer["sentences"]))
"""


def test_a_saved_folder_works_where_the_package_is_not(tmp_path: Path) -> None:
    from tests.small_model import model_and_windows

    model, _ = model_and_windows()
    first, second = tmp_path / "run 1.5-a", tmp_path / "again"
    model.save_pretrained(first)
    model.answer_tokenizer.save_pretrained(first)
    config = json.loads((first / "config.json").read_text(encoding="utf-8"))
    assert not any("--" in value for value in config["auto_map"].values())
    expected = model.predict("Who?", [("A b", ["A b is here.", "C."])])["sentences"]
    for name, target, folder in ((".", second, first), (str(second), tmp_path / "x", tmp_path)):
        environment = {
            **os.environ,
            "HF_HOME": str(tmp_path / f"home {target.name}"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": "",
        }
        done = subprocess.run(
            [sys.executable, "-c", FRESH, name, str(target)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        printed = json.loads(done.stdout.strip().splitlines()[-1])
        for one, other in zip(printed, expected, strict=True):
            assert one["score"] == pytest.approx(other["score"], abs=1e-6)
        assert {path.name for path in first.glob("*.py")} == {p.name for p in target.glob("*.py")}


def test_real_items_are_memorized(shared: Path) -> None:
    """Train = test: a sanity check on real data, not a measure of quality."""
    command = [sys.executable, str(ROOT / "bench" / "overfit_real.py"), "--short"]
    command += ["--minutes", "12", str(shared / "data" / "two_wiki" / "dev250.json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_what_a_run_leaves_has_one_identity(unbroken: Unbroken, tmp_path: Path) -> None:
    output, found = tmp_path / "run", report(unbroken.output)
    shutil.copytree(unbroken.output, output)
    made_by = {"run": found["run"], "step": found["scores"]["step"]}
    assert json.loads((output / "best" / "run.json").read_text("utf-8")) == made_by
    assert f"| run | `{found['run']}`" in (output / "best" / "README.md").read_text("utf-8")
    assert f"run {found['run']}, seed 13" in unbroken.printed
    plan_push(output, "me/model")
    # the second run of another seed, as if its folder had been copied over the first one's
    other = json.loads((output / "report.json").read_text("utf-8")) | {"run": "0" * 12, "seed": 99}
    (output / "report.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(DataError, match=r"report\.json.*is of run 000000000000"):
        plan_push(output, "me/model")
    resumed = run(output, *unbroken.flags, "--resume_from_checkpoint", "auto",
                  task=unbroken.task, check=False)  # fmt: skip
    assert resumed.returncode == 2
    assert "is of run 000000000000" in resumed.stderr


def test_a_checkpoint_is_a_model_and_holds_the_weights_once(unbroken: Unbroken) -> None:
    folder = unbroken.output / "checkpoint-12"
    holders = [path.name for path in folder.rglob("*.safetensors")]
    assert holders == ["model.safetensors"]
    model = twowiki.load_model(folder)
    assert model.predict("Who?", [("A b", ["A b is here.", "C."])])["sentences"]
    sent = plan_push(folder, "me/model").paths
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md"} <= sent
    assert not sent & {"optimizer.bin", "trainer_state.json", "run.json", "random_states_0.pkl"}


@pytest.mark.parametrize(
    "limit",
    [
        ["--num_train_epochs", "1"],
        ["--max_steps", "3"],
        ["--max_cpu_minutes", "0.0001"],
        ["--early_stopping_patience", "1", "--eval_steps", "1"],
    ],
    ids=["epochs", "steps", "CPU minutes", "patience"],
)
def test_a_finished_run_that_is_resumed_does_nothing(
    limit: list[str], data: list[str], tmp_path: Path
) -> None:
    output = tmp_path / "run"
    flags = ["--output_dir", str(output), *small_flags("baseline"), *data, *limit]
    assert in_process(flags)[0] == 0
    before = contents(output)
    status, printed = in_process([*flags, "--resume_from_checkpoint", "auto"])
    assert status == 0
    assert "the run is finished (" in printed
    assert contents(output) == before
    if limit[0] != "--max_steps":
        return
    (output / "report.json").unlink()  # as if it had been killed before its end
    steps = len(json.loads(before[output / "report.json"])["history"])
    assert in_process([*flags, "--resume_from_checkpoint", "auto"])[0] == 0
    assert len(report(output)["history"]) == steps


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file of a folder but its mark, which lists them in the order of the last run."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MARK)
    return {path: path.read_bytes() for path in files}


def in_process(flags: list[str]) -> tuple[int, str]:
    """Train inside this process; the status, and what it printed."""
    from twowiki import train

    forget_processes()
    printed = StringIO()
    try:
        with redirect_stdout(printed), mock.patch.dict(os.environ, ACCELERATE_USE_CPU="true"):
            return train.main(flags), printed.getvalue()
    finally:
        forget_processes()


def test_the_log_is_readable_where_there_is_no_terminal(unbroken: Unbroken) -> None:
    lines = unbroken.printed.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("step 1/18"))
    for name in ("train: 24 questions", "validation: 9 questions", "model: TwoWiki", "devices: ",
                 "steps: 18 of 4 examples", "output_dir: "):  # fmt: skip
        assert sum(line.startswith(name) for line in lines[:start]) == 1, name
    step = re.compile(
        r"step (\d+)/18  epoch \d\.\d\d  loss \d+\.\d{4}  lr \d\.\d\de-\d\d  "
        r"\d+\.\d examples/s  left \d+:\d\d"
    )
    assert [m[1] for line in lines if (m := step.fullmatch(line))] == [*map(str, range(1, 19))]
    evaluated = [line for line in lines if "  evaluation  joint_f1 " in line]
    assert [line.split()[1] for line in evaluated] == ["6/18", "12/18", "18/18"]
    assert all(line.endswith("kept)") or "(best so far: " in line for line in evaluated)
    assert "finished after 18 steps" in lines
    tail = "\n".join(lines[-6:])
    for name in ("best", "report.json", "curves.png"):
        assert str(unbroken.output / name) in tail
    assert f"twowiki push model {unbroken.output} my-name/my-model" in tail
