"""Steadied variances: the slow twin, known truths, and edges."""

import numpy as np
import pytest
from tests.naive import audit as naive

from discreet.audit.likelihood_ratio import shrink_variances
from discreet.errors import ParameterError


def drawn(freedom, n=5000, prior=6.0, common=2.0, seed=0):
    """Return true variances and their estimates."""
    rng = np.random.default_rng(seed)
    true = common * prior / rng.chisquare(prior, n)
    return true, true * rng.chisquare(freedom, n) / freedom


def error(guess, true):
    return float(np.mean((np.log(guess) - np.log(true)) ** 2))


@pytest.mark.parametrize("freedom", [1, 3, 20])
def test_the_slow_twin_agrees(freedom):
    variances = drawn(freedom, 60)[1]
    np.testing.assert_allclose(
        shrink_variances(variances, freedom), naive.shrunk(variances.tolist(), [freedom] * 60), rtol=1e-6
    )
    mixed = np.where(np.arange(60) % 2, freedom, freedom + 4)
    np.testing.assert_allclose(
        shrink_variances(variances, mixed), naive.shrunk(variances.tolist(), mixed.tolist()), rtol=1e-6
    )


@pytest.mark.parametrize("freedom", [1, 3, 7, 31])
def test_closer_to_the_truth_than_own_and_than_common(freedom):
    true, own = drawn(freedom)
    shrunk = error(shrink_variances(own, freedom), true)
    assert shrunk < error(own, true)
    assert shrunk < error(np.full_like(own, own.mean()), true)


def test_prior_is_found():
    """With d_0 = 6 and s_0^2 = 2, three degrees of freedom: (6 * 2 + 3 v) / 9."""
    own = drawn(3, 200_000)[1]
    np.testing.assert_allclose(shrink_variances(own, 3), (12 + 3 * own) / 9, rtol=0.05)


def test_order_is_kept_and_equal_truths_become_equal():
    own = np.sort(drawn(2)[1])
    assert (np.diff(shrink_variances(own, 2)) >= 0).all()
    equal = np.random.default_rng(1).chisquare(3, 5000) / 3
    np.testing.assert_allclose(shrink_variances(equal, 3), 1.0, rtol=0.4)
    np.testing.assert_array_equal(shrink_variances([2.0], 1), [2.0])
    tiny = shrink_variances([1e-18] * 50 + [1.0], 1)
    assert np.isfinite(tiny).all()
    assert (tiny > 0).all()


@pytest.mark.parametrize(
    "wrong", [([0.0, 1.0], 1), ([np.nan, 1.0], 1), ([1.0, 1.0], 0), ([[1.0]], 1)], ids=str
)
def test_refusals(wrong):
    with pytest.raises(ParameterError, match="positive and finite"):
        shrink_variances(*wrong)
