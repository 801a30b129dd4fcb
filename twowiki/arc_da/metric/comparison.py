"""Compare two or more systems on the same questions: difference, interval, paired test.

In: rows of systems scored against the same gold. Out: plain values and their text. Each question's
rows stay together, so nothing is scored a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from twowiki.arc_da.metric.report import FIGURES, Scored, Settings, figures_of, gold_hash
from twowiki.metric.significance import bootstrap_intervals, paired_randomization

# A two-sided test at 5% finds a difference of 2.8 standard errors four times in five.
DETECTABLE = 2.8


def compare_systems(
    first: Scored, others: Mapping[str, Scored], settings: Settings, *, rounds: int = 10_000
) -> dict[str, Any]:
    """Test a system against others on the same gold.

    Args:
        first: the system in question.
        others: systems by name.
        settings: confidence, resamples and seed.
        rounds: of the approximate randomization test.

    Returns:
        By name and figure: `difference` (first minus other, 0-100), `interval`, `p`, `p_holm`
        (adjusted for the number of systems, Holm 1979) and `detectable`, the smallest difference
        that the test would find four times in five.

    Raises:
        ValueError: the gold differs.
    """
    names = [*FIGURES, *settings.extras]
    results: dict[str, Any] = {}
    for name, other in others.items():
        if gold_hash(first.questions.values()) != gold_hash(other.questions.values()):
            raise ValueError(f"{name} was scored against other gold answers")
        ours, theirs = figures_of(first, first.rows), figures_of(other, first.rows)
        difference = ours - theirs
        ends = bootstrap_intervals(
            difference,
            confidence=settings.confidence,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        values = paired_randomization(ours, theirs, rounds=rounds, seed=settings.seed)
        spread = _standard_error(difference)
        results[name] = {
            figure: {
                "difference": float(difference[:, column].mean()),
                "interval": [float(ends[column, 0]), float(ends[column, 1])],
                "p": float(values[column]),
                "detectable": DETECTABLE * float(spread[column]),
            }
            for column, figure in enumerate(names)
        }
    for figure in names:
        adjusted = holm([results[name][figure]["p"] for name in results])
        for name, value in zip(results, adjusted, strict=True):
            results[name][figure]["p_holm"] = value
    return results


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, step by step from the smallest (Holm 1979)."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted


def render_comparison(results: Mapping[str, Any]) -> str:
    """Write a comparison as text, a line for each system and figure."""
    lines = [
        f"{'first minus':<24}{'figure':<16}{'difference':>24}{'p':>9}{'p (Holm)':>10}"
        f"{'detectable':>12}"
    ]
    for name, figures in results.items():
        for figure, found in figures.items():
            low, high = found["interval"]
            cell = f"{found['difference']:+.2f} [{low:+.1f}, {high:+.1f}]"
            lines.append(
                f"{name[-23:]:<24}{figure:<16}{cell:>24}{found['p']:>9.4f}"
                f"{found['p_holm']:>10.4f}{found['detectable']:>12.2f}"
            )
    return "\n".join(lines) + "\n"


def _standard_error(difference: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if len(difference) < 2:
        return np.full(difference.shape[1], np.nan)
    spread: np.ndarray[Any, Any] = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    return spread
