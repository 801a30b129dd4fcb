"""Which parts a gold has, and by whose rules they are scored.

2WikiMultiHopQA has an answer, supporting facts and evidence. HotpotQA has no evidence, and its own
evaluator compares the titles of facts as they are written. Some layouts have the answer alone. The
joint metric is the product of the parts that there are; of one part alone there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from twowiki.data.schema import HOTPOT_CONFIG, HOTPOT_TYPES, RELEASES
from twowiki.errors import DataError
from twowiki.metric.results import MEASURES, METRIC_NAMES, PARTS

PART_WORDS = {"answer": "answer", "sp": "support", "evidence": "evidence"}
_FIELDS = {"sp": "supporting_facts", "evidence": "evidences"}
_EMPTY = (None, msgspec.UNSET)


class GoldForm(NamedTuple):
    """What is scored of a gold.

    Attributes:
        parts: of `answer`, `sp` and `evidence`, those that are scored.
        hotpotqa: whether HotpotQA's rules hold: titles of facts are compared as they are written.
    """

    parts: tuple[str, ...] = tuple(PART_WORDS)
    hotpotqa: bool = False

    @classmethod
    def of_config(cls, config: str | None) -> GoldForm | None:
        """Return the form of a release's or HotpotQA's config; None for any other name."""
        if config == HOTPOT_CONFIG:
            return HOTPOT_FORM
        return cls() if config in RELEASES else None

    @classmethod
    def of_record(cls, record: Any) -> GoldForm:
        """Return the form that a record shows: a `GoldRecord` or an `Example`, with its gold.

        A record without the field `evidences` has no evidence, and one without
        `supporting_facts` no support. HotpotQA's records have a level, or the type `bridge`, and
        no triples.
        """
        level = getattr(record, "level", None)
        hotpotqa = record.type == HOTPOT_TYPES[0] or level not in _EMPTY
        if hotpotqa and not _has_entries(record.evidences):
            bare = record.supporting_facts in _EMPTY
            return HOTPOT_FORM._replace(parts=("answer",)) if bare else HOTPOT_FORM
        lacking = [part for part, name in _FIELDS.items() if getattr(record, name) in _EMPTY]
        return cls(tuple(part for part in PART_WORDS if part not in lacking))

    @property
    def joint(self) -> tuple[str, ...]:
        """The parts whose product is joint; empty where there is none."""
        return self.parts if len(self.parts) > 1 else ()

    @property
    def absent(self) -> frozenset[str]:
        """The names of the metrics that this gold does not have."""
        return _absent_names(self.parts)

    @property
    def words(self) -> str:
        """The product in a signature: `answer*support*evidence`, or `none`."""
        return "*".join(PART_WORDS[part] for part in self.joint) or "none"

    def restricted(self, words: Sequence[str]) -> GoldForm:
        """Return the form with these of its parts alone: answer, support, evidence."""
        chosen = [part for part, word in PART_WORDS.items() if word in words]
        for part in chosen:
            if part not in self.parts:
                have = ", ".join(PART_WORDS[one] for one in self.parts)
                raise DataError(
                    f"the gold has no {PART_WORDS[part]}", field="parts", remedy=f"It has {have}"
                )
        return self._replace(parts=tuple(chosen)) if chosen else self

    def check(self, gold: Any) -> None:
        """Raise if a record has a part that the first record lacks."""
        for part, name in _FIELDS.items():
            if part not in self.parts and _has_entries(getattr(gold, name)):
                raise DataError(
                    "the record has this field, and the first record of the gold does not",
                    record=gold.id,
                    field=name,
                    remedy="Write it in all records (an empty list where there is nothing), or "
                    "name the config (--config)",
                )


def part_of_field(name: str) -> str:
    """Return the part that a field of a record holds."""
    return next((part for part, field in _FIELDS.items() if field == name), name)


HOTPOT_FORM = GoldForm(("answer", "sp"), hotpotqa=True)


@cache
def _absent_names(parts: tuple[str, ...]) -> frozenset[str]:
    lacking = [part for part in PART_WORDS if part not in parts]
    joint = ["joint"] if len(lacking) == len(PART_WORDS) - 1 else []
    return frozenset(PARTS[part] + measure for part in (*lacking, *joint) for measure in MEASURES)


def _has_entries(value: Any) -> bool:
    return value is not None and value is not msgspec.UNSET and len(value) > 0


def without_absent(metrics: dict[str, Any], form: GoldForm) -> dict[str, Any]:
    """Return metrics with None for those that the gold does not have."""
    if not form.absent:
        return metrics
    return {name: None if name in form.absent else value for name, value in metrics.items()}


def present_names(form: GoldForm, names: Sequence[str] = METRIC_NAMES) -> list[str]:
    """Return the names of the metrics that the gold has, in their order."""
    return [name for name in names if name not in form.absent]
