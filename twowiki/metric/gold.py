"""The gold side of scoring: the gold of each question, from records of any layout.

In: records as they were read, or typed examples. Out: `Gold` in the data's order, one after the
other. Contexts stay undecoded until one is needed. Malformed records are refused with their id,
and a split whose gold is hidden is refused with what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import tee
from operator import itemgetter
from typing import Any

import msgspec

from twowiki.data.fields import FACT_NAMES, TRIPLE_ID_NAMES, TRIPLE_NAMES, json_type, listed
from twowiki.data.layouts import check_gold_names, layout_of
from twowiki.data.schema import (
    HOTPOT_TYPES,
    LAYOUT_CONFIG,
    TWO_WIKI_TYPES,
    Example,
    parse_record,
)
from twowiki.errors import DataError
from twowiki.io.records import DataSource
from twowiki.metric.parts import GoldForm
from twowiki.metric.results import Gold

IN_MEMORY = "in memory"
HIDDEN_GOLD = (
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
_ABSENT, _UNSET = msgspec.Raw(), msgspec.UNSET


class GoldRecord(msgspec.Struct, gc=False):
    """What scoring needs of a record, as it was read; of a JSON file nothing else is decoded."""

    official_id: Any = msgspec.field(default=None, name="_id")
    id: Any = None
    type: Any = None
    answer: Any = msgspec.UNSET
    answer_id: Any = None
    supporting_facts: Any = msgspec.UNSET
    evidences: Any = msgspec.UNSET
    evidences_id: Any = None
    question: msgspec.Raw = _ABSENT
    context: msgspec.Raw = _ABSENT
    level: Any = None
    answer_aliases: Any = None
    paragraphs: msgspec.Raw = _ABSENT  # of another tool's layout

    @property
    def is_whole(self) -> bool:
        """Whether nothing else of the record can matter: it has an answer, and is the release's."""
        return self.answer is not msgspec.UNSET and self.paragraphs is _ABSENT


class GoldReader:
    """The gold of one split, read record by record; at the end it is checked as a whole.

    Iterating yields pairs: a `Gold`, and the record it comes from (with `answer`, `question` and
    `context` as they were read).

    Args:
        records: `GoldRecord` structs, mappings or examples.
        source: where they come from.
        labels: the names behind a `type` that is a number.
        form: the parts that the gold has; None: the first record shows them.

    Attributes:
        form: as above, known when the first record was read.
        count: the number of records read so far.
        ids: their ids, in order.
        lacking: by field, the number of records that do not have it at all.
        has_ids: whether any record has Wikidata ids.
    """

    def __init__(
        self,
        records: Iterable[Any],
        source: DataSource = DataSource(IN_MEMORY, ""),  # noqa: B008
        labels: Sequence[str] = TWO_WIKI_TYPES,
        form: GoldForm | None = None,
    ) -> None:
        self.source, self.form = source, form
        self.records, self._labels = records, labels
        self.count = 0
        self.ids: dict[str, None] = {}
        self.lacking: dict[str, int] = {}
        self.has_ids = False
        self._blank = 0

    def __iter__(self) -> Iterator[tuple[Gold, GoldRecord | Example]]:
        shown, whole = self.form is None, True
        for record in self.records:
            typed = isinstance(record, GoldRecord | Example)
            raw: GoldRecord | Example = record if typed else record_of(record, self.count)
            if self.form is None:
                self.form = GoldForm.of_record(raw)
                whole = self.form == GoldForm()
                if self.form.hotpotqa and tuple(self._labels) == TWO_WIKI_TYPES:
                    self._labels = HOTPOT_TYPES
            if isinstance(raw, Example):
                gold = Gold.of(raw)
            else:
                gold = parse_gold(raw, self.count, self._labels)
            self.count += 1
            self.ids[gold.id] = None
            if shown and not whole:
                self.form.check(gold)
            if raw.answer is _UNSET or raw.evidences is _UNSET or raw.supporting_facts is _UNSET:
                self._count_lacking(raw)
            self._blank += is_blank(gold, raw)
            if gold.answer_id or gold.evidences_id:
                self.has_ids = True
            yield gold, raw
        if not self.count:
            raise DataError("the gold has no record", remedy="Use a split with at least one")
        if self._blank == self.count:
            raise DataError(HIDDEN_GOLD)

    def in_step(self, count: int) -> list[GoldReader]:
        """Return readers of the same records, to be read side by side; this one is not read."""
        return [
            GoldReader(records, self.source, self._labels, self.form)
            for records in tee(self.records, count)
        ]

    def _count_lacking(self, raw: GoldRecord | Example) -> None:
        for name in _FIELDS:
            if getattr(raw, name) is _UNSET:
                self.lacking[name] = self.lacking.get(name, 0) + 1


