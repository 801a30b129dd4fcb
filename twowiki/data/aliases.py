"""Other names by Wikidata id: the release's alias file, looked up without reading all of it.

In: JSON lines of `Q_id`, `aliases`, `demonyms` (either list may be empty or missing; a later line
overrides an earlier one), a mapping, or records. Out: an `AliasTable`, which parses names only
when an id is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from twowiki.data.fields import json_type
from twowiki.errors import DataError, existing_file
from twowiki.io.archives import open_named
from twowiki.io.files import sha256_of
from twowiki.io.records import (
    DataSource,
    collector_paused,
    parse_values,
    read_bytes,
    read_to_end,
    sniff,
)

ALIAS_FILE = "id_aliases.json"
_PREDICTED = {"answer", "sp"}  # keys of a prediction file
_LINE = 'Write one object per line: {"Q_id": "Q1", "aliases": ["..."], "demonyms": []}'
_EMPTY = msgspec.Raw(b"[]")

Aliases = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]


class _Line(msgspec.Struct, gc=False):
    Q_id: str
    aliases: msgspec.Raw = _EMPTY
    demonyms: msgspec.Raw = _EMPTY


class AliasTable:
    """Names by id: `table.aliases_of("Q142")`.

    Args:
        entries: id to an alias line, to a record with `aliases` and `demonyms`, or to names.
        source: where the entries came from.
    """

    def __init__(self, entries: Mapping[str, Any], source: DataSource | None = None) -> None:
        self._entries, self.source = entries, source

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def aliases_of(self, entity_id: str) -> list[str]:
        """Return an id's aliases and demonyms; an unknown id has none."""
        entry = self._entries.get(entity_id)
        if entry is None:
            return []
        try:
            if type(entry) is _Line:
                return [*_parsed(entry.aliases), *_parsed(entry.demonyms)]
            if type(entry) is dict or isinstance(entry, Mapping):
                return [*_texts(entry.get("aliases")), *_texts(entry.get("demonyms"))]
            return _texts(entry)
        except (TypeError, msgspec.DecodeError):
            problem = "the names are not lists of texts"
            where = self.source.name if self.source else None
            raise DataError(problem, file=where, record=entity_id, remedy=_LINE) from None


def read_aliases(aliases: Aliases | AliasTable) -> AliasTable:
    """Read other names by id.

    Args:
        aliases: the release's `id_aliases.json` (also .gz, a release's zip, or a folder that
            holds it), `{id: names}`, `{id: {"aliases": ..., "demonyms": ...}}`, or records with
            `Q_id`, `aliases` and `demonyms`.

    Raises:
        DataError: an entry without an id, or not an alias file; the line is named.
    """
    if isinstance(aliases, AliasTable):
        return aliases
    if isinstance(aliases, Mapping):
        return AliasTable(aliases)
    if not isinstance(aliases, str | PathLike):
        return AliasTable(_by_id(aliases, None))
    place = Path(aliases)
    missing = f"Name the release's {ALIAS_FILE}"
    if place.is_dir():
        place = existing_file(place / ALIAS_FILE, missing)
    if not place.is_fifo() and sniff(existing_file(place, missing)) == "zip":
        with open_named(place, ALIAS_FILE) as stream:
            if stream is None:
                raise DataError(f"the zip holds no {ALIAS_FILE}", file=place)
            try:
                data = read_to_end(stream, place.stat().st_size)
            except DataError as error:
                raise error.at(place) from None
            source = DataSource(str(place), sha256_of(place))
    else:
        data, source = read_bytes(place, missing)
    with collector_paused():
        return AliasTable(_entries(data, place), source)


def _entries(data: bytes, path: Path) -> Mapping[str, Any]:
    """Return the entries of an alias file by id; a file without any line is an empty table."""
    if not data.strip():
        return {}
    values = parse_values(data, path, ids=("Q_id",), record=_Line)
    if isinstance(values, Mapping):
        if values.keys() >= _PREDICTED:
            raise DataError("holds predictions, not aliases by id", file=path, remedy=_LINE)
        return values
    if values and type(values[0]) is _Line:
        return {line.Q_id: line for line in values}
    return _by_id(values, path)


def _by_id(records: Iterable[Any], path: Path | None) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for number, record in enumerate(records):
        name = record.get("Q_id") if isinstance(record, Mapping) else None
        if not isinstance(name, str):
            found = json_type(record) if name is None else f"Q_id {name!r}"
            problem = f"expected a record with a Q_id, got {found}"
            raise DataError(problem, file=path, record=f"number {number}", remedy=_LINE)
        entries[name] = record
    return entries


def _parsed(raw: msgspec.Raw) -> list[str]:
    return _texts(msgspec.json.decode(raw))


def _texts(value: Any) -> list[str]:
    """Return the names in a list, one name or nothing; nulls are skipped."""
    if type(value) is list and None not in value:
        return value
    if isinstance(value, str):
        return [value]
    if value is not None and not isinstance(value, Iterable):
        raise TypeError("not a list of names")
    return [text for text in value or () if text is not None]
