"""The gold side of scoring: what is true of each question, from records of any layout.

In: records as they were read. Out: `Gold` in the data's order. Contexts stay undecoded until
someone asks for one. A split whose gold is hidden is refused with what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from twowiki.data.fields import TRIPLE_ID_NAMES, TRIPLE_NAMES, kind_of, listed
from twowiki.data.schema import TWO_WIKI_TYPES
from twowiki.errors import DataError
from twowiki.io.json_files import Source
from twowiki.metric.results import Gold

IN_MEMORY = "in memory"
FACT_NAMES = (("title", "sent_id"),)
HIDDEN = (
    "this split has no gold: the answers of the test split are hidden. Score on the validation "
    "split (dev.json), or write the file for the authors' leaderboard with `twowiki submission "
    "PREDICTIONS TEST OUT` and send it to them: https://github.com/Alab-NII/2wikimultihop says how"
)
_PARAGRAPHS = msgspec.json.Decoder(list[tuple[str, list[msgspec.Raw]]])
_LISTS = (list, tuple)
_TYPES = frozenset(TWO_WIKI_TYPES)
_OFFICIAL = itemgetter(
    *("_id", "type", "answer", "answer_id", "supporting_facts", "evidences", "evidences_id"),
    *("question", "context"),
)
_FIELDS = ("answer", "supporting_facts", "evidences")


class GoldSet(NamedTuple):
    """All gold of one split."""

    golds: list[Gold]
    contexts: Sequence[Any]  # as read; `paragraphs_of` decodes one
    source: Source
    lacking: dict[str, int]  # field -> records that do not have it at all
    has_ids: bool  # whether any record has Wikidata ids
    hidden: frozenset[str] = frozenset()  # ids of records without a gold answer


ABSENT, PRESENT = msgspec.Raw(), msgspec.Raw(b'""')


class RawGold(msgspec.Struct, gc=False):
    """What scoring needs of a record, as it was read; of a JSON file nothing else is decoded."""

    official_id: Any = msgspec.field(default=None, name="_id")
    id: Any = None
    type: Any = None
    answer: Any = msgspec.UNSET
    answer_id: Any = None
    supporting_facts: Any = msgspec.UNSET
    evidences: Any = msgspec.UNSET
    evidences_id: Any = None
    question: msgspec.Raw = ABSENT
    context: msgspec.Raw = ABSENT


def collect_gold(
    records: Iterable[Any], source: Source, labels: Sequence[str] = TWO_WIKI_TYPES
) -> GoldSet:
    """Turn records into gold.

    Args:
        records: `RawGold` structs or mappings.
        source: where they came from.
        labels: the names behind a `type` that is a number.
    """
    golds: list[Gold] = []
    contexts: list[Any] = []
    hidden: list[str] = []
    blank = True
    lacking: dict[str, int] = {}
    unset = msgspec.UNSET
    for number, record in enumerate(records):
        raw = record if type(record) is RawGold else _raw_of(record, number)
        gold = _gold_of(raw, number, labels)
        golds.append(gold)
        contexts.append(raw.context)
        if raw.answer is None or raw.answer is unset:
            hidden.append(gold.id)
        elif gold.answer or gold.supporting_facts or gold.evidences or raw.question is ABSENT:
            blank = False
        if raw.answer is unset or raw.supporting_facts is unset or raw.evidences is unset:
            for name in _FIELDS:
                if getattr(raw, name) is unset:
                    lacking[name] = lacking.get(name, 0) + 1
    if not golds:
        raise DataError("the gold holds no record", remedy="Give a split with at least one")
    if len(hidden) == len(golds) or (blank and not hidden):
        raise DataError(HIDDEN)
    has_ids = any(gold.answer_id or gold.evidences_id for gold in golds)
    return GoldSet(golds, contexts, source, lacking, has_ids, frozenset(hidden))


def gold_of(record: Any, number: int, labels: Sequence[str]) -> tuple[Gold, RawGold]:
    """Give one record's gold, and the record as scoring reads it (for who streams).

    Args:
        record: a `RawGold` struct or a mapping.
        number: its place, for errors.
        labels: the names behind a `type` that is a number.
    """
    raw = record if type(record) is RawGold else _raw_of(record, number)
    return _gold_of(raw, number, labels), raw


def refuse_hidden(true: GoldSet) -> None:
    """Refuse gold of which some records have no answer; the first one is named."""
    names = [gold.id for gold in true.golds if gold.id in true.hidden]
    if names:
        raise DataError(
            f"no gold answer ({len(names)} of {len(true.golds)} records have none)",
            file=None if true.source.name == IN_MEMORY else true.source.name,
            record=names[0],
            field="answer",
            remedy="Score the records that have one: name their ids in a subset file (--subset)",
        )


def _raw_of(record: Any, number: int) -> RawGold:
    """Give what scoring needs of a mapping (or anything that turns into one)."""
    if hasattr(record, "_asdict"):
        record = record._asdict()
    if type(record) is not dict and not isinstance(record, Mapping):
        raise DataError(
            f"expected a record (an object), got {kind_of(record)}",
            record=f"number {number}",
            remedy='Gold is a list of objects with "_id", "answer", "supporting_facts" and '
            '"evidences", as in dev.json',
        )
    try:  # the release's own records, in one step
        name, kind, answer, answer_id, facts, triples, ids, _, context = _OFFICIAL(record)
        return RawGold(name, None, kind, answer, answer_id, facts, triples, ids, PRESENT, context)
    except KeyError:
        pass
    get, unset = record.get, msgspec.UNSET
    return RawGold(
        get("_id"),
        get("id"),
        get("type"),
        get("answer", unset),
        get("answer_id"),
        get("supporting_facts", unset),
        get("evidences", unset),
        get("evidences_id"),
        PRESENT if "question" in record else ABSENT,
        get("context", ABSENT),
    )


def _gold_of(raw: RawGold, number: int, labels: Sequence[str]) -> Gold:
    name = raw.official_id if raw.official_id is not None else raw.id
    if type(name) is not str:
        raise _bad_id(raw, name, number)
    answer, facts = raw.answer, raw.supporting_facts
    triples, ids = raw.evidences, raw.evidences_id
    try:
        return Gold(
            name,
            answer if type(answer) is str else _text(answer),
            facts if _official(facts) else entries_of(facts, "supporting_facts", FACT_NAMES),
            triples if _official(triples) else entries_of(triples, "evidences", TRIPLE_NAMES),
            raw.type if raw.type is None else _type_of(raw.type, labels),
            raw.answer_id if type(raw.answer_id) is str else None,
            ids if _official(ids) else entries_of(ids, "evidences_id", TRIPLE_ID_NAMES),
        )
    except DataError as error:
        raise DataError(
            error.problem, record=name, field=error.field, remedy=error.remedy
        ) from None


def _official(value: Any) -> bool:
    """Tell a list of lists (or an empty list), which is used as it stands."""
    return type(value) is list and (not value or type(value[0]) is list)


def entries_of(value: Any, field: str, layouts: Sequence[Sequence[str]]) -> list[Any]:
    """Give a list's entries, structs turned into tuples in the order of the layout's names.

    Args:
        value: a list, a struct of lists, JSON text, or nothing.
        field: the field's name, for errors.
        layouts: the names that a struct may have.
    """
    if not value or value is msgspec.UNSET:
        return []
    entries = listed(value, field)
    return [
        _entry(entry, field, layouts) if isinstance(entry, Mapping) else entry for entry in entries
    ]


def _entry(
    entry: Mapping[str, Any], field: str, layouts: Sequence[Sequence[str]]
) -> tuple[Any, ...]:
    for names in layouts:
        if all(name in entry for name in names):
            return tuple([entry[name] for name in names])
    raise DataError(
        f"an entry has the fields {', '.join(map(repr, entry)) or 'none'}",
        field=field,
        remedy=f"It needs {', '.join(map(repr, layouts[0]))}",
    )


def _text(answer: Any) -> str:
    if answer is None or answer is msgspec.UNSET:
        return ""
    if isinstance(answer, int | float):
        return str(answer)
    raise DataError(f"the gold answer is {kind_of(answer)}, not a text", field="answer")


def _type_of(value: Any, labels: Sequence[str]) -> str | None:
    if type(value) is str:
        return value if value in _TYPES else value.replace("-", "_")
    if type(value) is int:
        return labels[value] if 0 <= value < len(labels) else None
    return None


def _bad_id(raw: RawGold, name: Any, number: int) -> DataError:
    if name is None and raw.answer is not msgspec.UNSET and isinstance(raw.answer, Mapping):
        return DataError(
            "this is a prediction file, not gold", remedy="The order is PREDICTIONS GOLD [ALIASES]"
        )
    found = "no id" if name is None else f"the id is {kind_of(name)}, not a text"
    return DataError(
        found, record=f"number {number}", field="_id", remedy="Every gold record needs an '_id'"
    )


def length_of(context: Any, title: str) -> int | None:
    """Give the number of sentences of a paragraph; None where the context does not tell.

    Args:
        context: a context as it was read: lists, structs, undecoded JSON or an Arrow value.
        title: the paragraph's title, as it stands.
    """
    if type(context) is list and context and type(context[0]) is list:
        entries: Any = context
    else:
        entries = _decoded(context)
    for entry in entries:
        if isinstance(entry, Mapping):
            name, sentences = entry.get("title"), entry.get("sentences", entry.get("content"))
        elif isinstance(entry, _LISTS) and len(entry) == 2:
            name, sentences = entry
        else:
            continue
        if name == title and isinstance(sentences, _LISTS):
            return len(sentences)
    return None


def _decoded(context: Any) -> Iterable[Any]:
    if isinstance(context, msgspec.Raw):
        try:
            return _PARAGRAPHS.decode(context)
        except msgspec.ValidationError:
            context = msgspec.json.decode(context)  # another layout than the official one
        except msgspec.DecodeError:
            return ()
    if hasattr(context, "as_py"):
        context = context.as_py()
    try:
        return listed(context, "context") if context else ()
    except DataError:
        return ()
