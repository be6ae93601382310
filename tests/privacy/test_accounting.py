"""Accounting: golden numbers, definitions, other people's accountants, and mistakes that must show."""

import itertools
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.marks import quick
from tests.naive import accounting as naive

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import gdp_delta, gdp_epsilon, gdp_mu
from discreet.privacy.accounting.planning import epsilon_for, noise_multiplier_for
from discreet.privacy.accounting.totals import composed_epsilon

#: What the figures of Park et al. compare with: accountants of the experiment.
OF_PARK = runpy.run_path(str(Path(__file__).parents[2] / "experiments" / "park2016" / "accountants.py"))
PARK = {"sampling_rate": 0.05, "n_rounds": 20}
LONG = {"sampling_rate": 0.01, "n_rounds": 1000}


@pytest.mark.parametrize(
    ("noise", "delta", "run", "accountant", "expected", "tolerance"),
    [
        (1.24, 1e-4, PARK, "pld", 0.932, 5e-4),
        (1.24, 1e-4, PARK, "rdp", 1.21, 5e-3),
        (1.24, 1e-4, PARK, "moments2016", 2.441, 5e-4),
        (1.0, 1e-6, LONG, "pld", 2.125, 1e-3),
        (1.0, 1e-6, LONG, "rdp", 2.437, 1e-3),
    ],
)
def test_golden_numbers(noise, delta, run, accountant, expected, tolerance):
    found = OF_PARK["epsilon_for"](noise, delta, accountant=accountant, **run)
    assert found == pytest.approx(expected, abs=tolerance)
    if accountant == "pld":
        assert epsilon_for(noise, delta, **run) == found


def test_strong_composition_needs_three_and_a_half_times_the_noise():
    found = OF_PARK["noise_multiplier_for"](2.441, 1e-4, accountant="strong", **PARK)
    assert found == pytest.approx(4.34, abs=0.01)


def test_laplace_three_hundred_rounds():
    rounds = [events.composed(events.discrete_laplace(1 / 20, 2**14), 300)]
    cost = composed_epsilon(rounds, 1e-6)
    assert cost.epsilon == pytest.approx(4.085, abs=2e-3)
    assert "privacy loss" in cost.accountant
    assert composed_epsilon(rounds, 1e-300).epsilon == pytest.approx(15, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.142), (1, 0.268), (2, 0.502), (4, 0.925), (8, 1.666)])
def test_gaussian_dp_golden_numbers(epsilon, mu):
    assert gdp_mu(epsilon, 1e-5) == pytest.approx(mu, abs=5e-4)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.1), (1, 1), (2, 0.5), (0.8, 3), (4, 10)])
def test_closed_form_is_the_definition(mu, epsilon):
    exact = naive.gaussian_delta(mu, epsilon)
    assert gdp_delta(mu, epsilon) == pytest.approx(exact, rel=1e-4)
    # The plausible slips: the other tail, or half the sensitivity.
    assert gdp_delta(mu / 2, epsilon) < 0.7 * exact
    assert gdp_delta(mu, -epsilon) > 1.2 * exact


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-3, 50), st.floats(1e-12, 0.4))
def test_closed_form_inverts_and_rounds_to_the_safe_side(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert gdp_delta(mu, epsilon) <= delta
    assert gdp_delta(mu * (1 + 1e-9), epsilon) > delta * (1 - 1e-12)
    back = gdp_epsilon(mu, delta)
    assert gdp_delta(mu, back) <= delta
    assert back <= epsilon * (1 + 1e-12)


def test_edges_of_the_closed_form():
    assert gdp_mu(math.inf, 1e-6) == math.inf
    assert gdp_epsilon(0.0, 1e-6) == 0
    assert gdp_epsilon(math.inf, 1e-6) == math.inf
    assert gdp_epsilon(0.1, 0.5) == 0
    assert gdp_delta(0, 1) == 0
    assert 0 < gdp_delta(1e-4, 1) < 1e-300


@pytest.mark.parametrize("noise", [0.8, 1.24, 3])
def test_one_sampled_round_is_the_definition(noise):
    for epsilon in (0.3, 1.0):
        exact = naive.sampled_gaussian_delta(noise, 0.05, epsilon)
        if exact < 1e-10:  # below what a sum of rounded probabilities can tell
            continue
        found = epsilon_for(noise, exact, sampling_rate=0.05)
        assert found == pytest.approx(epsilon, rel=2e-3)
        assert found >= epsilon * (1 - 1e-4)


def test_moments_of_2016_are_the_definition():
    moments_2016_epsilon = OF_PARK["moments_2016_epsilon"]
    for order in (1, 4, 9):
        one = moments_2016_epsilon(1.24, 1.0, 0.05, 1)
        assert one > 0
        delta = 1e-4
        direct = (20 * naive.moments_2016(1.24, 0.05, order) - math.log(delta)) / order
        assert moments_2016_epsilon(1.24, delta, 0.05, 20) <= direct * (1 + 1e-9)
    assert moments_2016_epsilon(1.0, 1e-6, 1.0, 1) == math.inf


def test_prv_accountant_agrees():
    prv = pytest.importorskip("prv_accountant")
    for noise, rate, n_rounds, delta in [
        (1.24, 0.05, 20, 1e-4),
        (1.0, 0.01, 1000, 1e-6),
        (2.0, 0.2, 50, 1e-5),
    ]:
        mechanism = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=noise, sampling_probability=rate)
        other = prv.PRVAccountant(
            mechanism, eps_error=0.02, delta_error=delta * 1e-3, max_self_compositions=n_rounds
        )
        low, _, high = other.compute_epsilon(delta=delta, num_self_compositions=n_rounds)
        ours = epsilon_for(noise, delta, sampling_rate=rate, n_rounds=n_rounds)
        assert low - 1e-3 <= ours <= high + 1e-3


