"""Bootstrap intervals and the paired test, against slow, plain versions and known answers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twowiki.metric.significance import bootstrap_intervals, paired_randomization


def rows(n: int, k: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((n, k))


def test_interval_shape_and_order():
    ends = bootstrap_intervals(rows(50, 3, 1), seed=4)
    assert ends.shape == (3, 2)
    assert (ends[:, 0] < ends[:, 1]).all()
    means = rows(50, 3, 1).mean(axis=0)
    assert ((ends[:, 0] < means) & (means < ends[:, 1])).all()


def test_interval_agrees_with_a_plain_bootstrap():
    values = rows(40, 1, 2)[:, 0]
    chance = random.Random(0)
    means = sorted(
        sum(chance.choice(values) for _ in range(len(values))) / len(values) for _ in range(4000)
    )
    ends = bootstrap_intervals(values, confidence=0.9, resamples=4000, seed=9)[0]
    assert ends[0] == pytest.approx(means[200], abs=0.01)
    assert ends[1] == pytest.approx(means[3800], abs=0.01)


def test_interval_of_a_normal_mean_has_the_textbook_width():
    values = np.random.default_rng(3).normal(10.0, 2.0, size=2000)
    low, high = bootstrap_intervals(values, resamples=2000, seed=1)[0]
    assert (high - low) == pytest.approx(2 * 1.96 * values.std() / 2000**0.5, rel=0.08)


def test_same_seed_same_interval_other_seed_another():
    values = rows(30, 2, 5)
    once = bootstrap_intervals(values, seed=7)
    assert np.array_equal(once, bootstrap_intervals(values, seed=7))
    assert not np.array_equal(once, bootstrap_intervals(values, seed=8))


def test_rows_are_drawn_together():
    values = rows(30, 1, 6)
    ends = bootstrap_intervals(np.hstack([values, 1.0 - values]), seed=2)
    assert ends[1] == pytest.approx(1.0 - ends[0][::-1])


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 100), st.integers(1, 20))
def test_constant_rows_have_no_width(value: float, n: int):
    ends = bootstrap_intervals([value] * n, resamples=20)
    assert ends[0] == pytest.approx([value, value])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch):
    values = rows(20, 2, 7)
    whole = bootstrap_intervals(values, resamples=50), paired_randomization(values, values[::-1])
    monkeypatch.setattr("twowiki.metric.significance.CELLS_AT_ONCE", 60)
    cut = bootstrap_intervals(values, resamples=50), paired_randomization(values, values[::-1])
    assert np.allclose(whole[0], cut[0])
    assert np.allclose(whole[1], cut[1], atol=0.03)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, -1, float("nan")])
def test_a_confidence_outside_0_1_is_refused(confidence: float):
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_intervals([1.0], confidence=confidence)


def test_no_rows_no_rounds_other_shapes_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        bootstrap_intervals(np.empty((0, 2)))
    with pytest.raises(ValueError, match="resamples"):
        bootstrap_intervals([1.0], resamples=0)
    with pytest.raises(ValueError, match="rounds"):
        paired_randomization([1.0], [2.0], rounds=0)
    with pytest.raises(ValueError, match="shape"):
        paired_randomization([1.0], [2.0, 3.0])
    with pytest.raises(ValueError, match="shape"):
        bootstrap_intervals(np.zeros((1, 1, 1)))


def exact_p(a: np.ndarray, b: np.ndarray) -> float:
    """Go through all 2**n swaps."""
    difference = a - b
    n = len(difference)
    sums = [
        abs(sum(d if (mask >> i) & 1 else -d for i, d in enumerate(difference)))
        for mask in range(2**n)
    ]
    return sum(s >= abs(difference.sum()) - 1e-12 for s in sums) / 2**n


@pytest.mark.parametrize("seed", range(4))
def test_paired_test_agrees_with_all_swaps(seed: int):
    a, b = rows(10, 1, seed)[:, 0], rows(10, 1, seed + 50)[:, 0] + 0.1
    p = paired_randomization(a, b, rounds=20_000, seed=seed)[0]
    assert p == pytest.approx(exact_p(a, b), abs=0.015)


def test_equal_systems_have_p_1_and_clear_ones_the_least():
    a = rows(60, 2, 1)
    assert paired_randomization(a, a).tolist() == [1.0, 1.0]
    assert paired_randomization(a, a + 1.0, rounds=999)[0] == pytest.approx(0.001)


def test_paired_test_is_symmetric_and_repeats():
    a, b = rows(40, 3, 1), rows(40, 3, 2)
    once = paired_randomization(a, b, seed=3)
    assert np.array_equal(once, paired_randomization(b, a, seed=3))
    assert np.array_equal(once, paired_randomization(a, b, seed=3))


def test_p_values_are_uniform_without_a_difference():
    found = [
        paired_randomization(rows(30, 1, s), rows(30, 1, s + 1000), rounds=200, seed=s)[0]
        for s in range(200)
    ]
    assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.10
    assert 0.4 < np.mean(found) < 0.6
