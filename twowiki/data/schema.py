"""The typed example that every part of the package shares, to and from the official JSON.

In: a raw record (the authors' JSON, a mirror's layout, a row of the data set). Out: an `Example`.
Refused: records whose fields have another meaning than in the release; the error has the record
and the field. Nothing is repaired: strings keep their spaces and their traces of tokenization.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from twowiki.data import configs
from twowiki.data.configs import type_named
from twowiki.data.configs import types_of as types_of
from twowiki.data.fields import (
    json_type,
    list_or_none,
    optional_list,
    optional_text,
    parse_context,
    parse_entity_ids,
    parse_facts,
    parse_sub_questions,
    parse_triple_ids,
    parse_triples,
    record_id_of,
    required,
    required_text,
    structs,
)
from twowiki.data.layouts import as_release, check_fields
from twowiki.errors import DataError

CONFIGS, RELEASES, SPLITS = configs.CONFIGS, configs.RELEASES, configs.SPLITS
TWO_WIKI_TYPES, HOTPOT_TYPES = configs.TWO_WIKI_TYPES, configs.HOTPOT_TYPES
HOTPOT_CONFIG, DEFAULT_CONFIG = configs.HOTPOT_CONFIG, configs.DEFAULT_CONFIG
LAYOUT_CONFIG, KNOWN_FIELDS = configs.LAYOUT_CONFIG, configs.KNOWN_FIELDS
_PARTS = ("supporting_facts", "evidences")  # None where a source has no such annotation


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


class SubQuestion(NamedTuple):
    """One hop as a question of its own; those of hop 2 ask about an answer of hop 1."""

    hop: int
    question: str
    answer: str


class Example(NamedTuple):
    """One question with its context and gold. Hidden gold is `None` or an empty tuple.

    A part is `None` where the source has no such annotation. `id` leaks the question type in the
    released data; never show it to a model. `supporting_paragraphs` are positions in the context,
    where a source marks paragraphs alone; `answer_aliases` are other right answers.
    """

    id: str
    question: str
    type: str | None
    context: tuple[Paragraph, ...]
    supporting_facts: tuple[Fact, ...] | None = ()
    evidences: tuple[Triple, ...] | None = ()
    evidences_id: tuple[TripleIds, ...] = ()
    answer: str | None = None
    answer_id: str | None = None
    entity_ids: tuple[str, ...] = ()
    level: str | None = None
    sub_questions: tuple[SubQuestion, ...] | None = None
    answer_aliases: tuple[str, ...] | None = None
    supporting_paragraphs: tuple[int, ...] | None = None
    answerable: bool | None = None

    @property
    def has_gold(self) -> bool:
        """Whether the answer is known; test splits hide it."""
        return self.answer is not None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The supporting facts; none where the source has no such annotation."""
        return self.supporting_facts or ()

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The evidences; none where the source has no such annotation."""
        return self.evidences or ()


class Prediction(NamedTuple):
    """A system's answer to one question; `None` for a part that it does not predict."""

    answer: str | None
    supporting_facts: tuple[Fact, ...] | None = ()
    evidences: tuple[Triple, ...] | None = ()


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
    plain = KNOWN_FIELDS.issuperset(raw) and raw.get("answer")
    record_id = None
    try:
        record = raw if plain else as_release(raw)
        record_id = record_id_of(record)
        if record is raw and not plain:
            check_fields(raw)
        return Example(
            id=record_id,
            question=required_text(record, "question"),
            type=type_named(record.get("type"), config),
            context=tuple(map(Paragraph._make, parse_context(required(record, "context")))),
            supporting_facts=_tuples(Fact, parse_facts, record, "supporting_facts"),
            evidences=_tuples(Triple, parse_triples, record, "evidences"),
            evidences_id=tuple(map(TripleIds._make, parse_triple_ids(record.get("evidences_id")))),
            answer=optional_text(record, "answer") or None,
            answer_id=optional_text(record, "answer_id"),
            entity_ids=parse_entity_ids(record.get("entity_ids")),
            level=optional_text(record, "level"),
            sub_questions=_tuples(SubQuestion, parse_sub_questions, record, "sub_questions", None),
            answer_aliases=optional_list(record, "answer_aliases", str),
            supporting_paragraphs=optional_list(record, "supporting_paragraphs", int),
            answerable=record.get("answerable"),
        )
    except DataError as error:
        raise error.of(record_id) from None


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
        "supporting_facts": structs(example.supporting_facts),
        "evidences": structs(example.evidences),
        "evidences_id": structs(example.evidences_id),
        "answer": example.answer,
        "answer_id": example.answer_id,
        "entity_ids": list(example.entity_ids),
        "sub_questions": structs(example.sub_questions),
    }
    if config in (HOTPOT_CONFIG, LAYOUT_CONFIG):
        row["level"] = example.level
    if config == LAYOUT_CONFIG:
        row["answer_aliases"] = list_or_none(example.answer_aliases)
        row["supporting_paragraphs"] = list_or_none(example.supporting_paragraphs)
        row["answerable"] = example.answerable
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
    config = config or config_of(record)
    types_of(config)
    example = record if isinstance(record, Example) else parse_record(record, config)
    values: dict[str, Any] = {
        "_id": example.id,
        "type": example.type,
        "question": example.question,
        "context": [[title, list(sentences)] for title, sentences in example.context],
        "entity_ids": "_".join(example.entity_ids),
        "supporting_facts": [list(fact) for fact in example.supporting_facts or ()],
        "evidences": [list(triple) for triple in example.evidences or ()],
        "answer": example.answer or "",
        "evidences_id": [list(triple) for triple in example.evidences_id],
        "answer_id": example.answer_id,
        "level": example.level,
        "sub_questions": structs(example.sub_questions),
        "answer_aliases": list_or_none(example.answer_aliases),
        "supporting_paragraphs": list_or_none(example.supporting_paragraphs),
        "answerable": example.answerable,
    }
    if config not in CONFIGS:  # what the source lacks is None, or has no key
        values |= {name: None for name in _PARTS if getattr(example, name) is None}
        keys = configs.OFFICIAL_KEYS[config]
        optional = configs.OPTIONAL_KEYS
        return {key: values[key] for key in keys if key not in optional or values[key] is not None}
    gold = (example.answer, example.type, example.level)
    hidden = config == HOTPOT_CONFIG and gold == (None, None, None)
    keys = configs.HOTPOT_HIDDEN if hidden else configs.OFFICIAL_KEYS[config]
    return {key: values[key] for key in keys}


