"""Consistency over twins: a question counts if it and its twin are both answered right.

In: the results of questions and of their twins, told by their ids. Out: for each kind of twin, the
pairs and the share of them with both answers right. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from twowiki.metric.results import ExampleResult

UNANSWERABLE, CHANGED = "unanswerable", "changed"
TWINS = (UNANSWERABLE, CHANGED)


def twin_id(example_id: str, kind: str) -> str:
    """Return the id of a question's twin."""
    return f"{example_id}-{kind}"


def consistency_of(results: Iterable[ExampleResult]) -> dict[str, dict[str, float]]:
    """Return the consistency of each kind of twin that the results have.

    Returns:
        By kind: `pairs`; `question`, `twin` and `both`, the percent of pairs whose question, twin,
        or both have the right answer (exact match).
    """
    right = {result.id: result.metrics[0] == 1 for result in results}
    found = {}
    for kind in TWINS:
        pairs = [
            (right[example_id.removesuffix(f"-{kind}")], correct)
            for example_id, correct in right.items()
            if example_id.endswith(f"-{kind}") and example_id.removesuffix(f"-{kind}") in right
        ]
        if pairs:
            size = len(pairs)
            found[kind] = {
                "pairs": size,
                "question": 100 * sum(one for one, _ in pairs) / size,
                "twin": 100 * sum(two for _, two in pairs) / size,
                "both": 100 * sum(one and two for one, two in pairs) / size,
            }
    return found


def render_consistency(found: dict[str, dict[str, float]]) -> str:
    """Render the consistency as a table of text."""
    lines = [f"{'exact match of pairs':22}{'pairs':>8}{'question':>10}{'twin':>10}{'both':>10}"]
    for kind, row in found.items():
        cells = "".join(f"{row[name]:>10.2f}" for name in ("question", "twin", "both"))
        lines.append(f"{kind + ' twins':22}{row['pairs']:>8,.0f}{cells}")
    return "\n".join(lines)
