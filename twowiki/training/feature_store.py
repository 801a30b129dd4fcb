"""Encoded windows on disk: one memory-mapped Arrow file, named by everything that moves it.

The name holds a hash of the examples' content, the tokenizer, the encoding options, the aliases
and the code that encodes, so that nothing stale is ever read. A file is written aside and then
renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
import pyarrow

from twowiki.errors import DataError
from twowiki.io.files import progress, write_json
from twowiki.models import (
    features as windows,
)
from twowiki.models import (
    labels,
)
from twowiki.models import (
    matches as matching,
)
from twowiki.models import (
    processing_baseline as encoding,
)
from twowiki.models import (
    processing_encoder as encoder_encoding,
)
from twowiki.models import (
    processing_encoder as encoder_tokenization,
)
from twowiki.models import (
    text as layout,
)
from twowiki.models import (
    text as spans,
)
from twowiki.models import (
    text as words,
)
from twowiki.models import (
    tokenization_baseline as tokenization,
)
from twowiki.models.features import Window
from twowiki.models.processing_baseline import BaselineProcessor
from twowiki.models.processing_encoder import EncoderProcessor

ROWS = 1000  # windows of one record batch
_LISTS = {
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
SCHEMA = pyarrow.schema(
    [
        ("example", pyarrow.int32()),
        ("char_offset", pyarrow.int32()),
        ("text", pyarrow.large_string()),
        ("question", pyarrow.string()),
        *((name, pyarrow.list_(kind)) for name, kind in _LISTS.items()),
    ]
)
_LONGEST_WORD = 65_535


class Features(Sequence[Window]):
    """The windows of an Arrow file; rows are read when they are asked for.

    Attributes:
        counts: what the encoding could not do, by reason.
        concerned: some ids for each reason.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(path)
        self._open()

    def _open(self) -> None:
        reader = pyarrow.ipc.open_file(pyarrow.memory_map(self.path))
        self._batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        self._firsts = numpy.cumsum([0] + [batch.num_rows for batch in self._batches]).tolist()
        self._views: dict[int, dict[str, Any]] = {}
        notes = json.loads(notes_of(Path(self.path)).read_text(encoding="utf-8"))
        self.counts: dict[str, int] = notes["counts"]
        self.concerned: dict[str, list[str]] = notes["concerned"]

    def __getstate__(self) -> str:
        return self.path

    def __setstate__(self, path: str) -> None:
        self.path = path
        self._open()

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def lengths(self) -> list[int]:
        """Give the words of each window's context."""
        parts = [numpy.diff(batch.column("token_ids").offsets) for batch in self._batches]
        return numpy.concatenate(parts).tolist() if parts else []

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        which = bisect_right(self._firsts, index) - 1
        view, row = self._view(which), index - self._firsts[which]
        lists = {
            name: values[offsets[row] : offsets[row + 1]]
            for name, (offsets, values) in view["lists"].items()
        }
        starts, question_starts = lists["token_starts"], lists["question_starts"]
        batch = self._batches[which]
        return Window(
            example=int(view["example"][row]),
            char_offset=int(view["char_offset"][row]),
            text=batch.column("text")[row].as_py(),
            token_ids=lists["token_ids"],
            token_starts=starts,
            token_ends=starts + lists["token_lengths"],
            matches=lists["matches"],
            question=batch.column("question")[row].as_py(),
            question_ids=lists["question_ids"],
            question_starts=question_starts,
            question_ends=question_starts + lists["question_lengths"],
            question_matches=lists["question_matches"],
            sentences=lists["sentences"].reshape(-1, 4),
            answer=lists["answer"],
            support=lists["support"],
            relations=lists["relations"],
            pointers=lists["pointers"].reshape(4, -1),
        )

    def _view(self, which: int) -> dict[str, Any]:
        view = self._views.get(which)
        if view is None:
            batch = self._batches[which]
            view = self._views[which] = {
                "example": batch.column("example").to_numpy(),
                "char_offset": batch.column("char_offset").to_numpy(),
                "lists": {
                    name: (
                        batch.column(name).offsets.to_numpy(),
                        batch.column(name).values.to_numpy(),
                    )
                    for name in _LISTS
                },
            }
        return view


