"""Every number of every setting and flag has a range, and values outside it end in one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from twowiki import train
from twowiki.cli.main import command_class, command_paths, main
from twowiki.errors import DataError
from twowiki.generation.settings import GenerateConfig, Resources
from twowiki.io.arguments import convert_values
from twowiki.metric.settings import ScoreSettings
from twowiki.training.task import TASK_CLASSES, settings_class
from twowiki.worlds.settings import WorldConfig


def classes() -> Iterator[type]:
    yield from map(command_class, command_paths())
    for name in TASK_CLASSES:
        yield settings_class(name, None)
    yield from (ScoreSettings, GenerateConfig, Resources, WorldConfig)


def types_of(annotation: Any) -> set[Any]:
    return {annotation}.union(*map(types_of, get_args(annotation)))


@pytest.mark.parametrize("cls", list(classes()), ids=lambda cls: str(cls.__name__))
def test_every_number_has_a_range_and_refuses_what_is_no_number(cls: Any) -> None:
    hints = get_type_hints(cls)
    for one in fields(cls):
        if {int, float} & types_of(hints[one.name]):
            bounds = [one.metadata.get(name) for name in ("minimum", "above")]
            assert bounds != [None, None], f"{cls.__name__}.{one.name} has no range"
            wrong: list[Any] = ["nan", "inf", "-inf", "-2", "1" + "0" * 30, "9" * 5000]
            for value in wrong:
                listed = "list" in str(hints[one.name])
                if float in types_of(hints[one.name]) and value == wrong[4] and not _has_top(one):
                    continue
                with pytest.raises(DataError) as caught:
                    convert_values(cls, {one.name: [value] if listed else value}, text=True)
                assert len(str(caught.value)) < 300
                assert "\n" not in str(caught.value)


def _has_top(one: Any) -> bool:
    return any(one.metadata.get(name) is not None for name in ("maximum", "below"))


TRAINING = (
    *("max_grad_norm=-1", "max_steps=-5", "max_cpu_minutes=-1", "max_cpu_minutes=nan"),
    *("eval_steps=-2", "save_steps=-2", "warmup_steps=-10", "weight_decay=-1", "stop_at=-5"),
    *("min_word_count=-1", "word_dim=0", "relation_dim=0", "ceiling_examples=-1"),
    *("save_total_limit=-1", "learning_rate=nan", "learning_rate=-1", "dropout=2", "dropout=-1"),
    *("dropout=nan", "seed=-1", f"seed={2**40}", "dataloader_num_workers=-1", "hidden_size=0"),
    *("hidden_size=-4", f"hidden_size={10**7}", "char_hidden=-1", "early_stopping_patience=-1"),
    *("report_to=foo", "max_train_samples=-1", f"seed={'9' * 5000}", "support_threshold=2"),
)


@pytest.mark.parametrize("setting", TRAINING, ids=lambda text: str(text)[:40])
def test_training_refuses_before_it_reads(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, value = setting.partition("=")
    config = tmp_path / "run.yaml"
    shown = f"[{value}]" if name == "report_to" else value.replace("nan", ".nan")
    output, absent = str(tmp_path / "run"), str(tmp_path / "absent.json")
    config.write_text(f"{name}: {shown}\n", encoding="utf-8")
    files = ["--output_dir", output, "--train_file", absent, "--validation_file", absent]
    for given in (["--config", str(config)], [f"--{setting}"]):
        assert train.main([*given, *files]) == 2
        line = capsys.readouterr().err
        assert line.startswith("twowiki.train: ")
        assert name in line or "YAML" in line
        assert len(line.splitlines()) == 1
        assert "absent" not in line
        assert "unexpected" not in line
    assert not Path(output).exists()


COMMAND_LINES = (
    ("score", "p", "g", "--seed", "-1"),
    ("score", "p", "g", "--resamples", "1000000000"),
    ("score", "p", "g", "--confidence", "nan"),
    ("generate", "--world", "people=50", "--out", "o", "--limit-per-type", "9" * 30),
    ("generate", "--world", "people=50", "--out", "o", "--seed", "\udcff"),
    ("world", "--out", "o", "--seed", "\ud800"),
    ("world", "--out", "o", "--people", "9" * 5000),
    ("arc-da", "score", "p", "g", "--resamples", "1000000000"),
    ("predict", "m", "d", "o", "--batch-size", "0"),
)


@pytest.mark.parametrize("argv", COMMAND_LINES, ids=range(len(COMMAND_LINES)))
def test_a_command_refuses_before_it_reads(
    argv: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1
    assert len(line) < 300
    assert "unexpected" not in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content",
    ["a: " + "9" * 5000, "[" * 5000, "a: *b", "seed: !!int x", "task: [x]", "model_options: 5"],
)
def test_settings_files_that_cannot_be_used(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(content, encoding="utf-8")
    for flags in (["--task", "baseline"], []):
        assert train.main(["--config", str(config), *flags]) == 2
        assert "unexpected" not in capsys.readouterr().err
