"""What a system says, from any of its forms, as one `Prediction` for each question.

In: the official file `{"answer": {id: ...}, "sp": ..., "evidence": ...}`, rows of the data set's
shape (a list, JSON lines, Parquet), or `{id: Prediction}`. Out: a `PredictionSet`. A file of
another shape is refused with the expected keys; single values that cannot be used are kept, and
score 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.data.fields import TRIPLE_NAMES, kind_of, listed
from twowiki.data.schema import Example, Prediction
from twowiki.errors import DataError
from twowiki.io.json_files import (
    Source,
    collector_paused,
    parse_json,
    parse_values,
    read_bytes,
    utf8,
)
from twowiki.metric.gold import FACT_NAMES, IN_MEMORY, GoldSet

BLOCKS = ("answer", "sp", "evidence")
ROW_FIELDS = {"answer": ("answer",), "sp": ("supporting_facts", "sp"),
              "evidence": ("evidences", "evidence")}  # fmt: skip
EXPECTED = (
    'The official form is {"answer": {"ID": "text"}, "sp": {"ID": [["title", 0]]}, "evidence": '
    '{"ID": [["subject", "relation", "object"]]}}; rows are {"id": "ID", "answer": "text", '
    '"supporting_facts": [{"title": "title", "sent_id": 0}], "evidences": [{"subject": "s", '
    '"relation": "r", "object": "o"}]}, with null for a part that your system leaves out'
)
NOTHING = Prediction(None, None, None)

PredictionSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Any]


@dataclass(frozen=True)
class PredictionSet:
    """Predictions by question id.

    Attributes:
        answers, facts, triples: each part's values by id, as they were read; None stands for a
            part that the system leaves out.
        source: where they came from.
        absent: the parts that are given for no question at all.
        repeated: how many rows only repeated another one.
        notes: what a reader has to say about them.
    """

    answers: Mapping[str, Any]
    facts: Mapping[str, Any]
    triples: Mapping[str, Any]
    source: Source
    absent: tuple[str, ...] = ()
    repeated: int = 0
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> Prediction:
        """Give what is said about one question."""
        return Prediction(self.answers.get(name), self.facts.get(name), self.triples.get(name))

    def ids(self) -> dict[str, None]:
        """Give all ids that any part speaks of, in order."""
        return dict.fromkeys((*self.answers, *self.facts, *self.triples))


def read_predictions(source: PredictionSource | PredictionSet) -> PredictionSet:
    """Read predictions.

    Args:
        source: a path (json, jsonl, their .gz or .zip, Parquet) or the structure itself: the
            official dict, rows, or `{id: Prediction}`.

    Raises:
        DataError: another shape (the message shows the expected keys and an example), or two
            rows of one id that differ.
    """
    if isinstance(source, PredictionSet):
        return source
    if not isinstance(source, str | PathLike):
        return collect_predictions(source, Source(IN_MEMORY, ""))
    place = Path(source)
    try:
        if place.suffix.lower() == ".parquet":
            from twowiki.data.sources import read_raw
            from twowiki.io.files import sha256_of

            rows = list(read_raw(place))
            return collect_predictions(rows, Source(str(source), sha256_of(place)))
        with collector_paused():
            data, origin = read_bytes(place)
            return collect_predictions(parse_predictions(utf8(data, place), place), origin)
    except DataError as error:
        raise error.at(place) from None


def parse_predictions(data: bytes, path: Path) -> Any:
    """Parse a file's bytes: one JSON value, or one a line."""
    if data.lstrip()[:1] == b"[":
        return parse_json(data, path)
    values = parse_values(data, path)
    if len(values) == 1 and not (isinstance(values[0], Mapping) and _id_of(values[0])):
        return values[0]
    return values


