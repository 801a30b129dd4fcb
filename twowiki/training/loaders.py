"""Batches of like length in an order that only the seed and the epoch decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random


class BucketBatchSampler:
    """Gives batches of indices; with buckets, of windows of like length, in shuffled order.

    It has no `batch_size` and no `drop_last` on purpose: accelerate takes a sampler that has them
    for one of equal batches, and silently drops windows. Its `sampler` is itself, because that is
    where accelerate's `set_epoch` reaches.

    Args:
        lengths: length of each window.
        size: windows a batch; the last batches of an epoch may be smaller.
        seed: with the epoch decides the order.
        shuffle: without it the order is by length, the longest first, whatever the epoch.
        bucket: without it windows are shuffled singly, as the published baseline does.
    """

    def __init__(
        self, lengths: Sequence[int], size: int, *, seed: int, shuffle: bool, bucket: bool = True
    ) -> None:
        self.lengths, self.size, self.seed = list(lengths), size, seed
        self.shuffle, self.bucket = shuffle, bucket
        self.epoch = 0
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.size)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches())

    def batches(self) -> list[list[int]]:
        """Give all batches of the epoch: each index once."""
        indices = list(range(len(self.lengths)))
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
            batches += self._cut(
                sorted(indices[first : first + pool], key=self.lengths.__getitem__)
            )
        rng.shuffle(batches)
        return batches

    def _cut(self, indices: list[int]) -> list[list[int]]:
        return [indices[i : i + self.size] for i in range(0, len(indices), self.size)]
