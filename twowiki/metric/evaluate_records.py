"""Records for the `evaluate` metric, made from whatever `twowiki.score` reads.

In: predictions and gold in any form. Out: lists of dicts with the metric's declared fields, one
prediction for each reference, matched by id:
`metric.compute(**to_evaluate_records(predictions, gold))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from twowiki.data.fields import FACT_NAMES, TRIPLE_ID_NAMES, TRIPLE_NAMES
from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.io.records import DataSource
from twowiki.metric.gold import IN_MEMORY
from twowiki.metric.gold_sources import GoldSource, open_gold
from twowiki.metric.predictions import (
    PredictionSet,
    PredictionSource,
    check_row_fields,
    collect_predictions,
    read_predictions,
    row_id,
    row_prediction,
)
from twowiki.metric.results import Gold

(_FACT,), (_TRIPLE, *_), (_TRIPLE_ID, *_) = FACT_NAMES, TRIPLE_NAMES, TRIPLE_ID_NAMES
_Record = dict[str, Any]


def to_evaluate_records(
    predictions: PredictionSource | PredictionSet,
    references: GoldSource,
    *,
    config: str | None = None,
    split: str | None = None,
) -> dict[str, list[_Record]]:
    """Return predictions and gold with the metric's features.

    Args:
        predictions: whatever `twowiki.score` takes: official files or dicts, rows, ...
        references: whatever `twowiki.score` takes as gold.
        config: which config of a folder or hub data set.
        split: which split of it.

    Returns:
        `predictions` and `references`, of one length, in the gold's order. A question without a
        prediction gets None for answer, supporting_facts and evidences, and scores 0.

    Raises:
        DataError: input that cannot be used.
    """
    found = read_predictions(predictions)
    golds = [gold for gold, _ in open_gold(references, config=config, split=split)]
    return {
        "predictions": [_prediction_record(gold.id, found.of(gold.id)) for gold in golds],
        "references": [_reference_record(gold) for gold in golds],
    }


def _prediction_record(example_id: str, prediction: Prediction) -> _Record:
    """Return a prediction with the metric's fields; a malformed value is kept."""
    return {
        "id": example_id,
        "answer": prediction.answer,
        "supporting_facts": _structs(prediction.supporting_facts, _FACT),
        "evidences": _structs(prediction.evidences, _TRIPLE),
    }


def _reference_record(gold: Gold) -> _Record:
    return {
        "id": gold.id,
        "type": gold.type,
        "answer": gold.answer,
        "answer_id": gold.answer_id,
        "supporting_facts": _structs(gold.supporting_facts, _FACT),
        "evidences": _structs(gold.evidences, _TRIPLE),
        "evidences_id": _structs(gold.evidences_id, _TRIPLE_ID),
    }


def prediction_records(
    predictions: Mapping[str, Any] | Iterable[Any], ids: Sequence[str]
) -> list[_Record]:
    """Return a copy of the predictions of one batch: rows, a lazy column, or the official dict.

    Args:
        predictions: the batch.
        ids: the ids of the batch's references; the official dict is put in their order.
    """
    if isinstance(predictions, Mapping):
        found = collect_predictions(predictions, DataSource(IN_MEMORY, ""))
        return [_prediction_record(example_id, found.of(example_id)) for example_id in ids]
    rows = list(predictions)
    named = [(row_id(row, number), row) for number, row in enumerate(rows)]
    check_row_fields(rows)
    return [
        _prediction_record(example_id, row_prediction(row, example_id)) for example_id, row in named
    ]


def reference_rows(references: Iterable[Any]) -> Iterator[_Record]:
    """Yield references as dicts, with the type names of a `datasets` object."""
    names = getattr((getattr(references, "features", None) or {}).get("type"), "names", None)
    for row in references:
        if not isinstance(row, Mapping):
            raise DataError(
                f"a reference is not a row of the data set: {row!r}",
                remedy="Pass the rows of the gold split, e.g. references=dataset",
            )
        record = dict(row)
        if names and isinstance(record.get("type"), int):
            record["type"] = names[record["type"]]
        yield record


def _structs(entries: Any, names: Sequence[str]) -> Any:
    if not isinstance(entries, list | tuple):
        return entries
    return [
        dict(zip(names, entry, strict=True))
        if isinstance(entry, list | tuple) and len(entry) == len(names)
        else entry
        for entry in entries
    ]
