"""How far people agree with each other, and how far a metric agrees with people.

In: ratings, or two lists of values. Out: Krippendorff's alpha (2011), Pearson's, Spearman's and
Kendall's correlations (by scipy). `nan` where a value is not defined because nothing varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twowiki.errors import import_extra

EQUAL = 1e-10  # sums in another order differ by less; metrics of other answers by more
LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(
    ratings: Iterable[tuple[str, str, float]], *, level: str = "ordinal"
) -> float:
    """Measure agreement beyond chance: 1 is perfect, 0 is chance (Krippendorff 2011).

    Args:
        ratings: (item, rater, value); items with fewer than two ratings do not count.
        level: the distance between values: `nominal` (equal or not), `ordinal` (by their ranks in
            the data), `interval` (by their squared difference).

    Returns:
        alpha, or nan if no item has two ratings or all values are equal.

    Raises:
        ValueError: for an unknown level, or a rater who rates an item twice.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown level {level!r}; available: {', '.join(LEVELS)}")
    units: dict[str, dict[str, float]] = {}
    for item, rater, value in ratings:
        if rater in units.setdefault(item, {}):
            raise ValueError(f"{rater} rates {item} twice")
        units[item][rater] = value
    paired = [list(unit.values()) for unit in units.values() if len(unit) > 1]
    values = sorted({value for unit in paired for value in unit})
    if len(values) < 2:
        return float("nan")
    index = {value: number for number, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in paired:
        counts = np.bincount([index[value] for value in unit], minlength=len(values)).astype(float)
        pairs = np.outer(counts, counts) - np.diag(counts)
        coincidences += pairs / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    apart = _distances(np.array(values), totals, level)
    expected = (np.outer(totals, totals) * apart).sum() / (totals.sum() - 1)
    return float(1 - (coincidences * apart).sum() / expected)


def correlations(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Correlate two lists of values: Pearson's r, Spearman's rho, Kendall's tau-b.

    Values that differ by less than `EQUAL` are ties to the two that go by order.

    Raises:
        ValueError: the lists differ in length.
        DataError: scipy is not installed.
    """
    if len(first) != len(second):
        raise ValueError(f"the lists differ in length: {len(first)}, {len(second)}")
    stats = import_extra("scipy.stats", "metric")
    a, b = _rounded(first), _rounded(second)
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return dict.fromkeys(("pearson", "spearman", "kendall"), float("nan"))
    return {
        "pearson": float(stats.pearsonr(first, second).statistic),
        "spearman": float(stats.spearmanr(a, b).statistic),
        "kendall": float(stats.kendalltau(a, b).statistic),
    }


def ranking_auc(values: Sequence[float], right: Sequence[bool]) -> float:
    """Return how often a right answer has a higher value than a wrong one; ties count half.

    Raises:
        DataError: scipy is not installed.
    """
    is_right = np.asarray(right, dtype=bool)
    count, others = int(is_right.sum()), int((~is_right).sum())
    if not count or not others:
        return float("nan")
    ranks = import_extra("scipy.stats", "metric").rankdata(_rounded(values))
    above = ranks[is_right].sum() - count * (count + 1) / 2
    return float(above / (count * others))


def disagreements(
    ratings: Mapping[str, Mapping[str, float]], *, least: float = 0.5
) -> list[dict[str, Any]]:
    """List items whose ratings differ by at least `least`, the largest difference first."""
    found = [
        {"item": item, "ratings": dict(sorted(given.items())), "apart": spread}
        for item, given in ratings.items()
        if len(given) > 1 and (spread := max(given.values()) - min(given.values())) >= least
    ]
    return sorted(found, key=lambda entry: (-float(entry["apart"]), str(entry["item"])))


def without_nan(value: Any) -> Any:
    """Replace nan by None in plain values, since JSON has no nan."""
    if isinstance(value, Mapping):
        return {name: without_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def _rounded(values: Sequence[float]) -> NDArray[np.float64]:
    """Round away what the order of a sum's terms leaves, so that equal values are ties."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64) / EQUAL) * EQUAL)


def _distances(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: str
) -> NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    middle = np.cumsum(totals) - totals / 2  # ranks by how often each value was given
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)
