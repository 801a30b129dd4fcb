"""The config `world` of the builder: a data set made on the spot, kept in the cache.

In: options of `load_dataset`. Out: the files of each split. The same options are generated once;
a stopped run leaves nothing that looks finished.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.generation.difficulty import READERS, measure_difficulty, read_gold_examples
from twowiki.io.files import write_json, write_text
from twowiki.io.stages import key_of, run_stage
from twowiki.worlds.dumps import PARAGRAPHS, REPORT, WIKIDATA, write_world
from twowiki.worlds.settings import WorldConfig, make_world_config, parse_pairs

WORLD_CONFIG = "world"
# What a world's config loads in place of files: a file that is always there.
PLACEHOLDER = __file__


@dataclass
class WorldOptions:
    """Options of the config `world`; None stands for the default.

    Attributes:
        people: people with a page (2,000).
        films: films with a page (1,500).
        seed: what every draw depends on, of the world and of the questions ("0").
        unique_names: whether no two people share a name.
        aliases: percent of mentions of people by another of their names (5).
        missing: percent of what pages say that Wikidata lacks (8).
        mismatch: percent of facts whose text says something else (0).
        brief: whether summaries are of two or three sentences.
        limit_per_type: samples of each question type (1,000).
        mix: "even", or "paper" for the shares of the paper's Table 2.
        title_case: "clean", or "paper" for the released questions' style.
    """

    people: int | None = None
    films: int | None = None
    seed: str | int | None = None
    unique_names: bool | None = None
    aliases: int | None = None
    missing: int | None = None
    mismatch: int | None = None
    brief: bool | None = None
    limit_per_type: int | None = None
    mix: str | None = None
    title_case: str | None = None


OPTION_NAMES = tuple(field.name for field in fields(WorldOptions))
_OF_WORLD = ("people", "films", "seed", "unique_names", "aliases", "missing", "mismatch", "brief")


def read_options(text: str) -> dict[str, Any]:
    """Read options written as "people=2000,films=1500,seed=7,limit_per_type=500".

    Raises:
        DataError: what sets nothing, or sets it to no number where one is needed.
    """
    options: dict[str, Any] = {}
    for name, value in parse_pairs(text):
        if name not in OPTION_NAMES:
            raise DataError(
                "there is no such setting of a world",
                field=name,
                remedy=f"Known: {', '.join(OPTION_NAMES)}",
            )
        if name not in ("seed", "mix", "title_case"):
            if not value.isdecimal():
                raise DataError(
                    f"{value!r} is no whole number", field=name, remedy=f"Give it as {name}=1000"
                )
            options[name] = int(value)
        else:
            options[name] = value
    return options


def made_files(config: Any, cache: str, code: str) -> dict[str, list[str]]:
    """Give the files of a builder's config if it is `world`, else none.

    Args:
        config: of the builder.
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
            f"is no option of the config {config.name!r}",
            field=name,
            remedy=f"It belongs to the config {WORLD_CONFIG!r}",
        )
    return {}


def world_files(options: Mapping[str, Any], cache: Path, code: str) -> dict[str, list[str]]:
    """Generate a world's data set unless the cache has it; give split -> files.

    Args:
        options: of `WorldOptions`.
        cache: the folder to keep it in.
        code: hash of the code that generates; other code generates anew.

    Raises:
        DataError: an option that cannot be used.
    """
    world = {name: options[name] for name in _OF_WORLD if name in options}
    for name in ("unique_names", "brief"):
        world |= {name: int(world[name])} if name in world else {}
    settings = make_world_config(world)
    asked = {name: options[name] for name in OPTION_NAMES if name in options}
    key = key_of({"world": settings.to_dict(), "options": asked, "code": code})
    folder = cache / "twowiki-worlds" / key
    run_stage(folder, key, partial(_generate, settings, asked), shared=True, quiet=True)
    splits = {"train": "train", "validation": "dev", "test": "test"}
    return {split: [str(folder / f"{name}.json")] for split, name in splits.items()}


def _generate(settings: Any, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    from twowiki.generation.pipeline import run_pipeline
    from twowiki.generation.settings import GenerateConfig, Resources

    wikidata, paragraphs = prepare_dumps(settings, out / "work" / "world")
    config = GenerateConfig(
        wikidata=wikidata,
        paragraphs=paragraphs,
        limit_per_type=options.get("limit_per_type", 1000),
        mix=options.get("mix", "even"),
        title_case=options.get("title_case", "clean"),
        seed=settings.seed,
    )
    # One process: another would run the caller's script again, if that has no main guard.
    report = run_pipeline(config, out, Resources(work=out / "work", workers=1))
    splits: dict[str, Any] = report["splits"]
    if not all(splits.get(name) for name in ("train", "dev", "test")):
        raise DataError(
            "the world is too small: a split would be empty",
            remedy="Give more people and films, such as people=500, films=400",
        )
    shutil.rmtree(out / "work", ignore_errors=True)
    return splits


def prepare_dumps(config: WorldConfig, folder: Path) -> tuple[Path, Path]:
    """Write a world's dumps into a folder, unless it holds just these; give their paths."""
    done = folder / REPORT
    try:
        same = json.loads(done.read_text(encoding="utf-8"))["settings"] == config.to_dict()
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    dumps = folder / WIKIDATA, folder / PARAGRAPHS
    if not (same and all(path.is_file() for path in dumps)):
        folder.mkdir(parents=True, exist_ok=True)
        done.unlink(missing_ok=True)
        write_world(config, folder)
    return dumps


def add_difficulty(config: WorldConfig, out: Path, report: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a generated folder's difficulty; add it and the world's settings to its reports."""
    difficulty = measure_difficulty(read_gold_examples(out))
    whole = {**report, "world": config.to_dict(), "difficulty": difficulty}
    write_json(out / "report.json", whole)
    page = out / "report.html"
    text = page.read_text(encoding="utf-8")
    write_text(page, text.replace("</html>", _section(config, difficulty) + "</html>"))
    return difficulty


def _section(config: WorldConfig, difficulty: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the figures as the last part of the page."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in ("type", "samples", *READERS))
    rows = "".join(
        f"<tr><td>{escape(kind)}</td>"
        + "".join(f"<td>{row[name]}</td>" for name in ("samples", *READERS))
        + "</tr>\n"
        for kind, row in difficulty.items()
    )
    return (
        f"<h2>Difficulty</h2>\n<p>World: {escape(config.text)}. F1 of readers; the two-hop reader "
        f"follows the gold facts.</p>\n<table>\n<tr>{cells}</tr>\n{rows}</table>\n"
    )
