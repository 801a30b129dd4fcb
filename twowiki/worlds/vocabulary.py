"""What a world is made of: kinds of entities with Wikidata's classes, properties, occupations.

In: the word lists of `data/*.yaml`, whose order counts for every draw. The classes and properties
are Wikidata's own; everything else of a world has an id of its own, above every id that Wikidata
has given (about 140 million by 2026).
"""

from __future__ import annotations

from importlib.resources import files
from typing import TypeVar

import msgspec
import yaml

_T = TypeVar("_T")
FIRST_QID = 500_000_000
FIRST_PAGE = 90_000_000
MALE_ITEM, FEMALE_ITEM = 6581097, 6581072


def read_word_list(name: str, shape: type[_T]) -> _T:
    """Read a word list in the given shape."""
    text = (files("twowiki.worlds") / "data" / f"{name}.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return msgspec.convert(yaml.load(text, Loader=loader), shape)


class Occupation(msgspec.Struct):
    """An occupation: how common it is, the first year of birth, second occupations, fields."""

    label: str
    weight: int
    earliest: int
    also: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


class _Vocabulary(msgspec.Struct):
    classes: dict[str, tuple[int, str]]
    properties: dict[str, int]
    occupations: dict[str, Occupation]
    causes: tuple[str, ...]


_VOCABULARY = read_word_list("vocabulary", _Vocabulary)
CLASSES = _VOCABULARY.classes
PROPERTIES = _VOCABULARY.properties
OCCUPATIONS = _VOCABULARY.occupations
CAUSES = _VOCABULARY.causes
