"""Measures of one ranking against what is relevant, 0-100, as `trec_eval` computes them. Pure.

In: the keys of a ranking (titles or document ids), best first, and the relevant keys with their
gains. Out: percentages. A key that is ranked twice takes two positions and counts once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from twowiki.errors import DataError

Relevant = Collection[str] | Mapping[str, int]


def recall_at_k(ranked: Sequence[str], gold: Relevant, k: int) -> float:
    """Return the percentage of relevant keys among the first k ranked ones."""
    wanted = _gains(gold, k)
    return 100.0 * len(wanted.keys() & set(ranked[:k])) / len(wanted)


def all_gold_at_k(ranked: Sequence[str], gold: Relevant, k: int) -> float:
    """Return 100 if all relevant keys are among the first k ranked ones, else 0."""
    return 100.0 if _gains(gold, k).keys() <= set(ranked[:k]) else 0.0


def reciprocal_rank(ranked: Sequence[str], gold: Relevant) -> float:
    """Return 100 divided by the rank of the first relevant key; 0 if there is none."""
    wanted = _gains(gold)
    ranks = (rank for rank, key in enumerate(ranked, 1) if key in wanted)
    return 100.0 / rank if (rank := next(ranks, 0)) else 0.0


def ndcg_at_k(ranked: Sequence[str], gold: Relevant, k: int = 10) -> float:
    """Return the normalized discounted cumulative gain of the first k ranked keys.

    The gain of a key is divided by log2(1 + rank), and the sum by that of the best ranking.
    """
    wanted = _gains(gold, k)
    left, gains = dict(wanted), []
    for key in ranked[:k]:
        gains.append(left.pop(key, 0))
    return 100.0 * _discounted(gains) / _discounted(sorted(wanted.values(), reverse=True)[:k])


def _discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, 1))


def _gains(gold: Relevant, k: int = 1) -> dict[str, int]:
    if k < 1:
        raise DataError(f"k is {k}", remedy="Use at least 1")
    if isinstance(gold, str):
        raise DataError("the relevant keys are one text", remedy="Pass a set of titles or ids")
    gains = gold if isinstance(gold, Mapping) else dict.fromkeys(gold, 1)
    wanted = {key: gain for key, gain in gains.items() if gain > 0}
    if not wanted:
        raise DataError("nothing is relevant", remedy="Pass a set of titles or ids")
    return wanted
