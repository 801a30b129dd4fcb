"""A fixed subset of a split, by ids: read from a file, and cut out of the gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.gold import GoldSet
from twowiki.json_files import parse_json, parse_values, read_bytes, utf8

Subset = str | PathLike[str] | Iterable[str]
_REMEDY = "Give one id a line, or a JSON list of ids"


def read_subset(subset: Subset) -> tuple[str, ...]:
    """Read the ids to score, in order, each once.

    Args:
        subset: ids, or a file: one id a line, a JSON list, or records with an `id` or `_id`.
    """
    path = Path(subset) if isinstance(subset, str | PathLike) else None
    values = subset if path is None else _read_file(path)
    ids = dict.fromkeys(_id_of(value, path) for value in values)  # type: ignore[union-attr]
    if not ids:
        raise DataError("the subset holds no id", file=path, remedy=_REMEDY)
    return tuple(ids)


def _read_file(path: Path) -> list[Any]:
    data = utf8(read_bytes(path)[0], path)
    first = data.lstrip()[:1]
    if first == b"[":
        values = parse_json(data, path)
        return list(values)
    if first == b"{":
        return parse_values(data, path)
    lines = data.decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _id_of(value: Any, path: Path | None) -> str:
    if isinstance(value, Mapping):
        value = value.get("_id", value.get("id"))
    if not isinstance(value, str):
        raise DataError(f"an entry is no id: {value!r}", file=path, remedy=_REMEDY)
    return value


def only(true: GoldSet, ids: tuple[str, ...]) -> GoldSet:
    """Keep the records of a subset, in the gold's order.

    Raises:
        DataError: an id that the gold does not know.
    """
    known = {gold.id for gold in true.golds}
    unknown = [name for name in ids if name not in known]
    if unknown:
        raise DataError(
            f"{len(unknown)} of the subset's {len(ids)} ids are not in the gold",
            record=unknown[0],
            remedy="The subset belongs to another split, or to another data set",
        )
    wanted = set(ids)
    kept = [place for place, gold in enumerate(true.golds) if gold.id in wanted]
    return true._replace(
        golds=[true.golds[place] for place in kept],
        contexts=[true.contexts[place] for place in kept],
    )
