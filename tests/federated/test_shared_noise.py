"""Noise brought together: enough variance when some are gone, and the law of the sum is as proved."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.masks.masker import add_share, check_tolerated, share_of_noise
from discreet.privacy import SecureStream


@pytest.mark.parametrize("threshold", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("deviation", [1000, 12345.678, Fraction(10**7, 3)])
def test_the_least_sum_has_the_promised_variance_exactly(threshold, deviation):
    share = share_of_noise(deviation, threshold)
    assert threshold * share**2 >= Fraction(deviation) ** 2
    assert float(threshold * share**2) == pytest.approx(float(deviation) ** 2, rel=1e-12)
    # Shares for all clients, where one is gone, would not do.
    if threshold > 1:
        assert (threshold - 1) * share**2 < Fraction(deviation) ** 2


def test_sums_of_shares_have_that_variance_drawn():
    share = share_of_noise(400.0, 4)
    zeros = np.zeros(20_000, np.int64)
    total = sum(add_share(zeros, share, SecureStream(client)) for client in range(4))
    assert np.std(total) == pytest.approx(400, rel=0.03)
    assert abs(np.mean(total)) < 4 * 400 / math.sqrt(20_000)


def test_law_of_a_sum_of_rounded_gaussians_is_a_rounded_gaussian_plus_uniforms():
    """The proof's two laws, computed by convolution, for a small s: they agree far better than the bound."""
    from scipy.special import ndtr

    s, m, reach = 2.0, 3, 40
    k = np.arange(-reach, reach + 1)
    one = ndtr((k + 0.5) / s) - ndtr((k - 0.5) / s)
    law = np.convolve(np.convolve(one, one), one)
    # round(Y + W): Y Gaussian of variance m s^2, W the sum of two uniforms, whose law is a triangle on (-1, 1).
    w = np.linspace(-1, 1, 2001)
    weight = (1 - abs(w)) / (1 - abs(w)).sum()
    wide = np.arange(-m * reach, m * reach + 1)
    upper, lower = ((wide[:, None] + h - w) / (s * math.sqrt(m)) for h in (0.5, -0.5))
    other = (ndtr(upper) - ndtr(lower)) @ weight
    assert abs(law - other).sum() < 1e-6
    plain = ndtr((wide + 0.5) / (s * math.sqrt(m))) - ndtr((wide - 0.5) / (s * math.sqrt(m)))
    assert abs(law - plain).sum() > 1e-3  # it is not simply the rounded Gaussian: the proof needs W


def test_noise_too_fine_for_the_proof_is_refused():
    with pytest.raises(PrivacyError, match="finer"):
        share_of_noise(100.0, 50)
    with pytest.raises(ParameterError):
        share_of_noise(100.0, 0)
    assert share_of_noise(0, 3) == 0


def _deviation(state):
    """Of the noise in each pair, in steps: what the promise takes."""
    from discreet.federated.sum_round import noise_multiplier
    from discreet.lda.moments.estimates import SHARES
    from discreet.privacy.mechanism import BITS, noise_of_share

    return Fraction(noise_of_share(noise_multiplier(state.epsilon, state.delta), SHARES["pairs"])) * 2**BITS


