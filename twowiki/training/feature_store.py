"""Encoded examples on disk: one memory-mapped Arrow file per split, made once for what it holds.

In: rows of numbers and texts, and a key of everything that they depend on: the examples' content,
the tokenizer, the options, and the code that encodes. Out: a `FeatureStore`, whose rows are read
when they are used. A file of another key is never read; one that is unfinished is made again.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy
import pyarrow

from twowiki.errors import DataError
from twowiki.io.files import progress
from twowiki.io.stages import key_of, run_stage
from twowiki.models import features, labels, matches, text, tokenization_baseline
from twowiki.models.features import MultihopProcessor, Window

_BATCH_ROWS = 1000  # of one record batch
ROWS_FILE = "rows.arrow"
_LONGEST_WORD = 65_535

_Store = TypeVar("_Store", bound="FeatureStore")
_Row = Mapping[str, Any]


class FeatureStore(Sequence[Any]):
    """The rows of a stored split; numbers come as arrays that share the file's memory.

    Args:
        folder: the folder that `store_rows` filled.
        notes: its notes: `counts` of what could not be encoded, by reason, and perhaps
            `concerned`, some ids for each reason.
    """

    def __init__(self, folder: Path, notes: Mapping[str, Any]) -> None:
        self.folder, self.notes = folder, notes
        self.counts: dict[str, int] = notes["counts"]
        self.concerned: dict[str, list[str]] = notes.get("concerned", {})
        self._open()

    def _open(self) -> None:
        reader = pyarrow.ipc.open_file(pyarrow.memory_map(str(self.folder / ROWS_FILE)))
        self._batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self._firsts = numpy.cumsum([0] + [batch.num_rows for batch in self._batches]).tolist()
        self._views: dict[int, dict[str, Any]] = {}

    def __getstate__(self) -> tuple[Path, Mapping[str, Any]]:
        return self.folder, self.notes  # worker processes open the file anew

    def __setstate__(self, state: tuple[Path, Mapping[str, Any]]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def lengths(self, *names: str) -> list[int]:
        """Return the length of each row's lists of these names, together."""
        parts = [
            sum(numpy.diff(batch.column(name).offsets) for name in names) for batch in self._batches
        ]
        return numpy.concatenate(parts).tolist() if parts else []

    def column(self, name: str) -> list[Any]:
        """Return all values of a column of numbers."""
        return [value for batch in self._batches for value in batch.column(name).to_pylist()]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        which = bisect_right(self._firsts, index) - 1
        number = index - self._firsts[which]
        return self.make_item({name: read(number) for name, read in self._readers(which).items()})

    def make_item(self, row: dict[str, Any]) -> Any:
        """Return the item that a row stands for; the row itself, unless a subclass differs."""
        return row

    def _readers(self, which: int) -> dict[str, Callable[[int], Any]]:
        readers = self._views.get(which)
        if readers is None:
            batch = self._batches[which]
            readers = {name: _reader(batch.column(name)) for name in batch.schema.names}
            self._views[which] = readers
        return readers


def _reader(column: Any) -> Callable[[int], Any]:
    """Return the function that reads one row of a column."""
    if isinstance(column, pyarrow.ListArray):
        offsets, values = column.offsets.to_numpy(), column.values.to_numpy()
        return lambda row: values[offsets[row] : offsets[row + 1]]
    if pyarrow.types.is_integer(column.type):
        numbers = column.to_numpy()
        return lambda row: int(numbers[row])
    return lambda row: column[row].as_py()


def store_rows(
    store: type[_Store],
    folder: Path,
    key: str,
    schema: pyarrow.Schema,
    rows: Callable[[], Iterator[_Row]],
    notes: Callable[[], Mapping[str, Any]],
) -> _Store:
    """Write rows into a folder of their own, unless it holds them already, and open the store.

    Args:
        store: the class of the store.
        folder: the folder of all stored splits.
        key: from `encoding_key`.
        schema: the columns; integers, strings and lists of integers.
        rows: returns the rows, from the start.
        notes: returns the store's notes, once all rows have been read.
    """

    def work(target: Path) -> Mapping[str, Any]:
        remaining = rows()
        with pyarrow.ipc.new_file(str(target / ROWS_FILE), schema) as writer:
            while part := list(islice(remaining, _BATCH_ROWS)):
                writer.write_batch(_record_batch(part, schema))
        return notes()

    target = folder / f"features-{key}"
    return store(target, run_stage(target, key, work, shared=True, quiet=True))


