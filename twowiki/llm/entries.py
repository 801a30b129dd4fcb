"""Supporting sentences and triples, in whatever shape a language model writes them. Pure.

In: a value from JSON, YAML or a text of lines. Out: facts `(title, sent_id)` or triples `(subject,
relation, object)`, and how many entries could not be read. Lists, objects under any usual names,
structs of lists, objects by title or by subject, and lines are read; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from twowiki.llm.entry_lines import (
    PartEntry,
    fact_of_line,
    indices,
    read_entry_lines,
    triple_of_line,
)

_MOST = 1000  # entries of one part
_TITLES = ("title", "paragraph_title", "page_title", "document_title", "doc_title", "paragraph",
           "document", "doc", "page", "passage", "article", "source", "section", "entity",
           "name", "titles")  # fmt: skip
_INDICES = ("sent_id", "sentence_id", "sentence_index", "sent_idx", "sentence_idx", "sent_index",
            "sentence_number", "sentence_num", "sentence_no", "sent_ids", "sentence_ids",
            "sentence_indices", "sentences", "sentence", "sents", "sent", "indices", "index", "idx",
            "number", "line", "position", "id", "ids")  # fmt: skip
_SUBJECTS = ("subject", "subj", "sub", "head", "head_entity", "subject_entity", "s", "h", "source",
             "from", "start", "entity1", "entity_1", "e1", "node1", "node_1", "arg1", "src",
             "fact", "subjects", "heads")  # fmt: skip
_RELATIONS = ("relation", "predicate", "relationship", "property", "rel", "pred", "edge", "r", "p",
              "relation_type", "type", "label", "link", "verb", "relations",
              "predicates")  # fmt: skip
_OBJECTS = ("object", "obj", "tail", "tail_entity", "object_entity", "o", "t", "target", "to",
            "end", "entity2", "entity_2", "e2", "node2", "node_2", "arg2", "tgt", "dst", "entity",
            "value", "objects", "tails")  # fmt: skip
_TEXTS = ("name", "text", "value", "label", "title", "answer")


class Entries(NamedTuple):
    """What was read of a part: None if nothing was, although entries were there."""

    items: list[PartEntry] | None
    refused: int = 0


def read_facts(value: Any) -> Entries:
    """Return the supporting sentences of a value."""
    return _read(value, _facts, fact_of_line)


def read_triples(value: Any) -> Entries:
    """Return the triples of a value."""
    return _read(value, _triples, triple_of_line)


_Reader = Callable[[Any], list[PartEntry] | None]
_LineReader = Callable[[str], list[PartEntry] | None]


def _read(value: Any, reader: _Reader, of_line: _LineReader) -> Entries:
    if value is None:
        return Entries(None)
    if isinstance(value, str):
        parsed = read_entry_lines(value, of_line)
        if isinstance(parsed, tuple):
            return _counted(parsed[0], parsed[1])
        value = parsed
    if not isinstance(value, Mapping | list | tuple):
        return Entries(None, 1)
    if not value:
        return Entries([])
    one = reader(value)
    if one is not None:
        return Entries(list(dict.fromkeys(one)))
    found: list[PartEntry] = []
    refused = 0
    for entry in list(value.values() if isinstance(value, Mapping) else value)[:_MOST]:
        items = reader(entry)
        if items is None and isinstance(entry, Mapping | list | tuple) and entry:
            items, lost = _read(entry, reader, of_line) if _is_nest(entry) else (None, 1)
            refused += lost
        elif items is None:
            refused += 1
        found += items or []
    return _counted(found, refused)


def _counted(found: Sequence[PartEntry], refused: int) -> Entries:
    return Entries(list(dict.fromkeys(found)) if found or not refused else None, refused)


def _is_nest(entry: Mapping[Any, Any] | Sequence[Any]) -> bool:
    """Return whether a value holds nothing but containers, such as a list of lists."""
    inner = entry.values() if isinstance(entry, Mapping) else entry
    return all(isinstance(one, Mapping | list | tuple) for one in inner)


def _facts(entry: Any) -> list[PartEntry] | None:
    """Return the facts of one entry, of which a title may have several; None if it is none."""
    if isinstance(entry, str):
        return fact_of_line(entry)
    if isinstance(entry, Mapping):
        return _facts_of_mapping(entry)
    if not isinstance(entry, list | tuple) or len(entry) not in (2, 3):
        return None
    first, second = entry[:2]
    if len(entry) == 3 and not (isinstance(entry[2], str) and isinstance(second, int)):
        return None
    if isinstance(first, int) and isinstance(second, str):
        first, second = second, first
    numbers = indices(second)
    if not isinstance(first, str) or numbers is None:
        return None
    return [(first, number) for number in numbers]


def _facts_of_mapping(entry: Mapping[Any, Any]) -> list[PartEntry] | None:
    low = _low(entry)
    titles = next((low[name] for name in _TITLES if name in low), None)
    if titles is not None:
        values = [low[name] for name in _INDICES if name in low]
        if isinstance(titles, list):  # a struct of lists, as `datasets` writes it
            return _zipped(titles, *values[:1], reader=_facts)
        numbers = next((n for n in map(indices, values) if n is not None), None)
        if isinstance(titles, Mapping):
            titles = _text(titles)
        if isinstance(titles, str) and numbers is not None:
            return [(titles, number) for number in numbers]
    pairs = [(title, indices(value)) for title, value in entry.items()]
    if pairs and all(numbers is not None for _, numbers in pairs) and not low.keys() & {*_INDICES}:
        return [(str(title), number) for title, numbers in pairs for number in numbers or ()]
    return None


def _triples(entry: Any) -> list[PartEntry] | None:
    """Return the triples of one entry, whose object may be a list; None if it is none."""
    if isinstance(entry, str):
        return triple_of_line(entry)
    if isinstance(entry, Mapping):
        return _triples_of_mapping(entry)
    if not isinstance(entry, list | tuple):
        return None
    if len(entry) == 4:  # with how sure the model is, or with a number of its own
        entry = entry[:3] if _is_number(entry[3]) else entry[1:] if _is_number(entry[0]) else ()
    if len(entry) != 3:
        return None
    if all(isinstance(part, str) and triple_of_line(part) for part in entry):
        return None  # a list of three triples in text
    parts = [_texts(part) for part in entry]
    if any(not part for part in parts):
        return None
    if any(len(part) > 1 for part in parts[:2]) or any(_holds(part) for part in entry[:2]):
        return None
    return list(product(*parts))


def _triples_of_mapping(entry: Mapping[Any, Any]) -> list[PartEntry] | None:
    low = _low(entry)
    groups = (_SUBJECTS, _RELATIONS, _OBJECTS)
    names = [next((name for name in group if name in low), None) for group in groups]
    if None not in names and len(set(names)) == 3:
        values = [low[name] for name in names if name is not None]
        if isinstance(values[0], list):
            return _zipped(*values, reader=_triples)
        return _triples(values)
    if len(entry) == 1 or all(isinstance(value, Mapping) for value in entry.values()):
        return _graph(entry)
    return None


def _graph(entry: Mapping[Any, Any]) -> list[PartEntry] | None:
    """Return the triples of `{"subject": {"relation": "object"}}`."""
    found: list[PartEntry] = []
    for subject, relations in entry.items():
        if not isinstance(relations, Mapping) or not relations or _low(relations).keys() & _NAMES:
            return None
        for relation, values in relations.items():
            texts = _texts(values)
            if not texts:
                return None
            found += [(str(subject), str(relation), text) for text in texts]
    return found or None


_NAMES = {*_SUBJECTS, *_RELATIONS, *_OBJECTS, "triple", "triples", *_TITLES} - {"end", "start"}


def _zipped(*columns: Any, reader: _Reader) -> list[PartEntry] | None:
    """Return the entries of lists side by side."""
    if len(columns) < 2 or not all(isinstance(column, list) for column in columns):
        return None
    if len({len(column) for column in columns}) > 1:
        return None
    read = [reader(list(row)) for row in zip(*columns, strict=True)]
    if None in read:
        return None
    return [one for items in read for one in items or ()]


def _holds(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> list[str]:
    """Return the texts of a part of a triple: one, or those of a list."""
    if isinstance(value, list | tuple):
        texts = [_text(one) for one in value]
        return [] if None in texts else [text for text in texts if text is not None]
    text = _text(value)
    return [] if text is None else [text]


def _text(value: Any) -> str | None:
    """Return a part as text; a named thing as its name."""
    if isinstance(value, Mapping):
        low = _low(value)
        value = next((low[name] for name in _TEXTS if isinstance(low.get(name), str)), None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) else None


def _low(entry: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with its names in one form: `Sent ID` is `sent_id`."""
    return {re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_"): value
            for name, value in entry.items()}  # fmt: skip
