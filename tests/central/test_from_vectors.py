"""The start from public word vectors: what it reads from released numbers, and which sums it asks for."""

import inspect

import numpy as np
import pytest
from tests.central.test_full_batch import make_gate
from tests.naive import central as naive
from tests.naive import word_vectors as slow
from tests.naive.central_checks import block_corpus

from discreet.central import full_batch
from discreet.central.full_batch import read_unigram
from discreet.central.plan import COUNT_SHARE, plan
from discreet.central.start import (
    Words,
    beyond_noise,
    expected_moment,
    factors_of,
    features,
    look,
)
from discreet.central.sums.units import group_units, moment_sum
from discreet.lda.questions import square_of
from discreet.lda.vectors import centred, directions, topics_of_vectors
from discreet.privacy.accounting.curves import gdp_mu
from discreet.privacy.mechanism import BITS, Noisy

K, D = 6, 12


@pytest.fixture(scope="module")
def world():
    """A corpus of topics that vectors know, and its unigram."""
    counts, truth = block_corpus(1500, n_topics=K, words_a_topic=30, length=20, seed=3)
    rng = np.random.default_rng(0)
    vectors = np.hstack(
        [(truth.T > 0) + 0.3 * rng.standard_normal(truth.T.shape), rng.normal(0, 0.3, (180, 14))]
    )
    unigram = np.asarray(counts.sum(0), float).ravel() + 0.5
    unigram /= unigram.sum()
    return counts, truth, vectors, unigram


def seen_of(world, noise=0.0, vectors=None, seed=1):
    counts, _, right, unigram = world
    vectors = right if vectors is None else vectors
    space = directions(centred(vectors, unigram), unigram, D)
    total = moment_sum(group_units(counts, None), features(space)) / 2**BITS
    noisy = total + noise * np.random.default_rng(seed).standard_normal(total.shape)
    return look(square_of(noisy), noise, space, expected_moment(vectors, space, unigram, K))


def test_alpha_is_the_naive_twins(world):
    counts, _, vectors, unigram = world
    space = directions(centred(vectors, unigram), unigram, D)
    square = square_of(moment_sum(group_units(counts, None), features(space)) / 2**BITS)
    seen = look(square, 0.0, space, expected_moment(vectors, space, unigram, K))
    expected = slow.alpha(square, topics_of_vectors(vectors, unigram, K, 0), space)
    assert seen.alpha == pytest.approx(expected)
    assert seen.believed
    assert np.linalg.eigvalsh(seen.moment).min() > -1e-9


def test_right_vectors_are_believed_and_others_are_not(world):
    right = world[2]
    rng = np.random.default_rng(5)
    assert all(seen_of(world, 3.0, seed=seed).believed for seed in range(5))
    for seed in range(5):
        assert not seen_of(world, 3.0, rng.normal(size=right.shape), seed).believed
        assert not seen_of(world, 3.0, right[rng.permutation(len(right))], seed).believed
        assert not seen_of(world, 1e5, seed=seed).believed  # noise of which nothing can be seen


def test_eigenvalues_of_noise_vanish_and_others_shrink():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.5, (200, 200))
    noise = np.triu(noise, 1) + np.triu(noise, 1).T
    axis = np.full(200, 1 / np.sqrt(200))
    assert np.linalg.matrix_rank(beyond_noise(noise, 0.52)) == 0
    found = beyond_noise(noise - 40 * np.outer(axis, axis), 0.52)
    assert np.linalg.matrix_rank(found) == 1
    assert -41 < axis @ found @ axis < -30
    np.testing.assert_allclose(beyond_noise(noise, 0.0), noise, atol=1e-9)


def chosen(world, n_paired=80):
    unigram = world[3]
    order = np.argsort(-unigram, kind="stable")
    columns = np.r_[np.sort(order[:n_paired]), order[n_paired:150]]
    return Words(columns, (unigram[columns] / unigram[columns].mean()) ** -0.25, n_paired)


def released_pairs(world, words, noise):
    counts = world[0]
    vectors = [
        naive.cooccurrence_vector(u, words.columns[: words.n_paired], words.weights[: words.n_paired])
        for u in naive.by_unit(counts)
    ]
    total = sum(v / max(np.linalg.norm(v), 1e-9) for v in vectors)
    return Noisy(total + noise * np.random.default_rng(2).standard_normal(total.shape), noise)


def found_share(world, factors, words):
    """How well the factors tell the planted topics: mean cosine with the nearest."""
    truth = world[1].T[words.columns] * words.weights[:, None]
    return np.mean(
        [max(t @ f / max(np.linalg.norm(t) * np.linalg.norm(f), 1e-12) for f in factors.T) for t in truth.T]
    )


