"""Training runs of text-to-text models inside the tests' own process, which saves their start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState, GradientState, PartialState

from twowiki import train

SMALL = {
    "model_name_or_path": "tiny-t5",
    "optim": "adamw",
    "learning_rate": 2e-3,
    "weight_decay": 0.0,
    "per_device_train_batch_size": 32,
    "num_train_epochs": 10_000,
    "eval_steps": 10_000,
    "early_stopping_patience": 0,
    "max_new_tokens": 8,
    "per_device_eval_batch_size": 100,
    "save_total_limit": 1,
}


def run_training(output: Path, *, check: bool = True, **settings: Any) -> int:
    """Train with small settings and those given; give the exit status."""
    flags = ["--output_dir", str(output)]
    for name, value in {**SMALL, **settings}.items():
        values = value if isinstance(value, list) else [value]
        flags += [f"--{name}", *map(str, values)]
    forget_processes()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two are slower on a busy machine
    try:
        status = train.main(flags)
    finally:
        torch.set_num_threads(threads)
        forget_processes()
    assert not check or status == 0
    return status


def forget_processes() -> None:
    """Let the next run set up its processes and precision anew."""
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()


def metrics(output: Path) -> dict[str, float]:
    """Give the best evaluation's figures."""
    found: dict[str, float] = read(output, "scores.json")["metrics"]
    return found


def losses(output: Path) -> list[float]:
    return [one["loss"] for one in read(output, "report.json")["history"] if "loss" in one]


def read(output: Path, name: str) -> Any:
    return json.loads((output / name).read_text(encoding="utf-8"))
