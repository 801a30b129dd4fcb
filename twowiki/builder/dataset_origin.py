"""What a generated data set is, for its card: a fictional world or dumps, settings, difficulty.

In: the report of the generation. Out: Markdown between two marks, which a further export of the
same data set takes over. A card with it never claims to be the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki._version import __version__
from twowiki.data.configs import GENERATED_CONFIG, WORLD_CONFIG
from twowiki.io.files import read_text
from twowiki.io.templates import render_template

START, END = "<!-- origin -->", "<!-- /origin -->"
PRETTY_NAMES = {
    WORLD_CONFIG: "Multi-hop questions about a fictional world",
    GENERATED_CONFIG: "Multi-hop questions generated from Wikidata and Wikipedia",
    "world_corpus": "Pages of a fictional world",
}


def render_origin(report: Mapping[str, Any], dumps: Sequence[str] = ()) -> str:
    """Return what a card has on the origin of generated data.

    Args:
        report: of the generation; with a world's settings and the difficulty, if they are known.
        dumps: names of the dump files that the questions are generated from.
    """
    from twowiki.generation.settings import GENERATION_VERSION
    from twowiki.generation.shortcuts import certificate_line

    certificate = report.get("certificate")
    difficulty = report.get("difficulty") or {}
    text = render_template(
        "twowiki.builder",
        "dataset_origin.md",
        world=_listed(report.get("world") or {}),
        settings=_listed(report.get("settings") or {}),
        dumps=dumps,
        made_by=f"twowiki {__version__}, version {GENERATION_VERSION} of the generation",
        readers=[name for name in next(iter(difficulty.values()), {}) if name != "samples"],
        difficulty=difficulty,
        certificate=certificate_line(certificate) if certificate else "",
    )
    return f"{START}\n{text.strip()}\n{END}"


def _listed(values: Mapping[str, Any]) -> str:
    shown = {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in values.items()
        if value not in ("", None)
    }
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def find_origin(source: str | PathLike[str]) -> str:
    """Return the origin in the card of a generated folder or an export; empty without one."""
    place = Path(source)
    folder = place if place.is_dir() else place.parent
    for path in (folder / "README.md", folder / "parquet" / "README.md"):
        if path.is_file() and (found := origin_in(read_text(path))):
            return found
    return ""


def origin_in(text: str) -> str:
    """Return the origin block of a card's text; empty without one."""
    start, end = text.find(START), text.find(END)
    return text[start : end + len(END)] if 0 <= start < end else ""
