"""The configs `world` and `world_corpus`: a data set generated on the spot, kept in the cache.

In: options of `load_dataset`. Out: the files of each split. The same options are generated once;
a stopped run leaves nothing that looks finished.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from twowiki.data.configs import WORLD_CONFIG
from twowiki.errors import DataError
from twowiki.generation.profiles import load_profile
from twowiki.io.files import write_json
from twowiki.io.ownership import open_folder
from twowiki.io.stages import key_of, run_stage
from twowiki.worlds.corpus import CORPUS_CONFIG, CORPUS_FILE, write_corpus
from twowiki.worlds.settings import OPTION_NAMES, WorldConfig, request_of

_CERTIFICATE = "certificate.json"
WORLD_CONFIGS = (WORLD_CONFIG, CORPUS_CONFIG)
# The file that the config names as its data: one that always exists.
PLACEHOLDER = __file__


def made_files(config: Any, cache: str, code: str, *, named: bool = False) -> dict[str, list[str]]:
    """Return the files of a fresh world if a builder's config is one and names no files, else none.

    Args:
        config: the builder's config.
        cache: the folder that keeps generated data.
        code: hash of the code that generates.
        named: whether data are named, which are read then.

    Raises:
        DataError: an option that cannot be used, or a world's option for another config.
    """
    options = {name: getattr(config, name) for name in OPTION_NAMES}
    given = {name: value for name, value in options.items() if value is not None}
    if config.name in WORLD_CONFIGS and not named:
        try:
            files = world_files(given, Path(cache), code)
            if config.name == WORLD_CONFIG:
                return files
            return {"corpus": [str(Path(files["train"][0]).with_name(CORPUS_FILE))]}
        except ModuleNotFoundError as error:
            raise DataError(
                f"making a world needs the package {error.name!r}",
                remedy="Install it with: pip install 'twowiki[generate]'",
            ) from None
    for name in given:
        if config.name in WORLD_CONFIGS:
            remedy = "Leave the option out, or data_dir and data_files"
            raise DataError("makes a fresh world, and files are named", field=name, remedy=remedy)
        raise DataError(
            f"is not an option of the config {config.name!r}",
            field=name,
            remedy=f"It belongs to the configs {' and '.join(WORLD_CONFIGS)}",
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
    world, questions = request_of(options)
    settings = {"world": world.to_dict(), "options": questions, "code": code}
    if questions.get("like"):
        settings["profile"] = msgspec.to_builtins(load_profile(questions["like"]))
    key = key_of(settings)
    folder = cache / "twowiki-worlds" / key
    run_stage(folder, key, partial(_generate, world, questions), shared=True, quiet=True)
    splits = {"train": "train", "validation": "dev", "test": "test"}
    return {split: [str(folder / f"{name}.json")] for split, name in splits.items()}


def _generate(world: WorldConfig, questions: Mapping[str, Any], out: Path) -> dict[str, Any]:
    from twowiki.generation.difficulty import read_gold_examples
    from twowiki.generation.pipeline import run_pipeline
    from twowiki.generation.run import stages_folder
    from twowiki.generation.settings import GenerateConfig, Resources
    from twowiki.generation.shortcuts import measure_shortcuts

    wikidata, paragraphs = prepare_dumps(world, stages_folder(out, None) / "world")
    config = GenerateConfig(wikidata=wikidata, paragraphs=paragraphs, **questions)
    # One process: another would run the caller's script again, if that has no main guard.
    report = run_pipeline(config, out, Resources(workers=1))
    splits: dict[str, Any] = report["splits"]
    if not all(splits.get(name) for name in ("train", "dev", "test")):
        raise DataError(
            "the world is too small: a split would be empty",
            remedy="Give more people and films, such as people=500, films=400",
        )
    write_corpus(wikidata, paragraphs, out)
    certificate = measure_shortcuts(read_gold_examples(out, None, WORLD_CONFIG), {})["certificate"]
    write_json(out / _CERTIFICATE, certificate)
    shutil.rmtree(out / "work", ignore_errors=True)
    return splits


def certificate_of(files: Mapping[str, Sequence[str]]) -> str:
    """Return the certificate of a world's data set, by the files of its splits, as a sentence."""
    from twowiki.generation.shortcuts import certificate_line

    path = Path(files["train"][0]).with_name(_CERTIFICATE)
    return certificate_line(json.loads(path.read_text("utf-8")))


def prepare_dumps(config: WorldConfig, folder: Path) -> tuple[Path, Path]:
    """Write a world's dumps into a folder, unless they are there; return their paths."""
    from twowiki.worlds.dumps import PARAGRAPHS, REPORT, WIKIDATA

    done = folder / REPORT
    try:
        same = json.loads(done.read_text(encoding="utf-8"))["settings"] == config.to_dict()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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

    measured = measure_difficulty(read_gold_examples(out, None, WORLD_CONFIG))
    write_report(out, {**report, "world": config.to_dict(), **measured})
    return measured
