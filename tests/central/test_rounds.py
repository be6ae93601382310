"""The statistic of a round: equal to the naive twin, bounded, also with thetas that were carried."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from tests.marks import quick
from tests.naive import central as naive
from tests.naive.central_checks import (
    corpora,
    csr,
    moves_by_at_most_one,
    random_counts,
    units_fit_the_lattice,
)

from discreet.central.sums.em_round import Contribution, initial_theta, round_sum
from discreet.central.sums.units import group_units
from discreet.privacy.bound import MAX_BITS
from discreet.privacy.mechanism import BITS

K, PRIOR = 3, 0.1
#: Clipped so hard that all units are as long; clipped hard, so that nearly all units are; in between; and hardly ever.
EXACT = Contribution(1.0, 1000.0, matched=True, bits=MAX_BITS)
SCALED = Contribution(0.5, 1e-3)
CONTRIBUTIONS = [
    SCALED,
    Contribution(1.0, 0.5),
    Contribution(0.75, 4.0),
    EXACT,
    SCALED._replace(matched=True),
]
CLIPPED = Contribution(1.0, 3.0)


def topics(n_words, seed):
    columns = np.random.default_rng(seed).dirichlet(np.full(n_words, 0.3), K).T + 1e-4
    return columns / columns.sum(0)


def weights(n_words):
    return np.linspace(0.3, 3.0, n_words)


def rounds(counts, persons=None, n_rounds=2, n_jobs=None, contribution=SCALED):
    """Sums of several rounds, with other topics in each, as an array (n_rounds, V, K)."""
    units = group_units(counts, persons)
    theta = initial_theta(units, K, PRIOR)
    v = counts.shape[1]
    return np.stack(
        [
            round_sum(units, theta, topics(v, t), weights(v), PRIOR, (15, 5)[t > 0], contribution, n_jobs)
            for t in range(n_rounds)
        ]
    )


def last_round(counts, persons=None, contribution=SCALED):
    return rounds(counts, persons, contribution=contribution)[-1]


def first_round(counts, persons=None):
    return rounds(counts, persons, 1)[0]


def clipped_round(counts, persons=None):
    return last_round(counts, persons, CLIPPED)


def put(vector, contribution):
    """A unit's statistic on the lattice, in units of the bound and clipped."""
    return naive.place(vector / contribution.bound, False, contribution.bits)


def naive_rounds(counts, persons, n_rounds=2, contribution=SCALED):
    units = naive.by_unit(counts, persons)
    v = counts.shape[1]
    thetas = [[naive.start_theta(document, K, PRIOR) for document in unit] for unit in units]
    sums = []
    for t in range(n_rounds):
        total = np.zeros((v, K), np.int64)
        for u, unit in enumerate(units):
            how = (PRIOR, (15, 5)[t > 0], contribution.exponent, contribution.matched)
            vector, thetas[u] = naive.round_vector(unit, thetas[u], topics(v, t), weights(v), *how)
            total += put(vector, contribution)
        sums.append(total)
    return np.stack(sums)


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
@pytest.mark.parametrize("owned", quick([False, True], True))
def test_equal_to_the_naive_twin(owned, contribution):
    counts = random_counts(60, 20, 0)
    persons = np.random.default_rng(1).integers(0, 20, 60) if owned else None
    fast = rounds(counts, persons, contribution=contribution)
    slow = naive_rounds(counts, persons, contribution=contribution)
    # Theta is kept in single precision.
    step = 2**-contribution.bits
    np.testing.assert_allclose(fast * step, slow * step, atol=2e-4)
    assert np.abs(slow).sum() * max(contribution.bound, 1) * step > 20


def test_theta_is_the_documents_own_and_warm():
    counts = random_counts(30, 20, 2)
    units = group_units(counts, None)
    theta = initial_theta(units, K, PRIOR)
    for t, steps in enumerate((15, 5, 5)):
        expected = [
            naive.em_theta(document, old, topics(20, t), PRIOR, steps) if document else old
            for (document,), old in zip(naive.by_unit(counts), theta.copy(), strict=True)
        ]
        round_sum(units, theta, topics(20, t), weights(20), PRIOR, steps, SCALED)
        np.testing.assert_allclose(theta, expected, rtol=2e-3)


