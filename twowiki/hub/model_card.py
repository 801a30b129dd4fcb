"""A model's card: written from its folder and its run's report, and left alone once edited.

The last line of a written card holds a hash of the text above it: a card whose text still fits
may be written anew, any other is its author's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twowiki.files import write_text
from twowiki.hub.card_text import render_card
from twowiki.hub.checks import read_object, read_text

_MARK = re.compile(r"\n<!-- written by twowiki (?P<hash>[0-9a-f]{16}) -->\n?\Z")
PLACE = "path/or/owner/name"  # what the snippets load until a repository is known


def write_model_card(
    folder: Path, report: Mapping[str, Any] | None = None, *, repo: str = PLACE
) -> bool:
    """Write the card of a saved model into its folder; say whether it was written.

    Args:
        folder: of the saved model.
        report: of its run; by default that of the run whose folder it lies in.
        repo: what the snippets load.
    """
    card = card_for(folder, repo, report)
    if card is None:
        return False
    write_text(folder / "README.md", card)
    return True


def card_for(
    folder: Path, repo: str = PLACE, report: Mapping[str, Any] | None = None
) -> str | None:
    """Give the card that a model's folder should have; None if the one it has may stay."""
    place = folder / "README.md"
    there = read_text(place) if place.is_file() else None
    if there is not None and not is_unedited(there):
        return None
    report = report or find_report(folder)
    if there is not None and report is None:
        return None
    card = make_card(folder, repo, report)
    return None if card == there else card


def make_card(folder: Path, repo: str = PLACE, report: Mapping[str, Any] | None = None) -> str:
    """Give the card of a model's folder, whatever card it has."""
    found = report or find_report(folder) or {}
    return signed(render_card(found, _config(folder), repo))


def find_report(folder: Path) -> dict[str, Any] | None:
    """Read the report of the run that a model's folder, or a folder of a run, belongs to."""
    for place in (folder / "report.json", folder.resolve().parent / "report.json"):
        if place.is_file() and (place.parent == folder or folder.resolve().name == "best"):
            return read_object(place)
    return None


def signed(text: str) -> str:
    """Put the hash of a card's text under it."""
    return f"{text}\n<!-- written by twowiki {_hash(text)} -->\n"


def is_unedited(card: str) -> bool:
    """Tell whether a card is as it was written by code."""
    found = _MARK.search(card)
    return found is not None and found["hash"] == _hash(card[: found.start()])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _config(folder: Path) -> dict[str, Any]:
    for name in ("config.json", "adapter_config.json"):
        if (folder / name).is_file():
            return read_object(folder / name)
    return {}