def _record_batch(rows: Sequence[_Row], schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_arrays(
        [_column([row[one.name] for row in rows], one.type) for one in schema], schema=schema
    )


def _column(values: list[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    if not pyarrow.types.is_list(kind):
        return pyarrow.array(values, kind)
    offsets = numpy.zeros(len(values) + 1, numpy.int32)
    numpy.cumsum([len(value) for value in values], out=offsets[1:])
    flat = numpy.concatenate(values).astype(kind.value_type.to_pandas_dtype())
    return pyarrow.ListArray.from_arrays(offsets, pyarrow.array(flat))


def encoding_key(tokenizer: Any, modules: Iterable[ModuleType], **parts: Any) -> str:
    """Return a key of what encoded examples depend on.

    Args:
        tokenizer: its vocabulary, its rules and its chat template count.
        modules: the code that encodes.
        parts: everything else, as JSON can hold it.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items())
    code = hashlib.sha256()
    for module in modules:
        code.update(Path(str(module.__file__)).read_bytes())
    template = getattr(tokenizer, "chat_template", None)
    return key_of({"tokenizer": [rules, template], "code": code.hexdigest(), **parts})


_WINDOW_LISTS = {
    "token_ids": pyarrow.int32(),
    "token_starts": pyarrow.int32(),
    "token_lengths": pyarrow.uint16(),
    "matches": pyarrow.uint8(),
    "question_ids": pyarrow.int32(),
    "question_starts": pyarrow.int32(),
    "question_lengths": pyarrow.uint16(),
    "question_matches": pyarrow.uint8(),
    "sentences": pyarrow.int32(),
    "answer": pyarrow.int32(),
    "support": pyarrow.int8(),
    "relations": pyarrow.int16(),
    "pointers": pyarrow.int32(),
}
WINDOW_SCHEMA = pyarrow.schema(
    [
        ("example", pyarrow.int32()),
        ("char_offset", pyarrow.int32()),
        ("text", pyarrow.large_string()),
        ("question", pyarrow.string()),
        *((name, pyarrow.list_(kind)) for name, kind in _WINDOW_LISTS.items()),
    ]
)


class WindowStore(FeatureStore):
    """The windows of a split."""

    def make_item(self, row: dict[str, Any]) -> Window:
        """Return the window that a row stands for."""
        for side in ("token", "question"):
            row[f"{side}_ends"] = row[f"{side}_starts"] + row.pop(f"{side}_lengths")
        row["sentences"] = row["sentences"].reshape(-1, 4)
        row["pointers"] = row["pointers"].reshape(4, -1)
        return Window(**row)


def _row_of(window: Window) -> _Row:
    row: dict[str, Any] = window._asdict()
    for side in ("token", "question"):
        row[f"{side}_lengths"] = lengths = row[f"{side}_ends"] - row[f"{side}_starts"]
        if len(lengths) and int(lengths.max()) > _LONGEST_WORD:
            raise DataError(f"has a word of {int(lengths.max())} characters", record=window.example)
    return row | {name: row[name].reshape(-1) for name in ("sentences", "pointers")}


def encode_windows(
    examples: Iterable[Any], processor: MultihopProcessor, folder: Path, content: str
) -> WindowStore:
    """Encode examples into windows, or open the store that holds exactly these already.

    Args:
        examples: in order; an example's number is its place.
        processor: the model's.
        folder: the folder of all stored splits.
        content: a hash of the examples' content.
    """

    def rows() -> Iterator[_Row]:
        processor.counts.clear()
        processor.concerned.clear()
        for number, example in enumerate(progress(examples, what="encoding")):
            yield from map(_row_of, processor.encode(example, number))

    def notes() -> Mapping[str, Any]:
        return {"counts": dict(processor.counts), "concerned": processor.concerned}

    key = fingerprint(processor, content)
    return store_rows(WindowStore, folder, key, WINDOW_SCHEMA, rows, notes)


def fingerprint(processor: MultihopProcessor, content: str) -> str:
    """Return a key of everything that the encoded examples of a content depend on."""
    import sys

    tokenizer: Any = processor.tokenizer
    own = sys.modules[type(processor).__module__]
    return encoding_key(
        tokenizer,
        (features, labels, matches, text, tokenization_baseline, own),
        content=content,
        options=processor.options,
        aliases=processor.aliases,
        words=[getattr(tokenizer, name, None) for name in ("splitter", "char_vocab")],
    )
