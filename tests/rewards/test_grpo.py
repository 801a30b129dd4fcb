"""A real run of TRL's GRPOTrainer with the rewards, and the stream of fictional worlds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from tests.joint_files import ROOT
from tests.text_models import model_of, tokenizer
from twowiki import rewards
from twowiki.errors import DataError

pytestmark = pytest.mark.slow
pytest.importorskip("trl")
SMALL = ["--max_steps", "2", "--per_device_train_batch_size", "4", "--num_generations", "2",
         "--max_completion_length", "6", "--use_cpu", "true", "--bf16", "false",
         "--logging_steps", "1", "--save_strategy", "no", "--gradient_checkpointing", "false",
         "--report_to", "none", "--gradient_accumulation_steps", "1"]  # fmt: skip
WORLD = {"people": 120, "films": 60}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    made = tokenizer(chat=True)
    made.save_pretrained(folder)
    model_of("tiny-causal", made).save_pretrained(folder)
    return folder


def train(folder: Path, model: Path, *flags: str) -> list[dict[str, float]]:
    script, config = ROOT / "examples" / "rl" / "grpo.py", ROOT / "examples" / "rl" / "gpu.yaml"
    given = ["--config", str(config), "--model", str(model), "--output_dir", str(folder / "run")]
    done = subprocess.run(
        [sys.executable, str(script), *given, *SMALL, *flags],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
             "HF_DATASETS_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert (folder / "run" / "model.safetensors").is_file()
    lines = [line for line in done.stdout.splitlines() if "rewards/" in line]
    return [json.loads(line.replace("'", '"')) for line in lines]


def test_a_model_is_trained_on_a_world(tmp_path: Path, model: Path) -> None:
    options = ",".join(f"{name}={value}" for name, value in WORLD.items())
    flags = ["--data", "world", "--form", "closed-book", "--world", options]
    logs = train(tmp_path, model, *flags)
    assert len(logs) == 2
    for name in ("answer", "support", "evidence", "joint", "format"):
        assert all(f"rewards/{name}/mean" in one for one in logs)


def test_a_world_is_an_endless_stream() -> None:
    stream = rewards.world_questions(form="gold-context", seed=3, shards=2, **WORLD)
    first = list(islice(stream, 3))
    assert first == list(islice(rewards.world_questions(
        form="gold-context", seed=3, shards=2, **WORLD
    ), 3))  # fmt: skip
    assert stream.num_shards == 2
    row = first[0]
    columns = {name: [row[name]] for name in row if name != "prompt"}
    said = json.dumps({name: row[name] for name in ("answer", "supporting_facts", "evidences")})
    for name in ("answer", "support", "evidence", "joint", "format", "grounded"):
        assert getattr(rewards, name)(completions=[said], **columns) == [1.0]
    assert row["question"] in row["prompt"][-1]["content"]
    with pytest.raises(DataError, match="unknown form"):
        rewards.world_questions(form="open-book")
