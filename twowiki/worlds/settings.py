"""What a world is asked for: sizes, seed and noise. All of it moves the output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from twowiki.errors import DataError, nearest

VERSION = 1  # counts changes of what the same settings and seed give
LARGEST = 20_000_000


@dataclass(frozen=True)
class WorldConfig:
    """The settings of a world.

    Attributes:
        people: people with a page.
        films: films with a page; songs, albums, bands, books and the rest follow from both.
        seed: what every draw depends on.
        unique_names: 1 gives every person a name of their own; 0 lets some share one, told apart
            by brackets in their pages' titles.
        aliases: share in percent of mentions of people that use another name of theirs.
        missing: share in percent of statements that a page makes and Wikidata lacks.
        mismatch: share in percent of pages' facts where the text names the right object but says
            something else of it than the statement does; the paper found 8 of 100 samples so.
        brief: 1 gives summaries of two or three sentences, which train twice as fast.
    """

    people: int = 2000
    films: int = 1500
    seed: str = "0"
    unique_names: int = 0
    aliases: int = 5
    missing: int = 8
    mismatch: int = 0
    brief: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("people", 50, LARGEST), ("films", 10, LARGEST), ("unique_names", 0, 1),
            ("aliases", 0, 100), ("missing", 0, 100), ("mismatch", 0, 100), ("brief", 0, 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise DataError(
                    f"{value!r} is no such number",
                    field=name,
                    remedy=f"Give a whole number from {low} to {high}",
                )
        object.__setattr__(self, "seed", str(self.seed))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, for reports and keys."""
        return {**asdict(self), "version": VERSION}

    @property
    def text(self) -> str:
        """Give the settings as one text, which `parse_world` reads."""
        return ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


def make_world_config(values: Mapping[str, Any]) -> WorldConfig:
    """Make settings from values by name; numbers may be texts.

    Raises:
        DataError: an unknown name or a value that is no number.
    """
    known = {field.name: field.type for field in fields(WorldConfig)}
    given: dict[str, Any] = {}
    for raw, value in values.items():
        name = raw.replace("-", "_")
        if name not in known:
            near = nearest(name, known)
            remedy = f"Did you mean {near!r}" if near else f"Known: {', '.join(known)}"
            raise DataError("there is no such setting of a world", field=raw, remedy=remedy)
        if known[name] == "int" and isinstance(value, str):
            digits = value.strip().replace("_", "")
            if not digits.isdecimal():
                raise DataError(
                    f"{value!r} is no whole number", field=raw, remedy=f"Give it as {raw}=1000"
                )
            value = int(digits)
        given[name] = value
    return WorldConfig(**given)


def parse_world(text: str) -> WorldConfig:
    """Read settings written as "people=2000,films=1500,seed=7"."""
    return make_world_config(dict(parse_pairs(text)))


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Cut "name=value,name=value" into its pairs; a name stands once."""
    pairs: list[tuple[str, str]] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise DataError(
                f"{part!r} sets nothing",
                field="world",
                remedy='Write the settings as "people=2000,films=1500,seed=7"',
            )
        if any(name == other for other, _ in pairs):
            raise DataError("is given twice", field=name, remedy="Give it once")
        pairs.append((name, value))
    return pairs