def _lost(noise_multiplier, left):
    """Epsilon at delta 1e-6 of a Gaussian of which the share ``left`` of the variance is unknown to the adversary."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    mu = 1 / (noise_multiplier * math.sqrt(left))

    def beyond(e):
        return norm.cdf(-e / mu + mu / 2) - math.exp(e) * norm.cdf(-e / mu - mu / 2) - 1e-6

    return brentq(beyond, 0, 200)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize(("n", "tolerated"), [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (6, 0), (6, 2), (7, 6)])
def test_any_silos_that_see_the_result_lose_no_more_than_is_told(n, tolerated, epsilon):
    """All coalitions, all sets of missing silos: what is left after their own noise is taken out keeps epsilon."""
    from discreet.federated import init_server
    from discreet.federated.sum_round import counted_on, noise_multiplier

    sizes = {"n_clients": n, "n_topics": 2, "n_words": 50, "tolerated": tolerated}
    state = init_server(epsilon=epsilon, delta=1e-6, **sizes)
    total = _deviation(state)
    share = share_of_noise(total, counted_on(state))
    z = noise_multiplier(state.epsilon, state.delta)
    for missing in range(tolerated + 1):
        for coalition in range(n - missing):  # the silo with the document is there, and not one of them
            left = float((n - missing - coalition) * share**2 / total**2)
            if missing + coalition <= tolerated + 1:
                assert left >= 1
                assert _lost(z, left) <= epsilon * (1 + 1e-9)
    # One share less would be too few: nothing is wasted, unless each brings all.
    if counted_on(state) > 1:
        assert float((counted_on(state) - 1) * share**2 / total**2) < 1


def test_two_silos_lose_more_to_each_other_where_the_result_was_to_stay_with_the_server():
    from discreet.federated import init_server
    from discreet.federated.sum_round import counted_on, noise_multiplier

    sizes = {"n_clients": 2, "n_topics": 2, "n_words": 50, "epsilon": 2.0, "delta": 1e-6}
    hidden = init_server(silos_see_result=False, **sizes)
    total = _deviation(hidden)
    share = share_of_noise(total, counted_on(hidden))
    z = noise_multiplier(hidden.epsilon, hidden.delta)
    assert _lost(z, float(2 * share**2 / total**2)) == pytest.approx(2.0, rel=1e-6)
    assert _lost(z, float(share**2 / total**2)) == pytest.approx(2.93, abs=0.005)
    seen = init_server(**sizes)
    assert counted_on(seen) == 1


@pytest.mark.parametrize("bad", [-1, 2.0, True, 4, 5, "1", None])
def test_tolerated_that_would_lower_the_noise_is_refused(bad):
    with pytest.raises(ParameterError, match="tolerated"):
        check_tolerated(4, bad, silos_see_result=True)


def test_half_of_the_silos_may_be_missing_only_where_each_brings_all_noise():
    with pytest.raises(ParameterError, match="below half"):
        check_tolerated(6, 3, silos_see_result=True)
    check_tolerated(6, 4, silos_see_result=True)
    with pytest.raises(ParameterError, match="below half"):
        check_tolerated(6, 4, silos_see_result=False)
    check_tolerated(2, 1, silos_see_result=True)
    with pytest.raises(ParameterError, match="silos_see_result"):
        check_tolerated(3, 1, silos_see_result="no")


def test_noise_of_two_silos_is_in_what_each_sends_and_drawn_apart():
    """Each silo's vector has all the noise by itself, without the other's: measured on what is sent."""
    from discreet.federated import FederatedLDA
    from discreet.federated.sum_round import counted_on

    empty = np.zeros((1, 40), int)
    model = FederatedLDA(2, epsilon=1.0, delta=1e-6, tolerated=1, allow_unlearnable=True, random_state=0).fit(
        [empty, empty]
    )
    state = model.state_
    assert counted_on(state) == 1
    pairs = state.sums.values[41:]
    assert np.std(pairs) == pytest.approx(math.sqrt(2) * float(_deviation(state)), rel=0.1)


@pytest.mark.parametrize(("n", "tolerated", "missing"), [(2, 0, 0), (4, 1, 0), (4, 1, 1), (6, 2, 2)])
def test_topics_are_fitted_with_the_noise_that_is_in_the_sum(n, tolerated, missing, monkeypatch):
    """More shares than are counted on mean more noise: the fit is told how much, measured on a sum of no documents."""
    from discreet.federated import Account, agreed_terms, client_update, init_server, server_step, sum_round
    from discreet.federated.federated_lda import make_ledger
    from discreet.federated.state import VECTOR

    sizes = {"n_clients": n, "n_topics": 2, "n_words": 40, "tolerated": tolerated, "vocabulary": "0" * 64}
    state = init_server(epsilon=1.0, delta=1e-6, allow_unlearnable=True, **sizes)
    accounts = [Account(c, make_ledger(state), expected=agreed_terms(state)) for c in range(n)]
    told, real = [], sum_round.moments_of_sums
    monkeypatch.setattr(sum_round, "moments_of_sums", lambda *given: told.append(given[3:]) or real(*given))
    empty = sp.csr_matrix((0, 40), dtype=np.int32)
    while not state.finished:
        there = accounts[missing if state.round >= VECTOR else 0 :]
        state = server_step(state, [client_update(state, empty, SecureStream(a.client), a) for a in there])
    assert state.sums.n_vectors == n - missing
    unigram, pairs = state.sums.values[1:41] / 2**18, state.sums.values[41:] / 2**18
    assert np.std(pairs) == pytest.approx(told[0][1], rel=0.1)  # 780 cells
    assert np.std(unigram) == pytest.approx(told[0][0], rel=0.4)  # 40 cells
