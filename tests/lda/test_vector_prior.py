"""The prior of word vectors: its formulas, what right and wrong vectors do, and that it costs nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.central.test_full_batch import make_gate
from tests.naive import word_vectors as naive
from tests.naive.central_checks import block_corpus

from discreet import PrivateLDA
from discreet.central import full_batch
from discreet.central.plan import plan
from discreet.central.sums.units import group_units
from discreet.evaluate import completion_perplexity
from discreet.lda import vectors as vector_prior
from discreet.lda.vectors import VectorPrior, centred, directions, expected_topics, follow
from discreet.privacy.accounting.curves import gdp_mu

V, K, D = 120, 3, 12


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    unigram = rng.dirichlet(np.full(V, 2.0))
    space = directions(centred(rng.normal(size=(V, 16)), unigram), unigram, D)
    tilt = rng.normal(0, 1, (K, D)) * np.where(np.arange(D) < 5, 0.5, 0.05)
    truth = expected_topics(space, tilt, unigram)
    weight = np.array([0.5, 0.3, 0.2])
    variance = rng.uniform(0.5, 2.0, V) * 3e-6
    joint = truth * weight + np.sqrt(variance)[:, None] * rng.standard_normal((V, K))
    return space, unigram, truth, weight, variance, joint


def test_centring_and_topics_are_the_naive_twins(world):
    space, unigram, *_ = world
    vectors = np.random.default_rng(1).normal(3, 2, (V, 16))
    vectors[[4, 9]] = np.nan
    np.testing.assert_allclose(centred(vectors, unigram), naive.centred(vectors, unigram), atol=1e-12)
    coordinates = np.random.default_rng(2).normal(size=(K, D))
    slow = [naive.topic(space, row, unigram) for row in coordinates]
    np.testing.assert_allclose(expected_topics(space, coordinates, unigram), np.transpose(slow), rtol=1e-10)


def test_directions_have_unit_variance_under_the_unigram(world):
    space, unigram, *_ = world
    np.testing.assert_allclose(space.T @ (unigram[:, None] * space), np.eye(D), atol=1e-9)
    np.testing.assert_allclose(unigram @ space, 0, atol=1e-12)


def test_missing_constant_and_huge_vectors_are_taken():
    unigram = np.full(5, 0.2)
    nothing = np.full((5, 3), np.nan)
    assert not centred(nothing, unigram).any()
    assert directions(centred(np.ones((5, 3)), unigram), unigram, 2).shape == (5, 0)
    huge = np.random.default_rng(0).normal(size=(5, 3)) * 1e200
    assert np.isfinite(directions(centred(huge, unigram), unigram, 2)).all()
    assert full_batch.start_prior(nothing, unigram, 2) is None


def test_spread_is_the_naive_twins(world):
    _, _, truth, weight, variance, joint = world
    rough = joint * np.random.default_rng(3).lognormal(0, 0.8, joint.shape)
    expected = truth * weight
    found = vector_prior._spread(rough, variance, expected)
    assert found == pytest.approx(naive.spread(rough, variance, expected))
    assert 0.1 < found < 10


def test_degrees_of_freedom_are_the_naive_twins():
    for size in (12, 5, 3):
        for first in (0.5, 1.0, 1.5, 2.0, 9.0):
            scales = np.full(size, 0.3)
            scales[:5] *= first
            assert vector_prior._freedom(scales) == pytest.approx(naive.freedom(scales))


def test_the_fit_is_a_mode_of_the_posterior(world):
    space, unigram, _, weight, variance, joint = world
    scales, deviation = np.full(D, 0.3), np.sqrt(variance)
    point = np.zeros(D)
    for _ in range(10):
        before = naive.loss(point, space, scales, joint[:, 0], deviation, unigram, weight[0])
        point, _ = vector_prior._climb(
            space, point, np.zeros_like(point), scales, (joint[:, 0], deviation), unigram, weight[0]
        )
        assert naive.loss(point, space, scales, joint[:, 0], deviation, unigram, weight[0]) <= before + 1e-9
    best = naive.loss(point, space, scales, joint[:, 0], deviation, unigram, weight[0])
    for axis in range(D):
        for step in (-1e-2, 1e-2):
            moved = point + step * np.eye(D)[axis]
            assert naive.loss(moved, space, scales, joint[:, 0], deviation, unigram, weight[0]) > best


def test_topics_are_found_where_vectors_tell_them(world):
    space, unigram, truth, weight, variance, joint = world
    found = VectorPrior.start(space, K)
    for _ in range(4):
        found = follow(found, joint, variance, unigram, weight)
    near = expected_topics(space, found.coordinates, unigram)
    assert np.abs(near - truth).sum() < 0.25 * np.abs(unigram[:, None] - truth).sum()
    assert np.abs(near - truth).sum() < np.abs(joint / weight - truth).sum()


def test_a_word_that_goes_its_own_way_does_not_carry_the_others(world):
    space, unigram, truth, weight, variance, joint = world
    rare = int(unigram.argmin())
    wild = joint.copy()
    wild[rare, 0] += 0.1
    topics = []
    for cells in (joint, wild):
        found = VectorPrior.start(space, K)
        for _ in range(4):
            found = follow(found, cells, variance, unigram, weight)
        topics.append(expected_topics(space, found.coordinates, unigram)[:, 0])
    others = np.arange(V) != rare
    assert np.abs(topics[0] - topics[1])[others].sum() < 0.35 * np.abs(truth[:, 0] - unigram).sum()


def test_it_is_steady():
    """Hopeless noise, cells far below zero and topics without weight give finite numbers."""
    unigram = np.full(V, 1 / V)
    space = directions(centred(np.random.default_rng(0).normal(size=(V, 16)), unigram), unigram, D)
    for joint in (np.full((V, K), -5.0), np.zeros((V, K)), np.full((V, K), 1e6)):
        found = follow(VectorPrior.start(space, K), joint, np.full(V, 1e-4), unigram, np.full(K, 1 / K))
        assert np.isfinite(expected_topics(space, found.coordinates, unigram)).all()


# ---- in the whole algorithm


N_TOPICS = 8


def corpus():
    counts, truth = block_corpus(2000, n_topics=N_TOPICS, words_a_topic=40, length=8, seed=3)
    test, _ = block_corpus(500, n_topics=N_TOPICS, words_a_topic=40, length=30, seed=4)
    return counts, test, truth


def right_vectors(truth):
    """Words of one topic point one way, with a good deal of noise."""
    rng = np.random.default_rng(0)
    told = (truth.T > 0) + 0.3 * rng.standard_normal(truth.T.shape)
    return np.hstack([told, rng.normal(0, 0.3, (len(told), 22))])


def perplexity(vectors, counts, test):
    """Mean of ten fits: noise alone moves one by 4 %."""
    words = [f"word{i}" for i in range(counts.shape[1])]
    found = []
    for seed in range(10):
        model = PrivateLDA(
            N_TOPICS, delta=1e-5, word_vectors=vectors, random_state=seed, allow_unlearnable=True
        )
        found.append(
            completion_perplexity(
                model.fit(counts, vocabulary=words, words_are_public=True).components_, test
            )
        )
    return np.mean(found)


@pytest.mark.integration
def test_right_vectors_help_and_wrong_ones_cost_at_most_a_hundredth():
    counts, test, truth = corpus()
    right = right_vectors(truth)
    rng = np.random.default_rng(1)
    half = rng.random(len(right)) < 0.5
    missing, mixed = right.copy(), right.copy()
    missing[half] = np.nan
    mixed[half] = right[rng.permutation(np.flatnonzero(half))]
    without = perplexity(None, counts, test)
    assert perplexity(right, counts, test) < 0.9 * without
    for wrong in (rng.normal(size=right.shape), right[rng.permutation(len(right))], missing, mixed):
        assert perplexity(wrong, counts, test) < 1.01 * without


def run(counts, vectors, epsilon=1.0):
    units, gate = group_units(counts, None), make_gate(epsilon, 0)
    n_units = full_batch.count_units(units, gate)
    schedule = plan(n_units, gdp_mu(epsilon, 1e-5), counts.shape[1], N_TOPICS)
    state, _ = full_batch.init(units, N_TOPICS, 0.1, schedule, gate, n_units, vectors)
    for _ in range(schedule.n_rounds):
        state = full_batch.step(state, units, 0.1, gate)
    return state, gate


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_the_prior_of_the_rounds_releases_nothing_new(epsilon):
    """But for the moment, the same releases of the same sizes, and the same sums until one is read with vectors."""
    counts, _, truth = corpus()
    (plain, bare), (with_vectors, used) = (run(counts, v, epsilon) for v in (None, right_vectors(truth)))
    released = [[(p, t.shape) for p, t, *_ in gate.passed if p != "second moment"] for gate in (bare, used)]
    assert released[0] == released[1]
    assert len(used.passed) == len(bare.passed) + math.isfinite(epsilon)
    for purpose in ("count", "unigram", "co-occurrence"):
        one, other = (next(t for p, t, *_ in gate.passed if p == purpose) for gate in (bare, used))
        np.testing.assert_array_equal(one, other)
    if math.isfinite(epsilon):
        left = [gate.gate.reservation.precision_left * gate.gate.noise_multiplier**2 for gate in (bare, used)]
        assert left == pytest.approx([0, 0], abs=1e-6)
    if math.isinf(epsilon):  # nothing is hidden, so nothing is to be guessed
        np.testing.assert_array_equal(plain.word_topic, with_vectors.word_topic)
    else:
        assert np.abs(plain.word_topic - with_vectors.word_topic).max() > 1e-3


def test_the_ledger_is_the_same_and_the_release_names_the_vectors():
    counts, _, truth = corpus()
    words = [f"word{i}" for i in range(counts.shape[1])]
    vectors = right_vectors(truth)
    vectors[5] = np.nan
    models = [
        PrivateLDA(4, delta=1e-5, word_vectors=v, random_state=0, allow_unlearnable=True).fit(
            counts, vocabulary=words, words_are_public=True
        )
        for v in (None, vectors)
    ]
    plain, used = (model.release_ for model in models)
    assert plain.promise == used.promise
    assert plain.ledger.entries[0].event == used.ledger.entries[0].event
    assert not [name for name in plain.configuration if "vector" in name]
    assert used.configuration["word_vectors"] == "array"
    assert used.configuration["word_vectors_dimensions"] == 30
    assert used.configuration["word_vectors_coverage"] == "319 of 320 words"
    assert used.configuration["word_vectors_digest"].startswith("sha256:")
    assert models[1].word_vectors_.n_found == 319
    card = used.card().replace("\n", " ")
    assert "not trained on these texts" in card
    assert f"They were used {used.configuration['word_vectors_used']}." in card
    put_aside = {"word_vectors_used": "not at all: a noisy look at the texts spoke against them"}
    aside = replace(used, configuration=used.configuration | put_aside).card().replace("\n", " ")
    assert "were given, but not used: a noisy look at the texts spoke against them. They were taken" in aside
    assert "lean on" not in aside
    assert used.configuration["word_vectors_used"].startswith(
        ("for the start", "in every round", "not at all")
    )
    assert "at n mu = 5" in used.configuration["word_vectors_alone"]
    assert "compare the two" in card
    assert "vectors" not in plain.card()


def test_without_noise_no_release_says_that_rounds_used_vectors():
    counts, _, truth = corpus()
    words = [f"word{i}" for i in range(counts.shape[1])]
    model = PrivateLDA(4, epsilon=math.inf, word_vectors=right_vectors(truth), n_rounds=2, random_state=0)
    release = model.fit(counts, vocabulary=words, words_are_public=True).release_
    said = release.configuration["word_vectors_used"]
    assert said == "not at all: without noise, texts tell their topics by themselves"
