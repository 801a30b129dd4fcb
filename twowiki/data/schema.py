"""The typed example that every part of the package shares, to and from the official JSON.

In: a raw record (the authors' JSON, a mirror's layout, a row of the data set). Out: an `Example`.
Refused: records whose fields have another meaning than in the release; the error has the record
and the field. Nothing is repaired: strings keep their spaces and their traces of tokenization.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twowiki.data.fields import (
    json_type,
    misspelled_field,
    optional_text,
    parse_context,
    parse_entity_ids,
    parse_facts,
    parse_triple_ids,
    parse_triples,
    required,
    required_text,
)
from twowiki.errors import DataError

TWO_WIKI_TYPES = ("comparison", "inference", "compositional", "bridge_comparison")
HOTPOT_TYPES = ("bridge", "comparison")
HOTPOT_CONFIG = "hotpotqa"
DEFAULT_CONFIG = "data_ids_april7"
RELEASES = ("data_ids_april7", "data_ids", "data")
CONFIGS = (*RELEASES, HOTPOT_CONFIG)
SPLITS = ("train", "validation", "test")


class Paragraph(NamedTuple):
    """One paragraph of the context: the page's title and its summary, cut into sentences."""

    title: str
    sentences: tuple[str, ...]


class Fact(NamedTuple):
    """A sentence named by its paragraph's title and its index there, from 0."""

    title: str
    sent_id: int


class Triple(NamedTuple):
    """One step of the evidence: subject, relation text, object."""

    subject: str
    relation: str
    object: str


class TripleIds(NamedTuple):
    """A triple's Wikidata ids; the relation stays text, a date is `date_information`."""

    subject_id: str | None
    relation: str | None
    object_id: str | None


class Example(NamedTuple):
    """One question with its context and gold. Hidden gold is `None` or an empty tuple.

    `id` leaks the question type in the released data; never show it to a model.
    """

    id: str
    question: str
    type: str | None
    context: tuple[Paragraph, ...]
    supporting_facts: tuple[Fact, ...] = ()
    evidences: tuple[Triple, ...] = ()
    evidences_id: tuple[TripleIds, ...] = ()
    answer: str | None = None
    answer_id: str | None = None
    entity_ids: tuple[str, ...] = ()
    level: str | None = None

    @property
    def has_gold(self) -> bool:
        """Whether the answer is known; test splits hide it."""
        return self.answer is not None


class Prediction(NamedTuple):
    """A system's answer to one question; `None` for a part that it does not predict."""

    answer: str | None
    supporting_facts: tuple[Fact, ...] | None = ()
    evidences: tuple[Triple, ...] | None = ()


def types_of(config: str) -> tuple[str, ...]:
    """Return the question types of a config, in class-label order."""
    if config not in CONFIGS:
        raise DataError(f"unknown config {config!r}", remedy=f"Known: {', '.join(CONFIGS)}")
    return HOTPOT_TYPES if config == HOTPOT_CONFIG else TWO_WIKI_TYPES


KNOWN_FIELDS = frozenset(
    (
        *("_id", "id", "type", "question", "context", "supporting_facts", "evidences"),
        *("evidences_id", "answer", "answer_id", "entity_ids", "level"),
    )
)
_OFFICIAL_KEYS = {
    "data_ids_april7": (
        "_id", "type", "question", "context", "entity_ids", "supporting_facts", "evidences",
        "answer", "evidences_id", "answer_id",
    ),
    "data_ids": (
        "_id", "type", "question", "context", "entity_ids", "supporting_facts", "evidences",
        "answer", "evidences_id", "answer_id",
    ),
    "data": (
        "_id", "type", "question", "context", "entity_ids", "supporting_facts", "evidences",
        "answer",
    ),
    HOTPOT_CONFIG: (
        "_id", "answer", "question", "supporting_facts", "context", "type", "level",
    ),
}  # fmt: skip
_HOTPOT_HIDDEN = ("_id", "question", "context")


def parse_record(raw: Any, config: str = DEFAULT_CONFIG) -> Example:
    """Turn one raw record into an `Example`.

    Args:
        raw: a record of the official JSON, of a public mirror (JSON strings, structs, structs of
            lists) or a row of the data set.
        config: a release's name or `hotpotqa`; it fixes the question types.

    Raises:
        DataError: a field is missing, misspelt or has another meaning; with the record's id and
            the field; the caller adds the file.
    """
    if not isinstance(raw, Mapping):
        raise DataError(
            f"expected a record (a JSON object), got {json_type(raw)}",
            remedy="Pass a file of records: a JSON array of objects, or one object per line",
        )
    record_id = _record_id(raw)
    try:
        if not KNOWN_FIELDS.issuperset(raw):
            _check_spelling(raw)
        return Example(
            id=record_id,
            question=required_text(raw, "question"),
            type=_question_type(raw.get("type"), config),
            context=tuple(map(Paragraph._make, parse_context(required(raw, "context")))),
            supporting_facts=tuple(map(Fact._make, parse_facts(raw.get("supporting_facts")))),
            evidences=tuple(map(Triple._make, parse_triples(raw.get("evidences")))),
            evidences_id=tuple(map(TripleIds._make, parse_triple_ids(raw.get("evidences_id")))),
            answer=optional_text(raw, "answer") or None,
            answer_id=optional_text(raw, "answer_id"),
            entity_ids=parse_entity_ids(raw.get("entity_ids")),
            level=optional_text(raw, "level"),
        )
    except DataError as error:
        raise DataError(
            error.problem, record=record_id, field=error.field, remedy=error.remedy
        ) from None


