"""The settings of a generated data set, and the resources of a run; flags of `twowiki generate`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from twowiki.data.configs import SET_TYPES, TWO_WIKI_TYPES
from twowiki.errors import DataError, check_encodable
from twowiki.generation.faults import CANDIDATE_FAULTS, DRAWN_ONLY
from twowiki.generation.profiles import Profile, load_profile
from twowiki.io.arguments import argument, check_values, settings_of, to_dict

GENERATION_VERSION = 6  # counts changes of what the same dumps and seed give
PAPER_MIX = {
    "comparison": 57_989,
    "inference": 7_478,
    "compositional": 86_979,
    "bridge_comparison": 40_160,
}  # Table 2


@dataclass(frozen=True)
class GenerateConfig:
    """The settings of a generated data set; they fix every byte of it."""

    wikidata: Path | None = argument(
        None,
        "Wikidata JSON dump, one entity per line: plain, .gz or .bz2 (.gz reads fastest)",
        metavar="DUMP",
        role="input",
    )
    paragraphs: Path | None = argument(
        None,
        "Wikipedia summaries: para_with_hyperlink JSON lines (plain, .gz, .bz2, .zip), "
        "wikimedia/wikipedia Parquet or JSON lines, or pages-articles XML; a file or a folder",
        metavar="FILE",
        role="input",
    )
    types: tuple[str, ...] = argument(
        TWO_WIKI_TYPES, "question types, separated by spaces or commas", metavar="TYPE", nargs="+"
    )
    limit_per_type: int | None = argument(
        1000,
        "samples of each type, or all: every pair compared, nothing dropped for balance; for "
        "small dumps",
        minimum=1,
        maximum=1_000_000_000,
        metavar="N",
    )
    seed: str = argument("0", "what every draw depends on", metavar="SEED")
    title_case: str = argument(
        "clean",
        "paper: the released questions' style (It'S, (Film)); clean: names as they are",
        choices=("clean", "paper"),
    )
    yes_share: float = argument(
        0.5, "share of yes among the yes/no questions of a type", minimum=0, maximum=1
    )
    drop_unstated: bool = argument(
        True, "drop inferred relations that can fail and that Wikidata does not state itself"
    )
    support: str = argument(
        "worded",
        "the sentence that supports a fact. worded: one with words of the relation; a question "
        "without it is dropped, except with --limit-per-type all; first: the first that names it",
        choices=("worded", "first"),
    )
    allow: tuple[str, ...] = argument(
        (),
        f"faults that do not drop a candidate: {', '.join(CANDIDATE_FAULTS)}",
        metavar="FAULT",
        nargs="+",
    )
    allow_truncated: bool = argument(
        False, "continue with what a truncated or damaged dump contained"
    )
    probe: str = argument(
        "lexical",
        "the single-hop reader that splits by difficulty: lexical (quick), a folder or name of a "
        'Hugging Face encoder, or file:PATH of {"id", "f1"} lines',
        metavar="READER",
    )
    splits: str = argument(
        "disjoint",
        "disjoint: no link of two entities is in two splits; paper: as the released ones, dev and "
        "test have as many of each type as train-hard",
        choices=("disjoint", "paper"),
    )
    mix: str = argument(
        "even",
        "paper: four times the limit per type in all, the types in the shares of the paper's "
        "Table 2",
        choices=("even", "paper"),
    )

    like: str = argument(
        "",
        "draw the questions like those of a data file: types, relations, yes and no, names with a "
        "bracket, paragraphs; release: the released data",
        metavar="SOURCE",
    )
    hops: int = argument(
        2, "the longest chains of compositional questions, as many of each length", minimum=2,
        maximum=6,
    )  # fmt: skip
    sets: bool = argument(
        False,
        "questions over listed pages too, of the types intersection and count; for fictional "
        "worlds alone",
    )
    balanced: bool = argument(
        False, "draw two-way choices so that no known shortcut is right in more than 55%"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", str(self.seed))
        check_encodable(self.seed, "seed")
        check_values(self)
        named = {name.strip() for text in self.types for name in text.split(",") if name}
        types = {name.replace("-", "_") for name in named}
        unknown = sorted(types - set(TWO_WIKI_TYPES))
        if unknown or not types:
            raise DataError(
                f"unknown question type {unknown[0]!r}" if unknown else "no question type given",
                remedy=f"Known: {', '.join(TWO_WIKI_TYPES)}.",
            )
        strange = sorted(set(self.allow) - set(CANDIDATE_FAULTS))
        if strange:
            raise DataError(
                f"unknown fault {strange[0]!r}",
                field="allow",
                remedy=f"Known: {', '.join(CANDIDATE_FAULTS)}.",
            )
        known = tuple(name for name in TWO_WIKI_TYPES if name in types)
        object.__setattr__(self, "types", known)
        if (self.mix == "paper" or self.like) and self.exhaustive:
            option = "--like" if self.like else "--mix paper"
            raise DataError(f"{option} has no limit", remedy="Set --limit-per-type to a number.")
        if self.sets and self.exhaustive:
            raise DataError("--sets has no limit", remedy="Set --limit-per-type to a number.")

    @cached_property
    def profile(self) -> Profile | None:
        """The profile of what the questions are to be like."""
        return load_profile(self.like) if self.like else None

    @property
    def paragraphs_wanted(self) -> int:
        """The number of paragraphs of a context."""
        return self.profile.paragraphs if self.profile else 10

    def limit_of(self, question_type: str) -> int | None:
        """Return the number of samples wanted of a type; None is all."""
        if question_type in SET_TYPES:
            return self.limit_per_type
        if self.limit_per_type is not None and self.profile is not None:
            found = self.profile.types.get(question_type)
            return round(self.limit_per_type * 4 * found.share) if found else 0
        if self.limit_per_type is None or self.mix == "even":
            return self.limit_per_type
        share = self.limit_per_type * 4 * PAPER_MIX[question_type]
        return max(1, share // sum(PAPER_MIX.values()))

    @property
    def all_types(self) -> tuple[str, ...]:
        """The types of the samples: those of the release, and those over listed pages."""
        return (*self.types, *SET_TYPES) if self.sets else self.types

    @property
    def largest_limit(self) -> int | None:
        """The largest number of samples wanted of a type; None is all."""
        limits = [self.limit_of(question_type) for question_type in self.types]
        return max((limit for limit in limits if limit is not None), default=None)

    @property
    def exhaustive(self) -> bool:
        """Whether all candidates become samples."""
        return self.limit_per_type is None

    @property
    def allowed(self) -> tuple[str, ...]:
        """The faults that do not drop a candidate."""
        return self.allow + (DRAWN_ONLY if self.exhaustive or self.support == "first" else ())

    def to_dict(self) -> dict[str, Any]:
        """Return the settings without the paths, for reports."""
        settings = to_dict(settings_of(GenerateConfig, self))
        del settings["wikidata"], settings["paragraphs"]
        if not self.sets:  # data without them have the bytes that they had before there were any
            del settings["sets"]
        return settings


@dataclass(frozen=True)
class Resources:
    """What a run may use; the output does not depend on it."""

    work: Path | None = argument(
        None,
        "folder of the stages, kept for resuming and `twowiki explain` (default: OUT/work)",
        metavar="DIR",
        group="resources",
    )
    engine: str = argument(
        "duckdb",
        "where the queries run; the output is the same",
        choices=("duckdb", "spark"),
        group="resources",
    )
    workers: int = argument(
        min(2, os.cpu_count() or 1),
        "processes and threads; the output is the same",
        minimum=1,
        maximum=1024,
        group="resources",
    )
    memory: str = argument(
        "2GB",
        "what all processes together may hold in memory, 1GB or more; the rest is put on disk",
        metavar="SIZE",
        group="resources",
    )
    master: str = argument("local[2]", "Spark's master", metavar="URL", group="resources")
    spark_conf: tuple[str, ...] = argument(
        (), "settings of Spark, such as spark.executor.cores=4", metavar="KEY=VALUE", nargs="+",
        group="resources",
    )  # fmt: skip
    restart: bool = argument(False, "discard the run that the folders hold", group="resources")

    def __post_init__(self) -> None:
        check_values(self)
        memory_bytes(self.memory)

    def processes(self, each: int) -> int:
        """Return how many processes may work at once, where each needs so many bytes."""
        return max(1, min(self.workers, memory_bytes(self.memory) // each))


def memory_bytes(text: str) -> int:
    """Return the bytes of a size such as 2GB or 512 MiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT])(I?)B", text.upper())
    if found is None:
        raise DataError(f"--memory is {text!r}", remedy="Write a size such as 2GB.")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(unit) + 1))
