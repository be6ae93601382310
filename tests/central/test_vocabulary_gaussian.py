"""Weighted Gaussian choice, once and in rounds: weights, sensitivity, thresholds, shares."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.marks import quick
from tests.naive.vocabulary import even, gaussian_leak

from discreet.central.vocabulary.methods import GaussianChoice, even_weights, gaussian_threshold, on_lattice
from discreet.central.vocabulary.units import UnitWords, sum_even_weights
from discreet.privacy.mechanism import noise_of_share

corpora = st.lists(st.lists(st.integers(0, 11), unique=True, max_size=7), max_size=20)


def packed(units, n_words=12):
    indptr = np.r_[0, np.cumsum([len(unit) for unit in units])].astype(np.int64)
    return UnitWords(indptr, np.array([word for unit in units for word in unit], np.int64), n_words)


def squared(difference):
    return sum(int(x) ** 2 for x in difference)  # in Python's integers: exact


# ---- weighted Gaussian


@settings(max_examples=100, deadline=None)
@given(corpora, st.data(), st.sampled_from([1, 4, 14]))
def test_even_weights_are_the_twin_and_neighbours_move_them_by_the_bound(units, data, bits):
    weights = sum_even_weights(packed(units), even_weights(7, bits))
    twin = even(units, bits) if bits < 14 else None
    if twin is not None:
        assert weights.tolist() == [twin.get(word, 0) for word in range(12)]
    if units:
        gone = data.draw(st.integers(0, len(units) - 1))
        without = sum_even_weights(packed(units[:gone] + units[gone + 1 :]), even_weights(7, bits))
        assert squared(weights - without) <= 4**bits


def test_every_size_of_unit_keeps_the_norm_and_wastes_little():
    weights = even_weights(5000, 14)
    sizes = range(1, 5001)
    assert all(k * int(weights[k]) ** 2 <= 4**14 < k * (int(weights[k]) + 1) ** 2 for k in sizes)
    rounded_up = [round(2**14 / math.sqrt(k)) for k in sizes]  # the plausible mistake
    assert any(k * c**2 > 4**14 for k, c in zip(sizes, rounded_up, strict=True))


def test_a_missing_cap_is_caught():
    """Thresholds hold for units of at most the cap: a longer one, uncut, leaks more than was booked."""
    config = GaussianChoice(1.0, 1e-5, 3)
    ((sigma, threshold),) = config.rounds
    least = on_lattice(threshold, 14)
    weights = even_weights(3000, 14)
    assert gaussian_leak([int(weights[3])] * 3, least, sigma, 14) <= 0.5e-5
    assert gaussian_leak([int(weights[3000])] * 3000, least, sigma, 14) > 0.5e-5
    whole = packed([list(range(3000))], 3000)
    capped = packed([list(range(3))], 3000)
    assert squared(sum_even_weights(whole, weights)) <= 4**14  # the norm alone would not show it
    assert (sum_even_weights(capped, weights) > 0).sum() == 3


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("delta", quick([1e-5, 1e-9], 1e-9))
def test_a_unit_of_private_words_leaks_with_at_most_half_of_delta(epsilon, delta):
    cap = 100
    config = GaussianChoice(epsilon, delta, cap)
    bits, ((sigma, threshold),) = config.bound.bits, config.rounds
    least = on_lattice(threshold, bits)
    leaks = []
    for t in range(1, cap + 1):
        unit = even_weights(t, bits)[t].repeat(t)
        leaks.append(gaussian_leak([int(weight) for weight in unit], least, sigma, bits))
    assert max(leaks) <= delta / 2
    assert max(leaks) > 0.9 * delta / 2
    one_word = gaussian_threshold(sigma, delta / 2, 1)
    if one_word < threshold * (1 - 1e-6):  # a threshold for one private word alone is caught
        careless = on_lattice(one_word, bits)
        unit = [int(x) for x in even_weights(cap, bits)[cap].repeat(cap)]
        assert gaussian_leak(unit, careless, sigma, bits) > delta / 2


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_words_of_one_person_are_listed_as_rarely_as_told(epsilon, size):
    """Units of one person that share their words, or some, or none: all below the bound, and the worst near it."""
    cap = 20
    config = GaussianChoice(epsilon, 1e-7, cap)
    bits, ((sigma, threshold),) = config.bound.bits, config.rounds
    least = on_lattice(threshold, bits)
    rng = np.random.default_rng(size)
    groups = [[range(k)] * size for k in (1, 2, 5, cap)]  # a name in each note
    groups += [
        [range(k * unit, k * unit + k) for unit in range(size)] for k in (1, 2, 5, cap)
    ]  # nothing shared
    groups += [[range(k * (unit // 2), k * (unit // 2) + k) for unit in range(size)] for k in (1, 5, cap)]
    for _ in range(50):
        groups.append([rng.permutation(2 * cap)[: rng.integers(1, cap + 1)] for _ in range(size)])
    leaks = []
    for group in groups:
        n_words = 1 + max(map(max, group))
        sums = sum_even_weights(packed([sorted(unit) for unit in group], n_words), even_weights(cap, bits))
        leaks.append(gaussian_leak([int(weight) for weight in sums if weight], least, sigma, bits))
    told = config.group_failure(size)
    assert max(leaks) <= told
    assert told < 1.3 * max(leaks)
    assert told >= size * config.group_failure(1) * 0.999  # an epsilon "at the same delta" forgot this


def test_without_noise_a_person_is_listed():
    assert GaussianChoice(math.inf, 1e-7, 20).group_failure(2) == 1


# ---- rounds


def test_rounds_cost_together_what_one_release_costs():
    for epsilon in (0.1, 1.0, 7.0):
        config = GaussianChoice(epsilon, 1e-6, 100, n_rounds=3)
        assert sum(config.shares) == 1
        noises = [noise for noise, _ in config.rounds]
        assert noises[0] == noise_of_share(config.noise_multiplier, config.shares[0])
        spent = sum(1 / Fraction(noise) ** 2 for noise in noises)
        allowed = 1 / Fraction(config.noise_multiplier) ** 2
        assert spent <= allowed
        assert float(spent / allowed) > 1 - 1e-12
        assert noises == sorted(noises, reverse=True)
        # Giving every round the whole noise multiplier is the plausible mistake.
        assert len(noises) / Fraction(config.noise_multiplier) ** 2 > allowed


def test_rounds_share_the_thresholds_delta():
    config = GaussianChoice(1.0, 1e-5, 100, n_rounds=3)
    total = 0.0
    for sigma, threshold in config.rounds:
        least = on_lattice(threshold, 14)
        total += max(
            gaussian_leak([int(even_weights(t, 14)[t])] * t, least, sigma, 14) for t in range(1, 101)
        )
    assert 0.9 * 0.5e-5 < total <= 0.5e-5
