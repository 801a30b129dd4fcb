"""What a run is asked for. All of it moves the output; how fast it runs is elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twowiki.data.schema import TWO_WIKI_TYPES
from twowiki.errors import DataError

VERSION = 1  # counts changes of what the same dumps and seed give
PAPER_MIXES = ("even", "paper")
PAPER_MIX = {
    "comparison": 57_989,
    "inference": 7_478,
    "compositional": 86_979,
    "bridge_comparison": 40_160,
}  # Table 2


@dataclass(frozen=True)
class GenerateConfig:
    """The settings of a generated data set.

    Attributes:
        wikidata: the entity dump.
        paragraphs: Wikipedia summaries.
        types: the question types, in the order of the output.
        limit_per_type: samples of each type; None is all, with every pair of entities compared
            and nothing balanced away.
        mix: "even", or "paper": four times the limit in all, the types in Table 2's shares.
        seed: what every draw depends on.
        title_case: "clean", or "paper" for the released questions' style.
        yes_share: the share of "yes" among the yes/no questions of a type.
        drop_unstated: drop an inference that Wikidata itself does not state.
        allow_truncated: use what a damaged dump gave.
        probe: "lexical", a folder or name of a Hugging Face encoder, or "file:PATH" for scores
            ({"id", "f1"} lines).
    """

    wikidata: Path
    paragraphs: Path
    types: tuple[str, ...] = TWO_WIKI_TYPES
    limit_per_type: int | None = 1000
    seed: str = "0"
    title_case: str = "clean"
    yes_share: float = 0.5
    drop_unstated: bool = False
    allow_truncated: bool = False
    probe: str = "lexical"
    mix: str = "even"

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.types if kind not in TWO_WIKI_TYPES]
        if unknown or not self.types:
            raise DataError(
                f"unknown question type {unknown[0]!r}" if unknown else "no question type given",
                remedy=f"Known: {', '.join(TWO_WIKI_TYPES)}.",
            )
        if self.limit_per_type is not None and self.limit_per_type < 1:
            raise DataError(
                f"--limit-per-type is {self.limit_per_type}",
                remedy="Give a number from 1, or all.",
            )
        if not 0 <= self.yes_share <= 1:
            raise DataError(f"--yes-share is {self.yes_share}", remedy="Give a number from 0 to 1.")
        if self.title_case not in ("clean", "paper"):
            raise DataError(
                f"unknown title case {self.title_case!r}", remedy="Give clean or paper."
            )
        if self.mix not in PAPER_MIXES:
            raise DataError(f"unknown mix {self.mix!r}", remedy="Give even or paper.")
        if self.mix == "paper" and self.limit_per_type is None:
            raise DataError("--mix paper has no limit", remedy="Give --limit-per-type a number.")

    def limit_of(self, kind: str) -> int | None:
        """Give the number of samples wanted of a type; None is all."""
        if self.limit_per_type is None or self.mix == "even":
            return self.limit_per_type
        return max(1, self.limit_per_type * 4 * PAPER_MIX[kind] // sum(PAPER_MIX.values()))

    @property
    def largest_limit(self) -> int | None:
        """Give the largest number of samples wanted of a type; None is all."""
        limits = [self.limit_of(kind) for kind in self.types]
        return max((limit for limit in limits if limit is not None), default=None)

    @property
    def exhaustive(self) -> bool:
        """Whether all candidates become samples."""
        return self.limit_per_type is None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings without the paths, for reports."""
        settings = asdict(self)
        del settings["wikidata"], settings["paragraphs"]
        settings["types"] = list(self.types)
        return settings


@dataclass(frozen=True)
class Resources:
    """What a run may use; the output does not depend on it.

    Attributes:
        engine: duckdb or spark.
        workers: processes for parsing, threads for queries.
        memory: the engine's memory limit.
        master: Spark's master.
        work: the folder of the stages.
    """

    work: Path
    engine: str = "duckdb"
    workers: int = 2
    memory: str = "2GB"
    master: str = "local[2]"
