"""Compare two or more systems on the same questions: difference, interval, paired test.

In: scores of systems on the same gold. Out: plain values and their text. Each question's scores
stay together, so nothing is scored a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from twowiki.arc_da.metric.report import (
    ArcDaSettings,
    SystemScores,
    gold_hash,
    interval_cell,
    metric_values,
    summarize_values,
)
from twowiki.metric.report import render_table
from twowiki.metric.significance import paired_randomization

# A two-sided test at 5% finds a difference of 2.8 standard errors four times in five.
DETECTABLE = 2.8


def compare_systems(
    first: SystemScores,
    others: Mapping[str, SystemScores],
    settings: ArcDaSettings,
    *,
    rounds: int = 10_000,
) -> dict[str, Any]:
    """Test a system against others on the same gold.

    Args:
        first: the system in question.
        others: systems by name.
        settings: confidence, resamples and seed.
        rounds: of the approximate randomization test.

    Returns:
        By name and metric: `difference` (first minus other, 0-100), `interval`, `p`, `p_holm`
        (adjusted for the number of systems, Holm 1979) and `detectable`, the smallest difference
        that the test would find four times in five.

    Raises:
        ValueError: the gold differs.
    """
    results: dict[str, Any] = {}
    for name, other in others.items():
        if gold_hash(first.questions.values()) != gold_hash(other.questions.values()):
            raise ValueError(f"{name} was scored against other gold answers")
        mine, theirs = metric_values(first), metric_values(other, first.scores)
        summary = summarize_values(mine - theirs, first.names, settings)
        p_values = paired_randomization(mine, theirs, rounds=rounds, seed=settings.seed)
        errors = _standard_errors(mine - theirs)
        results[name] = {
            metric: {
                "difference": summary[metric],
                "interval": summary["intervals"][metric],
                "p": float(p),
                "detectable": DETECTABLE * float(error),
            }
            for metric, p, error in zip(first.names, p_values, errors, strict=True)
        }
    for metric in first.names:
        adjusted = holm([results[name][metric]["p"] for name in results])
        for name, value in zip(results, adjusted, strict=True):
            results[name][metric]["p_holm"] = value
    return results


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, step by step from the smallest (Holm 1979)."""
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda index: values[index])):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = highest
    return adjusted


def render_comparison(results: Mapping[str, Any]) -> str:
    """Return a comparison as text, a line for each system and metric."""
    rows = [["first minus", "metric", "difference", "p", "p (Holm)", "detectable"]]
    for name, metrics in results.items():
        for metric, found in metrics.items():
            cell = interval_cell(found["difference"], found["interval"], "+.2f")
            p_values = [f"{found['p']:.4f}", f"{found['p_holm']:.4f}"]
            rows.append([name[-23:], metric, cell, *p_values, f"{found['detectable']:.2f}"])
    return render_table(rows) + "\n"


def _standard_errors(difference: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if len(difference) < 2:
        return np.full(difference.shape[1], np.nan)
    errors: np.ndarray[Any, Any] = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    return errors
