"""Encoded pairs of source and target on disk, and batches of them.

In: pairs of texts. Out: token ids in memory-mapped files, whatever their number, made once for a
content and a format. A pair belongs to a question (its group) and a kind; what does not fit is
counted, never dropped silently.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import IO, Any, NamedTuple

import numpy as np
import torch

from twowiki.io.files import progress, write_json
from twowiki.text2text.chat_format import IGNORED, Codec
from twowiki.text2text.loading import SEQ2SEQ
from twowiki.training.loaders import BucketBatchSampler

VERSION = 1  # of the files below
_NAMES = ("source", "target")


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


class Encoded:
    """Encoded pairs, read from their files by number.

    Args:
        folder: where `encode_pairs` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        note = json.loads((folder / "note.json").read_text(encoding="utf-8"))
        self.counts: dict[str, int] = note["counts"]
        self.ends = {name: np.load(folder / f"{name}.ends.npy") for name in _NAMES}
        self.groups = np.load(folder / "groups.npy")
        self.kinds = np.load(folder / "kinds.npy")
        self._maps: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.groups)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_maps": {}}  # worker processes open the files anew

    def source(self, number: int) -> list[int]:
        """Give a pair's source ids."""
        return self._ids("source", number)

    def target(self, number: int) -> list[int]:
        """Give a pair's target ids, the end mark included."""
        return self._ids("target", number)

    def lengths(self) -> list[int]:
        """Give each pair's length: source and target together."""
        spans = [np.diff(self.ends[name], prepend=0) for name in _NAMES]
        return [int(one) for one in spans[0] + spans[1]]

    def source_lengths(self) -> list[int]:
        """Give each source's length."""
        return [int(one) for one in np.diff(self.ends["source"], prepend=0)]

    def _ids(self, name: str, number: int) -> list[int]:
        if name not in self._maps:
            path = self.folder / f"{name}.ids"
            empty = path.stat().st_size == 0
            self._maps[name] = (
                np.zeros(0, np.int32) if empty else np.memmap(path, dtype=np.int32, mode="r")
            )
        ends = self.ends[name]
        start = int(ends[number - 1]) if number else 0
        return [int(one) for one in self._maps[name][start : int(ends[number])]]


def encode_pairs(
    pairs: Iterable[Pair], codec: Codec, folder: Path, key: str, *, longest_target: int, what: str
) -> Encoded:
    """Encode pairs, or take the files that an earlier run made of the same.

    Args:
        pairs: in order.
        codec: how texts become ids.
        folder: of all encoded files.
        key: hash of everything that the ids depend on.
        longest_target: tokens; a longer target loses its end, and is counted.
        what: for the progress bar.
    """
    target = folder / key[:24]
    if (target / "note.json").is_file():
        return Encoded(target)
    aside = folder / f".{target.name}.{os.getpid()}.tmp"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    counts: Counter[str] = Counter()
    groups: list[int] = []
    kinds: list[int] = []
    ends: dict[str, list[int]] = {name: [] for name in _NAMES}
    last = ("", [0])
    with (aside / "source.ids").open("wb") as sources, (aside / "target.ids").open("wb") as targets:
        for pair in progress(pairs, what=what):
            if pair.source != last[0]:  # the answers of a question follow each other
                last = (pair.source, codec.prompt_ids(pair.source))
            ids = codec.target_ids(pair.target)
            if len(ids) > longest_target:
                ids = [*ids[: longest_target - 1], ids[-1]]
                counts["target is cut"] += 1
            counts.update(pair.notes)
            _append(sources, ends["source"], last[1])
            _append(targets, ends["target"], ids)
            groups.append(pair.group)
            kinds.append(pair.kind)
    for name in _NAMES:
        np.save(aside / f"{name}.ends.npy", np.array(ends[name], dtype=np.int64))
    np.save(aside / "groups.npy", np.array(groups, dtype=np.int64))
    np.save(aside / "kinds.npy", np.array(kinds, dtype=np.int8))
    write_json(aside / "note.json", {"counts": dict(sorted(counts.items()))})
    shutil.rmtree(target, ignore_errors=True)
    aside.rename(target)
    return Encoded(target)


def encoding_key(*parts: Any) -> str:
    """Hash what encoded ids depend on."""
    text = json.dumps([VERSION, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def tokenizer_hash(tokenizer: Any) -> str:
    """Hash a tokenizer: its vocabulary and rules, and its chat template."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items())
    return encoding_key(rules, getattr(tokenizer, "chat_template", None))


class TextCollator:
    """Pads encoded pairs into a batch.

    Args:
        encoded: the pairs.
        codec: of the model.
        training: with labels, else for generation (language models are padded on the left).
    """

    def __init__(self, encoded: Encoded, codec: Codec, *, training: bool) -> None:
        self.encoded, self.training = encoded, training
        self.seq2seq = codec.kind == SEQ2SEQ
        self.pad = codec.tokenizer.pad_token_id or 0

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Make the batch of these pairs; `numbers` come back in it."""
        sources = [self.encoded.source(number) for number in numbers]
        batch = {"numbers": torch.tensor(numbers)}
        if not self.training:
            return batch | pad_inputs(sources, self.pad, left=not self.seq2seq)
        targets = [self.encoded.target(number) for number in numbers]
        if self.seq2seq:
            labels = [torch.tensor(one) for one in targets]
            return batch | pad_inputs(sources, self.pad) | {"labels": _padded(labels, IGNORED)}
        joined = [[*source, *target] for source, target in zip(sources, targets, strict=True)]
        learnt = [
            torch.tensor([IGNORED] * len(source) + target)
            for source, target in zip(sources, targets, strict=True)
        ]
        return batch | pad_inputs(joined, self.pad) | {"labels": _padded(learnt, IGNORED)}


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
    for place, row in enumerate(rows):
        table[place, width - len(row) if left else 0 : width if left else len(row)] = row
    return table


def _append(stream: IO[bytes], ends: list[int], ids: Sequence[int]) -> None:
    stream.write(np.asarray(ids, dtype=np.int32).tobytes())
    ends.append((ends[-1] if ends else 0) + len(ids))


Choose = Callable[[int], list[int]]


class EpochBatchSampler(BucketBatchSampler):
    """Batches of the pairs that an epoch is to have; every epoch has as many.

    Args:
        choose: gives an epoch's pairs, by its number.
        lengths: of all pairs.
        size: pairs a batch.
        seed: with the epoch decides the order.
        bucket: batch what is of like length together.
    """

    def __init__(
        self, choose: Choose, lengths: Sequence[int], size: int, *, seed: int, bucket: bool
    ) -> None:
        super().__init__(lengths, size, seed=seed, shuffle=True, bucket=bucket)
        self.choose = choose
        self.count = len(choose(0))

    def __len__(self) -> int:
        return -(-self.count // self.size)

    def batches(self) -> list[list[int]]:
        """Give all batches of the epoch."""
        indices = self.choose(self.epoch)
        rng = Random(f"{self.seed}:{self.epoch}")
        rng.shuffle(indices)
        pool = self.size * 50
        if not self.bucket:
            return self._cut(indices)
        batches: list[list[int]] = []
        for first in range(0, len(indices), pool):
            near = sorted(indices[first : first + pool], key=self.lengths.__getitem__)
            batches += self._cut(near)
        rng.shuffle(batches)
        return batches
