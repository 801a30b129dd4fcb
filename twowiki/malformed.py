"""Predicted facts and triples that are not as they should be: compared all the same, never raising.

The authors' evaluators read some of these (a short triple, a bare text) as a prediction that
matches nothing, and die on others (`None`, a number); here all of them match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_INDEX = re.compile(r"\s*[+-]?[0-9]{1,9}\s*")


def odd_facts(facts: Any, title_form: Callable[[str], str]) -> list[tuple[Any, ...]]:
    """Give distinct facts with levelled titles; what has no title stands for itself alone."""
    distinct: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for fact in facts if isinstance(facts, Iterable) else [facts]:
        try:
            parts = tuple(fact)
            if parts not in distinct:
                distinct[parts] = (title_form(parts[0]), *parts[1:])
        except (TypeError, IndexError, AttributeError):
            distinct[(object(),)] = (object(),)
    return list(distinct.values())


def text_of(value: Any) -> str:
    """Give a text, or a number's digits; raise `TypeError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"not a text: {value!r}")


def odd_triples(triples: Any, level: Callable[[str], str]) -> set[tuple[str, ...]]:
    """Give distinct levelled triples, numbers read as text; one with another part is odd."""
    distinct: set[tuple[str, ...]] = set()
    for triple in triples if isinstance(triples, Iterable) else [triples]:
        try:
            if isinstance(triple, str):
                distinct.add(tuple(level(triple)))
            else:
                distinct.add(tuple([level(text_of(part)) for part in triple]))
        except TypeError:
            distinct.add(("malformed", repr(triple)))
    return distinct


def as_index(value: Any) -> Any:
    """Read a sentence id written as text; anything else stays."""
    return int(value) if isinstance(value, str) and _INDEX.fullmatch(value) else value
