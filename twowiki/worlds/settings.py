"""The settings of a world: sizes, seed and noise, which fix every byte of its dumps.

In: values by name, flags of `twowiki world`, or one text ("people=2000,films=1500,seed=7"). Names
that do not exist and values out of range are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from twowiki.errors import DataError, check_encodable
from twowiki.io.arguments import (
    argument,
    check_names,
    check_values,
    convert_values,
    from_values,
    settings_of,
    to_dict,
)

WORLD_VERSION = 4  # counts changes of what the same settings and seed give
_LARGEST = 20_000_000


@dataclass(frozen=True)
class WorldConfig:
    """The settings of a world."""

    people: int = argument(2000, "people with a page", minimum=50, maximum=_LARGEST)
    films: int = argument(
        1500, "films; songs, books and the rest follow from both", minimum=10, maximum=_LARGEST
    )
    seed: str = argument("0", "what every draw depends on", metavar="SEED")
    unique_names: bool = argument(
        False, "no two people share a name; without it, titles tell namesakes apart by brackets"
    )
    aliases: int = argument(
        5, "percent of mentions of people by another of their names", minimum=0, maximum=100
    )
    missing: int = argument(
        8, "percent of what pages state that Wikidata lacks", minimum=0, maximum=100
    )
    mismatch: int = argument(
        0,
        "percent of facts whose object the text names, but with another relation; the paper found "
        "8 in its data",
        minimum=0,
        maximum=100,
    )
    names: str = argument(
        "readable",
        "readable: real given names with surnames that nobody has; marked: coined names with "
        "letters that no real name has",
        choices=("readable", "marked"),
    )
    nobles: int = argument(
        0, "percent of families that are noble houses (Otto II, Duke of Harikent)",
        minimum=0, maximum=100,
    )  # fmt: skip
    words: int = argument(
        0, "words of an average page (default: about 35); longer ones have more filler",
        minimum=0, maximum=120,
    )  # fmt: skip
    brief: bool = argument(False, "summaries of two or three sentences, which train twice as fast")

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", str(self.seed))
        check_encodable(self.seed, "seed")
        check_values(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, switches as 0 and 1, for reports and keys."""
        plain = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in to_dict(settings_of(WorldConfig, self)).items()
        }
        return {**plain, "version": WORLD_VERSION}

    @property
    def text(self) -> str:
        """The settings as one text, which `parse_world` reads."""
        values = self.to_dict()
        return ",".join(f"{field.name}={values[field.name]}" for field in fields(WorldConfig))


@dataclass
class WorldOptions:
    """Options of the config `world` of the data set; None means the default.

    The first are those of `WorldConfig`, the others those of
    `twowiki.generation.settings.GenerateConfig`; the seed is that of both.
    """

    people: int | None = None
    films: int | None = None
    seed: str | int | None = None
    unique_names: bool | None = None
    aliases: int | None = None
    missing: int | None = None
    mismatch: int | None = None
    names: str | None = None
    nobles: int | None = None
    words: int | None = None
    brief: bool | None = None
    limit_per_type: int | None = None
    mix: str | None = None
    title_case: str | None = None
    like: str | None = None
    balanced: bool | None = None
    hops: int | None = None
    sets: bool | None = None


OPTION_NAMES = tuple(field.name for field in fields(WorldOptions))
_OF_WORLD = tuple(field.name for field in fields(WorldConfig))


class WorldRequest(NamedTuple):
    """A world, and the settings of the questions that are asked about it, by name."""

    world: WorldConfig
    questions: dict[str, Any]


def request_of(options: Mapping[str, Any]) -> WorldRequest:
    """Return a world and its questions' settings from options by name.

    The world's seed is that of the questions too; pages are as long as what these are like.

    Raises:
        DataError: an unknown name, or a value of another type or out of range.
    """
    check_names(options, WorldOptions)
    if options.get("like") and not options.get("words"):
        from twowiki.generation.profiles import load_profile

        # longer pages come nearer to questions: those of contexts are longer than the average
        words = round(0.75 * load_profile(options["like"]).page_words)
        options = {**options, "words": min(120, max(30, words))} if words else options
    world = make_world_config({name: options[name] for name in _OF_WORLD if name in options})
    questions = {name: value for name, value in options.items() if name not in _OF_WORLD}
    return WorldRequest(world, questions | {"seed": world.seed})


def parse_world(text: str) -> WorldRequest:
    """Return what a text such as "people=2000,films=1500,seed=7,limit_per_type=600" asks for."""
    return request_of(parse_settings(text))


def make_world_config(values: Mapping[str, Any]) -> WorldConfig:
    """Return the settings from values by name; switches may be 0 and 1, the seed a number.

    Raises:
        DataError: an unknown name, or a value of another type or out of range.
    """
    switches = {field.name for field in fields(WorldConfig) if isinstance(field.default, bool)}
    plain = {
        name: bool(value) if name in switches and value in (0, 1) else value
        for name, value in values.items()
    }
    if "seed" in plain:
        plain["seed"] = str(plain["seed"])
    return from_values(WorldConfig, plain)


def parse_settings(text: str) -> dict[str, Any]:
    """Return the values of a text of a world's settings, "name=value,name=value".

    Raises:
        DataError: a part that sets nothing, an unknown name, a name given twice, or a value of
            another type.
    """
    values: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = name.replace("-", "_")
        if not equals or not value:
            raise DataError(
                f"{part!r} sets nothing",
                field="world",
                remedy='Write the settings as "people=2000,films=1500,seed=7"',
            )
        if name in values:
            raise DataError("is given twice", field=name, remedy="Give it once")
        values[name] = value
    check_names(values, WorldOptions)
    return convert_values(WorldOptions, values, text=True)
