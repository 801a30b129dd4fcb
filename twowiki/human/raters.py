"""Judge raters by embedded test items: how likely is it that one is not good enough?

In: for each rater, how many test items were rated rightly and wrongly. Out: for each, a posterior
probability. Each rater has a hidden accuracy, drawn from a Beta distribution or a mixture of them,
which is fitted to all raters' counts by expectation maximisation with Minka's fixed point inside.
Seeded; where there is too little data for a fit, a fixed prior is used, and the result says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, inf, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PRIOR = (4.0, 1.0)  # used without a fit: accuracies around 0.8, worth five test items
FEWEST_RATERS = 5
STARTS = 10
ROUNDS = 200
TOLERANCE = 1e-5  # of the log likelihood between two rounds
LARGEST = 1e4  # a Beta narrower than this many items is no fit, but a sign of too little data
SMALLEST = 1e-3
DETECTORS = ("threshold", "component")


class Mixture(NamedTuple):
    """A mixture of Beta distributions; `fitted` is False for the fixed prior."""

    weights: tuple[float, ...]
    shapes: tuple[tuple[float, float], ...]
    fitted: bool


class Verdict(NamedTuple):
    """A rater's counts and the probability of not being good enough."""

    right: int
    wrong: int
    probability: float


def judge_raters(
    counts: Mapping[str, tuple[int, int]],
    *,
    detector: str = "threshold",
    least: float = 0.9,
    components: int = 1,
    seed: int = 0,
) -> tuple[dict[str, Verdict], Mixture]:
    """Give each rater's probability of not being good enough.

    Args:
        counts: (right, wrong) on test items, by rater.
        detector: `threshold`: the accuracy is at most `least`; `component`: the rater does not
            belong to the best component (needs at least two).
        least: accuracy that is not enough yet.
        components: of the mixture.
        seed: of the random starts.

    Raises:
        ValueError: for an unknown detector, or `component` with one component.
    """
    if detector not in DETECTORS:
        raise ValueError(f"unknown detector {detector!r}; there are {DETECTORS}")
    if detector == "component" and components < 2:
        raise ValueError("the detector 'component' needs at least two components")
    names = sorted(counts)
    pairs = np.array([counts[name] for name in names], dtype=np.float64).reshape(-1, 2)
    mixture = fit_mixture(pairs, components=components, seed=seed)
    best = max(range(len(mixture.shapes)), key=lambda place: _mean(mixture.shapes[place]))
    verdicts = {}
    for name, (right, wrong) in zip(names, pairs, strict=True):
        share = _responsibilities(np.array([[right, wrong]]), mixture)[0]
        if detector == "component":
            probability = 1.0 - float(share[best]) if len(mixture.shapes) > 1 else 0.0
        else:
            probability = sum(
                float(weight) * beta_cdf(least, a + float(right), b + float(wrong))
                for weight, (a, b) in zip(share, mixture.shapes, strict=True)
            )
        verdicts[name] = Verdict(int(right), int(wrong), float(probability))
    return verdicts, mixture


def fit_mixture(pairs: NDArray[np.float64], *, components: int, seed: int) -> Mixture:
    """Fit a mixture of Betas to (right, wrong) counts; the best of several seeded starts.

    Returns:
        The fit, or the fixed prior: with fewer than five raters, where nobody or everybody errs,
        or where no start ends in a proper distribution.
    """
    pairs = pairs[pairs.sum(axis=1) > 0]
    fixed = Mixture((1.0,), (PRIOR,), False)
    if len(pairs) < FEWEST_RATERS or not pairs[:, 0].any() or not pairs[:, 1].any():
        return fixed
    generator = np.random.default_rng(seed)
    best, highest = fixed, -inf
    for _ in range(STARTS):
        weights = generator.dirichlet(np.full(components, 5.0))
        shapes = np.stack(
            [generator.uniform(0.5, 10.0, components), generator.uniform(0.5, 5.0, components)], 1
        )
        found, likelihood = _maximise(pairs, weights, shapes)
        if found is not None and likelihood > highest + 1e-9:
            best, highest = found, likelihood
    return best


