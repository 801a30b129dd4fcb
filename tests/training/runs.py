"""Training runs of small models as users start them, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PORT = 29517 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
TWO = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", f"{PORT}"]
SHARED = (
    "--num_train_epochs 3 --per_device_train_batch_size 4 --per_device_eval_batch_size 3 "
    "--logging_steps 1 --early_stopping_patience 0 --dropout 0.1 --warmup_steps 2 "
    "--lr_scheduler_type constant"
).split()
SMALL = {
    "baseline": "--word_dim 12 --hidden_size 8 --char_hidden 6 --relation_dim 6 "
    "--learning_rate 1e-2",
    "encoder": "--task encoder --head_size 16 --triple_slots 5 --learning_rate 1e-3 "
    "--head_learning_rate 3e-3 --window_tokens 200 --window_stride 8",
}


def small_flags(task: str) -> list[str]:
    return [*SHARED, *SMALL[task].split()]


def save_backbone(folder: Path | str) -> Path:
    """A tiny encoder as a folder that a run can start from."""
    from tests.small_encoder import model_and_records, settings
    from tests.small_model import examples

    model, _ = model_and_records("bert", examples()[:1])
    model.backbone.save_pretrained(folder)
    _, tokenizer = settings("bert")
    tokenizer.save_pretrained(folder)
    return Path(folder)


def run(
    output: Path,
    *flags: str,
    task: str = "baseline",
    two: bool = False,
    check: bool = True,
    script: str = "",
) -> Any:
    """Train; a gloo run that died at its exit is started once more."""
    program = [script] if script else ["-m", "twowiki.train"]
    command = [sys.executable, *(TWO if two else []), *program]
    command += ["--output_dir", str(output), *small_flags(task), *flags]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    for attempt in range(2):
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=400,
            cwd=output.parent,
        )  # fmt: skip
        if done.returncode == 0 or not (two and attempt == 0 and "SIGABRT" in done.stderr):
            break
    if check:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def report(output: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((output / "report.json").read_text(encoding="utf-8"))
    return read


def losses(output: Path) -> list[float]:
    return [record["loss"] for record in report(output)["history"] if "loss" in record]


def weights(output: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    last = max(output.glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
    return load_file(last / "model.safetensors")
