"""The options of a score, declared once.

In: keyword arguments, flags or fields of a form. Out: a `ScoreSettings`, from which
`twowiki.score`, `twowiki score`, the report page, the `evaluate` metric and the inspect task take
their options. Unknown versions and matchings, and values out of range, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from twowiki.io.arguments import LARGEST_SEED, MOST_RESAMPLES, argument, check_values

_VERSIONS = ("1.1", "1.0")
_MATCHINGS = ("official", "one_to_one")
VARIANTS = ("strict", "strip_titles", "coerce_indices", "unicode", "contains")


def _variant(text: str) -> Any:
    return argument(False, text, group="variants of the metric, named in the signature")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """The options of a score. The defaults reproduce the authors' evaluator 1.1 exactly."""

    version: str = argument(
        "1.1",
        "the evaluator: 1.1 uses ids, aliases and demonyms, 1.0 the gold's own texts alone",
        choices=_VERSIONS,
    )
    matching: str = argument(
        "official",
        "of triples: official counts several spellings of one gold triple, one_to_one matches "
        "each gold triple at most once and never exceeds 100",
        choices=_MATCHINGS,
    )
    by_type: bool = argument(False, "add the metrics of each question type")
    confidence: float | None = argument(
        None,
        "add bootstrap intervals of this confidence, e.g. 0.95",
        metavar="SHARE",
        above=0,
        below=1,
    )
    resamples: int = argument(
        1000, "number of bootstrap resamples", minimum=1, maximum=MOST_RESAMPLES
    )
    rounds: int = argument(
        10_000, "rounds of the paired randomization test", minimum=1, maximum=MOST_RESAMPLES
    )
    seed: int = argument(0, "seed of the bootstrap and the test", minimum=0, maximum=LARGEST_SEED)
    subset: str | PathLike[str] | Iterable[str] | None = argument(
        None,
        "score these ids alone: a file with one id per line or a JSON list",
        metavar="FILE",
    )
    amend: str | PathLike[str] | None = argument(
        None,
        "amendments of the gold: a file of corrections, named in the signature (docs/audit.md)",
        metavar="FILE",
        role="input",
    )
    people: str | PathLike[str] | None = argument(
        None,
        "people's answers (`twowiki people import`): their mean and upper bound beside the system",
        metavar="FILE",
        role="input",
    )
    config: str | None = argument(
        None,
        "config of a folder or hub data set; a release's name or hotpotqa also decides which "
        "parts the gold has",
        metavar="NAME",
    )
    split: str | None = argument(
        None, "split of a folder, zip or hub data set (default: validation)", metavar="NAME"
    )
    parts: list[str] = argument(
        [],
        "score these parts alone, and their product as joint (default: all that the gold has; "
        "HotpotQA has no evidence)",
        choices=("answer", "support", "evidence"),
        nargs="+",
    )
    strict: bool = _variant("where both sides are empty, f1, precision and recall are 100, not 0")
    strip_titles: bool = _variant("ignore spaces at the ends of titles")
    coerce_indices: bool = _variant('read sentence ids written as text ("0") as numbers')
    unicode: bool = _variant("treat typographic variants of dashes, quotes and letters as equal")
    contains: bool = _variant("add the metric contains: the prediction contains the gold answer")

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version).removeprefix("v"))
        check_values(self)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the variants that are on."""
        return tuple(name for name in VARIANTS if getattr(self, name))
