"""What can move a joint score, and the one line that names all of it.

Two scores may be compared when their signatures are equal; an option that is off is not named.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from twowiki._version import __version__
from twowiki.errors import DataError

VERSIONS = ("1.1", "1.0")
MATCHINGS = ("official", "one_to_one")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The variant of the metric. The defaults reproduce the authors' evaluator 1.1 exactly.

    Attributes:
        version: `1.1` knows ids, aliases and demonyms; `1.0` compares the gold strings alone.
        matching: `official` lets several spellings of one gold triple match, so that a row may
            exceed 100; `one_to_one` matches each gold triple at most once and counts equal gold
            triples once.
        strict: where both sides are empty, f1, precision and recall are 100 and not 0.
        strip_titles: ignore blanks at the ends of supporting-fact titles.
        coerce_indices: read sentence ids given as text ("0") as numbers.
        unicode: make composed and decomposed letters, dashes, quotes and blanks equal first.
        contains: add the figure `contains`: the gold answer stands in the prediction.
    """

    version: str = "1.1"
    matching: str = "official"
    strict: bool = False
    strip_titles: bool = False
    coerce_indices: bool = False
    unicode: bool = False
    contains: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "version", str(self.version).removeprefix("v"))
        for name, known in (("version", VERSIONS), ("matching", MATCHINGS)):
            value = getattr(self, name)
            if value not in known:
                raise DataError(
                    f"unknown {name} {value!r}", remedy=f"It is one of {', '.join(known)}"
                )

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that are on."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is True)


def signature_of(
    settings: Settings, *, aliases: bool, missing: int, n: int, gold: str, subset: str | None = None
) -> str:
    """Write the signature.

    Args:
        settings: the variant of the metric.
        aliases: whether other names were at hand (version 1.0 uses none).
        missing: gold examples of which the prediction leaves out a part, or all.
        n: gold examples scored.
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
