"""The settings of a generation, which change its output, and the resources, which do not.

They are the flags of `twowiki generate`. Unknown types and values out of range are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES
from twowiki.errors import DataError
from twowiki.io.arguments import argument, check_values, settings_of, to_dict

VERSION = 1  # counts changes of what the same dumps and seed give
PAPER_MIX = {
    "comparison": 57_989,
    "inference": 7_478,
    "compositional": 86_979,
    "bridge_comparison": 40_160,
}  # Table 2


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """The settings that change a generated data set, but for the dumps that it is made from."""

    types: tuple[str, ...] = argument(
        TWO_WIKI_TYPES, "question types, separated by spaces or commas", metavar="TYPE", nargs="+"
    )
    limit_per_type: int | None = argument(
        1000,
        "samples of each type, or all: every pair of entities compared and nothing balanced away; "
        "for small dumps",
        minimum=1,
    )
    seed: str = argument("0", "seed of every draw")
    title_case: str = argument(
        "clean",
        "paper: the released questions' style (It'S, (Film)); clean: names as they are",
        choices=("clean", "paper"),
    )
    yes_share: float = argument(
        0.5, "share of yes among the yes/no questions of a type", minimum=0, maximum=1
    )
    drop_unstated: bool = argument(
        False, "drop inferred relations that can fail and that Wikidata does not state itself"
    )
    allow_truncated: bool = argument(
        False, "use what a truncated or damaged dump contains, instead of stopping"
    )
    probe: str = argument(
        "lexical",
        "the single-hop reader that splits by difficulty: lexical (quick), a folder or name of a "
        'Hugging Face encoder, or file:PATH of {"id", "f1"} lines',
        metavar="READER",
    )
    mix: str = argument(
        "even",
        "paper: four times --limit-per-type in total, the types in the shares of the paper's "
        "Table 2",
        choices=("even", "paper"),
    )

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.types if kind not in TWO_WIKI_TYPES]
        if unknown or not self.types:
            raise DataError(
                f"unknown question type {unknown[0]!r}" if unknown else "no question type given",
                remedy=f"Known: {', '.join(TWO_WIKI_TYPES)}",
            )
        check_values(self)
        if self.mix == "paper" and self.limit_per_type is None:
            raise DataError("--mix paper has no limit", remedy="Set --limit-per-type to a number")

    def limit_of(self, kind: str) -> int | None:
        """Return the number of samples wanted of a type; None is all."""
        if self.limit_per_type is None or self.mix == "even":
            return self.limit_per_type
        return max(1, self.limit_per_type * 4 * PAPER_MIX[kind] // sum(PAPER_MIX.values()))

    @property
    def largest_limit(self) -> int | None:
        """Return the largest number of samples wanted of a type; None is all."""
        limits = [self.limit_of(kind) for kind in self.types]
        return max((limit for limit in limits if limit is not None), default=None)

    @property
    def exhaustive(self) -> bool:
        """Whether all candidates become samples."""
        return self.limit_per_type is None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings without the paths, for reports."""
        return to_dict(settings_of(GenerateOptions, self))


@dataclass(frozen=True)
class GenerateConfig(GenerateOptions):
    """The settings of a generated data set.

    Attributes:
        wikidata: the entity dump.
        paragraphs: Wikipedia summaries.
    """

    wikidata: Path
    paragraphs: Path


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What a run may use; the output does not depend on it."""

    engine: str = argument(
        "duckdb", "where the queries run; the output is the same", choices=("duckdb", "spark")
    )
    workers: int = argument(2, "processes and threads; the output is the same", minimum=1)
    memory: str = argument("2GB", "the engine's memory limit; more is put on disk", metavar="SIZE")
    master: str = argument("local[2]", "Spark's master")


@dataclass(frozen=True)
class Resources(EngineOptions):
    """What a run may use, and the folder of its stages."""

    work: Path
