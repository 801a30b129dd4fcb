"""Cut a long context into windows that overlap, at sentence borders where that is possible."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def plan_windows(
    borders: Sequence[int],
    tokens: int,
    *,
    max_length: int,
    stride: int,
    question_length: int = 0,
    special_tokens: int = 0,
) -> list[tuple[int, int]]:
    """Give windows `[start, end)` of tokens whose union is the whole context.

    A window ends, and the next one starts, at a sentence border where there is one; a sentence
    longer than a window is cut inside.

    Args:
        borders: first token of each title and sentence, ascending.
        tokens: length of the context.
        max_length: most tokens of a window, with the question and the special tokens.
        stride: tokens that neighbouring windows share, at most.
        question_length: tokens of the question that each window repeats.
        special_tokens: other tokens that each window holds.

    Raises:
        ValueError: if windows of this size cannot move forward; with the three numbers.
    """
    capacity = max_length - question_length - special_tokens
    if stride < 0 or stride >= capacity:
        raise ValueError(
            f"a window of {max_length} tokens with a question of {question_length} and "
            f"{special_tokens} special tokens leaves {max(capacity, 0)} for the context, which "
            f"must be more than the stride of {stride}"
        )
    windows: list[tuple[int, int]] = []
    start = 0
    while tokens - start > capacity:
        limit = start + capacity
        end = limit
        index = bisect_right(borders, limit) - 1
        if index >= 0 and borders[index] > start + stride:
            end = borders[index]
        windows.append((start, end))
        index = bisect_left(borders, end - stride)
        start = borders[index] if index < len(borders) and borders[index] <= end else end - stride
    if tokens:
        windows.append((start, tokens))
    return windows
