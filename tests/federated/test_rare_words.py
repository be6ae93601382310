"""Noise without rare words, by enumeration: what is kept, and what is not."""

import math

import numpy as np
import pytest
from experiments.wang2020.fedlda import PairResponse
from experiments.wang2020.rare_words import RareWordResponse, tail, zipf_edge
from tests.naive.federated import excluding, largest_loss, needed_delta, slow_tail, slow_zipf_edge

from discreet.errors import ParameterError
from discreet.privacy import SecureStream

NOISE = np.array([0.5, 0.3, 0.12, 0.05, 0.02, 0.01])


@pytest.mark.parametrize("gamma", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_the_edge_of_the_tail(delta, gamma):
    assert zipf_edge(delta, gamma) == pytest.approx(slow_zipf_edge(delta, gamma), rel=1e-9)
    ranks = np.arange(1, 2_000_000)
    of_rank = ranks**-gamma - (ranks + 1.0) ** -gamma  # probability of the word that follows each rank
    assert zipf_edge(delta, gamma) <= of_rank[max(math.floor(delta ** (-1 / gamma)) - 1, 0)] * (1 + 1e-9)
    assert zipf_edge(0.1, 1.0) == pytest.approx(1 / 110)


def test_the_tail_is_the_naive_one_and_at_most_delta():
    rng = np.random.default_rng(0)
    for probability in (
        NOISE,
        np.full(7, 1 / 7),
        rng.dirichlet(np.ones(30)),
        rng.dirichlet(np.full(30, 0.1)),
    ):
        for delta in (0.0, 0.0123, 0.1, 0.3, 0.9):
            rare = tail(probability, delta)
            assert rare.tolist() == slow_tail(probability.tolist(), delta)
            assert probability[rare].sum() <= delta + 1e-12
            assert rare.any() == (min(probability) <= delta)
            assert not rare.any() or probability[rare].max() <= probability[~rare].min()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.015, 0.04, 0.2])
def test_common_words_keep_epsilon_and_everyone_needs_one_minus_eta(epsilon, delta):
    response = RareWordResponse(NOISE, epsilon, delta)
    rows = [response.distribution(x) for x in range(len(NOISE))]
    assert all(sum(row) == 1 for row in rows)
    slow, eta = excluding(NOISE.tolist(), response.rare.tolist(), epsilon)
    np.testing.assert_allclose(np.array(rows, float), slow, atol=1e-11)
    assert float(response.eta) == pytest.approx(eta, abs=1e-10)
    common = np.flatnonzero(~response.rare)
    found = largest_loss([[rows[x][y] for y in common] for x in common])
    assert found <= epsilon
    assert found == pytest.approx(epsilon, abs=1e-9)
    assert largest_loss(rows) == math.inf
    assert needed_delta(np.array(rows, float), epsilon) == pytest.approx(response.worst_delta, abs=1e-10)
    # The published 2 delta is no bound for those who write a rare word: here it is too small, there far too large.
    if (epsilon, delta) == (5.0, 0.015):
        assert response.worst_delta > 2 * delta


def test_an_eta_of_the_whole_alphabet_would_waste_and_one_too_small_would_break():
    kept, whole = RareWordResponse(NOISE, 2.0, 0.04), PairResponse(NOISE, 2.0)
    assert kept.eta < whole.eta  # that is what leaving out buys
    common = np.flatnonzero(~kept.rare)
    broken = [[0.0] * len(NOISE) for _ in common]
    eta = 0.99 * float(kept.eta)
    for row, x in zip(broken, common, strict=True):
        row[:] = eta * kept.q
        row[x] += 1 - eta
    assert largest_loss([[row[y] for y in common] for row in broken]) > 2.0


def test_reports_follow_the_distribution_and_debiasing_is_unbiased():
    response = RareWordResponse(NOISE, 3.0, 0.04)
    true = np.array([4000, 2000, 0, 500, 300, 200])
    found, n = [], 40
    for seed in range(n):
        reports = response.randomise(np.repeat(np.arange(6), true), SecureStream(seed))
        found.append(response.debias(np.bincount(reports, minlength=6)))
    error = np.mean(found, 0) - true
    assert (np.abs(error) < 4 * np.std(found, 0) / math.sqrt(n) + 1).all()
    only = response.randomise(np.zeros(20_000, int), SecureStream(0))
    assert not response.rare[only].any()  # so that whoever sees a rare word knows that it was written
    expected = 20_000 * np.array([float(p) for p in response.distribution(0)])[~response.rare]
    seen = np.bincount(only, minlength=6)[~response.rare]
    assert ((seen - expected) ** 2 / expected).sum() < 21.1


def test_words_say_that_it_is_no_promise():
    response = RareWordResponse(NOISE, 5.0, 0.1)
    assert "0.2 is no promise" in response.in_words()
    assert f"(epsilon, {response.worst_delta:.3g})" in response.in_words()


@pytest.mark.parametrize("delta", [1.0, -0.1, math.nan])
def test_what_makes_no_sense_is_refused(delta):
    with pytest.raises(ParameterError):
        RareWordResponse(NOISE, 5.0, delta)
    with pytest.raises(ParameterError):
        zipf_edge(2.0, 1.0)
    with pytest.raises(ParameterError):
        zipf_edge(0.1, 0.0)
