"""Generated data as a folder of all formats: the official JSON, reports, and typed Parquet."""

from __future__ import annotations

from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twowiki.data.configs import GENERATED_CONFIG, WORLD_CONFIG
from twowiki.errors import DataError
from twowiki.io.ownership import MARK, open_folder

if TYPE_CHECKING:
    from twowiki.generation.settings import GenerateConfig, Resources

PARQUET = "parquet"


def generate(out: str | PathLike[str], **settings: Any) -> dict[str, Any]:
    """Generate a data set from dumps into a folder; return the report.

    Args:
        out: the folder to write; its `parquet` folder is what `datasets.load_dataset` reads. A
            stopped run is resumed from `out/work`.
        settings: fields of `GenerateConfig` in `twowiki.generation.settings` (`wikidata`,
            `paragraphs`, `limit_per_type`, `seed`, ...), which fix every byte of the output, and of
            `Resources` there (`engine`, `workers`, `memory`, ...).

    Raises:
        DataError: input or settings that cannot be used.
    """
    from twowiki.generation.settings import GenerateConfig, Resources
    from twowiki.io.arguments import from_values

    names = {field.name for field in fields(Resources)}
    resources = {name: value for name, value in settings.items() if name in names}
    config = {name: value for name, value in settings.items() if name not in names}
    if "seed" in config:
        config["seed"] = str(config["seed"])
    return generate_files(
        from_values(GenerateConfig, config), Path(out), from_values(Resources, resources)
    )


def generate_files(
    config: GenerateConfig, out: Path, resources: Resources, name: str = GENERATED_CONFIG
) -> dict[str, Any]:
    """Generate all files of a data set into a folder, Parquet included; return the report.

    Args:
        config: what fixes every byte of the output.
        out: the folder to write.
        resources: how it runs.
        name: the config of the Parquet files: `generated`, or `world` for a fictional one.
    """
    from twowiki.builder.dataset_card import write_dataset_card
    from twowiki.builder.dataset_origin import render_origin
    from twowiki.builder.export import export
    from twowiki.generation.pipeline import run_pipeline

    if config.sets and name != WORLD_CONFIG:
        raise DataError(
            "--sets makes questions about fictional worlds alone",
            remedy='Use --world, such as --world "people=2000,films=1500,sets=1"',
        )
    inputs = [path for path in (config.wikidata, config.paragraphs) if path is not None]
    resources = replace(resources, work=resources.work or out / "work")
    with (
        open_folder(
            out, "generate", config.to_dict(), restart=resources.restart, inputs=inputs
        ) as owned,
        owned.staged() as aside,
    ):
        report = run_pipeline(config, aside, resources)
        if report["samples"]:
            export(aside, aside / PARQUET, config=name)
            dumps = [path.name for path in inputs] if name == GENERATED_CONFIG else []
            write_dataset_card(aside / PARQUET, render_origin(report, dumps))
            (aside / PARQUET / MARK).unlink(missing_ok=True)  # one mark lists all files
    return report


def make_world(out: str | PathLike[str], **settings: Any) -> dict[str, Any]:
    """Write the dumps of a fictional world into a folder; return its settings and counts.

    Args:
        out: the folder to write; `generate` reads its dumps.
        settings: fields of `twowiki.worlds.settings.WorldConfig` (`people`, `films`, `seed`, ...).

    Raises:
        DataError: a setting that is unknown or out of range.
    """
    from twowiki.worlds.dataset import write_dumps
    from twowiki.worlds.settings import make_world_config

    return write_dumps(make_world_config(settings), Path(out))
