"""Checkpoints of a run: written aside then renamed, the oldest ones removed.

`checkpoint-N/` is the model as a folder that loads on its own, beside it the optimizer, the random
states of each process, the run's own state (`trainer_state.json`) and its identity (`run.json`).
The weights are there once; an average of them is `averaged.safetensors`. With adapters the training
goes on from the run's start and the trained weights, which are in `trained.safetensors`. A
checkpoint of another run is refused.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.hub.run_record import RUN_FILE
from twowiki.io.arguments import to_dict
from twowiki.io.files import write_json
from twowiki.io.ownership import OWN, OwnedFolder
from twowiki.io.stages import fingerprint_of
from twowiki.training.checkpoint_files import (
    STATE_FILE,
    file_sizes,
    read_checkpoint_run,
    save_optimizer,
    save_random_states,
    save_trained,
)
from twowiki.training.checkpoint_writer import copy_to_memory, on_cpu
from twowiki.training.epoch_plan import Stretch
from twowiki.training.settings import TrainingSettings

SaveModel = Callable[[Any, Path], None]  # writes a plain model into a folder
# settings that may differ between a run and the run that it continues
FREE_TO_CHANGE = frozenset(
    "output_dir overwrite_output_dir resume_from_checkpoint num_train_epochs max_steps "
    "max_cpu_minutes logging_steps save_steps save_total_limit report_to dataloader_num_workers "
    "preprocessing_num_workers decoding_num_workers stop_at push_to_hub hub_model_id cache_dir "
    "per_device_eval_batch_size ceiling_examples early_stopping_patience data_dir train_file "
    "validation_file hub_private_repo arc contexts mc_contexts contamination".split()
)
_CHECKPOINT = re.compile(r"checkpoint-\d+")


def run_identity(config: TrainingSettings, data: list[str]) -> dict[str, Any]:
    """Return what a run's result follows from: task, settings, seed, data, and its start."""
    values = {name: one for name, one in to_dict(config).items() if name not in FREE_TO_CHANGE}
    identity = {"settings": values, "data": data, "start": _start_of(config.model_name_or_path)}
    plain: dict[str, Any] = json.loads(json.dumps(identity))
    return plain


def _start_of(model: str) -> dict[str, Any]:
    """Return the hashes of the model's files that a run starts from; empty for one of the hub."""
    folder = Path(model)
    if not model or not folder.exists():
        return {}
    names = ("*.safetensors", "config.json")
    files = sorted(path for name in names for path in folder.glob(name))
    paths = files if folder.is_dir() else [folder]
    return {path.name: fingerprint_of(path)["sha256"] for path in paths}


@dataclass
class RunState:
    """The progress of a run, saved and loaded with a checkpoint.

    Attributes:
        epoch: the current epoch.
        examples: examples of it that are done, on all processes.
        earlier: those of them that other numbers of processes did: examples and parts of a step,
            and how many examples.
        step: optimizer steps done.
        more_steps: what other numbers of processes add to the steps of the run.
        best: the best metric so far, and `best_step` its step.
        waited: evaluations since.
        rate_factor: factor of the learning rate in the halving schedule.
        cpu_seconds: processor time spent on training.
        stopped: why the run ended, if it did.
        history: one record per logged step and evaluation.
        losses: of the steps since the last logged one.
    """

    epoch: int = 0
    examples: int = 0
    earlier: list[list[int]] = field(default_factory=list)
    step: int = 0
    more_steps: int = 0
    best: float | None = None
    best_step: int = 0
    waited: int = 0
    rate_factor: float = 1.0
    cpu_seconds: float = 0.0
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    losses: dict[str, Any] = field(default_factory=dict)

    @property
    def stretches(self) -> list[Stretch]:
        """What other plans took of the epoch."""
        return [Stretch(*stretch) for stretch in self.earlier]

    def load(self, folder: Path) -> None:
        """Load what a checkpoint holds."""
        for name, value in json.loads((folder / STATE_FILE).read_text(encoding="utf-8")).items():
            setattr(self, name, value)


