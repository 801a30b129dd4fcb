"""The files of a checkpoint: their sizes are noted, and a damaged checkpoint is refused by name.

The libraries that load a checkpoint pass over random states that they cannot read; a run that
continues must not, because its batches and its dropout would be others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.hub.run_record import RUN_FILE

STATE_FILE = "trainer_state.json"
TRAINED_FILE = "trained.safetensors"  # weights that the model's folder holds only merged
_RANDOM_STATES = ("random_state", "numpy_random_seed", "torch_manual_seed")


def file_sizes(folder: Path) -> dict[str, int]:
    """Return the size of every file below a folder, by relative name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def read_checkpoint_run(folder: Path) -> dict[str, Any]:
    """Return what a checkpoint's run.json holds; raise where it is damaged, or a file is cut."""
    path = folder / RUN_FILE
    run = _read_json(path)
    if not all(isinstance(run.get(name), dict) for name in ("config", "identity")):
        raise _damaged(path, "has no settings of a run")
    sizes = run.get("files", {})
    for name, size in sizes.items() if isinstance(sizes, dict) else ():
        file = folder / name
        if not file.is_file():
            raise _damaged(file, "is missing")
        if file.stat().st_size != size:
            raise _damaged(file, f"has {file.stat().st_size:,} bytes instead of {size:,}")
    _read_json(folder / STATE_FILE)
    for file in sorted(folder.glob("*.safetensors")):
        _check_weights(file)
    return run


def _check_weights(file: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy"):
            pass
    except SafetensorError as error:
        raise _damaged(file, f"cannot be read ({_one_line(error)})") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, f"cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise _damaged(path, "is not a JSON object")
    return value


def save_random_states(accelerator: Any, folder: Path) -> None:
    """Save scaler and random states of a process: all but the weights and the optimizer."""
    optimizers, accelerator._optimizers = accelerator._optimizers, []
    try:
        accelerator.save_state(str(folder))
    finally:
        accelerator._optimizers = optimizers


def save_optimizer(state: Any, folder: Path) -> None:
    """Save an optimizer's state where the accelerator looks for it."""
    import torch
    from accelerate.utils import OPTIMIZER_NAME

    torch.save(state, folder / f"{OPTIMIZER_NAME}.bin")


def save_trained(plain: Any, folder: Path) -> None:
    """Save what is trained of a model with adapters, whose folder holds only merged weights."""
    from safetensors.torch import save_file

    from twowiki.training.adapters import has_adapters

    if has_adapters(plain):
        trained = {
            name: parameter.detach().contiguous()
            for name, parameter in plain.named_parameters()
            if parameter.requires_grad
        }
        save_file(trained, folder / TRAINED_FILE)


def leave_weights_out(accelerator: Any) -> None:
    """Leave the weights, which the model's folder has, out of what the accelerator saves."""
    accelerator.register_save_state_pre_hook(lambda models, weights, folder: weights.clear())
    accelerator.register_load_state_pre_hook(lambda models, folder: models.clear())


def load_checkpoint(accelerator: Any, model: Any, folder: Path) -> bool:
    """Load a checkpoint into what the accelerator has prepared.

    Returns:
        Whether this process's random states were there; they are not for a further process.

    Raises:
        DataError: a file of it is damaged, random states included.
    """
    from accelerate.utils.other import load

    from twowiki.training.memory import is_out_of_memory

    path = folder / f"random_states_{accelerator.process_index}.pkl"
    further = not path.exists() and accelerator.process_index > 0
    try:
        states = dict.fromkeys(_RANDOM_STATES) if further else load(path)
        missing = [name for name in _RANDOM_STATES if name not in states]
    except Exception as error:  # the unpickler raises whatever it meets
        raise _damaged(path, f"cannot be loaded ({_one_line(error)})") from error
    if missing:
        raise _damaged(path, f"has no {missing[0]}")
    try:
        accelerator.load_state(str(folder))
        _load_trained(accelerator.unwrap_model(model, keep_torch_compile=False), folder)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise _damaged(folder, f"cannot be loaded ({_one_line(error)})") from error
    return not further


def _load_trained(model: Any, folder: Path) -> None:
    from safetensors.torch import load_file

    if (folder / TRAINED_FILE).is_file():
        model.load_state_dict(load_file(folder / TRAINED_FILE), strict=False)


def _one_line(error: Exception) -> str:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(
        f"is part of a damaged checkpoint: it {problem}",
        file=path,
        remedy="Remove that checkpoint and continue from an earlier one, or start the run again "
        "with --overwrite_output_dir",
    )
