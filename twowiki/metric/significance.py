"""How certain a mean is: bootstrap intervals and a paired test, from metrics already computed.

In: one row per example, one column per metric. Out: intervals of the means, p-values of
differences. Nothing is scored a second time, and a seed alone fixes the random draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
CELLS_AT_ONCE = 4_000_000  # of a block of resamples; bounds memory to about 32 MB per array


def bootstrap_intervals(
    values: ArrayLike, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Floats:
    """Return percentile bootstrap intervals of the column means, resampling rows.

    Args:
        values: (n, k), one row per example; a plain list of n values counts as one column.
        confidence: share of the resampled means that lies inside, between 0 and 1.
        resamples: number of times that n rows are drawn with replacement.
        seed: start of the random stream; the same seed gives the same intervals.

    Returns:
        (k, 2): lower and upper end of each column's interval, in the unit of the values.

    Raises:
        ValueError: without rows, resamples, or a confidence between 0 and 1.
    """
    rows = _as_rows(values)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples!r}")
    count, width = rows.shape
    generator = np.random.default_rng(seed)
    means = np.empty((resamples, width))
    for start, stop in _blocks(resamples, count):
        drawn = generator.integers(count, size=(stop - start, count))
        weights = np.stack([np.bincount(draw, minlength=count) for draw in drawn])
        means[start:stop] = (weights.astype(np.float64) @ rows) / count
    tail = (1.0 - confidence) / 2.0
    ends: Floats = np.quantile(means, [tail, 1.0 - tail], axis=0).T
    return ends


def paired_randomization(
    a: ArrayLike, b: ArrayLike, *, rounds: int = 10_000, seed: int = 0
) -> Floats:
    """Test whether two systems' means differ, by swapping their rows at random (Noreen 1989).

    Each round swaps the two systems' whole rows for about half of the examples; the p-value is
    the share of rounds whose difference of means is at least as large as the observed one.

    Args:
        a: (n, k), one system's rows.
        b: (n, k), the other's, in the same order of examples.
        rounds: number of times that rows are swapped.
        seed: start of the random stream; the same seed gives the same p-values.

    Returns:
        (k,): two-sided p-values, (count + 1) / (rounds + 1); 1 where all rows are equal.

    Raises:
        ValueError: without rows or rounds, or when the shapes differ.
    """
    first, second = _as_rows(a), _as_rows(b)
    if first.shape != second.shape:
        raise ValueError(f"the systems' rows differ in shape: {first.shape}, {second.shape}")
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds!r}")
    difference = first - second
    difference = difference[np.any(difference != 0.0, axis=1)]
    count, total = len(difference), difference.sum(axis=0)
    slack = 1e-9 * np.abs(difference).sum(axis=0)  # sums in another order differ in the last bits
    generator = np.random.default_rng(seed)
    as_large = np.zeros(first.shape[1])
    for start, stop in _blocks(rounds, count):
        bits = np.frombuffer(generator.bytes((stop - start) * (-(-count // 8))), dtype=np.uint8)
        swapped = np.unpackbits(bits.reshape(stop - start, -1), axis=1, count=count)
        sums = total - 2.0 * (swapped.astype(np.float64) @ difference)
        as_large += (np.abs(sums) >= np.abs(total) - slack).sum(axis=0)
    return (as_large + 1.0) / (rounds + 1.0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, step by step from the smallest (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, number in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[number]))
        adjusted[number] = highest
    return adjusted


def _as_rows(values: ArrayLike) -> Floats:
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2:
        raise ValueError(f"expected (n, k) values, not an array of shape {rows.shape}")
    if len(rows) == 0:
        raise ValueError("no rows, so no mean")
    return rows


def _blocks(rounds: int, width: int) -> list[tuple[int, int]]:
    """Cut rounds into blocks of bounded size; the cut depends on the sizes alone."""
    step = max(1, CELLS_AT_ONCE // max(width, 1))
    return [(start, min(start + step, rounds)) for start in range(0, rounds, step)]