def collect_predictions(value: Any, source: Source) -> PredictionSet:
    """Turn a parsed prediction into a `PredictionSet`."""
    if isinstance(value, Mapping):
        if any(block in value for block in BLOCKS) and _id_of(value) is None:
            return _of_blocks(value, source)
        if value and all(isinstance(entry, Prediction | Mapping) for entry in value.values()):
            return _of_rows([_row_of(name, entry) for name, entry in value.items()], source)
        found = f"an object with {', '.join(map(repr, list(value)[:6])) or 'no keys'}"
        raise DataError(f"not a prediction: {found}", remedy=EXPECTED)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DataError(f"not a prediction: {kind_of(value)}", remedy=EXPECTED)
    return _of_rows(list(value), source)


def _id_of(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in ("_id", "id") if row.get(name) is not None), None)


def _row_of(name: str, entry: Any) -> dict[str, Any]:
    if isinstance(entry, Prediction):
        return {"id": name, **entry._asdict()}
    return {**entry, "id": name}


def _of_blocks(value: Mapping[str, Any], source: Source) -> PredictionSet:
    """Read the official form; a block that is not there leaves its part out for all."""
    for block in BLOCKS:
        if value.get(block) is not None and not isinstance(value[block], Mapping):
            raise DataError(
                f"the block is {kind_of(value[block])}, not an object from ids to values",
                field=block,
                remedy=EXPECTED,
            )
    absent = tuple(block for block in BLOCKS if value.get(block) is None)
    answers, facts, triples = (value.get(block) or {} for block in BLOCKS)
    return PredictionSet(answers, facts, _without_structs(triples), source, absent)


