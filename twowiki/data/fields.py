"""The fields of a raw record as plain tuples, whatever layout a release or a mirror uses.

A list may come as a list, as JSON text, as structs or as a struct of lists. Nothing is repaired:
a value of another type raises a `DataError` that names the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from twowiki.errors import DataError, check_encodable

SENTENCE_NAMES = ("sentences", "content")
FACT_NAMES = (("title", "sent_id"),)
TRIPLE_NAMES = (("subject", "relation", "object"), ("fact", "relation", "entity"))
_Kind = TypeVar("_Kind")
_TEXT, _TEXT_OR_NONE = frozenset((str,)), frozenset((str, type(None)))
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half a character, alone or in a pair
SUB_QUESTION_NAMES = (("hop", "question", "answer"),)
TRIPLE_ID_NAMES = (("subject_id", "relation", "object_id"), *TRIPLE_NAMES)


def json_type(value: Any) -> str:
    """Return the name of a JSON value's type for an error message."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    names |= {int: "a number", float: "a number"}
    if value is None:
        return "nothing"
    return names.get(type(value), f"a {type(value).__name__}")


@lru_cache(maxsize=256)
def misspelled_field(
    given: tuple[str, ...], known: frozenset[str], missing: frozenset[str]
) -> tuple[str, str] | None:
    """Find a field whose name is nearly that of a missing one; return both names, or None."""
    from difflib import get_close_matches

    for name in given:
        if isinstance(name, str) and name not in known:
            near = get_close_matches(name.lower(), sorted(missing), n=1, cutoff=0.85)
            if near:
                return name, near[0]
    return None


def required(raw: Mapping[str, Any], name: str) -> Any:
    """Return a field's value; raise if the record lacks it."""
    value = raw.get(name)
    if value is None:
        raise DataError(
            "the field is empty" if name in raw else "the field is missing",
            field=name,
            remedy=f"Every record needs {name!r}; this one has {', '.join(map(repr, raw))}",
        )
    return value


def required_text(raw: Mapping[str, Any], name: str) -> str:
    """Return a text field's value, or raise."""
    value = required(raw, name)
    if not isinstance(value, str):
        raise DataError(f"expected a text, got {json_type(value)}", field=name)
    return value


def optional_text(raw: Mapping[str, Any], name: str) -> str | None:
    """Return a text field's value, None where the record lacks it."""
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise DataError(f"expected a text, got {json_type(value)}", field=name)
    return value


def listed(value: Any, field: str) -> list[Any]:
    """Return the entries of a list, a JSON text or a struct of lists (one struct each)."""
    if type(value) is list:
        return value
    if isinstance(value, str):
        text = value
        try:
            value = json.loads(text or "null")
        except (ValueError, RecursionError) as error:
            raise DataError(f"a text that is not valid JSON ({error})", field=field) from None
        if value is None:
            return []
        if _HALF.search(text):
            check_encodable(json.dumps(value, ensure_ascii=False), field)
    if isinstance(value, Mapping):
        columns = list(value.values())
        lengths = {len(column) if isinstance(column, list) else -1 for column in columns}
        if len(lengths) > 1 or -1 in lengths:
            raise DataError("a struct whose columns are not lists of one length", field=field)
        return [dict(zip(value, entry, strict=True)) for entry in zip(*columns, strict=True)]
    if isinstance(value, list | tuple):
        return list(value)
    raise DataError(f"expected a list, got {json_type(value)}", field=field)


def parse_context(value: Any) -> list[tuple[str, tuple[str, ...]]]:
    """Return (title, sentences) pairs."""
    paragraphs: list[tuple[str, tuple[str, ...]]] = []
    for entry in listed(value, "context"):
        title = sentences = None
        if isinstance(entry, list | tuple) and len(entry) == 2:
            title, sentences = entry
        elif isinstance(entry, Mapping):
            title = entry.get("title")
            sentences = next((entry[name] for name in SENTENCE_NAMES if name in entry), None)
        if (
            not isinstance(title, str)
            or not isinstance(sentences, list | tuple)
            or not _TEXT.issuperset(map(type, sentences))
        ):
            raise DataError(
                f"paragraph {len(paragraphs)} is not a title with a list of sentences",
                field="context",
                remedy='Write [title, [sentence, ...]] or {"title": ..., "sentences": [...]}',
            )
        paragraphs.append((title, tuple(sentences)))
    return paragraphs


