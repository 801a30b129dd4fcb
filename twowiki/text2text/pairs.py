"""Pairs of source and target texts: encoded, stored, and padded into batches.

In: pairs of texts. Out: token ids in a feature store, made once for a content and a format. A pair
belongs to a question (its group) and a kind; what does not fit is counted, never dropped silently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import torch

from twowiki.models.labels import IGNORED
from twowiki.text2text.chat_format import Codec
from twowiki.text2text.loading import SEQ2SEQ
from twowiki.training.encoding import Encoded, store_rows
from twowiki.training.feature_store import FeatureStore

PAIR_SCHEMA = pyarrow.schema(
    [
        ("group", pyarrow.int64()),
        ("kind", pyarrow.int8()),
        ("source", pyarrow.list_(pyarrow.int32())),
        ("target", pyarrow.list_(pyarrow.int32())),
    ]
)


class Pair(NamedTuple):
    """A training instance or a question to evaluate, as text.

    Attributes:
        group: number of the question.
        kind: number of the kind (0 direct answers or the one kind there is, 1 multiple choice).
        source, target: texts; no target where only an answer is wanted.
        notes: reasons to be counted, such as a context that was cut.
    """

    group: int
    kind: int
    source: str
    target: str
    notes: tuple[str, ...] = ()


class PairEncoder(NamedTuple):
    """Encodes pairs into token ids.

    Attributes:
        codec: how texts become ids.
        longest_target: tokens; a longer target loses its end, and is counted.
    """

    codec: Codec
    longest_target: int

    def __call__(self, first: int, items: Sequence[Pair]) -> Encoded:
        """Encode pairs."""
        counts: Counter[str] = Counter()
        rows: list[Mapping[str, Any]] = []
        source, ids = None, list[int]()
        for pair in items:
            if pair.source != source:  # the answers of a question follow each other
                source, ids = pair.source, self.codec.prompt_ids(pair.source)
            target = self.codec.target_ids(pair.target)
            if len(target) > self.longest_target:
                target = [*target[: self.longest_target - 1], target[-1]]
                counts["target is cut"] += 1
            counts.update(pair.notes)
            rows.append({"group": pair.group, "kind": pair.kind, "source": ids, "target": target})
        return Encoded(rows, counts)


def encode_pairs(
    pairs: Iterable[Pair],
    codec: Codec,
    folder: Path,
    key: str,
    *,
    longest_target: int,
    what: str,
    workers: int = 1,
) -> FeatureStore:
    """Encode pairs, or open the store that an earlier run made of the same.

    Args:
        pairs: in order.
        codec: how texts become ids.
        folder: the folder of all stored splits.
        key: from `encoding_key`.
        longest_target: see `PairEncoder`.
        what: for the progress bar.
        workers: processes that encode; 0 = one for each core.
    """
    encode = PairEncoder(codec, longest_target)
    options: dict[str, Any] = {"what": what, "workers": workers}
    return store_rows(FeatureStore, folder, key, PAIR_SCHEMA, pairs, encode, **options)


class TextCollator:
    """Pads encoded pairs into a batch.

    Args:
        codec: of the model.
        training: with labels, else for generation (language models are padded on the left).
    """

    def __init__(self, codec: Codec, *, training: bool) -> None:
        self.training = training
        self.seq2seq = codec.kind == SEQ2SEQ
        self.pad = codec.tokenizer.pad_token_id or 0

    def __call__(self, pairs: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """Return the batch of these pairs."""
        sources = [list(pair["source"]) for pair in pairs]
        if not self.training:
            return pad_inputs(sources, self.pad, left=not self.seq2seq)
        targets = [list(pair["target"]) for pair in pairs]
        if self.seq2seq:
            labels = [torch.tensor(target) for target in targets]
            return pad_inputs(sources, self.pad) | {"labels": _padded(labels, IGNORED)}
        joined = [[*source, *target] for source, target in zip(sources, targets, strict=True)]
        labels = [
            torch.tensor([IGNORED] * len(source) + target)
            for source, target in zip(sources, targets, strict=True)
        ]
        return pad_inputs(joined, self.pad) | {"labels": _padded(labels, IGNORED)}


def pad_inputs(
    lists: Sequence[Sequence[int]], pad: int, *, left: bool = False
) -> dict[str, torch.Tensor]:
    """Pad lists of ids into one tensor with its mask."""
    rows = [torch.tensor(one, dtype=torch.long) for one in lists]
    masks = [torch.ones(len(one), dtype=torch.long) for one in rows]
    return {
        "input_ids": _padded(rows, pad, left=left),
        "attention_mask": _padded(masks, 0, left=left),
    }


def _padded(rows: Sequence[torch.Tensor], value: int, *, left: bool = False) -> torch.Tensor:
    width = max((len(row) for row in rows), default=0)
    table = torch.full((len(rows), width), value, dtype=torch.long)
    for number, row in enumerate(rows):
        table[number, width - len(row) if left else 0 : width if left else len(row)] = row
    return table
