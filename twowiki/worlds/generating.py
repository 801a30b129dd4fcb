"""From a world's settings to a data set in one go: dumps, questions, difficulty.

The dumps lie in the run's work folder and are written again only if the settings change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from twowiki.files import write_json, write_text
from twowiki.worlds.config import WorldConfig
from twowiki.worlds.difficulty import READERS, measure_difficulty, read_records
from twowiki.worlds.writing import PARAGRAPHS, REPORT, WIKIDATA, write_world


def prepare_dumps(config: WorldConfig, folder: Path) -> tuple[Path, Path]:
    """Write a world's dumps into a folder, unless it holds just these; give their paths."""
    done = folder / REPORT
    try:
        same = json.loads(done.read_text(encoding="utf-8"))["settings"] == config.said()
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
    difficulty = measure_difficulty(read_records(out))
    whole = {**report, "world": config.said(), "difficulty": difficulty}
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