def test_a_token_is_told_its_topic_by_the_others():
    """Two words, one topic each, one token apiece: left alone each confirms itself; told by the other, neither can."""
    counts, by_word = csr([[1, 1]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    units = group_units(counts, None)
    theta = initial_theta(units, 2, 0.01)
    theta[:] = [[1.5, 0.52]]
    statistic = round_sum(units, theta, by_word, np.ones(2), 0.01, 30, SCALED) / 2**BITS
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
    counts, persons = corpus
    for given_persons in (None, persons):
        for total in (first_round, last_round, clipped_round):
            assert units_fit_the_lattice(total, counts, given_persons)
            assert moves_by_at_most_one(total, counts, given_persons)


def test_one_unit_moves_a_larger_sum_by_at_most_one():
    counts = random_counts(30, 25, 3, mean=1)
    for contribution in CONTRIBUTIONS:

        def total(counts, persons=None, contribution=contribution):
            return last_round(counts, persons, contribution)

        assert moves_by_at_most_one(total, counts, np.arange(30) // 4, contribution.bits)


def test_same_bytes_for_any_threads_and_order():
    counts = random_counts(200, 30, 4)
    persons = np.random.default_rng(5).integers(0, 60, 200)
    order = np.random.default_rng(6).permutation(200)
    for given_persons in (None, persons):
        reference = rounds(counts, given_persons, 3).tobytes()
        assert all(rounds(counts, given_persons, 3, n).tobytes() == reference for n in (2, 4, 300))
        permuted = None if given_persons is None else given_persons[order]
        assert rounds(counts[order], permuted, 3, 2).tobytes() == reference


def test_a_round_is_no_worse_for_empty_and_giant_documents():
    counts = csr([[0] * 4, [10_000_000, 0, 0, 0], [1, 1, 1, 1], [2**31 - 1] * 4])
    for row, full in enumerate([0, 1, 1, 1]):
        norm = np.linalg.norm(last_round(counts[row]).astype(float)) / 2**BITS
        assert norm == pytest.approx(full, abs=1e-4)
    # One of four words, one token each, with weights from .3 to 3, stays as long as it is; the giant ones are clipped.
    for row, bound, norm in [(1, 3.0, 1), (2, 3.0, None), (2, 1000.0, None), (3, 1000.0, 1)]:
        found = last_round(counts[row], contribution=Contribution(1.0, bound)).astype(float) / 2**BITS
        vector, _ = naive.round_vector(*_alone(counts[row]))
        assert np.linalg.norm(found) == pytest.approx(norm or np.linalg.norm(vector) / bound, rel=2e-2)


def test_a_large_bound_takes_nothing_off_short_documents():
    """Without noise every token counts as one, in whichever topics; on a coarse lattice some of it is lost."""
    counts = random_counts(200, 20, 3)

    def tokens(contribution):
        total = last_round(counts, contribution=contribution) / 2.0**contribution.bits * contribution.bound
        return (total / weights(20)[:, None]).sum()

    assert tokens(EXACT) == pytest.approx(counts.sum(), rel=1e-4)
    assert tokens(EXACT._replace(bits=BITS)) < 0.998 * counts.sum()


def posterior_by_enumeration(words, topics, prior):
    """Expected responsibilities of a text's tokens, over every assignment of topics to all of them."""
    n_topics, weights, sums = topics.shape[1], [], []
    for assigned in itertools.product(range(n_topics), repeat=len(words)):
        counts = np.bincount(assigned, minlength=n_topics)
        rising = np.prod([math.gamma(prior + n) / math.gamma(prior) for n in counts])
        weights.append(rising * np.prod([topics[w, k] for w, k in zip(words, assigned, strict=True)]))
        sums.append(np.eye(n_topics)[list(assigned)])
    return np.tensordot(np.array(weights) / np.sum(weights), np.array(sums), axes=1)


def test_matched_moments_are_nearer_to_the_posterior_than_full_tokens():
    rng = np.random.default_rng(8)
    errors = {True: 0.0, False: 0.0}
    for _ in range(40):
        words = rng.permutation(12)[:6]
        by_word = rng.dirichlet(np.full(12, 0.5), K).T
        true = posterior_by_enumeration(words, by_word, PRIOR)
        row = np.zeros((1, 12), int)
        row[0, words] = 1
        units = group_units(csr(row), None)
        for matched in errors:
            theta = initial_theta(units, K, PRIOR)
            how = EXACT._replace(matched=matched)
            total = round_sum(units, theta, by_word, np.ones(12), PRIOR, 50, how)
            found = total[words] / 2.0**how.bits * how.bound
            errors[matched] += np.abs(found - true).mean() / 40
    assert errors[True] < 0.6 * errors[False]
    assert errors[True] < 0.1


@pytest.mark.parametrize("n_topics", [1, 2, 30])
def test_matched_moments_take_texts_of_any_length(n_topics):
    counts = csr(
        [[0] * 4, [10_000_000, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1], [2**31 - 1] * 4, [1, 10**6, 3, 0]]
    )
    units = group_units(counts, None)
    theta = initial_theta(units, n_topics, PRIOR)
    for t in range(4):
        by_word = np.random.default_rng(t).dirichlet(np.full(4, 0.02), n_topics).T + 1e-6
        bound = EXACT._replace(bound=1e10)
        total = round_sum(units, theta, by_word, np.ones(4), PRIOR, 5, bound) / 2.0**MAX_BITS * 1e10
        assert np.isfinite(theta).all()
        assert (theta >= np.float32(PRIOR)).all()
        np.testing.assert_allclose(total.sum(1), np.asarray(counts.sum(0))[0], rtol=1e-3)


def _alone(row):
    """The naive twin's arguments for a document whose theta took a first round and stands before the second."""
    (unit,) = naive.by_unit(row)
    _, thetas = naive.round_vector(
        unit, [naive.start_theta(unit[0], K, PRIOR)], topics(4, 0), weights(4), PRIOR, 15
    )
    return unit, thetas, topics(4, 1), weights(4), PRIOR, 5, 1.0


# ---- planted mistakes


def theta_by_batch_mean(counts, persons=None):
    """Theta that looks at other documents: started from the corpus' mean theta."""
    units = group_units(counts, persons)
    theta = initial_theta(units, K, PRIOR)
    v = counts.shape[1]
    round_sum(units, theta, topics(v, 0), weights(v), PRIOR, 15, SCALED)
    theta[:] = theta.mean(0)
    return round_sum(units, theta, topics(v, 1), weights(v), PRIOR, 1, SCALED)


def documents_one_by_one(counts, persons=None):
    return last_round(counts, None)


def rounded_to_nearest(counts, persons=None):
    v = counts.shape[1]
    total = np.zeros((v, K), np.int64)
    for unit in naive.by_unit(counts, persons):
        thetas = [naive.start_theta(document, K, PRIOR) for document in unit]
        vector, _ = naive.round_vector(unit, thetas, topics(v, 0), weights(v), PRIOR, 15)
        total += np.rint(vector / max(np.linalg.norm(vector), 1e-9) * 2**BITS).astype(np.int64)
    return total


def theta_released(counts, persons=None):
    units = group_units(counts, persons)
    theta = initial_theta(units, K, PRIOR)
    round_sum(units, theta, topics(counts.shape[1], 0), weights(counts.shape[1]), PRIOR, 15, SCALED)
    return (theta / theta.sum(1, keepdims=True) * 2**BITS).astype(np.int64)


def placed_by(put):
    """A last round in which each unit's statistic, in units of the bound, is put on the lattice another way."""

    def total(counts, persons=None):
        out = np.zeros((counts.shape[1], K), np.int64)
        v = counts.shape[1]
        for unit in naive.by_unit(counts, persons):
            thetas = [naive.start_theta(document, K, PRIOR) for document in unit]
            vector, _ = naive.round_vector(
                unit, thetas, topics(v, 0), weights(v), PRIOR, 15, CLIPPED.exponent
            )
            out += put(vector / CLIPPED.bound)
        return out

    return total


def as_it_is(vector):
    return (vector * 2**BITS).astype(np.int64)


not_clipped = placed_by(as_it_is)
clipped_cell_by_cell = placed_by(lambda vector: as_it_is(np.clip(vector, -1, 1)))
clipped_to_another_bound = placed_by(lambda vector: put(vector, Contribution(1.0, 0.5)) * 2)


def the_sum_is_clipped(counts, persons=None):
    """Not each unit's statistic, but all of them together, as if the norm of the sum were its sensitivity."""
    whole = not_clipped(counts, persons).astype(float)
    return (whole * min(1.0, 20 * 2**BITS / np.linalg.norm(whole))).astype(np.int64)


def test_a_bound_on_magnitudes_is_no_bound_on_the_norm():
    """Planted: sum of magnitudes bounded in place of the norm. It protects, and is another statistic."""
    counts = random_counts(30, 25, 7, mean=1)
    wrong = placed_by(lambda vector: as_it_is(vector / max(1.0, np.abs(vector).sum())))
    assert moves_by_at_most_one(wrong, counts)
    right = rounds(counts, None, 1, contribution=CLIPPED)[0] / 2**BITS
    np.testing.assert_allclose(
        right, placed_by(lambda vector: put(vector * 3, CLIPPED))(counts) / 2**BITS, atol=2e-3
    )
    assert np.abs(wrong(counts) / 2**BITS - right).max() > 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        theta_by_batch_mean,
        documents_one_by_one,
        rounded_to_nearest,
        theta_released,
        not_clipped,
        clipped_cell_by_cell,
        clipped_to_another_bound,
        the_sum_is_clipped,
    ],
)
def test_planted_mistakes_are_caught(wrong):
    counts = random_counts(30, 25, 7, mean=1)
    assert not moves_by_at_most_one(wrong, counts, np.arange(30) // 4)