def to_row(example: Example, config: str = DEFAULT_CONFIG) -> dict[str, Any]:
    """Return the row of the data set: lists of structs, `type` as its class label's number."""
    labels = types_of(config)
    row: dict[str, Any] = {
        "id": example.id,
        "question": example.question,
        "type": None if example.type is None else labels.index(example.type),
        "context": [
            {"title": title, "sentences": list(sentences)} for title, sentences in example.context
        ],
        "supporting_facts": [fact._asdict() for fact in example.supporting_facts],
        "evidences": [triple._asdict() for triple in example.evidences],
        "evidences_id": [triple._asdict() for triple in example.evidences_id],
        "answer": example.answer,
        "answer_id": example.answer_id,
        "entity_ids": list(example.entity_ids),
    }
    if config == HOTPOT_CONFIG:
        row["level"] = example.level
    return row


def to_official(record: Example | Mapping[str, Any], config: str | None = None) -> dict[str, Any]:
    """Return the original record: the keys of the release, in its order.

    Args:
        record: an `Example`, or a row of the data set.
        config: the release; by default `hotpotqa` for a record with a `level`, else the
            default release. It fixes which keys the record has.

    Returns:
        A dict equal to the record that was read, spaces included. Hidden gold is blank, as in
        the test file of the release (`""`, `[]`); HotpotQA's test file leaves the keys out.
    """
    config = config or _config_of(record)
    types_of(config)
    example = record if isinstance(record, Example) else parse_record(record, config)
    values: dict[str, Any] = {
        "_id": example.id,
        "type": example.type,
        "question": example.question,
        "context": [[title, list(sentences)] for title, sentences in example.context],
        "entity_ids": "_".join(example.entity_ids),
        "supporting_facts": [list(fact) for fact in example.supporting_facts],
        "evidences": [list(triple) for triple in example.evidences],
        "answer": example.answer or "",
        "evidences_id": [list(triple) for triple in example.evidences_id],
        "answer_id": example.answer_id,
        "level": example.level,
    }
    gold = (example.answer, example.type, example.level)
    hidden = config == HOTPOT_CONFIG and gold == (None, None, None)
    keys = _HOTPOT_HIDDEN if hidden else _OFFICIAL_KEYS[config]
    return {key: values[key] for key in keys}


def gold_paragraphs(record: Example | Mapping[str, Any]) -> tuple[list[Paragraph], list[str]]:
    """Return the gold paragraphs that the context holds, and the gold titles that it lacks.

    Titles must match exactly: "Ed Halloran" is not "Ed Halloran (film)".
    """
    example = record if isinstance(record, Example) else parse_record(record, _config_of(record))
    titles = list(dict.fromkeys(fact.title for fact in example.supporting_facts))
    found = [paragraph for paragraph in example.context if paragraph.title in titles]
    present = {paragraph.title for paragraph in found}
    return found, [title for title in titles if title not in present]


def has_gold(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any row of a split has its gold: `answer` (2Wiki) or `answers` (ARC-DA).

    Hidden gold is None or an empty list, never -1.
    """
    names = [name for name in ("answer", "answers") if name in getattr(rows, "column_names", ())]
    if names and hasattr(rows, "select_columns"):
        rows = rows.select_columns(names)  # a data set of `datasets`: leave the contexts alone
    return any(row.get("answer") is not None or row.get("answers") for row in rows)


def _config_of(record: Example | Mapping[str, Any]) -> str:
    """Return the config of a record: only HotpotQA's records have a level."""
    known = record.level is not None if isinstance(record, Example) else "level" in record
    return HOTPOT_CONFIG if known else DEFAULT_CONFIG


def _record_id(raw: Mapping[str, Any]) -> str:
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


def _check_spelling(raw: Mapping[str, Any]) -> None:
    """Raise for a field whose name is nearly that of a field that the record lacks."""
    found = misspelled_field(tuple(raw), KNOWN_FIELDS, KNOWN_FIELDS.difference(raw, ("_id", "id")))
    if found:
        raise DataError(
            f"unknown field, while {found[1]!r} is missing",
            field=found[0],
            remedy=f"Rename the field to {found[1]!r}",
        )


def _question_type(value: Any, config: str) -> str | None:
    known = types_of(config)
    if value is None:
        return None
    if type(value) is int and 0 <= value < len(known):
        return known[value]
    name = value.replace("-", "_") if isinstance(value, str) else None
    if name in known:
        return name
    remedy = f"The types of config {config!r} are {', '.join(known)}"
    if config != HOTPOT_CONFIG and value in HOTPOT_TYPES:
        remedy += f"; for HotpotQA's files use the config {HOTPOT_CONFIG!r}"
    raise DataError(f"unknown question type {value!r}", field="type", remedy=remedy)