def parse_facts(value: Any) -> list[tuple[str, int]]:
    """Return (title, sentence index) pairs; an index past the paragraph's end is kept."""
    facts: list[tuple[str, int]] = []
    for entry in [] if value is None else listed(value, "supporting_facts"):
        title, sent_id = _parts(entry, FACT_NAMES, 2) or (None, None)
        if not isinstance(title, str) or type(sent_id) is not int or abs(sent_id) >= 2**31:
            raise DataError(
                f"supporting fact {len(facts)} is not a title with a sentence index: {entry!r}",
                field="supporting_facts",
                remedy='Write [title, sent_id] or {"title": ..., "sent_id": ...}',
            )
        facts.append((title, sent_id))
    return facts


def parse_triples(value: Any) -> list[tuple[str, str, str]]:
    """Return (subject, relation, object) triples."""
    form = "[subject, relation, object]"
    return _triples(value, "evidences", TRIPLE_NAMES, _TEXT, form)


def parse_triple_ids(value: Any) -> list[tuple[str | None, str | None, str | None]]:
    """Return (subject id, relation, object id) triples; a part may be None."""
    form = "[subject id, relation, object id]"
    return _triples(value, "evidences_id", TRIPLE_ID_NAMES, _TEXT_OR_NONE, form)


def _triples(
    value: Any, field: str, layouts: tuple[tuple[str, ...], ...], kinds: frozenset[Any], form: str
) -> list[Any]:
    triples: list[Any] = []
    for entry in [] if value is None else listed(value, field):
        parts = _parts(entry, layouts, 3)
        if parts is None or not kinds.issuperset(map(type, parts)):
            raise DataError(
                f"triple {len(triples)} is not three texts: {entry!r}",
                field=field,
                remedy=f"Write {form}",
            )
        triples.append((parts[0], parts[1], parts[2]))
    return triples


def parse_entity_ids(value: Any) -> tuple[str, ...]:
    """Return the ids in `Q1_Q2`, or in a list of ids."""
    if not value:
        return ()
    if isinstance(value, str) and value.startswith("["):
        value = listed(value, "entity_ids")
    parts = value.split("_") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise DataError(f"expected ids joined by '_', got {json_type(value)}", field="entity_ids")
    return tuple(parts)


def _parts(entry: Any, layouts: tuple[tuple[str, ...], ...], width: int) -> list[Any] | None:
    """Return an entry's parts: a list of that width, or a struct of one of the layouts."""
    if isinstance(entry, list | tuple) and len(entry) == width:
        return list(entry)
    if isinstance(entry, Mapping):
        for names in layouts:
            if all(name in entry for name in names):
                return [entry[name] for name in names]
    return None


def parse_sub_questions(value: Any) -> list[tuple[int, str, str]] | None:
    """Return (hop, question, answer) of each sub-question, hops from 1; None for other forms.

    The name is not the release's: what a mirror keeps under it is passed over.
    """
    try:
        entries = [_parts(entry, SUB_QUESTION_NAMES, 3) for entry in listed(value, "sub_questions")]
    except DataError:
        return None
    steps = [tuple(parts) for parts in entries if parts is not None]
    fit = all(tuple(map(type, parts)) == (int, str, str) for parts in steps)
    return steps if fit and len(steps) == len(entries) else None


def optional_list(raw: Mapping[str, Any], name: str, kind: type[_Kind]) -> tuple[_Kind, ...] | None:
    """Return the entries of a list of one type, None where the record lacks it."""
    value = raw.get(name)
    if value is None:
        return None
    entries = listed(value, name)
    if any(type(entry) is not kind for entry in entries):
        noun = "texts" if kind is str else "whole numbers"
        raise DataError(f"expected a list of {noun}", field=name)
    return tuple(entries)


def record_id_of(raw: Mapping[str, Any]) -> str:
    """Return a record's id; raise if there is none, or if it is not a text."""
    for name in ("_id", "id"):
        value = raw.get(name)
        if isinstance(value, str) and value:
            return value
        if value is not None:
            raise DataError(
                f"the id is {json_type(value)}, not a text" if value != "" else "the id is empty",
                record=str(value),
                field=name,
            )
    raise DataError(
        f"no id (the record has the fields {', '.join(map(repr, list(raw)[:8])) or 'none'})",
        field="_id",
        remedy="Every record needs an '_id' (or 'id')",
    )


def check_spelling(raw: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise for a field whose name is nearly that of a known field that the record lacks."""
    found = misspelled_field(tuple(raw), known, known.difference(raw, ("_id", "id")))
    if found:
        raise DataError(
            f"unknown field, while {found[1]!r} is missing",
            field=found[0],
            remedy=f"Rename the field to {found[1]!r}",
        )


def structs(entries: Iterable[Any] | None) -> list[dict[str, Any]] | None:
    """Return named tuples as structs; None for None."""
    return None if entries is None else [entry._asdict() for entry in entries]


def list_or_none(entries: Iterable[Any] | None) -> list[Any] | None:
    """Return the entries as a list; None for None."""
    return None if entries is None else [*entries]
