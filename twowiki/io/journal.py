"""A file of finished records, so that interrupted work resumes where it stopped.

The first line holds what the records depend on; each further line is one record. The records of a
batch are written and flushed together. A line that a killed process left half written is dropped;
a journal of other work is refused, never mixed in and never emptied without `restart`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from twowiki.errors import DataError
from twowiki.io.files import write_text


class Journal:
    """The records of one run, by their key.

    Args:
        path: the file.
        identity: what the records depend on, as a JSON object.
        key: the field that names a record.
        restart: discard what an earlier run wrote.

    Attributes:
        records: the finished records, by key, in the order of the file.

    Raises:
        DataError: the file belongs to another run; the first difference is named.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        identity: Mapping[str, Any],
        *,
        key: str,
        restart: bool = False,
    ) -> None:
        self.path, self.key = Path(path), key
        mine = json.loads(json.dumps(identity))
        found = [] if restart or not self.path.is_file() else _whole_lines(self.path)
        if found and found[0] != {"run": mine}:
            raise DataError(
                f"belongs to another run ({_difference(found[0], mine)})",
                file=path,
                remedy="Choose another file, or start over with --restart",
            )
        lines = found or [{"run": mine}]
        write_text(self.path, "".join(map(_line, lines)))
        self.records: dict[str, dict[str, Any]] = {one[key]: one for one in lines[1:]}

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write a batch of records, all of it or (if the process dies) none that counts."""
        listed = [dict(record) for record in records]
        with self.path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write("".join(map(_line, listed)))
            stream.flush()
            os.fsync(stream.fileno())
        self.records |= {record[self.key]: record for record in listed}


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            value = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            break  # the end of what was written whole
        lines.append(value)
    return lines


def _difference(found: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    theirs = found.get("run")
    if not isinstance(theirs, Mapping):
        return "it is not a journal"
    for name in dict.fromkeys([*mine, *theirs]):
        if theirs.get(name) != mine.get(name):
            return f"{name} was {_short(theirs.get(name))}, and is {_short(mine.get(name))}"
    return "its first line differs"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
