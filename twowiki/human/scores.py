"""Human scores: ratings, the rubric of Table 2, means with intervals, agreement, rater quality.

In: ratings (system, question, answer, rater, rating). Out: GENIE-style scores or the EXPERT column,
0-100. An item is one system's answer to one question; its score is the mean of its valid ratings,
and a system's score the mean over its items. The paper does not describe its intervals; these are
percentile bootstraps, and the report names what was resampled. With fewer than about ten raters, a
bootstrap over raters gives intervals that are too narrow. It refuses a rater who rated an item
twice, and items that are two answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twowiki.errors import DataError
from twowiki.human.agreement import disagreements, krippendorff_alpha
from twowiki.human.raters import Mixture, RaterVerdict, judge_raters
from twowiki.human.ratings import Rating, check_ratings
from twowiki.metric.report import make_signature
from twowiki.metric.tables import render_table

GOLD_SYSTEM = "gold answers"
_RATE = "Rate answers, or check the field `expected` of these ratings"


class HumanSettings(NamedTuple):
    """What can affect a human score."""

    over: str = "two_way"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    detector: str = "threshold"
    least: float = 0.9
    components: int = 1
    cut_off: float = 0.999


def score_ratings(ratings: Iterable[Rating], settings: HumanSettings) -> dict[str, Any]:
    """Score systems from ratings, with all raters and without those that fail the test items.

    Returns:
        By system: `human_mean`, `human_mean_ci_lower` and `_upper`, items, ratings, raters; the
        same without the excluded raters; agreement; the raters; the ceiling that the gold answers
        reach where they were rated as a system, and where these are fewer questions, the systems'
        scores on the same ones.

    Raises:
        DataError: there is no rating of a system, someone rated an item twice, or
            an item is two answers.
    """
    listed = list(ratings)
    real = [rating for rating in listed if not rating.expected]
    if not real:
        raise DataError("there is no rating of a system's answer", remedy=_RATE)
    check_ratings(real)
    verdicts, mixture = _judge(listed, settings)
    excluded = sorted(
        name for name, verdict in verdicts.items() if verdict.probability > settings.cut_off
    )
    kept = [rating for rating in real if rating.rater not in excluded]
    systems = list(dict.fromkeys(rating.system for rating in real))
    with_ceiling = {rating.question_id for rating in real if rating.system == GOLD_SYSTEM}
    shared = [rating for rating in real if rating.question_id in with_ceiling]
    if len(shared) == len(real):
        shared = []
    return {
        "metric": "arc_da_human",
        "signature": _signature(real, settings),
        "systems": {name: _score(name, real, settings) for name in systems},
        "without_excluded": {
            name: _score(name, kept, settings)
            for name in systems
            if any(rating.system == name for rating in kept)
        },
        "on_ceiling_questions": {
            name: _score(name, shared, settings)
            for name in systems
            if name != GOLD_SYSTEM and any(rating.system == name for rating in shared)
        },
        "ceiling": GOLD_SYSTEM if GOLD_SYSTEM in systems else None,
        "alpha": {
            level: krippendorff_alpha(
                ((f"{r.system}\t{r.question_id}", r.rater, r.rating) for r in real), level=level
            )
            for level in ("nominal", "ordinal", "interval")
        },
        "raters": _describe(verdicts, mixture, excluded, len({r.rater for r in real})),
        "settings": settings._asdict(),
    }


def score_experts(ratings: Iterable[Rating], settings: HumanSettings) -> dict[str, Any]:
    """Score systems from experts' partial credit: the EXPERT column.

    The interval is over items alone; with two experts or more, items on which they differ
    by half a point or more are listed.

    Raises:
        DataError: there is no rating, or an expert rated an item twice.
    """
    listed = [rating for rating in ratings if not rating.expected]
    if not listed:
        raise DataError("there is no rating of a system's answer", remedy=_RATE)
    check_ratings(listed)
    settings = settings._replace(over="items")
    items: dict[str, dict[str, float]] = {}
    for rating in listed:
        items.setdefault(f"{rating.system}: {rating.question_id}", {})[rating.rater] = rating.rating
    systems = list(dict.fromkeys(rating.system for rating in listed))
    return {
        "metric": "arc_da_expert",
        "signature": _signature(listed, settings),
        "systems": {name: _score(name, listed, settings) for name in systems},
        "alpha_interval": krippendorff_alpha(
            ((f"{r.system}\t{r.question_id}", r.rater, r.rating) for r in listed), level="interval"
        ),
        "disagreements": disagreements(items),
        "settings": settings._asdict(),
    }


def render_scores(report: Mapping[str, Any]) -> str:
    """Return human scores as text, the interval as the leaderboard does: +up -down."""
    excluded = report.get("raters", {}).get("excluded")
    rows = [["system", "score", "interval", "items", "ratings", "raters"]]
    parts = {"": "systems", **({" *": "without_excluded"} if excluded else {})}
    for mark, part in (parts | {" =": "on_ceiling_questions"}).items():
        for name, found in report.get(part, {}).items():
            up = found["human_mean_ci_upper"] - found["human_mean"]
            down = found["human_mean"] - found["human_mean_ci_lower"]
            title = name + (" (ceiling)" if name == report.get("ceiling") else "")
            counts = [str(found[count]) for count in ("items", "ratings", "raters")]
            mean = f"{found['human_mean']:.1f}"
            rows.append([title[:24] + mark, mean, f"+{up:.1f} -{down:.1f}", *counts])
    lines = [render_table(rows), *(["* without the excluded raters"] if excluded else [])]
    if report.get("on_ceiling_questions"):
        items = report["systems"][report["ceiling"]]["items"]
        lines.append(f"= on the {items} questions that the ceiling has")
    overs = ", ".join(sorted({found["interval_over"] for found in report["systems"].values()}))
    confidence = f"{100 * report['settings']['confidence']:g}%"
    lines.append(f"{confidence} intervals over: {overs}; {report['signature']}")
    return "\n".join(lines) + "\n"


def bootstrap_ratings(
    items: NDArray[np.int64],
    raters: NDArray[np.int64],
    values: NDArray[np.float64],
    settings: HumanSettings,
) -> tuple[float, float]:
    """Draw the interval of a system's mean over items, resampling items, raters or both.

    A rater drawn twice counts twice: an item's weight is the drawn share of its ratings.

    Args:
        items: of each rating, its item's number from 0.
        raters: of each rating, its rater's number from 0.
        values: the ratings.
        settings: over what, how often, the seed.

    Returns:
        Lower and upper end, on the ratings' scale.
    """
    item_count, rater_count = int(items.max()) + 1, int(raters.max()) + 1
    ratings_of = np.bincount(items, minlength=item_count)
    generator = np.random.default_rng(settings.seed)
    means = np.empty(settings.resamples)
    for draw in range(settings.resamples):
        weights = np.ones(len(values))
        if settings.over != "items":
            drawn = generator.integers(rater_count, size=rater_count)
            weights = np.bincount(drawn, minlength=rater_count)[raters].astype(np.float64)
        rated = np.bincount(items, weights=weights, minlength=item_count)
        sums = np.bincount(items, weights=weights * values, minlength=item_count)
        times = rated / ratings_of
        if settings.over != "raters":
            drawn = generator.integers(item_count, size=item_count)
            times *= np.bincount(drawn, minlength=item_count)
        scores = np.divide(sums, rated, out=np.zeros(item_count), where=rated > 0)
        total = times.sum()
        means[draw] = (times * scores).sum() / total if total else np.nan
    tail = (1 - settings.confidence) / 2
    low, high = np.quantile(means[~np.isnan(means)], [tail, 1 - tail])
    return float(low), float(high)


def _score(name: str, ratings: Sequence[Rating], settings: HumanSettings) -> dict[str, Any]:
    own = sorted(rating for rating in ratings if rating.system == name)
    questions = {q: i for i, q in enumerate(dict.fromkeys(r.question_id for r in own))}
    people = {who: i for i, who in enumerate(dict.fromkeys(r.rater for r in own))}
    items = np.array([questions[rating.question_id] for rating in own], dtype=np.int64)
    raters = np.array([people[rating.rater] for rating in own], dtype=np.int64)
    values = np.array([rating.rating for rating in own], dtype=np.float64)
    mean = float((np.bincount(items, weights=values) / np.bincount(items)).mean())
    over = "items" if len(people) < 2 else settings.over
    low, high = bootstrap_ratings(items, raters, values, settings._replace(over=over))
    return {
        "human_mean": 100 * mean,
        "human_mean_ci_lower": 100 * low,
        "human_mean_ci_upper": 100 * high,
        "interval_over": over,
        "items": len(questions),
        "ratings": len(own),
        "raters": len(people),
    }


def _judge(
    ratings: Sequence[Rating], settings: HumanSettings
) -> tuple[dict[str, RaterVerdict], Mixture | None]:
    """Count right and wrong ratings of test items, and judge the raters by them."""
    counts: dict[str, tuple[int, int]] = {}
    for rating in ratings:
        if rating.expected:
            right, wrong = counts.get(rating.rater, (0, 0))
            is_good, is_bad = rating.rating >= 0.75, rating.rating <= 0.25
            is_right = is_good if rating.expected == "good" else is_bad
            counts[rating.rater] = (right + is_right, wrong + (not is_right))
    if not counts:
        return {}, None
    return judge_raters(
        counts,
        detector=settings.detector,
        least=settings.least,
        components=settings.components,
        seed=settings.seed,
    )


def _describe(
    verdicts: Mapping[str, RaterVerdict],
    mixture: Mixture | None,
    excluded: Sequence[str],
    all_raters: int,
) -> dict[str, Any]:
    prior = "no test items"
    if mixture is not None:
        prior = "fitted" if mixture.fitted else "fixed prior: too little data for a fit"
    return {
        "count": all_raters,
        "tested": len(verdicts),
        "prior": prior,
        "mixture": None if mixture is None else mixture._asdict(),
        "excluded": list(excluded),
        "verdicts": {name: verdict._asdict() for name, verdict in verdicts.items()},
    }


def _signature(ratings: Sequence[Rating], settings: HumanSettings) -> str:
    items = {(rating.system, rating.question_id) for rating in ratings}
    return make_signature(
        "arc_da_human",
        "rubric:table2",
        "item:mean",
        f"over:{settings.over}",
        f"resamples:{settings.resamples}",
        f"seed:{settings.seed}",
        f"items:{len(items)}",
        f"ratings:{len(ratings)}",
    )