def beta_cdf(x: float, a: float, b: float) -> float:
    """Give the probability that a Beta(a, b) variable is at most x (continued fraction)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1.0 - x))
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - front * _fraction(1.0 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _maximise(
    pairs: NDArray[np.float64], weights: NDArray[np.float64], shapes: NDArray[np.float64]
) -> tuple[Mixture | None, float]:
    likelihood = -inf
    mixture = _mixture(weights, shapes)
    for _ in range(ROUNDS):
        joint = _log_joint(pairs, mixture)
        highest = joint.max(axis=1, keepdims=True)
        total = float((np.log(np.exp(joint - highest).sum(axis=1)) + highest[:, 0]).sum())
        share = np.exp(joint - highest)
        share /= share.sum(axis=1, keepdims=True)
        weights = share.mean(axis=0)
        shapes = np.array(
            [
                _fixed_point(pairs, share[:, place], np.array(shape))
                for place, shape in enumerate(mixture.shapes)
            ]
        )
        mixture = _mixture(weights, shapes)
        if not np.isfinite(shapes).all() or shapes.sum(axis=1).max() > LARGEST:
            return None, -inf
        if abs(total - likelihood) < TOLERANCE:
            break
        likelihood = total
    return mixture, likelihood


def _fixed_point(
    pairs: NDArray[np.float64], share: NDArray[np.float64], shape: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Take one step of Minka's fixed point for a Beta-binomial, raters weighted by `share`."""
    sums = _harmonics(pairs.sum(axis=1), float(shape.sum()))
    below = float(share @ sums)
    if below <= 0.0:
        return shape
    above = [float(share @ _harmonics(pairs[:, side], float(shape[side]))) for side in (0, 1)]
    moved: NDArray[np.float64] = np.maximum(shape * np.array(above) / below, SMALLEST)
    return moved


def _harmonics(counts: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """Give digamma(start + n) - digamma(start) for whole n: the sum of 1 / (start + j), j < n."""
    most = int(counts.max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(1.0 / (start + np.arange(most)))])
    taken: NDArray[np.float64] = sums[counts.astype(int)]
    return taken


def _log_joint(pairs: NDArray[np.float64], mixture: Mixture) -> NDArray[np.float64]:
    """Log of weight times Beta-binomial likelihood, (raters, components), up to a constant."""
    columns = [
        log(max(weight, 1e-300))
        + _log_rising(pairs[:, 0], a)
        + _log_rising(pairs[:, 1], b)
        - _log_rising(pairs.sum(axis=1), a + b)
        for weight, (a, b) in zip(mixture.weights, mixture.shapes, strict=True)
    ]
    return np.stack(columns, axis=1)


def _log_rising(counts: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """Give log gamma(start + n) - log gamma(start) for whole n: a sum of logarithms."""
    most = int(counts.max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(np.log(start + np.arange(most)))])
    taken: NDArray[np.float64] = sums[counts.astype(int)]
    return taken


def _responsibilities(pairs: NDArray[np.float64], mixture: Mixture) -> NDArray[np.float64]:
    joint = _log_joint(pairs, mixture)
    share: NDArray[np.float64] = np.exp(joint - joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return share


def _mixture(weights: NDArray[np.float64], shapes: NDArray[np.float64]) -> Mixture:
    pairs = tuple((float(a), float(b)) for a, b in shapes)
    return Mixture(tuple(map(float, weights)), pairs, True)


def _mean(shape: tuple[float, float]) -> float:
    return shape[0] / (shape[0] + shape[1])


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function (Lentz's method)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for step in range(1, 1000):
        even = step * (b - step) * x / ((a + 2 * step - 1.0) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1.0))
        for part in (even, odd):
            d = 1.0 + part * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + part / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return result
