"""The start: factors of a co-occurrence matrix."""

import numpy as np
import pytest

from discreet.central.start import factorize, on_all_words, varimax


def planted(m=60, k=4, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    factors = np.zeros((m, k))
    for topic in range(k):
        factors[topic * m // k : (topic + 1) * m // k, topic] = rng.uniform(0.5, 2, m // k)
    unigram = factors.sum(1)
    unigram /= np.linalg.norm(unigram)
    matrix = 2 * np.outer(unigram, unigram) + factors @ factors.T
    errors = np.triu(rng.normal(0, 1, (m, m)), 1)
    matrix += noise * (errors + errors.T)
    np.fill_diagonal(matrix, 0)
    return matrix, unigram, factors


def matched(found, truth):
    found = found / np.maximum(np.linalg.norm(found, axis=0), 1e-12)
    truth = truth / np.linalg.norm(truth, axis=0)
    return (found.T @ truth).max(0)


@pytest.mark.parametrize(("noise", "least"), [(0.0, 0.95), (0.3, 0.9)])
def test_planted_factors_are_found(noise, least):
    matrix, unigram, factors = planted(noise=noise)
    found = factorize(matrix, unigram, 4, noise=noise)
    assert found.shape == (60, 4)
    assert (found >= 0).all()
    assert matched(found, factors).min() > least


def test_inputs_are_left_alone_and_the_same_input_gives_the_same_bytes():
    matrix, unigram, _ = planted()
    before = matrix.copy()
    first = factorize(matrix, unigram, 4)
    np.testing.assert_array_equal(matrix, before)
    assert factorize(matrix, unigram, 4).tobytes() == first.tobytes()


def test_varimax_rotates_and_finds_the_simple_structure():
    rng = np.random.default_rng(1)
    simple = planted()[2]
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    rotation = varimax(simple @ turn)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-9)
    kurtosis = ((simple @ turn @ rotation) ** 4).sum()
    assert kurtosis == pytest.approx((simple**4).sum(), rel=1e-3)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (1, 3), (2, 5), (3, 3)])
def test_tiny_matrices_and_more_topics_than_words(m, k):
    matrix, unigram = np.zeros((m, m)), np.full(m, 1 / np.sqrt(m))
    found = factorize(matrix, unigram, k, noise=1.0)
    assert found.shape == (m, k)
    assert np.isfinite(found).all()


def test_starting_topics_have_the_mass_of_their_words_and_others_are_as_in_all_texts():
    rng = np.random.default_rng(0)
    unigram = rng.dirichlet(np.ones(7))
    chosen, weights, factors = np.array([0, 2, 5]), rng.uniform(0.5, 2, 3), rng.uniform(0.1, 1, (3, 2))
    topics = on_all_words(factors, unigram, chosen, weights)
    for topic in range(2):
        counted = [factors[i, topic] / weights[i] for i in range(3)]
        mass = sum(unigram[word] for word in chosen)
        for word in range(7):
            alone = unigram[word]
            if word in chosen:
                alone = counted[chosen.tolist().index(word)] / sum(counted) * mass
            assert topics[word, topic] == pytest.approx(0.8 * alone + 0.2 * unigram[word])
