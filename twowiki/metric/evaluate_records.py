"""Records for the `evaluate` metric, made from whatever `twowiki.score` reads.

In: predictions and gold in any form. Out: lists of dicts with the metric's declared fields, one
prediction for each reference, matched by id: `metric.compute(**to_metric_records(said, gold))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from twowiki.data.schema import Prediction
from twowiki.errors import DataError
from twowiki.io.json_files import Source
from twowiki.metric.gold import IN_MEMORY
from twowiki.metric.gold_sources import GoldSource, read_gold
from twowiki.metric.predictions import (
    BLOCKS,
    PredictionSet,
    PredictionSource,
    collect_predictions,
    read_predictions,
    refuse_lacking,
    row_id,
    row_part,
)
from twowiki.metric.results import Gold

FACT, TRIPLE = ("title", "sent_id"), ("subject", "relation", "object")
TRIPLE_ID = ("subject_id", "relation", "object_id")
Record = dict[str, Any]


def to_metric_records(
    predictions: PredictionSource | PredictionSet,
    references: GoldSource,
    *,
    config: str | None = None,
    split: str | None = None,
) -> dict[str, list[Record]]:
    """Make predictions and gold fit the metric's features.

    Args:
        predictions: whatever `twowiki.score` takes: official files or dicts, rows, ...
        references: whatever `twowiki.score` takes as gold.
        config: which config of a folder or hub data set.
        split: which split of it.

    Returns:
        `predictions` and `references`, equally long, in the gold's order. A question of which
        nothing is said gets None for answer, supporting_facts and evidences, and scores 0.

    Raises:
        DataError: input that cannot be used.
    """
    said = read_predictions(predictions)
    golds = read_gold(references, config=config, split=split).golds
    return {
        "predictions": [prediction_record(gold.id, said.of(gold.id)) for gold in golds],
        "references": [reference_record(gold) for gold in golds],
    }


def prediction_record(name: str, said: Prediction) -> Record:
    """Give a prediction the metric's fields; a malformed value stays as it is."""
    return {
        "id": name,
        "answer": said.answer,
        "supporting_facts": _structs(said.supporting_facts, FACT),
        "evidences": _structs(said.evidences, TRIPLE),
    }


def reference_record(gold: Gold) -> Record:
    """Give gold the metric's fields."""
    return {
        "id": gold.id,
        "type": gold.type,
        "answer": gold.answer,
        "answer_id": gold.answer_id,
        "supporting_facts": _structs(gold.supporting_facts, FACT),
        "evidences": _structs(gold.evidences, TRIPLE),
        "evidences_id": _structs(gold.evidences_id, TRIPLE_ID),
    }


def prediction_records(
    predictions: Mapping[str, Any] | Iterable[Any], ids: Sequence[str]
) -> list[Record]:
    """Snapshot the predictions of one batch: rows, a lazy column, or the official dict.

    Args:
        predictions: the batch.
        ids: the ids of the batch's references; the official dict is put in their order.
    """
    if isinstance(predictions, Mapping):
        said = collect_predictions(predictions, Source(IN_MEMORY, ""))
        return [prediction_record(name, said.of(name)) for name in ids]
    rows = list(predictions)
    named = [(row_id(row, number), row) for number, row in enumerate(rows)]
    refuse_lacking(rows)
    return [
        prediction_record(name, Prediction(*[row_part(row, block, name) for block in BLOCKS]))
        for name, row in named
    ]


def reference_rows(references: Iterable[Any]) -> Iterator[Record]:
    """Yield references as dicts, the types of a `datasets` object by name."""
    names = getattr((getattr(references, "features", None) or {}).get("type"), "names", None)
    for row in references:
        if not isinstance(row, Mapping):
            raise DataError(
                f"a reference is no row of the data set: {row!r}",
                remedy="Give the rows of the gold split, e.g. references=dataset",
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
