"""Examples as Arrow columns, built from the typed fields (several times faster than from rows).

The Arrow types here are those of `builder.features`; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from twowiki.data.configs import MADE_CONFIGS
from twowiki.data.hops import count_hops
from twowiki.data.schema import DEFAULT_CONFIG, HOTPOT_CONFIG, LAYOUT_CONFIG, Example, types_of
from twowiki.errors import DataError

FIRST_BATCH, LARGEST_BATCH = 16, 256  # rows; the first is small, so that streaming starts at once
LARGEST_TEXT = 4_000_000  # characters of context per batch; bounds memory where records are huge
_Item = TypeVar("_Item")


def tables(examples: Iterable[Example], config: str = DEFAULT_CONFIG) -> Iterator[pa.Table]:
    """Yield tables of growing size; examples before an error are yielded first."""
    for batch in bounded_batches(examples, _text_length):
        yield to_table(batch, config)


def bounded_batches(
    items: Iterable[_Item], length_of: Callable[[_Item], int]
) -> Iterator[list[_Item]]:
    """Cut a stream into lists bounded in number and text; an error comes after what was whole."""
    waiting: list[_Item] = []
    size, text = FIRST_BATCH, 0
    fault: DataError | None = None
    stream = iter(items)
    while True:
        try:
            waiting.append(next(stream))
            text += length_of(waiting[-1])
        except StopIteration:
            break
        except DataError as error:
            fault = error
            break
        if len(waiting) >= size or text >= LARGEST_TEXT:
            yield waiting
            waiting, size, text = [], min(size * 2, LARGEST_BATCH), 0
    if waiting:
        yield waiting
    if fault is not None:
        raise fault


def _text_length(example: Example) -> int:
    return sum(sum(map(len, sentences)) for _, sentences in example.context)


def to_table(examples: Sequence[Example], config: str = DEFAULT_CONFIG) -> pa.Table:
    """Turn examples into one Arrow table, one row per example."""
    labels = {name: number for number, name in enumerate(types_of(config))}
    paragraphs = [paragraph for example in examples for paragraph in example.context]
    columns: dict[str, pa.Array] = {
        "id": _texts([example.id for example in examples]),
        "question": _texts([example.question for example in examples]),
        "type": pa.array(
            [None if example.type is None else labels[example.type] for example in examples],
            pa.int64(),
        ),
        "context": _lists(
            [example.context for example in examples],
            pa.StructArray.from_arrays(
                [
                    _texts([title for title, _ in paragraphs]),
                    _text_lists([sentences for _, sentences in paragraphs]),
                ],
                names=["title", "sentences"],
            ),
        ),
        "supporting_facts": _structs(
            [example.supporting_facts for example in examples],
            {"title": pa.string(), "sent_id": pa.int32()},
        ),
        "evidences": _structs(
            [example.evidences for example in examples],
            dict.fromkeys(("subject", "relation", "object"), pa.string()),
        ),
        "evidences_id": _structs(
            [example.evidences_id for example in examples],
            dict.fromkeys(("subject_id", "relation", "object_id"), pa.string()),
        ),
        "answer": _texts([example.answer for example in examples]),
        "answer_id": _texts([example.answer_id for example in examples]),
        "entity_ids": _text_lists([example.entity_ids for example in examples]),
        "sub_questions": _structs(
            [example.sub_questions for example in examples],
            {"hop": pa.int32(), "question": pa.string(), "answer": pa.string()},
        ),
    }
    if config in MADE_CONFIGS:
        columns["hops"] = pa.array(list(map(count_hops, examples)), pa.int32())
    if config in (HOTPOT_CONFIG, LAYOUT_CONFIG):
        columns["level"] = _texts([example.level for example in examples])
    if config == LAYOUT_CONFIG:
        aliases = [example.answer_aliases for example in examples]
        columns["answer_aliases"] = pa.array(aliases, pa.list_(pa.string()))
        marks = [example.supporting_paragraphs for example in examples]
        columns["supporting_paragraphs"] = pa.array(marks, pa.list_(pa.int32()))
        columns["answerable"] = pa.array([one.answerable for one in examples], pa.bool_())
    else:
        _check_aliases(examples, config)
    return pa.table(columns)


def _check_aliases(examples: Sequence[Example], config: str) -> None:
    """Raise for several right answers, which only one config has a column for."""
    for example in examples:
        if example.answer_aliases:
            raise DataError(
                f"it has {1 + len(example.answer_aliases)} right answers, and the config "
                f"{config!r} has a column for one",
                record=example.id,
                field="answer_aliases",
                remedy=f"Load the file with the config {LAYOUT_CONFIG!r}",
            )


def _texts(values: Sequence[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def _lists(groups: Sequence[Sequence[Any] | None], values: pa.Array) -> pa.Array:
    """Cut an array of entries into one list per group; no list for None."""
    lengths = (0 if group is None else len(group) for group in groups)
    ends = np.cumsum(np.fromiter(lengths, np.int64, len(groups)))
    absent = np.array([group is None for group in groups] + [False], bool)
    starts = np.concatenate(([0], ends)).astype(np.int32)
    offsets = pa.array(starts, mask=absent if absent.any() else None)
    return pa.ListArray.from_arrays(offsets, values)


def _text_lists(groups: Sequence[Sequence[str]]) -> pa.Array:
    return _lists(groups, _texts(list(chain.from_iterable(groups))))


def _structs(
    groups: Sequence[Sequence[tuple[Any, ...]] | None], fields: dict[str, pa.DataType]
) -> pa.Array:
    entries = list(chain.from_iterable(group or () for group in groups))
    columns = list(zip(*entries, strict=True)) if entries else [()] * len(fields)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, fields.values(), strict=True)]
    return _lists(groups, pa.StructArray.from_arrays(arrays, names=list(fields)))


def check_unique_ids(folder: Path, prefix: str) -> None:
    """Check that no id occurs twice in written Arrow shards.

    Raises:
        DataError: one does; the first is named.
    """
    seen: set[str] = set()
    for path in sorted(folder.glob(f"{prefix}*.arrow")):
        with pa.memory_map(str(path)) as source:
            for batch in pa.ipc.open_stream(source):
                for name in {"id", "question_id"}.intersection(batch.schema.names):
                    for value in batch.column(name).to_pylist():
                        if value in seen:
                            raise DataError("duplicate id", record=value, field=name)
                        seen.add(value)


OLDEST_DATASETS = "3.6"


def check_datasets() -> None:
    """Raise an ImportError that names both versions when `datasets` is too old."""
    import datasets

    found = tuple(map(int, re.findall(r"\d+", str(datasets.__version__))[:2]))
    wanted = tuple(map(int, OLDEST_DATASETS.split(".")))
    if found < wanted:
        raise ImportError(
            f"twowiki needs datasets>={OLDEST_DATASETS}, found {datasets.__version__}: "
            f"pip install -U 'datasets>={OLDEST_DATASETS}'"
        )


def list_of(feature: Any) -> Any:
    """Return the feature of a list, as the installed version of `datasets` writes it."""
    import datasets

    return datasets.List(feature) if hasattr(datasets, "List") else [feature]
