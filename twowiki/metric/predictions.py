"""The predictions of a system, from any of their forms, as one `Prediction` per question.

In: the official file `{"answer": {id: ...}, "sp": ..., "evidence": ...}`, rows of the data set's
shape (a list, JSON lines, Parquet), or `{id: Prediction}`. Out: a `PredictionSet`; and back, the
official file (`to_official_file`) and the file for the leaderboard (`make_submission`). A file of
another shape is refused with the expected keys; single values that cannot be used are kept, and
score 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple

from twowiki.data.fields import FACT_NAMES, TRIPLE_NAMES, json_type, listed
from twowiki.data.schema import Example, Prediction
from twowiki.errors import DataError
from twowiki.io.records import DataSource, collector_paused, read_values
from twowiki.metric.gold import IN_MEMORY

BLOCKS = ("answer", "sp", "evidence")
ROW_FIELDS = {"answer": ("answer",), "sp": ("supporting_facts", "sp"),
              "evidence": ("evidences", "evidence")}  # fmt: skip
_NEAR_BLOCKS = {  # names that say something else than a part that is left out
    "answer": ("answers", "Answer", "prediction", "predictions"),
    "sp": ("sps", "SP", "supporting_facts", "facts"),
    "evidence": ("evidences", "Evidence", "triples"),
}
EXPECTED = (
    'The official form is {"answer": {"ID": "text"}, "sp": {"ID": [["title", 0]]}, "evidence": '
    '{"ID": [["subject", "relation", "object"]]}}; rows are {"id": "ID", "answer": "text", '
    '"supporting_facts": [{"title": "title", "sent_id": 0}], "evidences": [{"subject": "s", '
    '"relation": "r", "object": "o"}]}, with null for a part that your system leaves out. '
    "Outputs of language models, and files of other tools, are read with --from-llm "
    "(twowiki.read_llm_outputs)"
)

PredictionSource = str | PathLike[str] | Mapping[str, Any] | Iterable[Any]


@dataclass(frozen=True)
class PredictionSet:
    """Predictions by question id.

    Attributes:
        answers, facts, triples: the values of each part by id, as they were read; None for a
            part that the system leaves out.
        source: where they came from.
        absent: the parts that are given for no question at all.
        repeated: the number of rows that only repeated another one.
        notes: what their reader has to report.
        made_by: the run and the step of the model that predicted, where the file names them.
    """

    answers: Mapping[str, Any]
    facts: Mapping[str, Any]
    triples: Mapping[str, Any]
    source: DataSource
    absent: tuple[str, ...] = ()
    repeated: int = 0
    notes: tuple[str, ...] = ()
    made_by: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_typed(
        cls,
        predictions: Mapping[str, Prediction],
        source: DataSource | None = None,
        repeated: int = 0,
    ) -> PredictionSet:
        """Return the set of predictions that need no reading."""
        values: list[dict[str, Any]] = [
            {example_id: one[number] for example_id, one in predictions.items()}
            for number in range(len(BLOCKS))
        ]
        named = zip(BLOCKS, values, strict=True)
        absent = [block for block, part in named if part and not any_given(part)]
        source = source or DataSource(IN_MEMORY, "")
        return cls(values[0], values[1], values[2], source, tuple(absent), repeated)

    def of(self, example_id: str) -> Prediction:
        """Return the prediction for one question."""
        return Prediction(
            self.answers.get(example_id), self.facts.get(example_id), self.triples.get(example_id)
        )

    def ids(self) -> dict[str, None]:
        """Return the ids of all parts, in order."""
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
        return collect_predictions(source, DataSource(IN_MEMORY, ""))
    try:
        with collector_paused():
            return collect_predictions(*read_values(source))
    except DataError as error:
        raise error.at(source) from None


def collect_predictions(value: Any, source: DataSource) -> PredictionSet:
    """Return the `PredictionSet` of a parsed file or a structure."""
    if isinstance(value, Mapping):
        if any(block in value for block in BLOCKS) and _id_of(value) is None:
            return _of_blocks(value, source)
        if value and all(isinstance(entry, Prediction | Mapping) for entry in value.values()):
            return _of_rows([_row_of(name, entry) for name, entry in value.items()], source)
        found = f"an object with {', '.join(map(repr, list(value)[:6])) or 'no keys'}"
        raise DataError(f"not a prediction: {found}", remedy=EXPECTED)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DataError(f"not a prediction: {json_type(value)}", remedy=EXPECTED)
    return _of_rows(list(value), source)


def _id_of(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in ("_id", "id") if row.get(name) is not None), None)


def _row_of(example_id: str, entry: Any) -> dict[str, Any]:
    if isinstance(entry, Prediction):
        return {"id": example_id, **entry._asdict()}
    return {**entry, "id": example_id}


def _of_blocks(value: Mapping[str, Any], source: DataSource) -> PredictionSet:
    """Read the official form; a block that is not there leaves its part out for all."""
    for block in BLOCKS:
        if value.get(block) is not None and not isinstance(value[block], Mapping):
            raise DataError(
                f"the block is {json_type(value[block])}, not an object from ids to values",
                field=block,
                remedy=EXPECTED,
            )
    absent = tuple(block for block in BLOCKS if value.get(block) is None)
    for block in absent:
        near = next((name for name in _NEAR_BLOCKS[block] if value.get(name)), None)
        if near is not None:
            remedy = f"Rename it to {block!r}, or remove it"
            raise DataError("is not a block that is read", field=near, remedy=remedy)
    answers, facts, triples = (value.get(block) or {} for block in BLOCKS)
    made_by = value.get("made_by")
    return PredictionSet(
        *(answers, facts, _without_structs(triples), source, absent),
        made_by=made_by if isinstance(made_by, Mapping) else {},
    )


def _without_structs(triples: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return triples with objects as tuples; the evaluators fail on objects."""
    lists = [value for value in triples.values() if isinstance(value, list | tuple)]
    if not any(issubclass(kind, Mapping) for kind in set(map(type, chain.from_iterable(lists)))):
        return triples
    return {
        name: [_entry(entry, TRIPLE_NAMES) for entry in value]
        if isinstance(value, list | tuple)
        else value
        for name, value in triples.items()
    }