def test_planted_topics_are_found_from_the_moment_and_pairs(world):
    words = chosen(world)
    factors = factors_of(seen_of(world, 1.0), world[3], words, released_pairs(world, words, 1.0), K)
    assert factors.shape == (150, K)
    assert (factors >= 0).all()
    assert found_share(world, factors, words) > 0.85


@pytest.mark.integration
def test_what_pairs_say_beyond_the_vectors_is_kept(world):
    """Vectors that know one half of the topics only: pairs tell the others."""
    vectors = world[2].copy()
    vectors[:, :3] = np.random.default_rng(0).normal(0, 0.3, (180, 3))
    seen, words = seen_of(world, 1.0, vectors), chosen(world, 150)
    hidden, pairs = (released_pairs(world, words, noise) for noise in (1e4, 1.0))
    alone = found_share(world, factors_of(seen, world[3], words, hidden, K), words)
    assert found_share(world, factors_of(seen, world[3], words, pairs, K), words) > max(0.85, alone + 0.05)


def test_reading_takes_no_private_argument():
    for function in (look, expected_moment, factors_of, beyond_noise, features):
        assert "units" not in inspect.signature(function).parameters


# ---- in the whole algorithm


def run(world, vectors, epsilon=4.0, n_units=None):
    counts = world[0]
    units, gate = group_units(counts, None), make_gate(epsilon, 0)
    n = full_batch.count_units(units, gate)
    schedule = plan(n_units or n, gdp_mu(epsilon, 1e-5), counts.shape[1], K)
    state, learned = full_batch.init(units, K, 0.1, schedule, gate, n, vectors)
    for _ in range(schedule.n_rounds):
        state = full_batch.step(state, units, 0.1, gate)
    return state, learned, gate, schedule


@pytest.mark.parametrize("n_units", [400, 3000, 50_000])
@pytest.mark.parametrize("kind", ["right", "wrong", "alike", "none"])
def test_what_is_released_and_with_which_shares(world, kind, n_units):
    vectors = {
        "right": world[2],
        "wrong": np.random.default_rng(0).normal(size=world[2].shape),
        "alike": np.ones(world[2].shape),
        "none": None,
    }[kind]
    state, learned, gate, schedule = run(world, vectors, n_units=n_units)
    looked = kind in ("right", "wrong")
    pairs = schedule.pairs_share - schedule.moment_share * looked
    pairs = schedule.pairs_share_beside_vectors if kind == "right" else pairs
    start = [COUNT_SHARE, schedule.unigram_share, *[schedule.moment_share] * looked, pairs]
    shares = [*start, *[(1 - sum(start)) / schedule.n_rounds] * schedule.n_rounds]
    assert [share for _, _, share, _ in gate.passed] == pytest.approx(shares)
    rounds = [f"round {t}" for t in range(schedule.n_rounds)]
    moment = ["second moment"] * looked
    assert [purpose for purpose, *_ in gate.passed] == ["count", "unigram", *moment, "co-occurrence", *rounds]
    left = gate.gate.reservation.precision_left * gate.gate.noise_multiplier**2
    assert 0 <= left < 1e-6
    assert (state.prior is not None) == looked
    assert learned.vectors_used.startswith(
        {"right": "for the start", "wrong": "in every round"}.get(kind, "")
    )
    assert (learned.structure is None) == (kind == "right")


def test_the_moment_is_the_naive_twins_from_released_numbers(world):
    counts = world[0][:250]
    _, _, gate, _ = run((counts, *world[1:]), world[2])
    passed = {purpose: (total, noisy) for purpose, total, _, noisy in gate.passed}
    unigram = read_unigram(passed["unigram"][1])
    space = directions(centred(world[2], unigram), unigram, 40)
    table = np.c_[np.ones(180), space]
    total = passed["second moment"][0]
    expected = naive.add_up((naive.moment_vector(u, table) for u in naive.by_unit(counts)), total.shape)
    np.testing.assert_allclose(total, expected, atol=3000)


def test_beside_vectors_words_have_topics_whose_pairs_were_not_counted(world):
    """Few units: pairs of 30 words at least are counted, and vectors tell the topics of the others."""
    counts, _, vectors, _ = world
    units, gate = group_units(counts, None), make_gate(4.0, 0)
    schedule = plan(60, gdp_mu(4.0, 1e-5), counts.shape[1], K)
    assert schedule.start_words < counts.shape[1] / 2
    state, _ = full_batch.init(units, K, 0.1, schedule, gate, counts.shape[0], vectors)
    lifts = state.word_topic / state.unigram[:, None]
    departed = np.ptp(lifts, axis=1) > 0.2
    assert departed.sum() > 2 * schedule.start_words
