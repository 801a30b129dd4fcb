"""Compare two or more systems on the same questions: difference, interval, paired test.

In: scores of systems on the same gold. Out: plain values and their text. Each question's scores
stay together, so nothing is scored a second time. It refuses systems scored on different gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twowiki.arc_da.metric.report import ArcDaSettings, SystemScores, gold_hash, metric_rows
from twowiki.metric.report import compare_rows
from twowiki.metric.significance import holm
from twowiki.metric.tables import format_score, render_table


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
        differences = compare_rows(
            metric_rows(first),
            metric_rows(other, first.scores),
            first.names,
            rounds=rounds,
            seed=settings.seed,
            confidence=settings.confidence,
            resamples=settings.resamples,
        )
        results[name] = {
            metric: {**found._asdict(), "interval": list(found.interval or ())}
            for metric, found in differences.items()
        }
    for metric in first.names:
        adjusted = holm([results[name][metric]["p"] for name in results])
        for name, value in zip(results, adjusted, strict=True):
            results[name][metric]["p_holm"] = value
    return results


def render_comparison(results: Mapping[str, Any]) -> str:
    """Return a comparison as text, a line for each system and metric."""
    rows = [["first minus", "metric", "difference", "p", "p (Holm)", "detectable"]]
    for name, metrics in results.items():
        for metric, found in metrics.items():
            cell = format_score(found["difference"], found["interval"], sign="+")
            p_values = [f"{found['p']:.4f}", f"{found['p_holm']:.4f}"]
            rows.append([name[-23:], metric, cell, *p_values, f"{found['detectable']:.2f}"])
    return render_table(rows) + "\n"
