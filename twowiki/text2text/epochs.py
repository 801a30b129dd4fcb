"""Which pairs an epoch trains on: drawn answers, mixed kinds, in batches of like length.

What an epoch holds depends on the seed and its number alone, so that a resumed run sees what an
unbroken one would have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from twowiki.training.samplers import BucketBatchSampler

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
