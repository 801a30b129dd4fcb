"""The largest one-to-one matching between two small sets, given which pairs may match."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


def maximum_matching(choices: Sequence[Sequence[int]]) -> int:
    """Count the most pairs that can be made when each side takes part at most once.

    Grows the matching along shortest augmenting paths, without recursion, so that thousands of
    entries on a side are no danger.

    Args:
        choices: for each entry of the left side, the entries of the right side it may be paired
            with, by number.

    Returns:
        The size of a maximum matching.
    """
    left_of: dict[int, int] = {}
    return sum(_augment(start, choices, left_of) for start in range(len(choices)))


def _augment(start: int, choices: Sequence[Sequence[int]], left_of: dict[int, int]) -> bool:
    """Pair one more left entry, re-pairing others where that frees a place."""
    came_from: dict[int, int] = {}  # right entry -> left entry that reached it
    right_of: dict[int, int] = {}  # left entry -> right entry it holds, on this search's paths
    waiting = deque([start])
    while waiting:
        left = waiting.popleft()
        for right in choices[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right in left_of:
                holder = left_of[right]
                right_of[holder] = right
                waiting.append(holder)
                continue
            while True:
                left = came_from[right]
                left_of[right] = left
                if left == start:
                    return True
                right = right_of[left]
    return False