def gold_paragraphs(record: Example | Mapping[str, Any]) -> tuple[list[Paragraph], list[str]]:
    """Return the gold paragraphs that the context holds, and the gold titles that it lacks.

    Titles must match exactly: "Ed Halloran" is not "Ed Halloran (film)".
    """
    example = record if isinstance(record, Example) else parse_record(record, config_of(record))
    if example.supporting_facts is None and example.supporting_paragraphs is not None:
        marked = set(example.supporting_paragraphs)
        return [part for number, part in enumerate(example.context) if number in marked], []
    titles = list(dict.fromkeys(fact.title for fact in example.supporting_facts or ()))
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


def config_of(record: Example | Mapping[str, Any]) -> str:
    """Return the config of a record: HotpotQA's have a level, other tools' lack a part."""
    if isinstance(record, Example):
        absent = None in (record.supporting_facts, record.evidences)
        if absent or record.answer_aliases or record.answerable is not None:
            return LAYOUT_CONFIG
        return DEFAULT_CONFIG if record.level is None else HOTPOT_CONFIG
    if "answer_aliases" in record or as_release(record) is not record:
        return LAYOUT_CONFIG
    return HOTPOT_CONFIG if "level" in record else DEFAULT_CONFIG


def _tuples(
    kind: Any, parse: Any, record: Mapping[str, Any], name: str, absent: Any = ()
) -> tuple[Any, ...] | None:
    """Return a field's entries; None where it is None, `absent` where there is no such field."""
    value = record.get(name, absent)
    entries = None if value is None else parse(value)
    return None if entries is None else tuple(map(kind._make, entries))
