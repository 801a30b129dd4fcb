"""The class ("instance of") of chosen entities, read from a Wikidata dump.

In: a dump, plain or packed, one entity a line, and ids. Out: for each id the label of its first
class of the best rank. The dump is read twice, as a stream: for the ids, then for the labels of
their classes. A class that the dump does not hold has the paper's name of its type, else its id.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from os import PathLike
from typing import Any

import msgspec

from twowiki.data.relations import TYPE_OF_CLASS
from twowiki.errors import DataError, existing_file
from twowiki.generation.dump_reader import LineBlocks
from twowiki.io.files import progress

INSTANCE_OF = "P31"
_ID = re.compile(rb'"id"\s*:\s*"(Q\d+)"')
_decode = msgspec.json.Decoder().decode


def read_classes(dump: str | PathLike[str], wanted: Collection[str]) -> dict[str, str]:
    """Return the label of the class of each wanted entity that the dump holds.

    Args:
        dump: the dump: plain, gzip, bzip2 or zip.
        wanted: ids such as `Q42`.

    Raises:
        DataError: no such file, or it holds none of the entities.
    """
    existing_file(dump, "Name Wikidata's JSON dump")
    class_of = {
        name: found
        for name, entity in _entities(dump, frozenset(wanted), "classes")
        if (found := _first_class(entity)) is not None
    }
    if wanted and not class_of:
        remedy = "Name the Wikidata dump that the ids are from"
        raise DataError("holds none of the answers' entities", file=dump, remedy=remedy)
    labels = {
        name: label
        for name, entity in _entities(dump, frozenset(class_of.values()), "labels")
        if (label := _label(entity))
    }
    return {name: labels.get(found) or _known(found) for name, found in class_of.items()}


def _entities(
    dump: str | PathLike[str], wanted: frozenset[str], what: str
) -> Iterator[tuple[str, Any]]:
    """Yield the wanted entities of a dump; other lines are not decoded."""
    for block in progress(LineBlocks(dump), what=what):
        for line in block.splitlines():
            found = _ID.search(line)
            if found is None or found[1].decode() not in wanted:
                continue
            try:
                entity = _decode(line.strip().rstrip(b","))
            except msgspec.DecodeError:
                continue  # a line cut short
            if isinstance(entity, dict) and entity.get("id") in wanted:
                yield entity["id"], entity


def _first_class(entity: Any) -> str | None:
    claims = entity.get("claims")
    statements = claims.get(INSTANCE_OF) if isinstance(claims, dict) else None
    ranked: dict[str, list[str]] = {}
    for statement in statements if isinstance(statements, list) else ():
        try:
            value = statement["mainsnak"]["datavalue"]["value"]
            name = value.get("id") or f"Q{value['numeric-id']}"
        except (KeyError, TypeError, AttributeError):
            continue
        ranked.setdefault(statement.get("rank", "normal"), []).append(name)
    best = ranked.get("preferred") or ranked.get("normal")
    return best[0] if best else None


def _label(entity: Any) -> str:
    labels = entity.get("labels")
    english = labels.get("en") if isinstance(labels, dict) else None
    value = english.get("value") if isinstance(english, dict) else None
    return value if isinstance(value, str) else ""


def _known(name: str) -> str:
    return TYPE_OF_CLASS.get(int(name[1:]), name) if name[1:].isdigit() else name
