"""Noise brought together: enough variance when some are gone, and the law of the sum is as proved."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.secure_aggregation.shared_noise import add_share, share_of_noise
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
