"""The options of a score, and the one line that names all that can change it.

In: keyword arguments, flags or fields of a form. Out: a `ScoreSettings`, from which
`twowiki.score`, `twowiki score`, the report page, the `evaluate` metric and the inspect task take
their options. Unknown versions and matchings, and values out of range, are refused. Two scores
may be compared when their signatures are equal; an option that is off is not named there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from twowiki._version import __version__
from twowiki.errors import DataError

VERSIONS = ("1.1", "1.0")
MATCHINGS = ("official", "one_to_one")
VARIANTS = ("strict", "strip_titles", "coerce_indices", "unicode", "contains")


def _option(default: Any, text: str, **metadata: Any) -> Any:
    """Declare one option: its default, its help, and how it looks as a flag."""
    return field(default=default, metadata={"help": text, **metadata})


def _variant(text: str) -> Any:
    return _option(False, text, group="variants")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """The options of a score. The defaults reproduce the authors' evaluator 1.1 exactly."""

    version: str = _option(
        "1.1",
        "the evaluator: 1.1 uses ids, aliases and demonyms, 1.0 the gold's own texts alone",
        choices=VERSIONS,
    )
    matching: str = _option(
        "official",
        "of triples: official counts several spellings of one gold triple, one_to_one matches "
        "each gold triple at most once and never exceeds 100",
        choices=MATCHINGS,
    )
    by_type: bool = _option(False, "add the metrics of each question type")
    confidence: float | None = _option(
        None, "add bootstrap intervals of this confidence, e.g. 0.95", metavar="SHARE"
    )
    resamples: int = _option(1000, "number of bootstrap resamples", metavar="N")
    rounds: int = _option(10_000, "rounds of the paired randomization test", metavar="N")
    seed: int = _option(0, "seed of the bootstrap and the test", metavar="N")
    subset: str | PathLike[str] | Iterable[str] | None = _option(  # noqa: RUF009
        None,
        "score these ids alone: a file with one id per line or a JSON list",
        metavar="FILE",
        type=str,
    )
    config: str | None = _option(None, "config of a folder or hub data set", metavar="NAME")
    split: str | None = _option(
        None, "split of a folder, zip or hub data set (default: validation)", metavar="NAME"
    )
    strict: bool = _variant("where both sides are empty, f1, precision and recall are 100, not 0")
    strip_titles: bool = _variant("ignore spaces at the ends of titles")
    coerce_indices: bool = _variant('read sentence ids written as text ("0") as numbers')
    unicode: bool = _variant("treat typographic variants of dashes, quotes and letters as equal")
    contains: bool = _variant("add the metric contains: the prediction contains the gold answer")

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version).removeprefix("v"))
        for name, known in (("version", VERSIONS), ("matching", MATCHINGS)):
            value = getattr(self, name)
            if value not in known:
                raise DataError(
                    f"unknown {name} {value!r}", remedy=f"It is one of {', '.join(known)}"
                )
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise DataError(
                f"confidence is {self.confidence}",
                remedy="Use a share between 0 and 1, such as 0.95",
            )
        for name in ("resamples", "rounds"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} is {getattr(self, name)}", remedy="Use at least 1")

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the variants that are on."""
        return tuple(name for name in VARIANTS if getattr(self, name))


def signature_of(
    settings: ScoreSettings,
    *,
    aliases: bool,
    missing: int,
    n: int,
    gold: str,
    subset: str | None = None,
) -> str:
    """Return the signature of a score.

    Args:
        settings: the options of the score.
        aliases: whether an alias file was given (version 1.0 uses none).
        missing: number of gold examples with an incomplete prediction, or none.
        n: number of gold examples scored.
        gold: hash of the scored gold, of which six digits are shown.
        subset: hash of the subset's ids, where only a subset was scored.
    """
    parts = [
        "twowiki_joint",
        f"evaluator:{settings.version}",
        f"matching:{settings.matching}",
        f"aliases:{'yes' if aliases and settings.version != '1.0' else 'no'}",
        *(f"{option}:yes" for option in settings.options),
        f"missing:{missing}",
        f"n:{n}",
        f"gold:{gold[:6]}",
        *([] if subset is None else [f"subset:{subset[:6]}"]),
        f"v:{__version__}",
    ]
    return "|".join(parts)
