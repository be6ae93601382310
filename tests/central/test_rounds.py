"""The statistic of a round: equal to the naive twin, bounded, also with thetas that were carried."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import central as naive
from tests.naive.central_checks import (
    corpora,
    csr,
    moves_by_at_most_one,
    random_counts,
    units_fit_the_lattice,
)

from discreet.central.rounds.em_round import initial_theta, round_sum
from discreet.central.rounds.units import group_units
from discreet.privacy.shared_gaussian import BITS

K, PRIOR = 3, 0.1


def topics(n_words, seed):
    columns = np.random.default_rng(seed).dirichlet(np.full(n_words, 0.3), K).T + 1e-4
    return columns / columns.sum(0)


def weights(n_words):
    return np.linspace(0.3, 3.0, n_words)


def rounds(counts, owners=None, n_rounds=2, n_jobs=None):
    """Sums of several rounds, with other topics in each, as an array (n_rounds, V, K)."""
    units = group_units(counts, owners)
    theta = initial_theta(units, K, PRIOR)
    v = counts.shape[1]
    return np.stack(
        [
            round_sum(units, theta, topics(v, t), weights(v), PRIOR, (15, 5)[t > 0], n_jobs)
            for t in range(n_rounds)
        ]
    )


def last_round(counts, owners=None):
    return rounds(counts, owners)[-1]


def first_round(counts, owners=None):
    return rounds(counts, owners, 1)[0]


def naive_rounds(counts, owners, n_rounds=2):
    units = naive.by_unit(counts, owners)
    v = counts.shape[1]
    thetas = [[naive.start_theta(document, K, PRIOR) for document in unit] for unit in units]
    sums = []
    for t in range(n_rounds):
        total = np.zeros((v, K), np.int64)
        for u, unit in enumerate(units):
            vector, thetas[u] = naive.round_vector(
                unit, thetas[u], topics(v, t), weights(v), PRIOR, (15, 5)[t > 0]
            )
            total += naive.place(vector)
        sums.append(total)
    return np.stack(sums)


@pytest.mark.parametrize("owned", [False, True])
def test_equal_to_the_naive_twin(owned):
    counts = random_counts(60, 20, 0)
    owners = np.random.default_rng(1).integers(0, 20, 60) if owned else None
    fast, slow = rounds(counts, owners), naive_rounds(counts, owners)
    # Theta is kept in single precision.
    np.testing.assert_allclose(fast / 2**BITS, slow / 2**BITS, atol=2e-4)
    assert np.abs(slow).sum() > 20 * 2**BITS


def test_theta_is_the_documents_own_and_warm():
    counts = random_counts(30, 20, 2)
    units = group_units(counts, None)
    theta = initial_theta(units, K, PRIOR)
    for t, steps in enumerate((15, 5, 5)):
        expected = [
            naive.em_theta(document, old, topics(20, t), PRIOR, steps) if document else old
            for (document,), old in zip(naive.by_unit(counts), theta.copy(), strict=True)
        ]
        round_sum(units, theta, topics(20, t), weights(20), PRIOR, steps)
        np.testing.assert_allclose(theta, expected, rtol=2e-3)


def test_a_token_is_told_its_topic_by_the_others():
    """Two words, one topic each, one token apiece: left alone each confirms itself; told by the other, neither can."""
    counts, by_word = csr([[1, 1]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    units = group_units(counts, None)
    theta = initial_theta(units, 2, 0.01)
    theta[:] = [[1.5, 0.52]]
    statistic = round_sum(units, theta, by_word, np.ones(2), 0.01, 30) / 2**BITS
    naive_vector, (expected,) = naive.round_vector(
        [{0: 1, 1: 1}], [[1.5, 0.52]], by_word, np.ones(2), 0.01, 30
    )
    np.testing.assert_allclose(theta[0], expected, rtol=1e-3)
    np.testing.assert_allclose(statistic, naive_vector / np.linalg.norm(naive_vector), atol=1e-3)
    with_own = [naive.responsibilities(expected, row, 0.01, own_left_out=False) for row in by_word]
    with_own = np.array(with_own) / np.linalg.norm(with_own)
    assert np.abs(statistic - with_own).max() > 0.05


@given(corpora())
@settings(max_examples=50, deadline=None)
def test_one_unit_moves_every_round_by_at_most_one(corpus):
    counts, owners = corpus
    for given_owners in (None, owners):
        for total in (first_round, last_round):
            assert units_fit_the_lattice(total, counts, given_owners)
            assert moves_by_at_most_one(total, counts, given_owners)


def test_one_unit_moves_a_larger_sum_by_at_most_one():
    counts = random_counts(30, 25, 3, mean=1)
    assert moves_by_at_most_one(last_round, counts, np.arange(30) // 4)


def test_same_bytes_for_any_threads_and_order():
    counts = random_counts(200, 30, 4)
    owners = np.random.default_rng(5).integers(0, 60, 200)
    order = np.random.default_rng(6).permutation(200)
    for given_owners in (None, owners):
        reference = rounds(counts, given_owners, 3).tobytes()
        assert all(rounds(counts, given_owners, 3, n).tobytes() == reference for n in (2, 4, 300))
        permuted = None if given_owners is None else given_owners[order]
        assert rounds(counts[order], permuted, 3, 2).tobytes() == reference


def test_a_round_is_no_worse_for_empty_and_giant_documents():
    counts = csr([[0] * 4, [10_000_000, 0, 0, 0], [1, 1, 1, 1], [2**31 - 1] * 4])
    for row, full in enumerate([0, 1, 1, 1]):
        norm = np.linalg.norm(last_round(counts[row]).astype(float)) / 2**BITS
        assert norm == pytest.approx(full, abs=1e-4)


# ---- planted mistakes


def theta_by_batch_mean(counts, owners=None):
    """Theta that looks at other documents: started from the corpus' mean theta."""
    units = group_units(counts, owners)
    theta = initial_theta(units, K, PRIOR)
    v = counts.shape[1]
    round_sum(units, theta, topics(v, 0), weights(v), PRIOR, 15)
    theta[:] = theta.mean(0)
    return round_sum(units, theta, topics(v, 1), weights(v), PRIOR, 1)


def documents_one_by_one(counts, owners=None):
    return last_round(counts, None)


def rounded_to_nearest(counts, owners=None):
    v = counts.shape[1]
    total = np.zeros((v, K), np.int64)
    for unit in naive.by_unit(counts, owners):
        thetas = [naive.start_theta(document, K, PRIOR) for document in unit]
        vector, _ = naive.round_vector(unit, thetas, topics(v, 0), weights(v), PRIOR, 15)
        total += np.rint(vector / max(np.linalg.norm(vector), 1e-9) * 2**BITS).astype(np.int64)
    return total


def theta_released(counts, owners=None):
    units = group_units(counts, owners)
    theta = initial_theta(units, K, PRIOR)
    round_sum(units, theta, topics(counts.shape[1], 0), weights(counts.shape[1]), PRIOR, 15)
    return (theta / theta.sum(1, keepdims=True) * 2**BITS).astype(np.int64)


@pytest.mark.parametrize(
    "wrong", [theta_by_batch_mean, documents_one_by_one, rounded_to_nearest, theta_released]
)
def test_planted_mistakes_are_caught(wrong):
    counts = random_counts(30, 25, 7, mean=1)
    assert not moves_by_at_most_one(wrong, counts, np.arange(30) // 4)
