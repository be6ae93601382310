"""Random response with a prior: by enumeration, exactly; and the published forms that fail."""

import math
from fractions import Fraction

import numpy as np
import pytest
from experiments.wang2020.fedlda import PairResponse, response_probability
from tests.naive.federated import another_cell, largest_loss, mixture, slow_debias

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy import SecureStream


def distribution(response, cell):
    """Return P(y | cell) for all y, exactly."""
    noise = [response.eta * Fraction(int(weight), 2**40) for weight in response.weights]
    noise[cell] += 1 - response.eta
    return noise


NOISES = [[0.25] * 4, [0.7, 0.2, 0.09, 0.01], [1e-6, 0.5, 0.499999]]


@pytest.mark.parametrize("q", NOISES)
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0, 7.5, 15.0])
def test_loss_by_enumeration_is_epsilon_and_not_more(q, epsilon):
    response = PairResponse(q, epsilon)
    table = [distribution(response, x) for x in range(len(q))]
    assert all(sum(row) == 1 for row in table)
    found = largest_loss(table)
    assert found <= epsilon
    assert found == pytest.approx(epsilon, abs=1e-9)


def test_a_smaller_eta_breaks_it():
    q = np.array([0.7, 0.2, 0.1])
    eta = response_probability(1.0, 0.1)
    assert largest_loss(mixture(q, eta)) == pytest.approx(1.0, abs=1e-9)
    assert largest_loss(mixture(q, eta * (1 - 1e-6))) > 1.0 + 1e-7
    assert PairResponse(q, 1.0).eta >= eta * (1 - 1e-12)


def test_the_misprinted_eta_is_no_probability():
    delta, gamma = 0.1, 1.0
    delta0 = delta - (delta ** (-1 / gamma) + 1) ** (-gamma)
    printed = 1 / (delta * delta0 * math.exp(5 + 1))
    assert printed == pytest.approx(2.73, abs=0.01)
    assert 0 < PairResponse([0.5, 0.5], 5.0).eta < 1


def test_another_cell_loses_far_more_than_it_says():
    q = np.array([0.978, 0.011, 0.011])
    claimed = 1 / (1 + q.min() * math.e)
    worst = largest_loss(another_cell(q, claimed))
    assert worst == pytest.approx(3.8, abs=0.1)
    assert largest_loss([distribution(PairResponse(q, 1.0), x) for x in range(3)]) <= 1.0


def test_noise_of_ones_own_topics_has_unbounded_loss():
    topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    own = np.array([1.0, 0.0]) @ topics
    assert largest_loss(mixture(own, 0.9)) == math.inf
    with pytest.raises(PrivacyError, match="every cell"):
        PairResponse(own, 1.0)
    # Two writers, two topic mixtures, the same word: where each has noise of their own, reports tell who it was.
    one, other = mixture(own, 0.9)[0], mixture(np.array([0.0, 1.0]) @ topics, 0.9)[0]
    assert largest_loss([one, other]) == math.inf


@pytest.mark.parametrize(("epsilon", "q_min"), [(0, 0.1), (-1, 0.1), (math.inf, 0.1), (math.nan, 0.1)])
def test_epsilon_must_be_positive(epsilon, q_min):
    with pytest.raises(PrivacyError):
        response_probability(epsilon, q_min)


@pytest.mark.parametrize("q_min", [0.0, -0.1, 1.1, math.nan])
def test_q_min_must_be_a_probability(q_min):
    with pytest.raises(ParameterError):
        response_probability(1.0, q_min)


def test_reports_follow_the_exact_distribution():
    response = PairResponse([0.6, 0.25, 0.1, 0.05], 2.0)
    n = 40_000
    for cell in range(4):
        reports = response.randomise(np.full(n, cell), SecureStream(cell))
        expected = n * np.array([float(p) for p in distribution(response, cell)])
        statistic = ((np.bincount(reports, minlength=4) - expected) ** 2 / expected).sum()
        assert statistic < 21.1  # chi-square, 3 degrees, 1e-4
        wrong = n * np.array([float(p) for p in distribution(response, (cell + 1) % 4)])
        assert ((np.bincount(reports, minlength=4) - wrong) ** 2 / wrong).sum() > 100


def test_debiasing_is_unbiased_and_equals_the_naive_one():
    response = PairResponse([0.4, 0.3, 0.2, 0.1], 1.5)
    true = np.array([5000, 0, 12_000, 3000])
    secret = np.repeat(np.arange(4), true)
    found = [
        response.debias(np.bincount(response.randomise(secret, SecureStream(s)), minlength=4))
        for s in range(30)
    ]
    error = np.mean(found, 0) - true
    assert (np.abs(error) < 4 * np.std(found, 0) / math.sqrt(30) + 1).all()
    seen = np.array([7, 1, 3, 9])
    np.testing.assert_allclose(response.debias(seen), slow_debias(seen, response.eta, response.q))


def test_padding_that_is_pure_noise_would_be_within_epsilon_too():
    response = PairResponse([0.7, 0.2, 0.1], 1.0)
    table = [distribution(response, x) for x in range(3)]
    noise = [Fraction(int(w), 1 << 40) for w in response.weights]
    assert largest_loss([*table, noise]) <= 1.0


@pytest.mark.parametrize("bad", [[0.5], [0.5, np.nan], [1.0, 0.0], [[0.5, 0.5]]])
def test_bad_noise_is_refused(bad):
    with pytest.raises((ParameterError, PrivacyError)):
        PairResponse(bad, 1.0)


def test_bad_cells_are_refused():
    response = PairResponse([0.5, 0.5], 1.0)
    for bad in ([2], [-1], [0.5]):
        with pytest.raises(ParameterError):
            response.randomise(bad, SecureStream(0))
