"""Examples are encoded into a store once, by as many processes as there are cores.

In: examples, and what encodes them. Out: a `FeatureStore`. A file of another key is never read;
one that is unfinished is made again; processes that ask for the same one wait for the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow

from twowiki.io.files import progress
from twowiki.io.processes import map_parts, numbered_parts
from twowiki.io.stages import run_stage
from twowiki.models.features import LISTED_IDS, MultihopProcessor
from twowiki.training.feature_store import (
    ROWS_FILE,
    WINDOW_SCHEMA,
    FeatureStore,
    Row,
    WindowStore,
    fingerprint,
    record_batch,
    row_of,
)

PART_ITEMS = 1000  # that a process encodes at a time; their rows are one record batch

_Store = TypeVar("_Store", bound=FeatureStore)


class Encoded(NamedTuple):
    """The rows of some items.

    Attributes:
        rows: in the items' order.
        counts: what could not be encoded, by reason.
        concerned: some ids for each reason.
    """

    rows: list[Row]
    counts: Mapping[str, int] = {}
    concerned: Mapping[str, Sequence[str]] = {}


class EncodesItems(Protocol):
    """What encodes items; it is pickled into every process that takes part."""

    def __call__(self, first: int, items: Sequence[Any]) -> Encoded:
        """Encode items, of which the first has this number."""


class _PartWork(NamedTuple):
    """Encodes a part of the items into a record batch."""

    encode: EncodesItems
    schema: pyarrow.Schema

    def encode_part(self, part: tuple[int, list[Any]]) -> tuple[Any, Any, Any]:
        rows, counts, concerned = self.encode(*part)
        return record_batch(rows, self.schema), dict(counts), dict(concerned)


def store_rows(
    store: type[_Store],
    folder: Path,
    key: str,
    schema: pyarrow.Schema,
    items: Iterable[Any],
    encode: EncodesItems,
    *,
    what: str = "encoding",
    workers: int = 1,
) -> _Store:
    """Encode items into a folder of their own, unless it holds them already; open the store.

    Args:
        store: the class of the store.
        folder: the folder of all stored splits.
        key: from `encoding_key`.
        schema: the columns; integers, strings and lists of integers.
        items: read only where they are encoded.
        encode: items to rows.
        what: for the progress bar.
        workers: processes that encode; 0 = one for each core. They move no byte of the result.
    """

    def work(target: Path) -> Mapping[str, Any]:
        counts: Counter[str] = Counter()
        concerned: dict[str, list[str]] = {}
        parts = numbered_parts(progress(items, what=what), PART_ITEMS)
        encode_part = _PartWork(encode, schema).encode_part
        with pyarrow.ipc.new_file(str(target / ROWS_FILE), schema) as writer:
            for batch, part_counts, ids in map_parts(encode_part, parts, workers):
                if batch.num_rows:
                    writer.write_batch(batch)
                counts.update(part_counts)
                for reason, listed in ids.items():
                    concerned[reason] = [*concerned.get(reason, []), *listed][:LISTED_IDS]
        return {"counts": dict(sorted(counts.items())), "concerned": concerned}

    target = folder / f"features-{key}"
    return store(target, run_stage(target, key, work, shared=True, quiet=True))


class WindowEncoder(NamedTuple):
    """Encodes examples into windows."""

    processor: MultihopProcessor

    def __call__(self, first: int, items: Sequence[Any]) -> Encoded:
        """Encode examples, of which the first has this number."""
        processor = self.processor
        processor.counts.clear()
        processor.concerned.clear()
        rows = [row_of(window) for window in processor.encode_all(items, first)]
        return Encoded(rows, processor.counts, processor.concerned)


def encode_windows(
    examples: Iterable[Any],
    processor: MultihopProcessor,
    folder: Path,
    content: str,
    workers: int = 1,
) -> WindowStore:
    """Encode examples into windows, or open the store that holds exactly these already.

    Args:
        examples: in order; an example's number is its place.
        processor: the model's.
        folder: the folder of all stored splits.
        content: a hash of the examples' content.
        workers: processes that encode; 0 = one for each core.
    """
    key, encode = fingerprint(processor, content), WindowEncoder(processor)
    return store_rows(WindowStore, folder, key, WINDOW_SCHEMA, examples, encode, workers=workers)
