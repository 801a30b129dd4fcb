"""The blocks of docs/llm.md run as they stand, with a small random model in a large one's place."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.joint_files import ROOT, several, write
from tests.text_models import model_of, tokenizer
from twowiki.cli.main import main

BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "docs/llm.md").read_text("utf-8"), re.M | re.S)
PYTHON = [block for language, block in BLOCKS if language == "python"]
LONGEST = 10  # lines that a new user needs


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
             "HF_DATASETS_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def small(block: str, folder: Path) -> str:
    """Put a small random model and few steps into a block."""
    made = tokenizer(chat=True)
    made.save_pretrained(folder / "model")
    model_of("tiny-causal", made).save_pretrained(folder / "model")
    assert "Qwen/Qwen3-0.6B" in block
    steps = (
        'max_steps=1, use_cpu=True, bf16=False, report_to="none", num_generations=2, '
        "per_device_train_batch_size=2, max_completion_length=4, logging_steps=1"
    )
    block = block.replace("max_steps=100", steps).replace("max_new_tokens=512", "max_new_tokens=4")
    return block.replace("Qwen/Qwen3-0.6B", "model")


def test_they_are_short() -> None:
    counts = [sum(bool(line.strip()) for line in block.splitlines()) for block in PYTHON]
    assert len(counts) == 3
    assert max(counts) <= LONGEST


@pytest.mark.slow
def test_a_model_of_the_hub_is_scored(tmp_path: Path) -> None:
    write(tmp_path / "dev.json", several(4)[0])
    out = run(small(PYTHON[0], tmp_path), tmp_path)
    assert "joint" in out
    assert "twowiki_joint|" in out


@pytest.mark.slow
def test_a_reward_in_a_script_of_trl(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    write(tmp_path / "dev.json", several(4)[0])
    out = str(tmp_path / "rl")
    assert main(["export", str(tmp_path / "dev.json"), out, "--format", "rl"]) == 0
    assert "rewards/joint/mean" in run(small(PYTHON[1], tmp_path), tmp_path)


def test_outputs_of_any_model_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "dev.json", several(4)[0])
    (tmp_path / "id_aliases.json").write_text('{"Q_id": "Q1", "aliases": [], "demonyms": []}\n')
    lines = [line.split("  #")[0].split() for line in BLOCKS[0][1].splitlines()]
    assert len(lines) <= LONGEST
    for words in lines[1:]:
        if words[1] == "score":
            outputs = ['{"id": "q0", "output": "<answer>Brinmoor</answer>"}\n']
            (tmp_path / "outputs.jsonl").write_text("".join(outputs), "utf-8")
        assert main(words[1:]) == 0
    assert "answer" in capsys.readouterr().out
    assert (tmp_path / "report.html").is_file()
