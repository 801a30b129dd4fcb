"""Checkpoints of a run: written aside then renamed, the oldest ones removed.

`step_N/` holds accelerate's state (weights, optimizer, random states of each process), the run's
own state, its settings, and the model as a folder that loads on its own. A checkpoint of another
data set or of other settings is refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.arguments import to_dict
from twowiki.io.files import write_json
from twowiki.io.ownership import OWN, OwnedFolder
from twowiki.training.checkpoint_files import file_sizes, read_checkpoint_run
from twowiki.training.settings import TrainingSettings

SaveModel = Callable[[Any, Path], None]  # writes a plain model into a folder
# settings that may differ between a run and the run that it continues
FREE_TO_CHANGE = frozenset(
    "output_dir overwrite_output_dir resume_from_checkpoint num_train_epochs max_steps "
    "max_cpu_minutes logging_steps save_steps save_total_limit report_to dataloader_num_workers "
    "stop_at push_to_hub hub_model_id hub_private_repo cache_dir per_device_eval_batch_size "
    "ceiling_examples early_stopping_patience data_dir train_file validation_file arc contexts "
    "mc_contexts contamination".split()
)


@dataclass
class RunState:
    """The progress of a run; accelerate saves and loads it with a checkpoint.

    Attributes:
        epoch: the current epoch.
        batch: batches of it that are done, on each process.
        step: optimizer steps done.
        best: the best metric so far, and `best_step` its step.
        waited: evaluations since.
        rate_factor: factor of the learning rate in the halving schedule.
        cpu_seconds: processor time spent on training.
        stopped: why the run ended, if it did.
        history: one record per logged step and evaluation.
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
        """Return everything to save."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load what was saved."""
        for name, value in state.items():
            setattr(self, name, value)


def save_checkpoint(
    accelerator: Any,
    model: Any,
    save: SaveModel,
    config: TrainingSettings,
    state: RunState,
    identity: dict[str, Any],
) -> Path:
    """Save a checkpoint of this step, then remove those over the limit. All processes call this."""
    owned = OwnedFolder(Path(config.output_dir))
    target, aside = f"checkpoints/step_{state.step}", owned.path / OWN / "checkpoint"
    if accelerator.is_main_process:
        owned.claim(f"{OWN}/")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
    accelerator.wait_for_everyone()
    accelerator.save_state(str(aside))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        save(accelerator.unwrap_model(model, keep_torch_compile=False), aside / "model")
        run = {**identity, "config": to_dict(config), "files": file_sizes(aside)}
        write_json(aside / "run.json", run)
        owned.put(aside, target)
        if config.save_total_limit > 0:
            for old in list_checkpoints(config.output_dir)[: -config.save_total_limit]:
                owned.discard(f"checkpoints/{old.name}")
    accelerator.wait_for_everyone()
    return owned.path / target


def save_model(accelerator: Any, model: Any, save: SaveModel, folder: Path) -> None:
    """Save a model as a folder of its own in the run's folder, written aside and then renamed."""
    owned = OwnedFolder(folder.parent)
    aside = owned.path / OWN / folder.name
    owned.claim(f"{OWN}/")
    shutil.rmtree(aside, ignore_errors=True)
    save(accelerator.unwrap_model(model, keep_torch_compile=False), aside)
    owned.put(aside, folder.name)


def list_checkpoints(output_dir: str) -> list[Path]:
    """Return a run's finished checkpoints in the order of writing; nothing unmarked counts."""
    owned = OwnedFolder(Path(output_dir))
    names = [name.split("/") for name in owned.names() if name.endswith("/run.json")]
    found = [owned.path / parts[0] / parts[1] for parts in names if parts[0] == "checkpoints"]
    return [path for path in found if (path / "run.json").is_file()]


def find_checkpoint(config: TrainingSettings) -> Path | None:
    """Return the checkpoint that a run continues from; None to start afresh."""
    if not config.resume_from_checkpoint:
        return None
    if config.resume_from_checkpoint == "auto":
        return next(reversed(list_checkpoints(config.output_dir)), None)
    path = Path(config.resume_from_checkpoint)
    if not (path / "run.json").is_file():
        raise DataError(
            "is not a checkpoint of a run",
            file=path,
            field="resume_from_checkpoint",
            remedy="Name a folder such as runs/baseline/checkpoints/step_100, or `auto`",
        )
    return path


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


def check_same_run(path: Path, config: TrainingSettings, identity: dict[str, Any]) -> None:
    """Raise where a checkpoint is of another data set, other settings or another process count."""
    saved = read_checkpoint_run(path)
    mine = json.loads(json.dumps({**identity, "config": to_dict(config)}))
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
