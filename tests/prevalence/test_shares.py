"""Shares from noisy sums: intervals that hold, shrinkage that helps, differences and trends that are not invented."""

import numpy as np
import pytest

from discreet.release.prevalence.changes import compare, differences, trend
from discreet.release.prevalence.shares import Sums, group_sizes, projected, raw

N_GROUPS, N_TOPICS, WEIGHT = 20, 20, 0.5


def truth(seed=0):
    rng = np.random.default_rng(seed)
    overall = rng.dirichlet(np.full(N_TOPICS, 2.0))
    shares = rng.gamma(1.2, 1.0, (N_GROUPS, N_TOPICS)) * overall
    return shares / shares.sum(1, keepdims=True), rng.integers(570, 970, N_GROUPS)


def released(shares, sizes, mu, rng):
    noise = np.sqrt(1 + WEIGHT**2) / mu
    totals = shares * sizes[:, None] + rng.normal(0, noise, shares.shape)
    return Sums(totals, WEIGHT * sizes + rng.normal(0, noise, len(sizes)), noise, WEIGHT)


@pytest.mark.parametrize("mu", [0.028, 0.065, 0.124, 0.237])  # epsilon .1, .25, .5, 1
def test_projection_helps(mu):
    shares, sizes = truth()
    rng = np.random.default_rng(1)
    error = {kind: [] for kind in (raw, projected)}
    for _ in range(50):
        sums = released(shares, sizes, mu, rng)
        for kind, errors in error.items():
            errors.append(np.abs(kind(sums).share - shares).mean())
    assert np.mean(error[projected]) <= np.mean(error[raw])


def test_sizes_use_both_of_what_was_released():
    shares, sizes = truth()
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(400):
        sums = released(shares, sizes, 0.1, rng)
        found, stated = group_sizes(sums)
        errors.append(found - sizes)
    assert np.std(errors) == pytest.approx(stated, rel=0.03)
    assert stated < sums.noise / WEIGHT  # better than the count alone
    assert stated < sums.noise * np.sqrt(N_TOPICS)  # and than the rows alone


def test_a_group_that_may_be_empty_says_nothing():
    sums = Sums(np.array([[3.0, -2.0], [500.0, 500.0]]), np.array([-4.0, 500.0]), 10.0, WEIGHT)
    found = raw(sums)
    assert found.low[0].tolist() == [0, 0]
    assert found.high[0].tolist() == [1, 1]
    assert np.isinf(found.standard_error[0]).all()
    assert np.allclose(projected(sums).share.sum(1), 1)


def test_without_noise_all_kinds_are_the_exact_shares():
    shares, sizes = truth()
    sums = Sums(shares * sizes[:, None], WEIGHT * sizes, 0.0, WEIGHT)
    for kind in (raw, projected):
        found = kind(sums)
        assert np.allclose(found.share, shares, atol=1e-12)
        assert np.allclose(found.standard_error, 0)
        assert np.allclose(found.low, shares)


@pytest.mark.integration
def test_no_difference_is_called_certain_where_there_is_none_and_a_real_one_is():
    shares, _ = truth()
    sizes = np.full(N_GROUPS, 800)
    rng = np.random.default_rng(4)
    alarms, seen, held = 0, 0, []
    other = shares[0].copy()
    other[:2] += [0.15, -min(0.15, other[1])]
    other = np.maximum(other, 0) / np.maximum(other, 0).sum()
    for _ in range(300):
        drawn = np.array([rng.multinomial(n, shares[0]) for n in sizes]) / sizes[:, None]
        sums = released(drawn, sizes, 0.124, rng)
        found = compare(sums, 0, 1)
        alarms += found.certain.any()
        held.append(((found.low <= 0) & (found.high >= 0)).mean())
        drawn[0] = rng.multinomial(800, other) / 800
        seen += compare(released(drawn, sizes, 0.124, rng), 0, 1).certain[0]
    assert alarms <= 0.05 * 300 + 3 * np.sqrt(0.05 * 0.95 * 300)
    assert np.mean(held) >= 0.94
    assert seen > 290


def test_holm_is_taken_over_all_topics():
    sums = Sums(np.array([[500.0, 300, 200], [400.0, 350, 250]]), np.array([500.0, 500.0]), 15.0, WEIGHT)
    found = compare(sums, 0, 1)
    first, second = (sums._replace(topics=sums.topics[[row]], counts=sums.counts[[row]]) for row in (0, 1))
    alone = []
    for topic in range(3):  # the level at which an interval by itself ends at 0
        low, high = 0.0, 1.0
        for _ in range(40):
            level = (low + high) / 2
            at = differences(first, second, level)
            low, high = (level, high) if at.low[0, topic] > 0 or at.high[0, topic] < 0 else (low, level)
        alone.append(1 - high)
    order = np.argsort(alone)
    expected, worst = np.empty(3), 0.0
    for rank, topic in enumerate(order):
        worst = max(worst, min(1.0, alone[topic] * (3 - rank)))
        expected[topic] = worst
    assert np.allclose(found.p_value, expected, rtol=1e-5)
    assert 0 < found.p_value.min() < 0.05 < found.p_value.max()


@pytest.mark.parametrize("pace", [0.0, 0.15])
def test_the_line_of_a_trend_is_nearer_than_single_periods(pace):
    rng = np.random.default_rng(5)
    error, plain = [], []
    for _ in range(60):
        walk = np.exp(np.cumsum(rng.normal(0, pace, (30, 8)), 0) + rng.normal(0, 0.7, 8))
        shares = walk / walk.sum(1, keepdims=True)
        sizes = rng.integers(400, 900, 30)
        drawn = np.array([rng.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)]) / sizes[:, None]
        sums = released(drawn, sizes, 0.124, rng)
        error.append(np.abs(trend(sums).level - shares).mean())
        plain.append(np.abs(projected(sums).share - shares).mean())
    assert np.mean(error) < 0.8 * np.mean(plain)
