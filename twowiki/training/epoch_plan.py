"""The plan of an epoch: for every step, the examples of each of its parts.

In: the lengths of the examples, the seed, the epoch, and into how many parts a step is dealt (the
processes times the batches that each accumulates). Out: steps of equal numbers of tokens, dealt to
the parts the longest first, each to the part that has least. Every process computes the same plan.
What a run has done of an epoch is a number of examples, so that any number of processes goes on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate
from random import Random
from typing import NamedTuple

ChooseIndices = Callable[[int], list[int]]
Step = list[list[int]]  # the examples of each part; a part may be empty
_POOL_STEPS = 50  # steps whose examples are sorted together by length


class Stretch(NamedTuple):
    """Examples of an epoch that a run took by a plan, one after the other."""

    size: int
    parts: int
    examples: int


@dataclass(frozen=True)
class EpochPlan:
    """The steps of each epoch.

    Attributes:
        lengths: tokens of each example.
        size: examples of a step: on average by length, exactly without.
        parts: the number of parts that a step is dealt to.
        seed: with the epoch decides the order.
        by_length: steps have as many tokens as `size` average examples, and the examples of a step
            are of similar length. Without it examples are shuffled singly, as the published
            baseline does, and each part has as many.
        choose: returns the indices of an epoch, by its number, the same count for each; all of
            them by default.
        mixed: the steps of `by_length` have examples of any length, as packed rows may.
    """

    lengths: Sequence[int]
    size: int
    parts: int = 1
    seed: int = 0
    by_length: bool = True
    choose: ChooseIndices | None = None
    mixed: bool = False

    def indices(self, epoch: int) -> list[int]:
        """Return the examples of an epoch, in no order."""
        return self.choose(epoch) if self.choose else list(range(len(self.lengths)))

    @cached_property
    def count(self) -> int:
        """Number of examples of an epoch."""
        return len(self.indices(0))

    def __len__(self) -> int:
        return -(-self.count // self.size)

    def steps(self, epoch: int, done: int = 0, earlier: Sequence[Stretch] = ()) -> list[Step]:
        """Return the steps of an epoch that are left: every example that is not taken, once.

        Args:
            epoch: its number.
            done: examples of the epoch that were taken before.
            earlier: those of them that were taken by other plans, or before another plan.
        """
        left = self.indices(epoch)
        for size, parts, examples in earlier:
            former = replace(self, size=size, parts=parts)._orders(epoch, left)
            gone = {index for step in _first(former, examples) for index in step}
            left = [index for index in left if index not in gone]
        orders = self._orders(epoch, left)
        done -= sum(stretch.examples for stretch in earlier)
        return [self._deal(step, self.parts) for step in orders[len(_first(orders, done)) :]]

    def largest(self) -> list[int]:
        """Return the examples of the part that needs most memory: as many of the longest."""
        if self.mixed:  # all parts need as much, once they are of one shape
            parts = (part for step in self.steps(0) for part in step)
            return max(parts, key=lambda part: sum(self.lengths[index] for index in part))
        longest = sorted(self.indices(0), key=lambda index: -self.lengths[index])
        count = -(-self.size // self.parts)
        if self.by_length and longest:
            tokens = sum(self.lengths[index] for index in longest) / len(longest) * count
            sums = list(accumulate(self.lengths[index] for index in longest[: count + 1]))
            count = bisect_left(sums, tokens) + 1
        return longest[:count]

    def _orders(self, epoch: int, indices: Sequence[int]) -> list[list[int]]:
        """Return the examples of each step."""
        rng = Random(f"{self.seed}:{epoch}")
        shuffled = list(indices)
        rng.shuffle(shuffled)
        if not self.by_length:
            return cut(shuffled, self.size)
        count = -(-len(shuffled) // self.size)
        steps: list[list[int]] = []
        for first in range(0, count, _POOL_STEPS):
            last = min(count, first + _POOL_STEPS)
            pool = shuffled[len(shuffled) * first // count : len(shuffled) * last // count]
            if self.mixed:
                steps += self._deal(pool, last - first)
            else:
                pool.sort(key=lambda index: -self.lengths[index])
                steps += self._equal_tokens(pool, last - first)
        rng.shuffle(steps)
        return steps

    def _equal_tokens(self, pool: Sequence[int], count: int) -> list[list[int]]:
        """Cut a pool, the longest first, into steps of as many tokens, and of whole parts."""
        sums = list(accumulate((max(1, self.lengths[index]) for index in pool), initial=0))
        steps, first = [], 0
        for left in range(count, 0, -1):
            goal = sums[first] + (sums[-1] - sums[first]) / left
            fewer = (bisect_left(sums, goal) - first) // self.parts * self.parts
            ends = [max(1, min(first + n, len(pool))) for n in (fewer, fewer + self.parts)]
            nearest = min(ends, key=lambda end: abs(sums[end] - goal))
            last = max(first + 1, min(nearest, len(pool) - left + 1)) if left > 1 else len(pool)
            steps.append(list(pool[first:last]))
            first = last
        return steps

    def _deal(self, indices: Sequence[int], count: int) -> Step:
        """Deal examples to so many parts, the longest first, each to that with fewest tokens."""
        if count == 1:
            return [list(indices)]
        most = len(indices) if self.by_length else -(-self.size // self.parts)
        dealt: Step = [[] for _ in range(count)]
        heap = [(0, part) for part in range(count)]
        heapify(heap)
        for index in sorted(indices, key=lambda index: -self.lengths[index]):
            tokens, part = heappop(heap)
            dealt[part].append(index)
            if len(dealt[part]) < most:
                heappush(heap, (tokens + max(1, self.lengths[index]), part))
        return dealt


def cut(indices: Sequence[int], size: int) -> list[list[int]]:
    """Cut a list into parts of a size; the last one may be smaller."""
    return [list(indices[i : i + size]) for i in range(0, len(indices), size)]


def _first(steps: Sequence[list[int]], examples: int) -> Sequence[list[int]]:
    """Return the first steps, which have so many examples."""
    sums = list(accumulate(map(len, steps), initial=0))
    return steps[: bisect_left(sums, examples)]
