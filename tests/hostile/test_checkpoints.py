"""A damaged checkpoint is refused by name, whatever file of it is damaged; none is passed over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_data import tiny_files
from tests.training.runs import run, small_flags
from twowiki import train
from twowiki.errors import DataError
from twowiki.training.checkpoint_files import file_sizes, read_checkpoint_run


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scramble(path: Path) -> None:
    path.write_bytes(bytes(reversed(path.read_bytes())))


def test_sizes_are_compared(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("abc", encoding="utf-8")
    content = {"config": {}, "identity": {}, "files": file_sizes(tmp_path)}
    assert content["files"] == {"model/a": 3}
    (tmp_path / "trainer_state.json").write_text("{}", encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps(content), encoding="utf-8")
    assert read_checkpoint_run(tmp_path) == content
    cut(tmp_path / "model" / "a")
    with pytest.raises(DataError, match="1 bytes instead of 3"):
        read_checkpoint_run(tmp_path)
    (tmp_path / "model" / "a").unlink()
    with pytest.raises(DataError, match="is missing"):
        read_checkpoint_run(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"config": 1}', "[" * 100_000, "\xff"])
def test_a_run_file_that_is_damaged(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"run\.json: is part of a damaged checkpoint"):
        read_checkpoint_run(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    output = tmp_path_factory.mktemp("run") / "run"
    flags = [*small_flags("baseline"), *tiny_files(tmp_path_factory.mktemp("data"))]
    run(output, *flags, "--max_steps", "2", "--save_steps", "2")
    return output, flags


class Foreign:
    """What runs code where it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["optimizer.bin", "random_states_0.pkl", "custom_checkpoint_0.pkl"]
)
def test_no_code_of_a_checkpoint_runs(
    finished: tuple[Path, list[str]],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    output, target = tmp_path / "run", tmp_path / "it-ran"
    shutil.copytree(finished[0], output)
    checkpoint = output / "checkpoint-2"
    content = json.loads((checkpoint / "run.json").read_text(encoding="utf-8"))
    del content["files"]
    (checkpoint / "run.json").write_text(json.dumps(content), encoding="utf-8")
    torch.save({"step": Foreign(target)}, checkpoint / name)
    flags = ["--output_dir", str(output), *finished[1], "--max_steps", "4"]
    assert train.main([*flags, "--resume_from_checkpoint", "auto"]) == 2
    assert "damaged checkpoint" in capsys.readouterr().err
    assert not target.exists()
    torch.load(checkpoint / name, weights_only=False)
    assert target.exists()


@pytest.mark.slow
@pytest.mark.parametrize("noted", [True, False], ids=["sizes", "no sizes"])
@pytest.mark.parametrize("damage", [cut, scramble])
@pytest.mark.parametrize(
    "name",
    ["optimizer.bin", "model.safetensors", "run.json", "trainer_state.json",
     "random_states_0.pkl"],
)  # fmt: skip
def test_a_damaged_checkpoint_is_refused(
    finished: tuple[Path, list[str]],
    name: str,
    damage: Callable[[Path], None],
    noted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    output = tmp_path / "run"
    shutil.copytree(finished[0], output)
    checkpoint = output / "checkpoint-2"
    content = json.loads((checkpoint / "run.json").read_text(encoding="utf-8"))
    assert content["files"][name if name != "run.json" else "optimizer.bin"] > 0
    if not noted:  # then the damage itself is noticed
        del content["files"]
        (checkpoint / "run.json").write_text(json.dumps(content), encoding="utf-8")
    damage(checkpoint / name)
    flags = ["--output_dir", str(output), *finished[1], "--max_steps", "4"]
    assert train.main([*flags, "--resume_from_checkpoint", "auto"]) == 2
    lines = capsys.readouterr().err.splitlines()
    line = next(line for line in lines if line.startswith("twowiki.train: "))
    assert str(checkpoint) in line
    assert "damaged checkpoint" in line
    assert "Remove that checkpoint" in line
    assert "Traceback" not in "".join(lines)
