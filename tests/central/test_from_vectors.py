"""The start from public word vectors: what it reads from released numbers, and which sums it asks for."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.central.test_full_batch import make_gate
from tests.naive import central as naive
from tests.naive import word_vectors as slow
from tests.naive.central_checks import block_corpus

from discreet.central import full_batch
from discreet.central.rounds.embedded_moment import moment_sum
from discreet.central.rounds.frequencies import read_unigram
from discreet.central.rounds.schedule import COUNT_SHARE, plan
from discreet.central.rounds.units import group_units
from discreet.central.start.from_vectors import (
    Words,
    beyond_noise,
    expected_moment,
    factors_of,
    features,
    look,
)
from discreet.lda.questions.asked import square_of
from discreet.lda.word_space.directions import centred, directions
from discreet.lda.word_space.public_topics import topics_of_vectors
from discreet.privacy.accounting import gdp_mu
from discreet.privacy.shared_gaussian import BITS, Noisy

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


def test_vectors_are_looked_at_closer_where_that_might_tell(world):
    right = world[2]
    rng = np.random.default_rng(5)
    assert seen_of(world).promising
    assert not seen_of(world, vectors=right[rng.permutation(len(right))]).promising
    unsure = [seen_of(world, 400.0, seed=seed) for seed in range(20)]
    assert all(seen.promising for seen in unsure if seen.believed)
    assert any(seen.promising and not seen.believed for seen in unsure)


def test_vectors_are_refuted_where_texts_do_the_contrary_beyond_noise(world):
    right = world[2]
    rng = np.random.default_rng(5)
    wrong = [right[rng.permutation(len(right))] for _ in range(10)]
    exact = [seen_of(world, vectors=vectors) for vectors in wrong]
    assert {seen.refuted for seen in exact} == {seen.alpha < 0 for seen in exact} != {False}
    assert not any(seen_of(world, 100.0, seed=seed).refuted for seed in range(20))
    # Under noise of which nothing can be seen, as often as a normal law is a deviation below its mean.
    assert 5 <= sum(seen_of(world, 1e5, seed=seed).refuted for seed in range(60)) <= 16


@pytest.mark.parametrize("refuted", [False, True])
def test_rounds_leave_refuted_vectors_out(world, refuted, monkeypatch):
    honest = look
    told = {"believed": False, "promising": False, "refuted": refuted}
    monkeypatch.setattr(full_batch, "look", lambda *released: honest(*released)._replace(**told))
    state, _ = run(world, world[2], n_units=3000)
    assert (state.prior is None) == refuted
    assert state.vectors_used.startswith(
        "not at all" if refuted else "in every round; the start is without them"
    )


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


@pytest.mark.parametrize("paired", [False, True])
def test_planted_topics_are_found_from_the_moment_with_pairs_and_without(world, paired):
    words = chosen(world)
    pairs = released_pairs(world, words, 1.0) if paired else None
    factors = factors_of(seen_of(world, 1.0), world[3], words, pairs, K)
    assert factors.shape == (150, K)
    assert (factors >= 0).all()
    assert found_share(world, factors, words) > 0.85


def test_what_pairs_say_beyond_the_vectors_is_kept(world):
    """Vectors that know one half of the topics only: pairs tell the others."""
    vectors = world[2].copy()
    vectors[:, :3] = np.random.default_rng(0).normal(0, 0.3, (180, 3))
    seen, words = seen_of(world, 1.0, vectors), chosen(world, 150)
    alone = found_share(world, factors_of(seen, world[3], words, None, K), words)
    pairs = released_pairs(world, words, 1.0)
    assert found_share(world, factors_of(seen, world[3], words, pairs, K), words) > max(0.85, alone + 0.05)


def test_reading_takes_no_private_argument():
    for function in (look, expected_moment, factors_of, beyond_noise, features):
        assert "units" not in inspect.signature(function).parameters


# ---- in the whole algorithm


def run(world, vectors, epsilon=4.0, n_units=None, **how):
    counts = world[0]
    units, gate = group_units(counts, None), make_gate(epsilon, 0)
    n = full_batch.count_units(units, gate)
    schedule = plan(n_units or n, gdp_mu(epsilon, 1e-5), counts.shape[1], with_vectors=True, **how)
    state = full_batch.init(units, K, 0.1, schedule, gate, vectors)
    for _ in state.schedule.round_shares:
        state, _ = full_batch.step(state, units, 0.1, state.schedule, gate)
    return state, gate


@pytest.mark.parametrize("n_units", [400, 900, 3000, 50_000])
@pytest.mark.parametrize("kind", ["right", "wrong", "doubted"])
def test_what_is_released_and_with_which_shares(world, kind, n_units, monkeypatch):
    vectors = np.random.default_rng(0).normal(size=world[2].shape) if kind == "wrong" else world[2]
    if kind == "doubted":
        honest = look
        monkeypatch.setattr(
            full_batch, "look", lambda *released: honest(*released)._replace(believed=False, promising=True)
        )
    state, gate = run(world, vectors, n_units=n_units)
    looks = ["second moment", "second moment, closer"][: 1 if kind == "wrong" else 2]
    moment = looks if n_units < 9000 else []
    closer = ["unigram, closer"] * (kind == "right" and n_units == 400)
    paired = ["co-occurrence"] * (kind != "right" or n_units > 2500)
    rounds = [f"round {t}" for t in range(len(state.schedule.round_shares))]
    purposes = [purpose for purpose, *_ in gate.passed]
    assert purposes == ["count", "unigram", *moment, *closer, *paired, *rounds]
    left = gate.gate.reservation.precision_left * gate.gate.noise_multiplier**2
    assert 0 <= left < 1e-6
    assert sum(share for _, _, share, _ in gate.passed) == pytest.approx(1)


def test_both_looks_are_read_as_one_with_the_noise_of_their_shares_together(world, monkeypatch):
    read = []
    honest = look
    monkeypatch.setattr(full_batch, "look", lambda *released: read.append(released[:2]) or honest(*released))
    _, gate = run(world, world[2], n_units=3000)
    (first, second), (_, together) = (
        [noisy for purpose, *_, noisy in gate.passed if purpose.startswith("second moment")],
        (read[0], read[1][1]),
    )
    rough, close = plan(3000, gdp_mu(4.0, 1e-5), 180, with_vectors=True).moment_shares
    assert together == pytest.approx(gate.gate.noise_multiplier / np.sqrt(rough + close))
    weight = rough / (rough + close)
    np.testing.assert_allclose(read[1][0], square_of(weight * first.values + (1 - weight) * second.values))
    np.testing.assert_array_equal(read[0][0], square_of(first.values))
    assert read[0][1] == first.noise


def test_the_moment_is_the_naive_twins_from_released_numbers(world):
    counts = world[0][:250]
    _, gate = run((counts, *world[1:]), world[2])
    passed = {purpose: (total, noisy) for purpose, total, _, noisy in gate.passed}
    unigram = read_unigram(passed["unigram"][1])
    space = directions(
        centred(world[2], unigram),
        unigram,
        plan(gate.passed[0][3].values[0], gdp_mu(4.0, 1e-5), 180).n_directions,
    )
    table = np.c_[np.full(180, 0.7), space]
    total = passed["second moment"][0]
    expected = naive.add_up((naive.moment_vector(u, table) for u in naive.by_unit(counts)), total.shape)
    np.testing.assert_allclose(total, expected, atol=3000)


def test_wrong_vectors_cost_the_first_look_and_nothing_else(world):
    """The start is that of the pairs; it and the rounds give up the same part of their shares."""
    _, gate = run(world, np.random.default_rng(0).normal(size=world[2].shape), n_units=3000)
    plain = plan(3000, gdp_mu(4.0, 1e-5), 180)
    used = [share for _, _, share, _ in gate.passed]
    left = 1 - 0.01 / (1 - COUNT_SHARE - plain.unigram_share)
    assert used[:3] == [COUNT_SHARE, plain.unigram_share, 0.01]
    np.testing.assert_allclose(used[3:], np.array([plain.start_share, *plain.round_shares]) * left)


@given(st.floats(-1e4, 1e7), st.floats(0.01, 5), st.integers(1, 20_000), st.sampled_from([None, 1, 2, 7]))
@settings(max_examples=100, deadline=None)
def test_shares_add_up_whether_vectors_are_believed_or_not(n_units, mu, n_words, n_rounds):
    schedule = plan(n_units, mu, n_words, n_rounds, with_vectors=True)
    assert (schedule.believed is None) == (max(n_units * mu, 1) >= 9000)
    ways = {schedule: 1, schedule.believed: 2, schedule.doubted: 2}
    for way, n_looks in ways.items():
        if way is None:
            continue
        looks = way.moment_shares[:n_looks]
        shares = [COUNT_SHARE, way.unigram_share, *looks, way.start_share, *way.round_shares]
        shares.append(way.closer_unigram_share)
        assert way is schedule.believed or not way.closer_unigram_share
        assert sum(shares) == pytest.approx(1, abs=1e-12)
        assert min(shares) >= 0
        assert min(way.round_shares) > 0
        assert len(way.round_shares) == n_rounds or n_rounds is None
        assert way.unigram_share == schedule.unigram_share
        assert way.moment_shares == schedule.moment_shares
        assert (min(way.moment_shares) > 0) == (schedule.believed is not None)
    assert (schedule.doubted is None) == (schedule.believed is None)
    assert schedule.start_share > 0
