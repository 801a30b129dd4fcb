"""A checkpoint is written while the run goes on: what it holds, what a kill or a failure leaves."""

from __future__ import annotations

from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
import torch

from tests.text_runs import forget_processes
from tests.tiny_data import tiny_files
from tests.training.runs import losses, run, small_flags, weights
from twowiki import train
from twowiki.errors import DataError
from twowiki.training.averaging import AverageWeights
from twowiki.training.checkpoint_writer import CheckpointWriter, copy_to_memory, on_cpu
from twowiki.training.checkpoints import list_checkpoints
from twowiki.training.extractive import ExtractiveTask


def test_a_copy_is_of_its_moment_and_ties_stay_tied() -> None:
    model = torch.nn.ModuleDict({"one": torch.nn.Linear(3, 3), "two": torch.nn.Linear(3, 3)})
    model["two"].weight = model["one"].weight
    model["two"].bias.requires_grad_(False)
    average = AverageWeights(model, 0.9)
    model["one"](torch.ones(1, 3)).sum().backward()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    optimizer.step()
    before, state = (
        {k: v.clone() for k, v in model.state_dict().items()},
        on_cpu(optimizer.state_dict()),
    )
    copied, averaged = copy_to_memory(model, average, average.average)
    optimizer.step()
    average.update(1)
    assert copied["one"].weight is copied["two"].weight
    assert averaged.trained[0] is copied["one"].weight
    assert all(p.grad is None for p in copied.parameters())
    assert [p.requires_grad for p in copied.parameters()] == [True, True, False]
    for name, value in before.items():
        assert torch.equal(copied.state_dict()[name], value)
    assert not torch.equal(copied["one"].weight, model["one"].weight)
    assert not torch.equal(averaged.average[0], average.average[0])
    assert [float(one["step"]) for one in state["state"].values()] == [1.0, 1.0]


def test_the_run_goes_on_while_a_thread_writes(tmp_path: Path) -> None:
    writer, may_end, placed = CheckpointWriter(), Event(), list[str]()
    wrote_by = []

    def write() -> None:
        assert may_end.wait(60)
        wrote_by.append(current_thread())

    def place() -> None:
        assert current_thread() is main_thread()
        placed.append("first")

    writer.start(write, place, tmp_path)
    writer.look()
    assert placed == wrote_by == []
    may_end.set()
    writer.start(lambda: None, lambda: placed.append("second"), tmp_path)  # waits for the first
    assert placed == ["first"]
    assert wrote_by[0] is not main_thread()
    writer.finish()
    writer.finish()
    assert placed == ["first", "second"]


def test_what_fails_is_said_by_the_main_thread(tmp_path: Path) -> None:
    def write() -> None:
        raise OSError(28, "No space left on device")

    writer, placed = CheckpointWriter(), list[int]()
    writer.start(write, lambda: placed.append(1), tmp_path / "checkpoint-3")
    with pytest.raises(DataError, match=r"checkpoint-3.*No space left.*resume_from_checkpoint"):
        writer.finish()
    writer.finish()
    assert placed == []


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return tiny_files(tmp_path_factory.mktemp("data"))


def test_a_failed_checkpoint_ends_the_run_and_leaves_the_last_good_one(
    data: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    save = ExtractiveTask.save

    def limited(self: Any, model: Any, folder: Path) -> None:
        if current_thread() is not main_thread() and list_checkpoints(str(tmp_path / "run")):
            raise OSError(28, "No space left on device")
        save(self, model, folder)

    monkeypatch.setattr(ExtractiveTask, "save", limited)
    flags = ["--output_dir", str(tmp_path / "run"), *small_flags("baseline"), *data]
    forget_processes()
    try:
        assert train.main([*flags, "--save_steps", "2", "--eval_steps", "18"]) == 2
    finally:
        forget_processes()
    said = capsys.readouterr().err.strip()
    assert "checkpoint-4" in said
    assert "could not be written ([Errno 28] No space left on device)" in said
    assert len(said.splitlines()) == 1
    assert [path.name for path in list_checkpoints(str(tmp_path / "run"))] == ["checkpoint-2"]


KILLED = """
import os, sys
from twowiki import train
from twowiki.training.extractive import ExtractiveTask
from twowiki.training.checkpoints import list_checkpoints
from threading import current_thread, main_thread
save = ExtractiveTask.save
def killed(self, model, folder):
    save(self, model, folder)
    if current_thread() is not main_thread() and "checkpoint-4" in [
        path.name for path in list_checkpoints(sys.argv[2])
    ]:
        os._exit(9)
ExtractiveTask.save = killed
sys.exit(train.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_kill_while_one_is_written_leaves_the_last_good_one(
    data: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    flags = [*data, "--save_steps", "2", "--max_steps", "8"]
    done = run(tmp_path / "broken", *flags, check=False, script=str(script))
    assert done.returncode == 9
    names = [path.name for path in list_checkpoints(str(tmp_path / "broken"))]
    assert names == ["checkpoint-2", "checkpoint-4"]
    again = run(tmp_path / "broken", *flags, "--resume_from_checkpoint", "auto")
    assert "continuing from" in again.stdout
    run(tmp_path / "whole", *flags)
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    for name, value in weights(tmp_path / "whole").items():
        assert torch.equal(value, weights(tmp_path / "broken")[name])
