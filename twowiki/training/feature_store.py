"""Encoded examples on disk: one memory-mapped Arrow file per split, with a key of what it holds.

In: rows of numbers and texts, which `twowiki.training.encoding` writes, and what they depend on:
the examples' content, the tokenizer, the options, and the code that encodes. Out: a `FeatureStore`,
whose rows are read when they are used.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pyarrow

from twowiki.errors import DataError
from twowiki.io.stages import key_of
from twowiki.models import features, labels, selection, text, tokenization_baseline, words
from twowiki.models.features import MultihopProcessor, Window

ROWS_FILE = "rows.arrow"
_LONGEST_WORD = 65_535

Row = Mapping[str, Any]


class FeatureStore(Sequence[Any]):
    """The rows of a stored split; numbers come as arrays that share the file's memory.

    Args:
        folder: the folder that `encoding.store_rows` filled.
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


def record_batch(rows: Sequence[Row], schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    """Return rows as columns."""
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
    template = getattr(tokenizer, "chat_template", None)
    return key_of({"tokenizer": [rules, template], "code": code_of(modules), **parts})


def code_of(modules: Iterable[ModuleType]) -> str:
    """Return a hash of the code of modules."""
    code = hashlib.sha256()
    for module in modules:
        code.update(Path(str(module.__file__)).read_bytes())
    return code.hexdigest()


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


def row_of(window: Window) -> Row:
    """Return what is stored of a window."""
    row: dict[str, Any] = window._asdict()
    for side in ("token", "question"):
        row[f"{side}_lengths"] = lengths = row[f"{side}_ends"] - row[f"{side}_starts"]
        if len(lengths) and int(lengths.max()) > _LONGEST_WORD:
            raise DataError(f"has a word of {int(lengths.max())} characters", record=window.example)
    return row | {name: row[name].reshape(-1) for name in ("sentences", "pointers")}


def fingerprint(processor: MultihopProcessor, content: str) -> str:
    """Return a key of everything that the encoded examples of a content depend on."""
    import sys

    tokenizer: Any = processor.tokenizer
    own = sys.modules[type(processor).__module__]
    return encoding_key(
        tokenizer,
        (features, labels, selection, text, tokenization_baseline, words, own),
        content=content,
        options=processor.options,
        aliases=processor.aliases,
        words=[getattr(tokenizer, name, None) for name in ("splitter", "char_vocab")],
    )
