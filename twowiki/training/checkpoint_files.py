"""The files of a checkpoint: their sizes are noted, and a damaged checkpoint is refused by name.

The libraries that load a checkpoint pass over random states that they cannot read; a run that
continues must not, because its batches and its dropout would be others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from twowiki.errors import DataError

_RANDOM_STATES = ("random_state", "numpy_random_seed", "torch_manual_seed")


def file_sizes(folder: Path) -> dict[str, int]:
    """Return the size of every file below a folder, by relative name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def read_checkpoint_run(folder: Path) -> dict[str, Any]:
    """Return what a checkpoint's run.json holds; raise where it is damaged, or a file is cut."""
    path = folder / "run.json"
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, f"cannot be read ({error})") from None
    if not isinstance(run, dict) or not isinstance(run.get("config"), dict):
        raise _damaged(path, "has no settings of a run")
    sizes = run.get("files", {})  # checkpoints of earlier versions have none
    for name, size in sizes.items() if isinstance(sizes, dict) else ():
        file = folder / name
        if not file.is_file():
            raise _damaged(file, "is missing")
        if file.stat().st_size != size:
            raise _damaged(file, f"has {file.stat().st_size:,} bytes instead of {size:,}")
    return run


def load_checkpoint(accelerator: Any, folder: Path) -> None:
    """Load a checkpoint into what the accelerator has prepared.

    Raises:
        DataError: a file of it is damaged, random states included.
    """
    from accelerate.utils.memory import should_reduce_batch_size
    from accelerate.utils.other import load

    path = folder / f"random_states_{accelerator.process_index}.pkl"
    try:
        states = load(path)
        missing = [name for name in _RANDOM_STATES if name not in states]
    except Exception as error:  # the unpickler raises whatever it meets
        raise _damaged(path, f"cannot be loaded ({_one_line(error)})") from error
    if missing:
        raise _damaged(path, f"has no {missing[0]}")
    try:
        accelerator.load_state(str(folder))
    except Exception as error:
        if should_reduce_batch_size(error):  # no room on the device: a smaller batch is tried
            raise
        raise _damaged(folder, f"cannot be loaded ({_one_line(error)})") from error


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
