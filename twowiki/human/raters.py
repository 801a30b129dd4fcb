"""Judge raters by embedded test items: how likely is it that one is not good enough?

In: for each rater, how many test items were rated right and wrong. Out: for each, a posterior
probability. Each rater has a hidden accuracy, drawn from a Beta distribution or a mixture of them,
which is fitted to all raters' counts by expectation maximization with Minka's fixed point inside.
Seeded; where there is too little data for a fit, a fixed prior is used, and the result says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twowiki.errors import import_extra

PRIOR = (4.0, 1.0)  # used without a fit: accuracies around 0.8, worth five test items
FEWEST_RATERS = 5
STARTS = 10
ROUNDS = 200
_TOLERANCE = 1e-5  # of the log likelihood between two rounds
_LARGEST = 1e4  # a Beta narrower than this many items is no fit, but a sign of too little data
_SMALLEST = 1e-3
DETECTORS = ("threshold", "component")


class Mixture(NamedTuple):
    """A mixture of Beta distributions; `fitted` is False for the fixed prior."""

    weights: tuple[float, ...]
    shapes: tuple[tuple[float, float], ...]
    fitted: bool


class RaterVerdict(NamedTuple):
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
) -> tuple[dict[str, RaterVerdict], Mixture]:
    """Return each rater's probability of not being good enough.

    Args:
        counts: (right, wrong) on test items, by rater.
        detector: `threshold`: the accuracy is at most `least`; `component`: the rater does not
            belong to the best component (needs at least two).
        least: accuracy that is not enough yet.
        components: of the mixture.
        seed: of the random starts.

    Raises:
        ValueError: for an unknown detector, or `component` with one component.
        DataError: scipy is not installed.
    """
    if detector not in DETECTORS:
        raise ValueError(f"unknown detector {detector!r}; available: {', '.join(DETECTORS)}")
    if detector == "component" and components < 2:
        raise ValueError("the detector 'component' needs at least two components")
    special = import_extra("scipy.special", "metric")
    names = sorted(counts)
    pairs = np.array([counts[name] for name in names], dtype=np.float64).reshape(-1, 2)
    mixture = fit_mixture(pairs, components=components, seed=seed)
    best = max(range(len(mixture.shapes)), key=lambda index: _mean(mixture.shapes[index]))
    verdicts = {}
    for name, (right, wrong) in zip(names, pairs, strict=True):
        share = special.softmax(_log_joint(np.array([[right, wrong]]), mixture), axis=1)[0]
        if detector == "component":
            probability = 1.0 - float(share[best]) if len(mixture.shapes) > 1 else 0.0
        else:
            probability = sum(
                float(weight) * float(special.betainc(a + right, b + wrong, least))
                for weight, (a, b) in zip(share, mixture.shapes, strict=True)
            )
        verdicts[name] = RaterVerdict(int(right), int(wrong), float(probability))
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
        found, likelihood = _maximize(pairs, weights, shapes)
        if found is not None and likelihood > highest + 1e-9:
            best, highest = found, likelihood
    return best


def _maximize(
    pairs: NDArray[np.float64], weights: NDArray[np.float64], shapes: NDArray[np.float64]
) -> tuple[Mixture | None, float]:
    special = import_extra("scipy.special", "metric")
    likelihood = -inf
    mixture = _mixture(weights, shapes)
    for _ in range(ROUNDS):
        joint = _log_joint(pairs, mixture)
        total = float(special.logsumexp(joint, axis=1).sum())
        share = special.softmax(joint, axis=1)
        weights = share.mean(axis=0)
        shapes = np.array(
            [
                _fixed_point(pairs, share[:, index], np.array(shape))
                for index, shape in enumerate(mixture.shapes)
            ]
        )
        mixture = _mixture(weights, shapes)
        if not np.isfinite(shapes).all() or shapes.sum(axis=1).max() > _LARGEST:
            return None, -inf
        if abs(total - likelihood) < _TOLERANCE:
            break
        likelihood = total
    return mixture, likelihood


def _fixed_point(
    pairs: NDArray[np.float64], share: NDArray[np.float64], shape: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Take one step of Minka's fixed point for a Beta-binomial, raters weighted by `share`."""
    digamma = import_extra("scipy.special", "metric").digamma
    total = shape.sum()
    below = float(share @ (digamma(total + pairs.sum(axis=1)) - digamma(total)))
    if below <= 0.0:
        return shape
    above = share @ (digamma(shape + pairs) - digamma(shape))
    moved: NDArray[np.float64] = np.maximum(shape * above / below, _SMALLEST)
    return moved


def _log_joint(pairs: NDArray[np.float64], mixture: Mixture) -> NDArray[np.float64]:
    """Return log(weight * likelihood) up to a constant, shape (raters, components)."""
    betaln = import_extra("scipy.special", "metric").betaln
    columns = [
        log(max(weight, 1e-300)) + betaln(a + pairs[:, 0], b + pairs[:, 1]) - betaln(a, b)
        for weight, (a, b) in zip(mixture.weights, mixture.shapes, strict=True)
    ]
    return np.stack(columns, axis=1)


def _mixture(weights: NDArray[np.float64], shapes: NDArray[np.float64]) -> Mixture:
    pairs = tuple((float(a), float(b)) for a, b in shapes)
    return Mixture(tuple(map(float, weights)), pairs, True)


def _mean(shape: tuple[float, float]) -> float:
    return shape[0] / (shape[0] + shape[1])