def encode_to_file(
    examples: Iterable[Any],
    encoder: BaselineProcessor | EncoderProcessor,
    path: str | os.PathLike[str],
) -> Features:
    """Encode examples into an Arrow file, in order; an example's number is its place."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    encoder.counts.clear()
    encoder.concerned.clear()
    windows = (
        window
        for number, example in enumerate(progress(examples, what="encoding"))
        for window in encoder.encode(example, number)
    )
    try:
        with pyarrow.ipc.new_file(str(aside), SCHEMA) as writer:
            while rows := list(islice(windows, ROWS)):
                writer.write_batch(record_batch(rows))
        notes = {"counts": dict(encoder.counts), "concerned": encoder.concerned}
        write_json(notes_of(target), notes)
        os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)
    return Features(target)


def record_batch(windows: Sequence[Window]) -> pyarrow.RecordBatch:
    """Lay windows out in columns."""
    columns: dict[str, list[Any]] = {name: [] for name in _LISTS}
    for window in windows:
        for name in _LISTS:
            columns[name].append(_column_value(window, name))
    arrays = [
        pyarrow.array([window.example for window in windows], pyarrow.int32()),
        pyarrow.array([window.char_offset for window in windows], pyarrow.int32()),
        pyarrow.array([window.text for window in windows], pyarrow.large_string()),
        pyarrow.array([window.question for window in windows], pyarrow.string()),
    ]
    for name, kind in _LISTS.items():
        offsets = numpy.zeros(len(windows) + 1, numpy.int32)
        numpy.cumsum([len(values) for values in columns[name]], out=offsets[1:])
        flat = numpy.concatenate(columns[name]).astype(kind.to_pandas_dtype())
        arrays.append(pyarrow.ListArray.from_arrays(offsets, pyarrow.array(flat)))
    return pyarrow.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _column_value(window: Window, name: str) -> Any:
    if name.endswith("_lengths"):
        side = name.removesuffix("_lengths")
        lengths = getattr(window, f"{side}_ends") - getattr(window, f"{side}_starts")
        if len(lengths) and int(lengths.max()) > _LONGEST_WORD:
            raise DataError(f"has a word of {int(lengths.max())} characters", record=window.example)
        return lengths
    return getattr(window, name).reshape(-1)


def notes_of(path: Path) -> Path:
    """Give the file beside a feature file that holds its counts."""
    return path.with_suffix(".notes.json")


def encode_cached(
    examples: Iterable[Any],
    encoder: BaselineProcessor | EncoderProcessor,
    folder: str | os.PathLike[str],
    content: str,
) -> Features:
    """Encode examples, or open the file that holds exactly these already.

    Args:
        examples: what to encode.
        encoder: how.
        folder: where files are kept.
        content: a hash of the examples' content.
    """
    path = Path(folder) / f"features-{fingerprint(encoder, content)}.arrow"
    if path.is_file() and notes_of(path).is_file():
        return Features(path)
    return encode_to_file(examples, encoder, path)


def fingerprint(encoder: BaselineProcessor | EncoderProcessor, content: str) -> str:
    """Hash everything that moves an encoded example."""
    digest = hashlib.sha256(content.encode())
    for part in (encoder.options, encoder.aliases):
        digest.update(json.dumps(part, sort_keys=True).encode())
    tokenizer = encoder.tokenizer
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    code = [encoding, labels, layout, matching, spans, tokenization, windows, words]
    if isinstance(encoder, EncoderProcessor):
        code += [encoder_encoding, encoder_tokenization]
    else:
        digest.update(json.dumps([tokenizer.splitter, tokenizer.char_vocab]).encode())
    for module in code:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


def content_hash(examples: Iterable[Any]) -> str:
    """Hash what examples hold, in order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps(example, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
