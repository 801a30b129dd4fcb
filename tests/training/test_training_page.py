"""The blocks of docs/training.md run as they stand, with a tiny backbone."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

import twowiki
from tests.training.runs import save_backbone

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
BACKBONE = "sentence-transformers/all-MiniLM-L6-v2"
LOADING = """
from transformers import {name}
print(type({name}.from_pretrained({folder!r})).__name__)
"""


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["encoder", "baseline"])
def test_the_blocks_train_with_trainer_and_ask(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.chdir(tmp_path)
    save_backbone(tmp_path / "bert")
    small = ", word_dim=16, hidden_size=8, char_hidden=6, relation_dim=6"
    backbone = {"encoder": ', "bert"', "baseline": small}[kind]
    namespace: dict[str, Any] = {}
    for block in blocks():
        assert block.count(BACKBONE) <= 1
        changed = block.replace(f', "{BACKBONE}"', backbone)
        changed = changed.replace(
            "num_train_epochs=1", "max_steps=2, disable_tqdm=True, dataloader_pin_memory=False"
        )
        with caplog.at_level(logging.WARNING, logger="transformers"):
            exec(compile(changed, str(PAGE), "exec"), namespace)
    model = namespace["model"]
    assert kind in type(model).__name__.lower()
    assert len(namespace["train"].examples) == len(namespace["data"]["train"])
    folder = tmp_path / "runs" / "trainer" / "best"
    assert len(list(folder.glob("*.py"))) == {"encoder": 17, "baseline": 13}[kind]
    for name in ("AutoTokenizer", "AutoProcessor"):
        code = LOADING.format(name=name, folder=str(folder))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", f"import twowiki.models.auto as a\n"
             f"a.register_models()\n{code}"],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PAGE.parents[1])},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_a_new_model_of_rows_and_their_windows() -> None:
    from tests.small_model import SIZES, examples

    rows = [twowiki.to_official(one) for one in examples()]
    model = twowiki.new_model(rows, **SIZES)
    encoded = twowiki.encode(rows, model)
    assert [one.id for one in encoded.examples] == [one.id for one in examples()]
    assert len(encoded) == 12
    assert [window.example for window in encoded[:3]] == [0, 1, 2]
    batch = model.data_collator()(encoded[:2])
    assert model(**batch).loss.item() > 0
    again = twowiki.new_model(rows, **SIZES)
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        assert bool((one == other).all())
    with pytest.raises(twowiki.DataError, match="there are none"):
        twowiki.encode([], model)
