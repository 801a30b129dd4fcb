"""Batches of examples of similar length, in an order that only the seed and the epoch decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import torch
from torch.utils.data import DataLoader

ChooseIndices = Callable[[int], list[int]]


class BucketBatchSampler:
    """Yields batches of indices; with buckets, of examples of similar length, in shuffled order.

    It has no `batch_size` and no `drop_last` on purpose: accelerate takes a sampler that has them
    for one of equal batches, and silently drops examples. Its `sampler` is itself, because that is
    where accelerate's `set_epoch` reaches.

    Args:
        lengths: length of each example.
        size: examples per batch; the last batches of an epoch may be smaller.
        seed: with the epoch decides the order.
        shuffle: without it the order is by length, the longest first, in every epoch.
        bucket: without it examples are shuffled singly, as the published baseline does.
        choose: returns the indices of an epoch, by its number, the same count for each; all of
            them by default.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        size: int,
        *,
        seed: int,
        shuffle: bool,
        bucket: bool = True,
        choose: ChooseIndices | None = None,
    ) -> None:
        self.lengths, self.size, self.seed = list(lengths), size, seed
        self.shuffle, self.bucket = shuffle, bucket
        self.choose = choose or (lambda epoch: list(range(len(self.lengths))))
        self.count = len(self.choose(0))
        self.epoch = 0
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which decides the order."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-self.count // self.size)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches())

    def batches(self) -> list[list[int]]:
        """Return all batches of the epoch: each of its indices once."""
        indices = self.choose(self.epoch)
        if not self.shuffle:
            indices.sort(key=lambda index: -self.lengths[index])
            return self._cut(indices)
        rng = Random(f"{self.seed}:{self.epoch}")
        rng.shuffle(indices)
        if not self.bucket:
            return self._cut(indices)
        pool = self.size * 50
        batches = []
        for first in range(0, len(indices), pool):
            near = sorted(indices[first : first + pool], key=self.lengths.__getitem__)
            batches += self._cut(near)
        rng.shuffle(batches)
        return batches

    def _cut(self, indices: list[int]) -> list[list[int]]:
        return [indices[i : i + self.size] for i in range(0, len(indices), self.size)]


class NumberedCollator:
    """Pads the stored items of some numbers into a batch, and keeps the numbers in it.

    Args:
        items: the stored items.
        collate: the model's collator.
    """

    def __init__(self, items: Sequence[Any], collate: Callable[[list[Any]], Any]) -> None:
        self.items, self.collate = items, collate

    def __call__(self, numbers: Sequence[int]) -> dict[str, torch.Tensor]:
        """Return the batch of these numbers."""
        batch: dict[str, torch.Tensor] = self.collate([self.items[number] for number in numbers])
        return {"numbers": torch.tensor(numbers), **batch}


def make_loader(
    items: Sequence[Any],
    collate: Callable[[list[Any]], Any],
    sampler: BucketBatchSampler,
    *,
    workers: int = 0,
) -> DataLoader[Any]:
    """Return a loader of numbered batches.

    It has a generator of its own: otherwise starting an epoch would draw from the generator that
    dropout uses, and a resumed run would differ from an unbroken one.
    """
    numbers: Any = range(len(items))
    return DataLoader(
        numbers,
        batch_sampler=sampler,
        collate_fn=NumberedCollator(items, collate),
        generator=torch.Generator().manual_seed(sampler.seed),
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=torch.cuda.is_available(),
    )
