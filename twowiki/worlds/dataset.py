"""The config `world` of the builder: a data set generated on the spot, kept in the cache.

In: options of `load_dataset`. Out: the files of each split. The same options are generated once;
a stopped run leaves nothing that looks finished.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.ownership import open_folder
from twowiki.io.stages import key_of, run_stage
from twowiki.worlds.settings import OPTION_NAMES, WorldConfig, make_world_config

WORLD_CONFIG = "world"
# The file that the config names as its data: one that always exists.
PLACEHOLDER = __file__


_OF_WORLD = tuple(field.name for field in fields(WorldConfig))


def made_files(config: Any, cache: str, code: str) -> dict[str, list[str]]:
    """Return the files of a builder's config if it is `world`, else none.

    Args:
        config: the builder's config.
        cache: the folder that keeps generated data.
        code: hash of the code that generates.

    Raises:
        DataError: an option that cannot be used, or a world's option for another config.
    """
    options = {name: getattr(config, name) for name in OPTION_NAMES}
    given = {name: value for name, value in options.items() if value is not None}
    if config.name == WORLD_CONFIG:
        try:
            return world_files(given, Path(cache), code)
        except ModuleNotFoundError as error:
            raise DataError(
                f"making a world needs the package {error.name!r}",
                remedy="Install it with: pip install 'twowiki[generate]'",
            ) from None
    for name in given:
        raise DataError(
            f"is not an option of the config {config.name!r}",
            field=name,
            remedy=f"It belongs to the config {WORLD_CONFIG!r}",
        )
    return {}


def world_files(options: Mapping[str, Any], cache: Path, code: str) -> dict[str, list[str]]:
    """Generate a world's data set unless the cache has it; return the files of each split.

    Args:
        options: of `WorldOptions`.
        cache: the folder to keep it in.
        code: hash of the code that generates; other code generates anew.

    Raises:
        DataError: an option that cannot be used.
    """
    world = make_world_config({name: options[name] for name in _OF_WORLD if name in options})
    generation = {name: options[name] for name in OPTION_NAMES if name in options}
    generation = {name: value for name, value in generation.items() if name not in _OF_WORLD}
    key = key_of({"world": world.to_dict(), "options": generation, "code": code})
    folder = cache / "twowiki-worlds" / key
    run_stage(folder, key, partial(_generate, world, generation), shared=True, quiet=True)
    splits = {"train": "train", "validation": "dev", "test": "test"}
    return {split: [str(folder / f"{name}.json")] for split, name in splits.items()}


def _generate(world: WorldConfig, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    from twowiki.generation.pipeline import run_pipeline
    from twowiki.generation.run import stages_folder
    from twowiki.generation.settings import GenerateConfig, Resources

    wikidata, paragraphs = prepare_dumps(world, stages_folder(out, None) / "world")
    config = GenerateConfig(wikidata=wikidata, paragraphs=paragraphs, seed=world.seed, **options)
    # One process: another would run the caller's script again, if that has no main guard.
    report = run_pipeline(config, out, Resources(workers=1))
    splits: dict[str, Any] = report["splits"]
    if not all(splits.get(name) for name in ("train", "dev", "test")):
        raise DataError(
            "the world is too small: a split would be empty",
            remedy="Give more people and films, such as people=500, films=400",
        )
    shutil.rmtree(out / "work", ignore_errors=True)
    return splits


def prepare_dumps(config: WorldConfig, folder: Path) -> tuple[Path, Path]:
    """Write a world's dumps into a folder, unless they are there; return their paths."""
    from twowiki.worlds.dumps import PARAGRAPHS, REPORT, WIKIDATA

    done = folder / REPORT
    try:
        same = json.loads(done.read_text(encoding="utf-8"))["settings"] == config.to_dict()
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    dumps = folder / WIKIDATA, folder / PARAGRAPHS
    if not (same and all(path.is_file() for path in dumps)):
        write_dumps(config, folder)
    return dumps


def write_dumps(config: WorldConfig, folder: Path) -> dict[str, Any]:
    """Write a world into a folder in which files of others stay; return its report.

    Raises:
        DataError: a file of one of its names that no earlier world wrote.
    """
    from twowiki.worlds.dumps import PARAGRAPHS, REPORT, WIKIDATA, write_world

    with open_folder(folder, "world", config.to_dict(), beside=True) as owned:
        owned.discard(REPORT)
        owned.claim(WIKIDATA, PARAGRAPHS, REPORT)
        return write_world(config, folder)


def add_difficulty(config: WorldConfig, out: Path, report: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a generated folder's difficulty; add it and the world's settings to its reports."""
    from twowiki.generation.difficulty import measure_difficulty, read_gold_examples
    from twowiki.generation.report import write_report

    difficulty = measure_difficulty(read_gold_examples(out))
    write_report(out, {**report, "world": config.to_dict(), "difficulty": difficulty})
    return difficulty
