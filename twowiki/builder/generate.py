"""Generated data as a folder of all formats: the official JSON, reports, and typed Parquet."""

from __future__ import annotations

import shutil
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.data.schema import DEFAULT_CONFIG

if TYPE_CHECKING:
    from twowiki.generation.settings import GenerateConfig, Resources

PARQUET = "parquet"


def generate(
    config: GenerateConfig, out: str | PathLike[str], resources: Resources | None = None
) -> dict[str, Any]:
    """Generate a data set from dumps into a folder; return the report.

    Args:
        config: the dumps and the settings, which fix every byte of the output.
        out: the folder to write; its `parquet` folder is what `datasets.load_dataset` reads.
        resources: engine, processes, memory and the folder of the stages (`out/work`); a
            stopped run is resumed from there.

    Raises:
        DataError: input or settings that cannot be used.
    """
    from twowiki.builder.export import export
    from twowiki.generation.pipeline import run_pipeline
    from twowiki.generation.settings import Resources

    folder = Path(out)
    report = run_pipeline(config, folder, resources or Resources())
    target = folder / PARQUET
    if target.exists():
        shutil.rmtree(target)
    if report["samples"]:
        export(folder, target, config=DEFAULT_CONFIG)
    return report


def make_world(out: str | PathLike[str], **settings: Any) -> dict[str, Any]:
    """Write the dumps of a fictional world into a folder; return its settings and counts.

    Args:
        out: the folder to write; `generate` reads its dumps.
        settings: fields of `twowiki.worlds.settings.WorldConfig` (`people`, `films`, `seed`, ...).

    Raises:
        DataError: a setting that is unknown or out of range.
    """
    from twowiki.worlds.dumps import write_world
    from twowiki.worlds.settings import make_world_config

    return write_world(make_world_config(settings), Path(out))
