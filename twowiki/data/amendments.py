"""Amendments: corrections of gold in a file of their own, which says what was changed and why.

One record per line (or a JSON array, or CSV): `id`, `reason`, and either `field` with its `value`,
or `drop` true for a question that is left out. `was` is optional: the value that the field had when
the amendment was written; a record that has another one now is refused, so that an amendment is
never applied to other data. The table of `twowiki review` is one too: `decision` accept changes
nothing, reject leaves the question out. In: records and amendments. Out: records with the
amendments applied.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from twowiki.data.fields import parse_facts, parse_triple_ids, parse_triples
from twowiki.data.schema import Example, Fact, Triple, TripleIds
from twowiki.errors import DataError, nearest
from twowiki.io.records import read_records

AMENDABLE = (
    "question", "type", "answer", "answer_id", "supporting_facts", "evidences", "evidences_id",
)  # fmt: skip
AMENDED_MARK = b"twowiki_amended"  # in the schema of an exported file
_LISTS = {
    "supporting_facts": (parse_facts, Fact),
    "evidences": (parse_triples, Triple),
    "evidences_id": (parse_triple_ids, TripleIds),
}
# fields of a record that are read by people alone
_NOTE = ("by", "date", "kind", "found")
_SHOWN = ("question", "answer", "sentences")  # of the table of a review
_DECISIONS = {"accept": False, "yes": False, "reject": True, "no": True}
_WRITE = 'Write {"id": ..., "field": "answer", "value": ..., "reason": ...}'
_Record = TypeVar("_Record")


class Amendment(NamedTuple):
    """One correction of one record.

    Attributes:
        id: of the record.
        field: what is replaced; empty for a record that is left out.
        value: its new value, in the types of an `Example`.
        reason: why.
        was: the value before, None where the file does not say.
    """

    id: str
    field: str
    value: Any
    reason: str
    was: Any = None


class Amendments:
    """The amendments of a file, applied to records one after the other.

    Args:
        items: the amendments.
        source: the file's name.

    Attributes:
        applied: the number of records changed, and left out, so far.
    """

    def __init__(self, items: Iterable[Amendment], source: str = "") -> None:
        self.items: dict[str, list[Amendment]] = {}
        for item in items:
            self.items.setdefault(item.id, []).append(item)
        self.source = source
        self.applied: Counter[str] = Counter()
        self._seen: set[str] = set()

    @property
    def hash(self) -> str:
        """A hash of what the amendments change, whatever their order; six digits name them."""
        lines = sorted(
            json.dumps([one.id, one.field, one.value], ensure_ascii=False)
            for items in self.items.values()
            for one in items
        )
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def unused(self) -> list[str]:
        """The ids of which no record was met."""
        return [one for one in self.items if one not in self._seen]

    @property
    def name(self) -> str:
        """The file's name, with six digits of the hash."""
        return f"{Path(self.source).name or 'amendments'} ({self.hash[:6]})"

    def to_dict(self) -> dict[str, Any]:
        """Return what was applied, for reports."""
        return {
            "source": Path(self.source).name,
            "sha256": self.hash,
            "changed": self.applied["changed"],
            "left_out": self.applied["dropped"],
            "unused": self.unused,
        }

    def apply(self, record: _Record, record_id: str) -> _Record | None:
        """Return a record with its amendments; None where it is left out.

        Args:
            record: anything with the fields of an `Example` and `_replace`.
            record_id: its id.

        Raises:
            DataError: the record has another value than the amendment expects.
        """
        changes: dict[str, Any] = {}
        for item in self.items.get(record_id, ()):
            self._seen.add(record_id)
            if not item.field:
                self.applied["dropped"] += 1
                return None
            if not hasattr(record, item.field):
                continue  # scoring has no use for the question
            now = getattr(record, item.field)
            if item.was is not None and _plain(now) != _plain(item.was):
                raise DataError(
                    f"the amendment expects {_plain(item.was)!r}, the record has {_plain(now)!r}",
                    file=self.source or None,
                    record=record_id,
                    field=item.field,
                    remedy="The amendments belong to another release, or are applied already",
                )
            changes[item.field] = item.value
        if not changes:
            return record
        self.applied["changed"] += 1
        return record._replace(**changes)  # type: ignore[attr-defined,no-any-return]

    def amend(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Yield examples with their amendments, without those that are left out."""
        for example in examples:
            amended = self.apply(example, example.id)
            if amended is not None:
                yield amended


def read_amendments(source: str | PathLike[str]) -> Amendments:
    """Read a file of amendments.

    Raises:
        DataError: a record is no amendment, or changes a field twice; file and record are named.
    """
    found: list[Amendment] = []
    number = 0
    seen: set[tuple[str, str]] = set()
    for number, record in read_records(source):
        try:
            item = parse_amendment(record)
            if item is None:
                continue
            if (item.id, item.field) in seen:
                raise DataError("amended twice", record=item.id, field=item.field or "drop")
        except DataError as error:
            where = error.record or f"number {number}"
            raise DataError(
                error.problem, file=source, record=where, field=error.field, remedy=error.remedy
            ) from None
        seen.add((item.id, item.field))
        found.append(item)
    if not number:
        raise DataError("holds no amendment", file=source, remedy=_WRITE)
    return Amendments(found, str(source))


def parse_amendment(record: Any) -> Amendment | None:
    """Parse one record of the file; None for a question that a review accepted.

    Raises:
        DataError: a decision or a key is missing or unknown, or a value is of another type.
    """
    if not isinstance(record, dict):
        raise DataError("must be an object", remedy=_WRITE)
    if "decision" in record:
        return _decided(record)
    given = {
        key: value for key, value in record.items() if value not in (None, "") or key == "value"
    }
    known = ("id", "field", "value", "was", "reason", "drop", *_NOTE)
    for key in given:
        if key not in known:
            near = nearest(str(key), known)
            raise DataError(
                f"unknown key {key!r}", remedy=f"Did you mean {near}?" if near else _WRITE
            )
    record_id, reason, field = given.get("id"), given.get("reason"), given.get("field", "")
    for key, value in (("id", record_id), ("reason", reason)):
        if not isinstance(value, str):
            raise DataError(f"the {key} is missing", field=key, remedy=_WRITE)
    if str(given.get("drop", "")).lower() in ("true", "1", "yes"):
        return Amendment(str(record_id), "", None, str(reason))
    if field not in AMENDABLE:
        near = nearest(str(field), AMENDABLE) if field else None
        remedy = f"Did you mean {near}?" if near else f"One of {', '.join(AMENDABLE)}, or drop"
        problem = f"{field!r} cannot be amended" if field else "neither field nor drop is given"
        raise DataError(problem, record=str(record_id), field="field", remedy=remedy)
    value = _value(field, given.get("value"), str(record_id))
    was = _value(field, given["was"], str(record_id)) if "was" in given else None
    return Amendment(str(record_id), field, value, str(reason), was)


def _decided(record: dict[str, Any]) -> Amendment | None:
    """Return what a row of a review decides."""
    for key in record:
        if key not in ("id", "decision", "reason", *_NOTE, *_SHOWN):
            raise DataError(f"unknown key {key!r} in a review", remedy="Keep the columns")
    name, text = str(record.get("id") or ""), str(record["decision"] or "").strip().casefold()
    if not name:
        raise DataError("the id is missing", field="id", remedy="Keep the column id")
    if text not in _DECISIONS:
        problem = f"{text!r} is no decision" if text else "is not decided yet"
        remedy = "Write accept or reject into the column decision"
        raise DataError(problem, record=name, field="decision", remedy=remedy)
    reason = str(record.get("reason") or "rejected in a review")
    return Amendment(name, "", None, reason) if _DECISIONS[text] else None


def _value(field: str, value: Any, record_id: str) -> Any:
    """Return a value in the type of an `Example`'s field; a cell of a table holds lists as JSON."""
    if field in _LISTS:
        parse, kind = _LISTS[field]
        try:
            return tuple(kind._make(entry) for entry in parse(value or []))  # type: ignore[attr-defined]
        except DataError as error:
            raise DataError(
                error.problem, record=record_id, field=field, remedy=error.remedy
            ) from None
    if value is not None and not isinstance(value, str):
        raise DataError("the value is not a text", record=record_id, field=field, remedy=_WRITE)
    return value


def _plain(value: Any) -> Any:
    """Return a value as plain lists and texts, so that two layouts of one value are equal."""
    if value is msgspec.UNSET or value == "":
        return None
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
