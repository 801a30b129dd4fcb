"""The parts of a prediction in parsed JSON, however deep and under whatever names. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twowiki.llm.entries import read_facts, read_triples
from twowiki.llm.lenient_json import read_json
from twowiki.llm.part_names import ANSWER, FACTS, FINISHING, TRIPLES, part_of, plain_name

Parts = dict[str, tuple[Any, int]]
_DEEPEST = 6
_CALLEE = ("name", "action", "tool", "function", "tool_name", "action_name", "recipient_name")
_ARGUMENTS = ("arguments", "args", "action_input", "parameters", "input", "params", "kwargs",
              "tool_input", "action_args")  # fmt: skip
_CLEAR = ((FACTS, 3), (TRIPLES, 3))  # parts with a clear name
_ASIDE = {"context", "paragraphs", "documents", "question", "thought", "thoughts", "reasoning",
          "steps", "search_results", "query", "example", "schema"}  # fmt: skip


def parts_of_mapping(value: Mapping[Any, Any], depth: int = 0) -> Parts | None:
    """Return each part with the rank of its name; empty if none is there, None for another call."""
    low = {plain_name(name): entry for name, entry in value.items()}
    called = _called(low)
    if called is not None:
        return _of_call(called[1], depth) if called[0] else None
    parts: Parts = {}
    for name, entry in value.items():
        known = part_of(name, weak=True)
        if known is None:
            continue
        part, rank = known
        better = part not in parts or (entry is not None and rank > parts[part][1])
        if better or (parts[part][0] is None and entry is not None):
            parts[part] = entry, rank
    _look_inside(value, parts, depth)
    answer = parts.get(ANSWER, (None, 0))[0]
    if isinstance(answer, Mapping) and depth < _DEEPEST:
        parts = {**parts, **(parts_of_mapping(answer, depth + 1) or {})}
    return _sorted_by_shape(parts)


def _called(low: Mapping[str, Any]) -> tuple[bool, Any] | None:
    """Return whether a call of a tool ends the work, and its arguments; None for no call."""
    callee = next((low[name] for name in _CALLEE if isinstance(low.get(name), str)), None)
    name = next((name for name in _ARGUMENTS if name in low), None)
    if callee is None or name is None:
        return None
    return plain_name(callee.rpartition(".")[2]) in FINISHING, low[name]


def _of_call(arguments: Any, depth: int) -> Parts:
    """Return the parts of the arguments of a call that ends the work."""
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        found = read_json(arguments.lstrip())
        arguments = arguments if found is None else found.value
    if isinstance(arguments, Mapping):
        parts = parts_of_mapping(arguments, depth + 1) or {}
        if parts or len(arguments) != 1:
            return parts
        arguments = next(iter(arguments.values()))
    return {ANSWER: (arguments, 2)}


def _look_inside(value: Mapping[Any, Any], parts: Parts, depth: int) -> None:
    """Add the parts of objects inside the object, and lists whose entries show what they are."""
    if depth >= _DEEPEST:
        return
    for name, entry in value.items():
        if plain_name(name) in _ASIDE or (part_of(name) is not None and not _holds_parts(entry)):
            continue
        if isinstance(entry, str) and entry.lstrip()[:1] == "{":
            found = read_json(entry.lstrip())
            entry = entry if found is None else found.value
        if isinstance(entry, list) and len(entry) == 1 and isinstance(entry[0], Mapping):
            entry = entry[0]
        inner: Parts = {}
        if isinstance(entry, Mapping):
            inner = parts_of_mapping(entry, depth + 1) or {}
        elif isinstance(entry, list):
            inner = parts_of_entries(entry)
        for part, found_part in inner.items():
            holder = part in parts and parts[part][0] is entry
            if part not in parts or holder or parts[part][1] < min(found_part[1], 1):
                parts[part] = found_part


def _holds_parts(entry: Any) -> bool:
    """Return whether an object under the name of a part holds parts by their names."""
    return isinstance(entry, Mapping) and any(
        part_of(name) in _CLEAR and isinstance(value, list | Mapping)
        for name, value in entry.items()
    )


def _sorted_by_shape(parts: Parts) -> Parts:
    """Return the parts with lists moved whose entries are those of the other part."""
    facts, triples = parts.get(FACTS), parts.get(TRIPLES)
    if triples and not facts and _reads(read_facts, triples[0], read_triples):
        parts[FACTS] = parts.pop(TRIPLES)
    elif facts and not triples and _reads(read_triples, facts[0], read_facts):
        parts[TRIPLES] = parts.pop(FACTS)
    elif facts and triples:
        swapped = _reads(read_triples, facts[0], read_facts)
        if swapped and _reads(read_facts, triples[0], read_triples):
            parts[FACTS], parts[TRIPLES] = triples, facts
    return parts


def _reads(wanted: Any, value: Any, other: Any) -> bool:
    """Return whether one reader reads all of a value, and the other nothing of it."""
    if not isinstance(value, list | Mapping) or not value:
        return False
    entries = wanted(value)
    return bool(entries.items) and not entries.refused and not other(value).items


def parts_of_entries(value: Sequence[Any]) -> Parts:
    """Return a list as the part whose entries it holds, or the parts of its objects."""
    if len(value) == 1 and isinstance(value[0], Mapping):
        parts = parts_of_mapping(value[0])
        if parts:
            return parts
    if not value or not all(isinstance(entry, list | tuple | Mapping) for entry in value):
        return {}
    for part, read in ((TRIPLES, read_triples), (FACTS, read_facts)):
        entries = read(value)
        if entries.items and not entries.refused:
            return {part: (value, 1)}
    return {}
