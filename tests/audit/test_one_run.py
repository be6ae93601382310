"""The bound from one run: golden numbers, exactness, delta, exact halves."""

import math

import numpy as np
import pytest
from tests.naive import audit as naive

from discreet.audit import one_run_bound
from discreet.audit.one_run import one_run_p_value
from discreet.errors import ParameterError


@pytest.mark.parametrize(
    ("right", "guesses", "epsilon"), [(100, 100, 3.49), (90, 100, 1.63), (400, 500, 1.20)]
)
def test_golden_numbers(right, guesses, epsilon):
    assert round(one_run_bound(right, guesses), 2) == epsilon


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("right", [0, 3, 7, 12])
def test_p_value_is_the_slow_sum(right, delta):
    for epsilon in (0.0, 0.5, 2.0):
        fast = one_run_p_value(right, 12, epsilon, delta=delta, n_canaries=40)
        assert fast == pytest.approx(naive.p_value(right, 12, epsilon, delta, 40), rel=1e-9)


def test_delta_and_silence_cost():
    plain = one_run_bound(90, 100)
    with_delta = one_run_bound(90, 100, 0.95, 1e-4)
    assert one_run_bound(90, 100, 0.95, 1e-4, 1000) < with_delta < plain
    assert one_run_bound(90, 100, 0.95, 0.0, 1000) == plain


def test_guessing_proves_nothing():
    assert one_run_bound(50, 100) == 0.0
    assert one_run_bound(0, 0) == 0.0


def test_randomised_response_is_bounded_below_its_epsilon():
    """The hardest mechanism for the bound: it must hold with 95 %, and be close."""
    rng = np.random.default_rng(5)
    epsilon = 1.0
    right = rng.binomial(1000, 1 / (1 + math.exp(-epsilon)), size=2000)
    bounds = {n: one_run_bound(int(n), 1000) for n in set(right.tolist())}
    got = np.array([bounds[int(n)] for n in right])
    assert 0.03 < (got > epsilon).mean() <= 0.065
    assert got.mean() > 0.8


@pytest.mark.parametrize(
    "wrong", [(5, 4), (-1, 4), (2, 4, 1.0), (2, 4, 0.95, 1.0), (2, 4, 0.95, 0.0, 3)], ids=str
)
def test_refusals(wrong):
    with pytest.raises(ParameterError):
        one_run_bound(*wrong)
