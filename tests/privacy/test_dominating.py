"""Charges: a Gaussian and a failure that cover an event on its whole curve, and hardly more than that."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.marks import quick
from tests.naive import hockey_stick as naive
from tests.naive import losses as slow

from discreet.errors import PrivacyError
from discreet.privacy.accounting import dominating, events
from discreet.privacy.accounting.curves import gdp_delta, gdp_delta_below, sort_events
from discreet.privacy.accounting.dominating import Charge, gaussian_of_pure
from discreet.privacy.ledger.ledger import Ledger

mpmath.mp.dps = 40
FAILURE = Fraction(1, 10**7)


def charge(parts, failure, neighboring="add_or_remove_one"):
    return dominating.charge(sort_events(parts, neighboring), failure)


def mu_of(found):
    return math.sqrt(found.precision)


def cover(found, epsilon):
    """The curve of a charge."""
    failure = float(found.failure)
    return failure + (1 - failure) * naive.gaussian_delta(mu_of(found), epsilon)


# ---- the Gaussian curve, rounded down


@settings(max_examples=200, deadline=None)
@given(st.floats(-4, 1.5), st.floats(-4, 2.5))
def test_the_lower_curve_is_below_the_truth_and_close_to_it(log_mu, log_epsilon):
    mu, epsilon = 10**log_mu, 10**log_epsilon
    low = float(gdp_delta_below(mu, np.array([epsilon]))[0])
    truth = naive.gaussian_delta_60_digits(mu, epsilon)
    assert low <= truth <= gdp_delta(mu, epsilon)
    if truth > 1e-300:
        assert low >= truth * (1 - 1e-6)


# ---- exact charges


@settings(max_examples=200, deadline=None)
@given(st.floats(-9, 2))
def test_pure_losses_are_covered_by_the_least_gaussian(log_epsilon):
    epsilon = mpmath.mpf(10**log_epsilon)
    p = 1 / (mpmath.exp(epsilon) + 1)
    truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p) if epsilon < 30 else None
    found = gaussian_of_pure(float(epsilon))
    if truth is not None:
        assert truth <= found <= truth * (1 + 1e-11)
    # Phi(-mu / 2) is at most 1 / (e^epsilon + 1): the Gaussian passes below the corner of randomised response.
    assert mpmath.ncdf(-mpmath.mpf(found) / 2) <= p


def test_gaussians_and_failures_are_what_they_are():
    both = events.with_delta(events.composed(events.gaussian(4.0), 3), 1e-9)
    assert charge([both, events.gaussian(2.0)], FAILURE) == Charge(Fraction(7, 16), Fraction(1e-9))
    assert charge([], FAILURE) == Charge(Fraction(0), Fraction(0))
    assert charge([events.non_private()], FAILURE).precision is None
    sampled = events.poisson_sampled(0.1, events.gaussian(4.0))
    assert charge([sampled], Fraction(0)) == Charge(Fraction(1, 16), Fraction(0))
    assert charge([sampled], FAILURE, neighboring="replace_one") == Charge(Fraction(1, 16), Fraction(0))


# ---- found numerically, against curves that share nothing with it


def sampled_curve(rate, multiplier, times, step=1e-4):
    """The curve of composed Poisson samples, below the truth: losses rounded down, the worse of two directions."""
    curves = []
    for remove in (True, False):
        part = slow.sampled_gaussian(multiplier, rate, remove)
        found, weights = slow.composed([(part, times)], step, np.floor)
        curves.append(lambda e, x=found, w=weights: np.sum(-np.expm1(np.minimum(e - x, 0)) * w))
    return lambda epsilon: np.array([max(curve(e) for curve in curves) for e in epsilon])


#: On so fine a lattice that its curve is that of Laplace noise.
LAPLACE = events.discrete_laplace(0.5, 2**14)


def laplace_curve(pure):
    return lambda epsilon: np.maximum(-np.expm1((epsilon - pure) / 2), 0)


CURVES = {
    "coins": (
        events.composed(events.discrete_laplace(0.1, 1), 20),
        lambda epsilon: np.array([naive.coin_delta(0.1, 20, e) for e in epsilon]),
    ),
    "many coins": (
        events.composed(events.discrete_laplace(0.003, 1), 10_000),
        lambda epsilon: np.array([naive.coin_delta(0.003, 10_000, e) for e in epsilon]),
    ),
    "laplace": (LAPLACE, laplace_curve(0.5)),
    "lattice": (
        events.discrete_laplace(0.5, 8),
        lambda epsilon: naive.discrete_laplace_delta(events.discrete_laplace(0.5, 8), epsilon),
    ),
    "laplace and gaussian": (
        LAPLACE,
        lambda epsilon: np.array([naive.laplace_and_gaussian_delta(0.5, 0.2, e, 20_001) for e in epsilon]),
    ),
    "samples": (
        events.composed(events.poisson_sampled(0.05, events.gaussian(1.24)), 20),
        sampled_curve(0.05, 1.24, 20),
    ),
    "few samples": (
        events.composed(events.poisson_sampled(0.01, events.gaussian(0.8)), 3),
        sampled_curve(0.01, 0.8, 3),
    ),
}


def parts_of(name):
    return [CURVES[name][0], *([events.gaussian(5.0)] if "and gaussian" in name else [])]


@pytest.mark.parametrize("failure", quick([1e-4, 1e-7, 1e-10], 1e-7))
@pytest.mark.parametrize("name", CURVES)
def test_the_whole_curve_is_covered_and_no_smaller_gaussian_covers_it(name, failure):
    _, curve = CURVES[name]
    found = charge(parts_of(name), Fraction(failure))
    assert 0 < found.failure <= Fraction(failure)
    epsilon = np.unique(np.r_[np.linspace(0, 0.5, 101), np.linspace(0, 30 * mu_of(found), 301)])
    truth = curve(epsilon)
    assert np.all(truth <= cover(found, epsilon) * (1 + 1e-9))
    # It was found with the failure probability that it says; nearly the least mu with that.
    smaller = found._replace(precision=found.precision * Fraction(98, 100) ** 2)
    assert np.any(truth > cover(smaller, epsilon))


def test_a_failure_probability_is_spent_where_it_helps():
    samples, laplace = CURVES["samples"][0], LAPLACE
    assert charge([samples], FAILURE).failure > FAILURE / 2
    assert charge([laplace], FAILURE).failure < FAILURE / 100
    assert mu_of(charge([laplace], FAILURE)) < mu_of(charge([laplace], Fraction(0)))
    assert mu_of(charge([samples], FAILURE)) < mu_of(charge([samples], FAILURE / 1000))


def test_planted_mistakes_in_the_check_would_be_seen(monkeypatch):
    def seen(name):
        part, curve = CURVES[name]
        epsilon = np.linspace(0, 2, 501)
        dominating.charge.cache_clear()
        found = charge([part], FAILURE)
        dominating.charge.cache_clear()
        return bool(np.any(curve(epsilon) > cover(found, epsilon) * (1 + 1e-9)))

    assert not seen("coins")
    assert not seen("samples")
    with monkeypatch.context() as planted:  # compared at three points only, not between them
        planted.setattr(dominating, "_NODES", 3)
        planted.setattr(dominating, "_nowhere_above", lambda a, b, *_: bool(np.all(a <= b)))
        assert seen("samples")
    with monkeypatch.context() as planted:  # only where delta is read: the old conversion
        planted.setattr(
            dominating, "gdp_delta_below", lambda mu, e: np.where(e < 1.5, 1.0, gdp_delta_below(mu, e))
        )
        assert seen("coins")
    with monkeypatch.context() as planted:  # a bisection that ends on the wrong side
        smallest = dominating._smallest_mu
        planted.setattr(dominating, "_smallest_mu", lambda totals, failure: smallest(totals, failure) * 0.99)
        assert seen("coins")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "event",
    [events.pure(1e-8), events.poisson_sampled(1e-9, events.gaussian(5.0))],
    ids=["pure", "sample"],
)
def test_what_the_failure_alone_covers_costs_next_to_no_noise(event):
    """The bisection for mu once went on to 0 / 0, for ever: the total variation is below the failure probability."""
    found = charge([event], Fraction(1, 10**7))
    assert found.precision is not None
    assert found.precision <= Fraction(1, 10**12)
    assert found.failure <= Fraction(1, 10**7)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", [None, events.gaussian(20.0)], ids=["alone", "after a Gaussian"])
@pytest.mark.parametrize(
    "event",
    [
        events.pure(1e-300),
        events.pure(1e300),
        events.poisson_sampled(1e-300, events.gaussian(1.0)),
        events.gaussian(1e308),
    ],
    ids=repr,
)
def test_events_of_any_size_are_booked_or_refused(first, event):
    ledger = Ledger(1.0, 1e-6, failure_share=0.1)
    if first is not None:
        ledger.reserve(first, "first")
    before = ledger.spent().epsilon
    try:
        ledger.reserve(event, "odd")
    except PrivacyError:
        assert len(ledger.entries) == (first is not None)
    assert before <= ledger.spent().epsilon <= 1.0
