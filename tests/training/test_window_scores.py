"""Processes decode while the model goes on, and change no prediction."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.small_model import model_and_windows
from twowiki.models.processing_baseline import BaselineCollator
from twowiki.training import window_scores
from twowiki.training.loaders import LongestFirst, make_loader
from twowiki.training.window_scores import PartScorer, decoding_processes, predict_windows


class PatientScorer(PartScorer):
    """Scores a part once the model has read all batches; only beside the model is that possible."""

    def __call__(self, part: Any) -> Any:
        for _ in range(600):
            if Path(os.environ["TWOWIKI_TEST_READ"]).exists():
                return super().__call__(part)
            time.sleep(0.1)
        raise TimeoutError("the model waits for the decoding")


def test_processes_decode_while_the_model_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, windows = model_and_windows()
    windows = [window._replace(example=number) for number, window in enumerate(windows)]
    batches = LongestFirst([len(w.token_ids) for w in windows], 2)
    assert len(batches) == 6
    loader = make_loader(windows, BaselineCollator(model.config, labels=False), batches, 1)
    model.eval()
    alone = predict_windows(model, loader, windows, model.config)
    read = []

    def note(*_: Any) -> None:
        read.append(1)
        if len(read) == 4:  # twice as many batches as processes wait to be decoded
            (tmp_path / "read").touch()

    monkeypatch.setenv("TWOWIKI_TEST_READ", str(tmp_path / "read"))
    monkeypatch.setattr(window_scores, "PartScorer", PatientScorer)
    model.register_forward_hook(note)
    beside = predict_windows(model, loader, windows, model.config, workers=2)
    assert beside == alone
    assert list(beside) == list(alone)


def test_a_laptop_decodes_in_the_process_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_scores, "cores", lambda: 16)
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert [decoding_processes(n, cpu) for n in (0, 1, 3)] == [1, 1, 3]
    assert [decoding_processes(n, gpu) for n in (0, 1, 3)] == [8, 1, 3]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert decoding_processes(0, gpu) == 1
    monkeypatch.setattr(window_scores, "cores", lambda: 2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    assert decoding_processes(0, gpu) == 1