@pytest.mark.parametrize("accountant", ["pld", "rdp", "moments2016", "strong"])
@pytest.mark.parametrize("epsilon", quick([0.3, 1.0, 4.0], 1.0))
def test_calibration_inverts(accountant, epsilon):
    noise = OF_PARK["noise_multiplier_for"](epsilon, 1e-4, accountant=accountant, **PARK)
    found = OF_PARK["epsilon_for"](noise, 1e-4, accountant=accountant, **PARK)
    assert found <= epsilon
    assert found > 0.999 * epsilon or accountant == "moments2016"  # whole orders make it jump


def test_full_batch_rounds_add_up_in_squares():
    one = noise_multiplier_for(1.0, 1e-6)
    nine = noise_multiplier_for(1.0, 1e-6, n_rounds=9)
    assert nine == pytest.approx(3 * one, rel=1e-12)
    parts = [events.gaussian(noise_multiplier_for(1.0, 1e-6) * factor) for factor in (math.sqrt(3),) * 3]
    assert composed_epsilon(parts, 1e-6).epsilon == pytest.approx(1.0, rel=1e-9)
    assert epsilon_for(one, 1e-6) <= 1.0


def test_infinite_epsilon_needs_no_noise():
    assert noise_multiplier_for(math.inf, 1e-6) == 0
    assert epsilon_for(0, 1e-6) == math.inf
    assert composed_epsilon([events.non_private(), events.gaussian(1.0)], 1e-6).epsilon == math.inf


def test_order_does_not_matter():
    parts = [
        events.gaussian(3.0),
        events.discrete_laplace(0.4, 16),
        events.composed(events.poisson_sampled(0.1, events.gaussian(1.5)), 7),
        events.with_delta(events.gaussian(7.0), 1e-8),
    ]
    answers = {composed_epsilon(order, 1e-6) for order in itertools.permutations(parts)}
    assert len(answers) == 1


def test_additive_deltas_are_taken_from_delta():
    plain = composed_epsilon([events.gaussian(2.0)], 1e-6 - 4e-7).epsilon
    assert composed_epsilon([events.with_delta(events.gaussian(2.0), 4e-7)], 1e-6).epsilon == pytest.approx(
        plain
    )
    # The slip: a failure probability that is forgotten.
    assert composed_epsilon([events.gaussian(2.0)], 1e-6).epsilon < plain
    assert composed_epsilon([events.with_delta(events.gaussian(2.0), 2e-6)], 1e-6).epsilon == math.inf


def test_mixed_events_cost_less_than_their_sum_and_more_than_each():
    noise = noise_multiplier_for(1.5, 1e-6)
    mixed = composed_epsilon([events.gaussian(noise), events.discrete_laplace(0.5, 2**14)], 1e-6).epsilon
    assert 1.5 < mixed < 2.0
    assert composed_epsilon([events.discrete_laplace(0.5, 2**14)], 1e-6).epsilon == 0.5


def test_pure_sum_wins_where_it_is_smallest():
    few = composed_epsilon([events.pure(0.5), events.discrete_laplace(0.25, 8)], 1e-9)
    assert few.epsilon <= 0.75 * (1 + 1e-12)


def test_tiny_budgets_stay_small_and_quick():
    for epsilon in (1e-2, 1e-3):
        noise = noise_multiplier_for(epsilon, 1e-6, sampling_rate=0.01, n_rounds=100)
        assert epsilon_for(noise, 1e-6, sampling_rate=0.01, n_rounds=100) <= epsilon


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: epsilon_for(1.0, 0.0), "delta must lie strictly between 0 and 1, but is 0"),
        (lambda: epsilon_for(-1.0, 1e-6), "noise_multiplier"),
        (lambda: epsilon_for(1.0, 1e-6, sampling_rate=0), "sampling_rate"),
        (lambda: epsilon_for(1.0, 1e-6, n_rounds=0), "n_rounds"),
        (lambda: noise_multiplier_for(0, 1e-6), "epsilon must be a positive number"),
        (lambda: noise_multiplier_for(np.nan, 1e-6), "epsilon"),
        (lambda: events.gaussian(0), "noise_multiplier"),
        (lambda: events.composed(events.gaussian(1.0), 0), "at least 1"),
        (lambda: events.poisson_sampled(1.5, events.gaussian(1.0)), "sampling_rate"),
    ],
)
def test_refusals(call, match):
    with pytest.raises((ParameterError, PrivacyError), match=match):
        call()


def test_repetitions_repeat_failures():
    failing = events.composed(events.with_delta(events.gaussian(20.0), 1e-7), 4)
    expected = composed_epsilon([events.composed(events.gaussian(20.0), 4)], 1e-6 - 4e-7).epsilon
    assert composed_epsilon([failing], 1e-6).epsilon == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "arguments", "name"),
    [
        (gdp_mu, (1.0, 1.0), "delta"),
        (gdp_mu, (1.0, -1e-6), "delta"),
        (gdp_mu, (float("nan"), 1e-6), "epsilon"),
        (gdp_mu, (-1.0, 1e-6), "epsilon"),
        (gdp_epsilon, (1.0, 2.0), "delta"),
        (gdp_epsilon, (-1.0, 0.1), "mu"),
    ],
)
def test_gaussian_privacy_of_impossible_numbers_is_refused(call, arguments, name):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        call(*arguments)


def test_gaussian_privacy_at_the_ends():
    assert gdp_delta(1.0, float("-inf")) == 1
    assert gdp_delta(1.0, float("inf")) == 0
    assert gdp_epsilon(1.0, 1.0) == 0
