"""The settings of every task: YAML and flags, ranges, former names, help."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tests.tiny_data import tiny_files
from twowiki.errors import DataError
from twowiki.training.former_names import RENAMED
from twowiki.training.loaders import batches_per_step
from twowiki.training.loop import StepCounts
from twowiki.training.settings import (
    BaselineArguments,
    EncoderArguments,
    config_names,
    find_config,
    step_count,
)
from twowiki.training.task import TASK_CLASSES, make_task, read_settings, settings_class

ENCODER = ["--task", "encoder", "--model_name_or_path", "b"]
ARC_DA = ["--task", "arc_da", "--data_dir", "x"]


def test_no_two_configurations_share_a_folder(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("seed: 3\n")
    science = ["--data_dir", "x"]
    lines = [["--config", name, *(science if "arc" in name else [])] for name in config_names()]
    lines += [["--config", str(own)], [], ENCODER, ARC_DA, ["--task", "two_wiki_text"]]
    folders = [read_settings(line).output_dir for line in lines]
    assert len(set(folders)) == len(lines)
    assert folders[: len(config_names()) + 1] == [f"runs/{n}" for n in (*config_names(), "own")]
    assert folders[-4:-2] == ["runs/baseline_defaults", "runs/encoder_defaults"]
    assert read_settings(["--config", "tiny", "--output_dir", "x"]).output_dir == "x"


def test_flags_win_over_the_file_and_model_options_go_to_the_model(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    text = "learning_rate: 1e-3\nhidden_size: 20\nnum_train_epochs: 3\n"
    path.write_text(text, encoding="utf-8")
    flags = "--num_train_epochs 4 --evidence_weight 0.25 --ignore_case no".split()
    config = read_settings(["--config", str(path), *flags])
    assert config.learning_rate == 0.001
    assert config.num_train_epochs == 4
    options = {"hidden_size": 20, "evidence_weight": 0.25, "ignore_case": False}
    assert config.model_options == options


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("learning_rat: 1", "learning_rate"),
        ("num_train_epochs: many", "not an integer"),
        ("num_train_epochs: 1.5", "not an integer"),
        ("push_to_hub: 3", "not true or false"),
        ("settings: best", "corrected, reproduce"),
        ("hiden_size: 3", "hidden_size"),
        ("- 1", "is not a mapping"),
        ("a: [", "is not valid YAML"),
        ("epochs: 3", "num_train_epochs"),
        ("bucket: true", "train_sampling_strategy"),
        ("task: other", "baseline, encoder"),
    ],
)
def test_bad_settings_are_errors_that_name_the_field(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_settings(["--config", str(path)])
    assert problem in str(error.value)
    assert "bad.yaml" in str(error.value)


@pytest.mark.parametrize("old", sorted(RENAMED))
def test_former_names_of_settings_are_refused_with_the_new_one(old: str, tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text(f"{old}: 1\n", encoding="utf-8")
    for arguments in ([f"--{old}", "1"], ["--config", str(path)]):
        with pytest.raises(DataError) as error:
            read_settings(arguments)
        assert RENAMED[old] in str(error.value)


def test_former_names_lead_to_settings_that_exist() -> None:
    classes = [settings_class(task, None) for task in TASK_CLASSES]
    known = {one.name for cls in classes for one in fields(cls)}
    assert not known & set(RENAMED)
    for new in [new for old, new in RENAMED.items() if old != "model_options"]:
        assert known & set(new.replace(":", " ").replace(";", " ").split())


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--evi_lambda", "0.5"], "--evi_lambda"),
        (["--num_train_epoch", "3"], "num_train_epochs"),
        (["--per-device-train-batch-size", "0"], "at least 1"),
        (["--learning_rate", "-1"], "above 0"),
        (["--learning_rate", "nan"], "nan"),
        (["--fp16"], "fp16"),
        (["--ema_decay", "0.9", "--start_share", "0.5"], "start_share"),
        (["--report_to", "nothing"], "not a tracker"),
        (["--report_to", "comet_ml"], "not installed"),
        (["--metric_for_best_model", "joint"], "metric_for_best_model"),
        (["--push_to_hub", "--hub_model_id", "nowhere"], "hub_model_id"),
        (["--train_paragraphs", "-1"], "train_paragraphs"),
        (["--train_paragraphs", "2", "--train_copies", "0"], "train_copies"),
        (["--train_copies", "2"], "train_copies"),
        (["--config", "tinny"], "tiny"),
        (["--task", "encoder"], "model_name_or_path"),
        ([*ENCODER, "--layer_decay", "0"], "layer_decay"),
        ([*ENCODER, "--lora_r", "-1"], "lora_r"),
        ([*ENCODER, "--metric_for_best_model", "bleu"], "metric_for_best_model"),
        ([*ENCODER, "--tripel_slots", "3"], "triple_slots"),
        (["--task", "arc_da"], "data_dir"),
        ([*ARC_DA, "--fp16"], "overflows"),
        ([*ARC_DA, "--temperature", "0.5"], "temperature"),
        ([*ARC_DA, "--metric_for_best_model", "mc_accuracy"], "ARC's files"),
        ([*ARC_DA, "--direct_answers", "no", "--multiple_choice", "no"], "nothing is left"),
        (["--task", "two_wiki_text", "--metric_for_best_model", "rougeL"], "rougeL"),
    ],
)
def test_settings_that_no_run_can_have_are_refused_at_once(flags: list[str], problem: str) -> None:
    with pytest.raises(DataError) as error:
        read_settings(flags).check()
    assert problem in str(error.value)


@pytest.mark.parametrize("task", ["baseline", "encoder"])
def test_what_cannot_work_is_reported_before_training(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    from twowiki import train

    flags = ["--task", task, "--output_dir", str(tmp_path), "--model_name_or_path", "no/such"]
    assert train.main([*flags, *tiny_files(tmp_path)]) == 2
    assert "twowiki.train: no/such" in capsys.readouterr().err
    absent = ["--train_file", "absent.json", "--validation_file", "absent.json"]
    assert train.main([*flags, *absent]) == 2


def test_reproduce_brings_the_published_training_with_it() -> None:
    config = read_settings(["--settings", "reproduce"])
    assert (config.optim, config.learning_rate) == ("sgd", 0.1)
    assert config.lr_scheduler_type == "halving"
    assert read_settings(["--settings", "reproduce", "--learning_rate", "1"]).learning_rate == 1


@pytest.mark.parametrize("kind", ["baseline", "encoder"])
def test_the_options_of_a_model_are_settings_with_its_types_and_defaults(kind: str) -> None:
    from twowiki.models import configuration_baseline, configuration_encoder

    cls: Any
    model: Any
    if kind == "baseline":
        cls, model = BaselineArguments, configuration_baseline.TwoWikiBaselineConfig
        decided = {"vocab_size", "char_vocab", "relations", "dropout"}
    else:
        cls, model = EncoderArguments, configuration_encoder.TwoWikiEncoderConfig
        decided = {"backbone_config", "backbone_name", "relations", "title_marker_id"}
        decided |= {"sentence_marker_id", "prefix_ids", "middle_ids", "suffix_ids"}
        decided |= {"context_segment", "padding_id", "selector", "fuse_single_windows"}
    options = {one.name: one for one in fields(cls) if "configuration" in one.metadata["group"]}
    annotated = {n: t for n, t in model.__annotations__.items() if "ClassVar" not in str(t)}
    assert set(options) == set(annotated) - decided
    for name, one in options.items():
        assert str(one.type) == f"{annotated[name]} | None"
        default = getattr(model, name)
        text = {bool: lambda on: "on" if on else "off", float: "{:g}".format}
        shown = text.get(type(default), str)(default)
        assert f"(default: {shown})" in one.metadata["help"], name


def test_step_counts_below_one_are_shares_of_all_steps() -> None:
    assert [step_count(value, 40) for value in (0, 0.1, 0.001, 1, 30.0)] == [0, 4, 1, 1, 30]


# training examples: of the release, of ARC-DA with four gold answers, of the worlds
EXAMPLES = {"tiny": 1_188, "encoder_small": 1_500, "arc_da": 5_000, "arc_da_mc": 6_000}


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("name", config_names())
def test_a_packaged_configuration_holds_on_any_number_of_devices(name: str, processes: int) -> None:
    config = read_settings(["--config", name, "--data_dir", "x"])
    examples = EXAMPLES.get(name, EXAMPLES["arc_da"] if "arc_da" in name else 167_454)
    step = config.per_device_train_batch_size * batches_per_step(config, processes) * processes
    assert step == (config.global_batch_size or config.per_device_train_batch_size * processes)
    per_epoch = -(-examples // step)
    counts = StepCounts.of(config, per_epoch)
    assert -(-counts.total // (counts.eval or per_epoch)) >= 8
    assert -(-counts.total // (counts.save or counts.eval or per_epoch)) >= 8
    if config.lr_scheduler_type != "halving":
        assert counts.warmup <= 0.1 * counts.total


def test_a_global_batch_is_shared_in_whole_batches() -> None:
    config = BaselineArguments(global_batch_size=96, per_device_train_batch_size=12)
    assert [batches_per_step(config, count) for count in (1, 2, 8)] == [8, 4, 1]
    assert batches_per_step(replace(config, global_batch_size=0), 3) == 1
    for processes in (3, 16):
        with pytest.raises(DataError, match=f"global_batch_size.*is 96.*12.*x {processes}"):
            batches_per_step(config, processes)


@pytest.mark.parametrize("kind", ["FSDP", "DEEPSPEED"])
def test_a_model_cut_over_processes_is_refused_before_encoding(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twowiki.training.run import start

    monkeypatch.setenv(f"ACCELERATE_USE_{kind}", "true")
    with pytest.raises(DataError, match=f"cannot be trained with {kind}.*one process per device"):
        start(BaselineArguments(data_dir="nowhere"))


def test_configurations_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    assert {"tiny", "baseline", "encoder", "arc_da_t5"} <= set(config_names())
    assert find_config("tiny").parent.name == "configs"
    own = tmp_path / "own.yaml"
    own.write_text("seed: 5\n", encoding="utf-8")
    assert read_settings(["--config", str(own)]).seed == 5
    with pytest.raises(DataError, match="arc_da_causal"):
        find_config("absent")


@pytest.mark.parametrize("task", sorted(TASK_CLASSES))
def test_help_lists_every_setting_in_groups_without_heavy_libraries(task: str) -> None:
    code = (
        "import sys; from twowiki.train import main\n"
        "try: main(['--task', sys.argv[1], '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'transformers', 'accelerate', 'datasets'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, task], capture_output=True, text=True, check=True
    )
    for title in ("optimization:", "evaluation:", "logging and checkpoints:", "hub:"):
        assert title in done.stdout
    for one in fields(settings_class(task, None)):
        assert f"--{'no_' if one.default is True else ''}{one.name}" in done.stdout
        assert one.metadata["help"].strip()


def test_a_task_of_each_kind_is_made() -> None:
    pytest.importorskip("torch")
    for flags in ([], ENCODER, ARC_DA, ["--task", "two_wiki_text"]):
        assert hasattr(make_task(read_settings(flags)), "prepare")