def is_blank(gold: Gold, record: GoldRecord | Example) -> bool:
    """Return whether a record has no gold answer, or an empty one.

    Both are one thing: rows of the data set have None where a file has an empty text. Among records
    with gold they are scored as an empty text, as the evaluators do, with a warning. An empty text
    counts as an answer only in bare records without the question, which the evaluators take too.
    """
    if record.answer is None or record.answer is _UNSET:
        return True
    return not gold.answer and record.question is not _ABSENT


def record_of(record: Any, number: int) -> GoldRecord | Example:
    """Return what scoring needs of a mapping; of another tool's layout the whole example.

    Raises:
        DataError: it is not a mapping, or its gold is under a name that is not read.
    """
    if hasattr(record, "_asdict"):
        record = record._asdict()
    if type(record) is not dict and not isinstance(record, Mapping):
        raise DataError(
            f"expected a record (an object), got {json_type(record)}",
            record=f"number {number}",
            remedy='Gold is a list of objects with "_id", "answer", "supporting_facts" and '
            '"evidences", as in dev.json',
        )
    try:  # the release's own records, in one step
        record_id, type_, answer, answer_id, facts, triples, ids, *rest = _OFFICIAL(record)
        return GoldRecord(record_id, None, type_, answer, answer_id, facts, triples, ids, *rest)
    except KeyError:
        pass
    if layout_of(record) is not None:
        return parse_record(record, LAYOUT_CONFIG)
    _check_gold_names(record)
    get, unset = record.get, msgspec.UNSET
    return GoldRecord(
        get("_id"),
        get("id"),
        get("type"),
        get("answer", unset),
        get("answer_id"),
        get("supporting_facts", unset),
        get("evidences", unset),
        get("evidences_id"),
        get("question", _ABSENT),
        get("context", _ABSENT),
        get("level"),
        answer_aliases=get("answer_aliases"),
    )


def _check_gold_names(record: Mapping[str, Any]) -> None:
    try:
        check_gold_names(record)
    except DataError as error:
        record_id = record.get("_id", record.get("id"))
        raise error.of(None if record_id is None else str(record_id)) from None


def parse_gold(
    record: GoldRecord | Example | Mapping[str, Any],
    number: int,
    labels: Sequence[str] = TWO_WIKI_TYPES,
) -> Gold:
    """Return the gold of one record.

    Args:
        record: the record.
        number: its position, for errors.
        labels: the names behind a `type` that is a number.
    """
    raw = record if isinstance(record, GoldRecord | Example) else record_of(record, number)
    if isinstance(raw, Example):
        return Gold.of(raw)
    record_id = raw.official_id if raw.official_id is not None else raw.id
    if type(record_id) is not str:
        raise _id_error(raw, record_id, number)
    answer, facts = raw.answer, raw.supporting_facts
    triples, ids = raw.evidences, raw.evidences_id
    try:
        return Gold(
            record_id,
            answer if type(answer) is str else _text(answer),
            facts if _official(facts) else _entries(facts, "supporting_facts", FACT_NAMES),
            triples if _official(triples) else _entries(triples, "evidences", TRIPLE_NAMES),
            raw.type if raw.type is None else _type_of(raw.type, labels),
            raw.answer_id if type(raw.answer_id) is str else None,
            ids if _official(ids) else _entries(ids, "evidences_id", TRIPLE_ID_NAMES),
            raw.answer_aliases or (),
        )
    except DataError as error:
        raise DataError(
            error.problem, record=record_id, field=error.field, remedy=error.remedy
        ) from None


def _official(value: Any) -> bool:
    """Return whether a value is a list of lists (or an empty list), which is used as it is."""
    return type(value) is list and (not value or type(value[0]) is list)


def _entries(value: Any, field: str, layouts: Sequence[Sequence[str]]) -> list[Any]:
    """Return the entries of a list, with structs as tuples in the order of a layout's names."""
    if not value or value is msgspec.UNSET:
        return []
    return [
        _entry(entry, field, layouts) if isinstance(entry, Mapping) else entry
        for entry in listed(value, field)
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
    raise DataError(f"the gold answer is {json_type(answer)}, not a text", field="answer")


def _type_of(value: Any, labels: Sequence[str]) -> str | None:
    if type(value) is str:
        return value if value in _TYPES else value.replace("-", "_")
    if type(value) is int:
        return labels[value] if 0 <= value < len(labels) else None
    return None


def _id_error(raw: GoldRecord, record_id: Any, number: int) -> DataError:
    if record_id is None and isinstance(raw.answer, Mapping):
        return DataError(
            "this is a prediction file, not gold", remedy="The order is PREDICTIONS GOLD [ALIASES]"
        )
    found = "no id" if record_id is None else f"the id is {json_type(record_id)}, not a text"
    return DataError(
        found, record=f"number {number}", field="_id", remedy="Every gold record needs an '_id'"
    )


def sentence_count(context: Any, title: str) -> int | None:
    """Return the number of sentences of a paragraph; None where the context does not show it.

    Args:
        context: a context as it was read: lists, structs, undecoded JSON or an Arrow value.
        title: the paragraph's title, unchanged.
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
