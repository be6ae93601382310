r"""Gaussian differential privacy in closed form: exact for any number of full-batch Gaussian releases.

Gaussian releases with noise multipliers :math:`\sigma_i`, chosen adaptively, compose to one with
:math:`\mu^2 = \sum_i \sigma_i^{-2}`, and

.. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \, \Phi(-\epsilon/\mu - \mu/2).

Answers are rounded to the safe side: an epsilon or a delta is never below, a mu never above the true one. Both
terms are computed as logarithms; their rounding errors are bounded (arguments: three roundings, each worth the
hazard :math:`\varphi/\Phi(x) \le \max(-x, 0) + 1`; SciPy's ``log_ndtr``: eight units in the last place, the worst
of thousands of points against 50-digit arithmetic is 6), and each term is moved by its bound before they are
subtracted. What that costs is a relative 1e-12 of epsilon at usual values, and more only where mu is tiny.

References
----------
Balle, Wang, "Improving the Gaussian mechanism for differential privacy", arXiv:1805.06530.
Dong, Roth, Su, "Gaussian differential privacy", arXiv:1905.02383.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from discreet._validate import Rule, check, is_number, number

__all__ = ["gdp_delta", "gdp_delta_below", "gdp_epsilon", "gdp_mu"]

_ULP = 2.0**-52
_MU = number(least=0, most=math.inf)
_ANY = Rule("a number", is_number)


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the delta of mu-Gaussian differential privacy at ``epsilon``, rounded up.

    Parameters
    ----------
    mu : float
        Not negative; sensitivity over standard deviation of one release.
    epsilon : float
        May be negative, or infinite.

    Raises
    ------
    ParameterError
        Where one of them is out of range.
    """
    check(mu=(mu, _MU), epsilon=(epsilon, _ANY))
    return _delta(mu, epsilon)


def _delta(mu: float, epsilon: float) -> float:
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if math.isinf(mu) or epsilon == -math.inf:
        return 1.0
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    if math.isinf(first):  # mu is so small that the ratio overflows
        return 0.0 if epsilon > 0 else 1.0
    upper, lower = float(log_ndtr(first)), float(log_ndtr(second))
    size = abs(epsilon) / mu + mu / 2
    upper += _error(first, size, upper)
    lower += epsilon - _error(second, size, lower) - _ULP * (abs(epsilon) + abs(lower))
    if lower >= upper:
        return 0.0
    delta = -math.exp(upper) * math.expm1(lower - upper) * (1 + 4 * _ULP)
    # Among the smallest floats a rounding is a whole step: four of them, one for each operation on the way.
    return min(1.0, delta + 4 * math.ulp(0.0))


def gdp_delta_below(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the delta of mu-Gaussian differential privacy at many epsilons, rounded down. ``mu`` is positive."""
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    upper, lower = log_ndtr(first), log_ndtr(second)
    size = np.abs(epsilon) / mu + mu / 2
    upper = upper - _ULP * (3 * size * (np.maximum(-first, 0.0) + 1) + 8 * (np.abs(upper) + 1))
    off = _ULP * (3 * size * (np.maximum(-second, 0.0) + 1) + 8 * (np.abs(lower) + 1))
    lower = lower + epsilon + off + _ULP * (np.abs(epsilon) + np.abs(lower))
    falls = np.minimum(lower - upper, 0.0)
    return np.maximum(0.0, -np.exp(upper) * np.expm1(falls) * (1 - 4 * _ULP) - 4 * math.ulp(0.0))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian differential privacy at ``delta``, rounded up.

    Parameters
    ----------
    mu : float
        Not negative.
    delta : float
        From 0 to 1; at 0 the answer is infinite (or 0, where mu is 0).

    Raises
    ------
    ParameterError
        Where one of them is out of range.
    """
    check(mu=(mu, _MU), delta=(delta, number(least=0, most=1)))
    if mu == 0:
        return 0.0
    if math.isinf(mu) or delta <= 0:
        return math.inf
    if _delta(mu, 0.0) <= delta:
        return 0.0
    high = max(mu * mu, mu)
    while _delta(mu, high) > delta:
        high *= 2
    return _bisect(lambda value: _delta(mu, value) > delta, 0.0, high)[1]


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian release satisfies (epsilon, delta), rounded down.

    Parameters
    ----------
    epsilon : float
        Not negative.
    delta : float
        From 0 to below 1.

    Notes
    -----
    ``epsilon = inf`` gives ``inf``. ``gdp_epsilon(gdp_mu(epsilon, delta), delta) <= epsilon`` always holds.

    Raises
    ------
    ParameterError
        Where one of them is out of range.
    """
    check(epsilon=(epsilon, number(least=0, most=math.inf)), delta=(delta, number(least=0, below=1)))
    if math.isinf(epsilon):
        return math.inf
    high = 1.0
    while _delta(high, epsilon) <= delta:
        high *= 2
    mu, _ = _bisect(lambda value: _delta(value, epsilon) <= delta, 0.0, high)
    shrink = _ULP
    while _delta(mu, epsilon) > delta or gdp_epsilon(mu, delta) > epsilon:  # the last digits are bumpy
        mu *= 1 - shrink
        shrink *= 2
    return mu


def _error(x: float, size: float, log_phi: float) -> float:
    """Bound the error of log Phi(x), x being the sum of two quotients that add up to ``size`` in absolute value."""
    return _ULP * (3 * size * (max(-x, 0.0) + 1) + 8 * (abs(log_phi) + 1))


def _bisect(left_of: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Narrow an interval down to neighbouring floats; ``left_of(low)`` holds and ``left_of(high)`` does not."""
    while True:
        middle = low + (high - low) / 2
        if middle in (low, high):
            return low, high
        if left_of(middle):
            low = middle
        else:
            high = middle
