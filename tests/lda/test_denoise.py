"""The denoiser: equal to the direct formula, and better than what it reads."""

import numpy as np
import pytest
from tests.naive import central as naive

from discreet.lda.denoise import LIFTS, posterior_mean, read_rates


def sample(n, seed, deviation=0.7):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 2.0, n)
    lift = np.where(rng.random(n) < 0.7, 0.0, rng.lognormal(1, 1, n))
    noise = np.full(n, deviation) * rng.uniform(0.5, 1.5, n)
    return base * lift, base * lift + noise * rng.standard_normal(n), base, noise


@pytest.mark.parametrize("lifts", [LIFTS, LIFTS[1:]])
def test_equal_to_the_direct_formula(lifts):
    _, noisy, base, noise = sample(60, 0)
    fast = posterior_mean(noisy, base, noise, lifts)
    slow = naive.posterior_mean(noisy, base, noise, lifts)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-5)


def columns(n, seed):
    """Columns whose lifts follow different laws: nearly none above 1, and many far above it."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 2.0, (n, 2))
    lift = np.c_[rng.lognormal(0, 0.1, n), np.where(rng.random(n) < 0.7, 0.0, rng.lognormal(1, 1, n))]
    noise = rng.uniform(0.35, 1.0, (n, 2))
    return base * lift, base * lift + noise * rng.standard_normal((n, 2)), base, noise


def test_columns_are_read_as_the_direct_formula_reads_them():
    _, noisy, base, noise = columns(50, 0)
    noisy = np.c_[noisy, 5 * noisy[:, 0]]
    base, noise = base[:, [0, 1, 1]], noise[:, [0, 1, 1]]
    fast = posterior_mean(noisy, base, noise, by_column=True)
    slow = naive.posterior_mean_by_column(noisy, base, noise, LIFTS)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-5)
    assert np.abs(fast - posterior_mean(noisy, base, noise)).max() > 0.1


def test_laws_of_their_own_bring_columns_closer_to_the_truth_that_differ():
    ratios = []
    for seed in range(5):
        truth, noisy, base, noise = columns(4000, seed)
        own, common = (posterior_mean(noisy, base, noise, by_column=by) for by in (True, False))
        ratios.append(((own - truth) ** 2).mean(0) / ((common - truth) ** 2).mean(0))
    low, high = np.mean(ratios, axis=0)
    assert 0.05 < low < 0.7
    assert 0.5 < high < 0.98
    # Where columns are alike nothing is lost.
    truth, noisy, base, noise = (part.reshape(-1, 2) for part in sample(8000, 3))
    own, common = (posterior_mean(noisy, base, noise, by_column=by) for by in (True, False))
    assert 0.95 < ((own - truth) ** 2).mean() / ((common - truth) ** 2).mean() < 1.01


def test_a_column_without_a_base_is_zero():
    base = np.c_[np.ones(6), np.zeros(6)]
    read = posterior_mean(np.full((6, 2), 3.0), base, np.ones((6, 2)), by_column=True)
    assert (read[:, 1] == 0).all()
    assert (read[:, 0] > 0).all()


def test_shapes_broadcast_and_large_inputs_are_cut_in_parts():
    _, noisy, base, noise = sample(45_000, 1)
    flat = posterior_mean(noisy, base, noise)
    assert flat.shape == (45_000,)
    square = posterior_mean(noisy.reshape(300, 150), base.reshape(300, 150), noise.reshape(300, 150))
    np.testing.assert_array_equal(square.ravel(), flat)
    row = posterior_mean(noisy[:150].reshape(10, 15), np.ones(15), np.full((10, 1), 0.5))
    assert row.shape == (10, 15)


def test_closer_to_the_truth_than_noise_clipped_at_zero():
    truth, noisy, base, noise = sample(5000, 2)
    read = posterior_mean(noisy, base, noise)
    assert ((read - truth) ** 2).mean() < 0.75 * ((np.maximum(noisy, 0) - truth) ** 2).mean()
    assert (read >= 0).all()


def test_little_noise_changes_little():
    truth, _, base, _ = sample(1000, 3)
    read = posterior_mean(truth, base, np.full(1000, 1e-6))
    np.testing.assert_allclose(read, truth, rtol=1e-3, atol=1e-4)


def test_cells_without_a_base_are_zero():
    noisy = np.array([5.0, 5.0, -3.0])
    assert posterior_mean(noisy, np.array([0.0, 1.0, 0.0]), np.ones(3))[[0, 2]].tolist() == [0, 0]
    assert posterior_mean(noisy, np.zeros(3), np.ones(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [1e12, -1e12, 0.0])
def test_extreme_values_stay_finite(value):
    read = posterior_mean(np.array([value, 1.0]), np.array([1e-9, 1e9]), np.array([1e-12, 1e12]))
    assert np.isfinite(read).all()
    assert (read >= 0).all()


def test_rates_are_positive_and_closer_than_what_is_observed():
    rng = np.random.default_rng(0)
    truth = rng.choice([0.003, 0.02, 0.2], size=1000, p=[0.7, 0.2, 0.1])
    deviation = np.full(1000, 0.02)
    noisy = truth + rng.normal(0, 0.02, 1000)
    read = read_rates(noisy, deviation)
    assert (read > 0).all()
    assert ((read - truth) ** 2).mean() < 0.4 * ((np.maximum(noisy, 0) - truth) ** 2).mean()
    assert read_rates(np.full(5, -1.0), np.full(5, 1e-9)).min() > 0  # far below any rate
    np.testing.assert_array_equal(read_rates(truth, np.zeros(1000)), truth)