def _of_rows(rows: Sequence[Any], source: DataSource) -> PredictionSet:
    found: dict[str, Prediction] = {}
    for number, row in enumerate(rows):
        example_id = row_id(row, number)
        values = row_prediction(row, example_id)
        if found.setdefault(example_id, values) != values:
            raise DataError(
                "two rows with this id differ",
                record=example_id,
                remedy="Keep one row for each question",
            )
    check_row_fields(rows)
    return PredictionSet.of_typed(found, source, len(rows) - len(found))


def any_given(part: Mapping[str, Any]) -> bool:
    """Return whether a part is given for any question."""
    return any(value is not None for value in part.values())


def row_id(row: Any, number: int) -> str:
    """Return the id of a row, or raise what is wrong with it."""
    if not isinstance(row, Mapping):
        raise DataError(
            f"expected a row (an object), got {json_type(row)}",
            record=f"number {number}",
            remedy=EXPECTED,
        )
    example_id = _id_of(row)
    if not isinstance(example_id, str):
        found = "no id" if example_id is None else f"the id is {json_type(example_id)}, not a text"
        raise DataError(found, record=f"number {number}", field="id", remedy=EXPECTED)
    return example_id


def check_row_fields(rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise if none of the rows has a field for some part."""
    lacking = [
        names[0] for names in ROW_FIELDS.values()
        if rows and not any(name in row for row in rows for name in names)
    ]  # fmt: skip
    if lacking:
        problem = f"no row has {' or '.join(map(repr, lacking))}"
        raise DataError(f"not a prediction: {problem}", remedy=EXPECTED)


def row_prediction(row: Mapping[str, Any], example_id: str) -> Prediction:
    """Return the prediction of a row, with structs as tuples and None for absent parts."""
    return Prediction(*[_row_part(row, block, example_id) for block in BLOCKS])


def _row_part(row: Mapping[str, Any], block: str, example_id: str) -> Any:
    name = next((name for name in ROW_FIELDS[block] if row.get(name) is not None), None)
    if name is None:
        return None
    if block == "answer":
        return row[name]
    layouts = FACT_NAMES if block == "sp" else TRIPLE_NAMES
    try:
        return [_entry(entry, layouts) for entry in listed(row[name], name)]
    except DataError as error:
        raise DataError(
            error.problem, record=example_id, field=name, remedy=error.remedy or EXPECTED
        ) from None


def _entry(entry: Any, layouts: Sequence[Sequence[str]]) -> Any:
    """Return the values of a struct in the layout's order; one without them is kept."""
    if isinstance(entry, Mapping):
        for names in layouts:
            if any(name in entry for name in names):
                return tuple([entry.get(name) for name in names])
    return entry


def to_official_values(prediction: Prediction) -> tuple[str, list[list[Any]], list[list[str]]]:
    """Return an answer, facts and triples as the official file has them; None becomes empty."""
    return (
        prediction.answer or "",
        [list(fact) for fact in prediction.supporting_facts or ()],
        [list(triple) for triple in prediction.evidences or ()],
    )


def to_official_file(predictions: Mapping[str, Prediction]) -> dict[str, dict[str, Any]]:
    """Return the content of the official prediction file: answer, sp and evidence by id."""
    blocks: dict[str, dict[str, Any]] = {block: {} for block in BLOCKS}
    for example_id, prediction in predictions.items():
        for block, value in zip(BLOCKS, to_official_values(prediction), strict=True):
            blocks[block][example_id] = value
    return blocks


CONTACT = "https://github.com/Alab-NII/2wikimultihop"
NEXT_STEPS = (
    "Test scores come from the authors of the data set: write to them (the submission guide at "
    f"{CONTACT} says how) with this file, the name of your model and, if you like, links to its "
    "code and paper."
)


class LeaderboardFile(NamedTuple):
    """The official dict, and what was left out or is doubtful."""

    blocks: dict[str, dict[str, Any]]
    missing: list[str]
    unknown_titles: list[str]  # ids with a fact whose title is not in the context
    extra: int


def make_submission(
    predictions: PredictionSet, questions: Iterable[Example], *, allow_missing: bool = False
) -> LeaderboardFile:
    """Return predictions in the leaderboard's form.

    Args:
        predictions: the predictions.
        questions: the questions of the test split.
        allow_missing: write an empty answer, no facts and no triples for what is left out.

    Raises:
        DataError: a malformed value, or something left out.
    """
    checked: dict[str, Prediction] = {}
    missing: list[str] = []
    unknown: list[str] = []
    for example in questions:
        prediction = predictions.of(example.id)
        if any(part is None for part in prediction):
            missing.append(example.id)
        one = checked[example.id] = _checked(prediction, example.id)
        titles = {paragraph.title.lower() for paragraph in example.context}
        if any(title.lower() not in titles for title, _ in one.supporting_facts or ()):
            unknown.append(example.id)
    if missing and not allow_missing:
        raise DataError(
            f"{len(missing)} of {len(checked)} questions lack an answer, facts or triples",
            record=missing[0],
            remedy="Complete the predictions, or accept zeros for these with --allow-missing",
        )
    extra = sum(example_id not in checked for example_id in predictions.ids())
    return LeaderboardFile(to_official_file(checked), missing, unknown, extra)


def _checked(prediction: Prediction, example_id: str) -> Prediction:
    """Return a prediction whose values the leaderboard's scorer can read, or raise."""

    def refuse(block: str, value: Any, wanted: str) -> DataError:
        problem = f"{value!r} is not {wanted}; the leaderboard's scorer would fail or give 0"
        remedy = "Correct the prediction"
        return DataError(problem, record=example_id, field=block, remedy=remedy)

    answer, facts, triples = prediction
    if answer is not None and not isinstance(answer, str | int | float):
        raise refuse("answer", answer, "a text")
    for block, value in (("sp", facts), ("evidence", triples)):
        if value is not None and not isinstance(value, list | tuple):
            raise refuse(block, value, "a list")
    for fact in facts or ():
        pair = fact if isinstance(fact, list | tuple) and len(fact) == 2 else (None, None)
        if not isinstance(pair[0], str) or type(pair[1]) is not int:
            raise refuse("sp", fact, "[title, sentence number]")
    for triple in triples or ():
        parts = triple if isinstance(triple, list | tuple) and len(triple) == 3 else (None,)
        if not all(isinstance(part, str | int | float) for part in parts):
            raise refuse("evidence", triple, "[subject, relation, object]")
    texts = tuple([tuple(map(str, triple)) for triple in triples or ()])
    return Prediction("" if answer is None else str(answer), tuple(facts or ()), texts)  # type: ignore[arg-type]