def _without_structs(triples: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn triples given as objects into tuples; the evaluators die on these."""
    lists = [value for value in triples.values() if isinstance(value, list | tuple)]
    if not any(issubclass(kind, Mapping) for kind in set(map(type, chain.from_iterable(lists)))):
        return triples
    return {
        name: [_entry(entry, TRIPLE_NAMES) for entry in value]
        if isinstance(value, list | tuple)
        else value
        for name, value in triples.items()
    }


def _of_rows(rows: Sequence[Any], source: Source) -> PredictionSet:
    found: dict[str, tuple[Any, ...]] = {}
    for number, row in enumerate(rows):
        name = row_id(row, number)
        values = tuple([row_part(row, block, name) for block in BLOCKS])
        if found.setdefault(name, values) != values:
            raise DataError(
                "two rows of one id say different things",
                record=name,
                remedy="Keep one row for each question",
            )
    refuse_lacking(rows)
    answers, facts, triples = (
        {name: values[place] for name, values in found.items()} for place in range(len(BLOCKS))
    )
    blocks = zip(BLOCKS, (answers, facts, triples), strict=True)
    absent = tuple([name for name, block in blocks if block and not any_given(block)])
    return PredictionSet(answers, facts, triples, source, absent, len(rows) - len(found))


def any_given(block: Mapping[str, Any]) -> bool:
    """Tell whether a part is given for any question."""
    return any(part is not None for part in block.values())


def row_id(row: Any, number: int) -> str:
    """Give a row's id, or say what is wrong with the row."""
    if not isinstance(row, Mapping):
        raise DataError(
            f"expected a row (an object), got {kind_of(row)}",
            record=f"number {number}",
            remedy=EXPECTED,
        )
    name = _id_of(row)
    if not isinstance(name, str):
        found = "no id" if name is None else f"the id is {kind_of(name)}, not a text"
        raise DataError(found, record=f"number {number}", field="id", remedy=EXPECTED)
    return name


def refuse_lacking(rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse rows none of which has a field for some part."""
    lacking = [
        names[0] for names in ROW_FIELDS.values()
        if rows and not any(name in row for row in rows for name in names)
    ]  # fmt: skip
    if lacking:
        problem = f"no row has {' or '.join(map(repr, lacking))}"
        raise DataError(f"not a prediction: {problem}", remedy=EXPECTED)


def row_part(row: Mapping[str, Any], block: str, record: str) -> Any:
    """Give a row's value for a part, structs turned into tuples; None where it has none."""
    names = ROW_FIELDS[block]
    name = next((name for name in names if row.get(name) is not None), None)
    if name is None:
        return None
    if block == "answer":
        return row[name]
    layouts = FACT_NAMES if block == "sp" else TRIPLE_NAMES
    try:
        return [_entry(entry, layouts) for entry in listed(row[name], name)]
    except DataError as error:
        raise DataError(
            error.problem, record=record, field=name, remedy=error.remedy or EXPECTED
        ) from None


def _entry(entry: Any, layouts: Sequence[Sequence[str]]) -> Any:
    """Give a struct's values in the layout's order; one without them stands as it is."""
    if isinstance(entry, Mapping):
        for names in layouts:
            if any(name in entry for name in names):
                return tuple([entry.get(name) for name in names])
    return entry


def extra_ids(said: PredictionSet, true: GoldSet) -> tuple[str, ...]:
    """Give the predicted ids that the gold does not know, in the predictions' order."""
    known = {gold.id for gold in true.golds}
    return tuple([name for name in said.ids() if name not in known])


CONTACT = "https://github.com/Alab-NII/2wikimultihop"
NEXT_STEPS = (
    "Test scores come from the authors of the data set: write to them (the submission guide at "
    f"{CONTACT} says how) with this file, the name of your model and, if you like, links to its "
    "code and paper."
)


class Submission(NamedTuple):
    """The official dict, and what was left out or is doubtful."""

    blocks: dict[str, dict[str, Any]]
    missing: list[str]
    unknown_titles: list[str]  # ids with a fact whose title the context lacks
    extra: int


def make_submission(
    said: PredictionSet, questions: Iterable[Example], *, allow_missing: bool = False
) -> Submission:
    """Put predictions into the leaderboard's form.

    Args:
        said: the predictions.
        questions: the test split's questions.
        allow_missing: write an empty answer, no facts and no triples for what is left out.

    Raises:
        DataError: a malformed value, or something left out.
    """
    blocks: dict[str, dict[str, Any]] = {block: {} for block in BLOCKS}
    missing: list[str] = []
    unknown: list[str] = []
    for example in questions:
        prediction = said.of(example.id)
        if any(part is None for part in prediction):
            missing.append(example.id)
        for block, value in zip(BLOCKS, _checked(prediction, example.id), strict=True):
            blocks[block][example.id] = value
        titles = {paragraph.title.lower() for paragraph in example.context}
        if any(title.lower() not in titles for title, _ in blocks["sp"][example.id]):
            unknown.append(example.id)
    if missing and not allow_missing:
        raise DataError(
            f"{len(missing)} of {len(blocks['answer'])} questions lack an answer, facts or triples",
            record=missing[0],
            remedy="Complete the predictions, or accept zeros for these with --allow-missing",
        )
    extra = sum(name not in blocks["answer"] for name in said.ids())
    return Submission(blocks, missing, unknown, extra)


def _checked(prediction: Prediction, name: str) -> tuple[str, list[Any], list[Any]]:
    answer: Any = prediction.answer
    if answer is not None and not isinstance(answer, str | int | float):
        raise _malformed(name, "answer", answer, "a text")
    facts = [_fact(fact, name) for fact in _listed(prediction.supporting_facts, name, "sp")]
    triples = [_triple(one, name) for one in _listed(prediction.evidences, name, "evidence")]
    return "" if answer is None else str(answer), facts, triples


def _listed(value: Any, name: str, block: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _malformed(name, block, value, "a list")
    return list(value)


def _fact(fact: Any, name: str) -> list[Any]:
    if isinstance(fact, list | tuple) and len(fact) == 2:
        title, sent_id = fact
        if isinstance(title, str) and type(sent_id) is int:
            return [title, sent_id]
    raise _malformed(name, "sp", fact, "[title, sentence number]")


def _triple(triple: Any, name: str) -> list[str]:
    if isinstance(triple, list | tuple) and len(triple) == 3:
        parts = [str(part) for part in triple if isinstance(part, str | int | float)]
        if len(parts) == 3:
            return parts
    raise _malformed(name, "evidence", triple, "[subject, relation, object]")


def _malformed(name: str, block: str, value: Any, wanted: str) -> DataError:
    problem = f"{value!r} is not {wanted}; the leaderboard's scorer would fail or give 0"
    return DataError(problem, record=name, field=block, remedy="Mend the prediction")
