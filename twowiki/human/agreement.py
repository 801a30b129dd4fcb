"""How far people agree with each other, and how far a figure agrees with people.

In: ratings, or two lists of figures. Out: Krippendorff's alpha (2011), Pearson's, Spearman's and
Kendall's correlations. `nan` where a value is not defined (nothing varies). Pure, numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

EQUAL = 1e-10  # sums in another order differ by less; figures of other answers by more
LEVELS = ("nominal", "ordinal", "interval")
Floats = NDArray[np.float64]


def krippendorff_alpha(
    ratings: Iterable[tuple[str, str, float]], *, level: str = "ordinal"
) -> float:
    """Measure agreement, chance aside: 1 is perfect, 0 is chance (Krippendorff 2011).

    Args:
        ratings: (item, rater, value); items with fewer than two ratings say nothing.
        level: how far values lie apart: `nominal` (equal or not), `ordinal` (by their ranks in the
            data), `interval` (by their squared difference).

    Returns:
        alpha, or nan if no item has two ratings or all values are equal.

    Raises:
        ValueError: for an unknown level, or a rater who rates an item twice.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; there are {LEVELS}")
    units: dict[str, dict[str, float]] = {}
    for item, rater, value in ratings:
        if rater in units.setdefault(item, {}):
            raise ValueError(f"{rater} rates {item} twice")
        units[item][rater] = value
    paired = [list(unit.values()) for unit in units.values() if len(unit) > 1]
    values = sorted({value for unit in paired for value in unit})
    if len(values) < 2:
        return float("nan")
    place = {value: index for index, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in paired:
        counts = np.bincount([place[value] for value in unit], minlength=len(values)).astype(float)
        pairs = np.outer(counts, counts) - np.diag(counts)
        coincidences += pairs / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    apart = _distances(np.array(values), totals, level)
    expected = (np.outer(totals, totals) * apart).sum() / (totals.sum() - 1)
    return float(1 - (coincidences * apart).sum() / expected)


def correlations(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Correlate two lists of figures: Pearson's r, Spearman's rho, Kendall's tau-b.

    Figures that differ by less than `EQUAL` are equal to the two that go by order.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"the lists differ in length: {len(a)}, {len(b)}")
    return {
        "pearson": _pearson(a, b),
        "spearman": _pearson(ranks(a), ranks(b)),
        "kendall": kendall_tau(a, b),
    }


def ranks(values: Floats) -> Floats:
    """Rank figures from 1; equal ones share the mean of their ranks."""
    _, inverse, counts = np.unique(_settled(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shared: Floats = (ends - (counts - 1) / 2)[inverse]
    return shared


def kendall_tau(first: Floats, second: Floats) -> float:
    """Compare the order of all pairs, ties allowed for (tau-b); in blocks, so memory is bounded."""
    first, second = _settled(first), _settled(second)
    concordance, ties_first, ties_second = 0.0, 0, 0
    count = len(first)
    for start in range(0, count, 512):
        rows = np.arange(start, min(start + 512, count))
        later = np.arange(count)[None, :] > rows[:, None]
        a = np.sign(first[None, :] - first[rows, None])[later]
        b = np.sign(second[None, :] - second[rows, None])[later]
        concordance += float((a * b).sum())
        ties_first += int((a == 0).sum())
        ties_second += int((b == 0).sum())
    pairs = count * (count - 1) / 2
    spread = (pairs - ties_first) * (pairs - ties_second)
    return concordance / float(np.sqrt(spread)) if spread > 0 else float("nan")


def disagreements(
    ratings: Mapping[str, Mapping[str, float]], *, least: float = 0.5
) -> list[dict[str, Any]]:
    """List items whose ratings lie at least so far apart, the farthest first."""
    found = [
        {"item": item, "ratings": dict(sorted(given.items())), "apart": spread}
        for item, given in ratings.items()
        if len(given) > 1 and (spread := max(given.values()) - min(given.values())) >= least
    ]
    return sorted(found, key=lambda entry: (-float(entry["apart"]), str(entry["item"])))


def without_nan(value: Any) -> Any:
    """Replace nan by None in plain values, for JSON knows no nan."""
    if isinstance(value, Mapping):
        return {name: without_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def _settled(values: Floats) -> Floats:
    """Round what the order of a sum's terms leaves, so that equal figures are ties."""
    return np.asarray(np.round(values / EQUAL) * EQUAL)


def _distances(values: Floats, totals: Floats, level: str) -> Floats:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    middle = np.cumsum(totals) - totals / 2  # ranks by how often each value was given
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _pearson(a: Floats, b: Floats) -> float:
    if len(a) < 2:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else float("nan")
