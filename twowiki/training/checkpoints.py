"""Checkpoints of a run: written aside then renamed, the oldest ones removed, refused when foreign.

`step_N/` holds accelerate's state (weights, optimiser, random states of each process), the run's
own state, its configuration, and the model as a folder that loads on its own.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.files import write_json
from twowiki.training.settings import RunConfig

SaveModel = Callable[[Any, Path], None]  # writes a plain model into a folder
# what may differ between a run and the run it goes on from
FREE_TO_CHANGE = frozenset(
    "output_dir resume epochs max_steps max_cpu_minutes log_every save_every checkpoint_limit "
    "trackers workers stop_at push_to_hub hub_repo cache_dir eval_batch_size ceiling_examples "
    "patience data_dir train_file validation_file arc contexts mc_contexts contamination".split()
)


@dataclass
class RunState:
    """Where a run stands; accelerate saves and loads it with a checkpoint.

    Attributes:
        epoch: the epoch that runs.
        batch: batches of it that are done, on each process.
        step: optimiser steps done.
        best: the best figure so far, and `best_step` where it was.
        waited: evaluations since.
        rate_factor: what the halving schedule has made of the learning rate.
        cpu_seconds: processor time spent on training.
        stopped: why the run ended, if it did.
        history: a record a logged step and evaluation.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    rate_factor: float = 1.0
    cpu_seconds: float = 0.0
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)

    def state_dict(self) -> dict[str, Any]:
        """Give everything to save."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what was saved."""
        for name, value in state.items():
            setattr(self, name, value)


def save_checkpoint(
    accelerator: Any,
    model: Any,
    save: SaveModel,
    config: RunConfig,
    state: RunState,
    identity: dict[str, Any],
) -> Path:
    """Save a checkpoint of this step, then remove those over the limit. All processes call this."""
    folder = checkpoints_of(config.output_dir)
    target, aside = folder / f"step_{state.step}", folder / f"step_{state.step}.tmp"
    if accelerator.is_main_process:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
    accelerator.wait_for_everyone()
    accelerator.save_state(str(aside))
    if accelerator.is_main_process:
        save_model(accelerator, model, save, aside / "model")
        write_json(aside / "run.json", {**identity, "config": asdict(config)})
        shutil.rmtree(target, ignore_errors=True)
        os.replace(aside, target)
        if config.checkpoint_limit > 0:
            for old in list_checkpoints(folder)[: -config.checkpoint_limit]:
                shutil.rmtree(old)
    accelerator.wait_for_everyone()
    return target


def save_model(accelerator: Any, model: Any, save: SaveModel, folder: Path) -> None:
    """Save a model as a folder of its own, written aside and then renamed."""
    aside = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    save(accelerator.unwrap_model(model, keep_torch_compile=False), aside)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(aside, folder)


def checkpoints_of(output_dir: str) -> Path:
    """Give the folder of a run's checkpoints."""
    return Path(output_dir) / "checkpoints"


def list_checkpoints(folder: Path) -> list[Path]:
    """Give the finished checkpoints, the oldest first; anything else there is left alone."""
    found = [
        path
        for path in folder.glob("step_*")
        if path.is_dir() and path.name.removeprefix("step_").isdigit()
    ]
    return sorted(found, key=lambda path: int(path.name.removeprefix("step_")))


def find_checkpoint(config: RunConfig) -> Path | None:
    """Give the checkpoint that a run is to go on from; None to start afresh."""
    if not config.resume:
        return None
    if config.resume == "auto":
        found = list_checkpoints(checkpoints_of(config.output_dir))
        return found[-1] if found else None
    path = Path(config.resume)
    if not (path / "run.json").is_file():
        raise DataError(
            "is no checkpoint of a run",
            file=path,
            field="resume",
            remedy="Give a folder such as runs/baseline/checkpoints/step_100, or `auto`",
        )
    return path


def require_model(path: str) -> Path:
    """Give the folder of a saved model."""
    if not (Path(path) / "config.json").is_file():
        raise DataError(
            "holds no saved model (no config.json)",
            file=path,
            remedy="Give a folder that training or `twowiki convert-baseline` wrote",
        )
    return Path(path)


def check_same_run(path: Path, config: RunConfig, identity: dict[str, Any]) -> None:
    """Refuse to go on from a checkpoint of another data set, configuration or process count."""
    saved = json.loads((path / "run.json").read_text(encoding="utf-8"))
    mine = json.loads(json.dumps({**identity, "config": asdict(config)}))
    for name in identity:
        if saved.get(name) != mine[name]:
            raise DataError(
                f"was made with {name} {saved.get(name)!r}, and this run has {mine[name]!r}",
                file=path,
                field=name,
                remedy="Resume with the same data and number of processes",
            )
    for name, value in mine["config"].items():
        before = saved["config"].get(name, value)
        if name not in FREE_TO_CHANGE and before != value:
            raise DataError(
                f"was made with {name} = {before!r}, and this run has {value!r}",
                file=path,
                field=name,
                remedy="Resume with the settings of the run, or start a new one",
            )