def save_checkpoint(run: Any, save: SaveModel) -> None:
    """Save a checkpoint of this step, then remove those over the limit. All processes call this.

    The main process copies it into memory; `run.writer` writes it while the run goes on.

    Args:
        run: a `twowiki.training.run.Run`.
        save: writes a plain model into a folder.
    """
    config, state, accelerator = run.config, run.state, run.accelerator
    owned = OwnedFolder(Path(config.output_dir))
    target, aside = f"checkpoint-{state.step}", owned.path / OWN / "checkpoint"
    run.writer.finish()
    if accelerator.is_main_process:
        owned.claim(f"{OWN}/")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
    accelerator.wait_for_everyone()
    save_random_states(accelerator, aside)
    accelerator.wait_for_everyone()
    if not accelerator.is_main_process:
        return
    plain = accelerator.unwrap_model(run.model, keep_torch_compile=False)
    model, average = copy_to_memory(plain, run.average, run.average.average)
    optimizer, progress = on_cpu(run.optimizer.state_dict()), asdict(state)
    record = {**run.record, "step": state.step, "config": to_dict(config)}

    def write() -> None:
        save_optimizer(optimizer, aside)
        save_trained(model, aside)
        save(model, aside)
        average.save(aside)
        write_json(aside / STATE_FILE, progress)
        write_json(aside / RUN_FILE, {**record, "files": file_sizes(aside)})

    def place() -> None:
        owned.put(aside, target)
        if config.save_total_limit > 0:
            for old in list_checkpoints(config.output_dir)[: -config.save_total_limit]:
                owned.discard(old.name)

    run.writer.start(write, place, owned.path / target)


def save_model(
    accelerator: Any, model: Any, save: SaveModel, folder: Path, record: Mapping[str, Any]
) -> None:
    """Save a model as a folder of its own in the run's folder, written aside and then renamed.

    Its `run.json` holds the record: of which run and step it is.
    """
    owned = OwnedFolder(folder.parent)
    aside = owned.path / OWN / folder.name
    owned.claim(f"{OWN}/")
    shutil.rmtree(aside, ignore_errors=True)
    save(accelerator.unwrap_model(model, keep_torch_compile=False), aside)
    write_json(aside / RUN_FILE, dict(record))
    owned.put(aside, folder.name)


def list_checkpoints(output_dir: str) -> list[Path]:
    """Return a run's finished checkpoints in the order of writing; nothing unmarked counts."""
    owned = OwnedFolder(Path(output_dir))
    names = [name.partition("/") for name in owned.names()]
    found = [owned.path / top for top, _, file in names if file == RUN_FILE]
    finished = [path for path in found if (path / RUN_FILE).is_file()]
    return [path for path in finished if _CHECKPOINT.fullmatch(path.name)]


def find_checkpoint(config: TrainingSettings) -> Path | None:
    """Return the checkpoint that a run continues from; None to start afresh."""
    if not config.resume_from_checkpoint:
        return None
    if config.resume_from_checkpoint == "auto":
        return next(reversed(list_checkpoints(config.output_dir)), None)
    path = Path(config.resume_from_checkpoint)
    if not (path / STATE_FILE).is_file():
        raise DataError(
            "is not a checkpoint of a run",
            file=path,
            field="resume_from_checkpoint",
            remedy="Name a folder such as runs/baseline/checkpoint-100, or `auto`",
        )
    return path


def find_start(config: TrainingSettings, checkpoint: Path | None) -> Path | None:
    """Return the folder of the model that training goes on from; None for a new one.

    With adapters this is the run's start: a checkpoint holds its weights merged with them.
    """
    adapted = bool(getattr(config, "lora_r", 0))
    return find_saved_model(config) if adapted or checkpoint is None else checkpoint


def find_saved_model(config: TrainingSettings) -> Path | None:
    """Return the folder of the trained model that a run starts from; None without one."""
    path = config.saved_model
    if not path:
        return None
    if not (Path(path) / "config.json").is_file():
        raise DataError(
            "holds no saved model (no config.json)",
            file=path,
            remedy="Name a folder that training or `twowiki convert-baseline` wrote",
        )
    return Path(path)


def check_same_run(path: Path, identity: Mapping[str, Any]) -> None:
    """Raise where a checkpoint is not of this run.

    Args:
        path: the checkpoint.
        identity: of this run.

    Raises:
        DataError: other data, another start, or another setting.
    """
    before: dict[str, Any] = read_checkpoint_run(path)["identity"]
    for name, what in (("data", "other data"), ("start", "another model to start from")):
        if before.get(name) != identity[name] and identity[name]:
            remedy = "Resume with what the run was started with, or start a new one"
            raise DataError(f"is of a run with {what}", file=path, field=name, remedy=remedy)
    for name, value in identity["settings"].items():
        known = before.get("settings", {}).get(name, value)
        if known != value:
            raise DataError(
                f"was made with {name} = {known!r}, and this run has {value!r}",
                file=path,
                field=name,
                remedy="Resume with the settings of the run, or start a new one",
            )
