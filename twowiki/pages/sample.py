"""Which examples a page shows: by seed, as many of each outcome as of the others. Pure.

A stream of any length goes through; what is held is bounded by what may be shown.
"""

from __future__ import annotations

import hashlib
import heapq
from typing import Generic, TypeVar

Item = TypeVar("Item")


class EvenSample(Generic[Item]):
    """Keeps up to `most` items, spread evenly over their groups.

    Args:
        most: how many items come out at the end.
        seed: start of chance; an item's draw depends on the seed and its name alone.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._seed = most, seed
        # group -> a heap of (minus what chance drew, minus the place, item): large draws fall out
        self._groups: dict[str, list[tuple[int, int, Item]]] = {}
        self._count = 0

    def add(self, group: str, name: str, item: Item) -> None:
        """Take an item in; it may fall out again."""
        self._count += 1
        seeded = f"{self._seed}:{name}".encode("utf-8", "surrogatepass")
        drawn = int.from_bytes(hashlib.blake2b(seeded, digest_size=8).digest(), "big")
        kept = self._groups.setdefault(group, [])
        if len(kept) < self._most:
            heapq.heappush(kept, (-drawn, -self._count, item))
        elif self._most:
            heapq.heappushpop(kept, (-drawn, -self._count, item))

    def items(self) -> list[Item]:
        """Give what is kept, in the order in which it came."""
        queues = [sorted(kept, reverse=True) for _, kept in sorted(self._groups.items())]
        chosen: list[tuple[int, int, Item]] = []
        for turn in range(max(map(len, queues), default=0)):
            chosen += [queue[turn] for queue in queues if turn < len(queue)]
        return [item for _, _, item in sorted(chosen[: self._most], key=lambda one: -one[1])]
