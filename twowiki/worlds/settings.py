"""The settings of a world: sizes, seed and noise. All of them change the output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from twowiki.errors import DataError, nearest
from twowiki.io.arguments import argument, check_values

VERSION = 1  # counts changes of what the same settings and seed give
LARGEST = 20_000_000


@dataclass(frozen=True)
class WorldConfig:
    """The settings of a world; with the same settings it has the same bytes everywhere."""

    people: int = argument(2000, "people with a page", minimum=50, maximum=LARGEST)
    films: int = argument(
        1500,
        "films with a page; songs, albums, bands, books and the rest follow from both",
        minimum=10,
        maximum=LARGEST,
    )
    seed: str = argument("0", "seed of every draw")
    unique_names: int = argument(
        0, "1: no two people share a name; 0: some do, and their pages' titles have brackets",
        minimum=0, maximum=1,
    )  # fmt: skip
    aliases: int = argument(
        5, "percentage of mentions of people by another of their names", minimum=0, maximum=100
    )
    missing: int = argument(
        8, "percentage of the pages' statements that Wikidata lacks", minimum=0, maximum=100
    )
    mismatch: int = argument(
        0,
        "percentage of facts whose object the text names in another relation; the paper found 8 "
        "in its data",
        minimum=0,
        maximum=100,
    )
    brief: int = argument(
        0, "1: summaries of two or three sentences, which train twice as fast",
        minimum=0, maximum=1,
    )  # fmt: skip

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", str(self.seed))
        check_values(self)

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
