"""The folder of a run: one run at a time; of an older run only what its mark lists is removed.

A folder that holds a run is refused, unless the run goes on from a checkpoint of its own or
`overwrite_output_dir` is set. Files of others may lie in the folder; they stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.arguments import to_dict
from twowiki.io.files import check_folder_name
from twowiki.io.ownership import OWN, OwnedFolder, open_folder
from twowiki.training.checkpoints import FREE_TO_CHANGE, list_checkpoints
from twowiki.training.settings import TrainingSettings

_FOLDER = "Name a folder that can be made"
OUTPUTS = ("report.json", "scores.json", "predictions.json", "curves.png")
INPUTS = "data_dir train_file validation_file aliases_file model_name_or_path arc contexts".split()


def check_output(config: TrainingSettings) -> None:
    """Raise where a new run would write over an older one, or continue another one."""
    output = Path(config.output_dir)
    for name in ("output_dir", "cache_dir"):
        try:
            check_folder_name(getattr(config, name) or output)
        except DataError as error:
            raise DataError(error.problem, file=error.file, field=name, remedy=_FOLDER) from None
    if config.overwrite_output_dir or _continues_own(config):
        return
    identity = OwnedFolder(output).mark().get("identity")
    if config.resume_from_checkpoint == "auto" and identity == _identity(config):
        return  # it was stopped before its first checkpoint
    if list_checkpoints(config.output_dir) or any(
        (output / name).exists() for name in ("best", *OUTPUTS)
    ):
        raise DataError(
            "holds a run already",
            file=output,
            field="output_dir",
            remedy="Continue it with --resume_from_checkpoint auto, replace it with "
            "--overwrite_output_dir, or choose another folder",
        )


@contextmanager
def held_output(config: TrainingSettings) -> Iterator[None]:
    """Hold the run's folder against other runs; remove what an older run's mark lists.

    Raises:
        DataError: another run works there, or files of others have the names of the run's files.
    """
    if os.environ.get("RANK", "0") != "0":  # the first process holds it for all
        yield
        return
    values = to_dict(config)
    inputs = [Path(str(values[name])) for name in INPUTS if values.get(name)]
    with open_folder(
        Path(config.output_dir),
        "train",
        _identity(config),
        restart=not _continues_own(config),
        beside=True,
        inputs=[path for path in inputs if path.exists()],
    ) as owned:
        owned.claim(f"{OWN}/", "config.json", *OUTPUTS)
        yield


def _identity(config: TrainingSettings) -> dict[str, Any]:
    values = {name: one for name, one in to_dict(config).items() if name not in FREE_TO_CHANGE}
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain


def _continues_own(config: TrainingSettings) -> bool:
    """Return whether the run goes on from a checkpoint of its own folder."""
    resumed, own = config.resume_from_checkpoint, list_checkpoints(config.output_dir)
    return bool(own) and (resumed == "auto" or Path(resumed).resolve() in map(Path.resolve, own))
