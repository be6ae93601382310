r"""Gaussian differential privacy in closed form: exact for any number of full-batch Gaussian releases.

Gaussian releases with noise multipliers :math:`\sigma_i`, chosen adaptively, compose to one with
:math:`\mu^2 = \sum_i \sigma_i^{-2}`, and

.. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \, \Phi(-\epsilon/\mu - \mu/2).

Answers are rounded to the safe side: an epsilon or delta is never below, a mu never above the true one, up to
the relative error of SciPy's normal distribution.

References
----------
Balle, Wang, "Improving the Gaussian mechanism for differential privacy", arXiv:1805.06530. Dong, Roth, Su,
"Gaussian differential privacy", arXiv:1905.02383.
"""

import math
from collections.abc import Callable

from scipy.special import log_ndtr

__all__ = ["gdp_delta", "gdp_epsilon", "gdp_mu"]

_SAFETY = 1e-10


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the delta of mu-Gaussian differential privacy at ``epsilon``.

    Parameters
    ----------
    mu : float
        Not negative; sensitivity over standard deviation of one release.
    epsilon : float
        Not negative.
    """
    if mu == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(mu):
        return 1.0
    upper = float(log_ndtr(-epsilon / mu + mu / 2))
    lower = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return 0.0 if lower >= upper else -math.exp(upper) * math.expm1(lower - upper)


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian differential privacy at ``delta``, rounded up."""
    if mu == 0:
        return 0.0
    if math.isinf(mu) or delta <= 0:
        return math.inf
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    high = max(mu * mu, mu, 1e-12)
    while gdp_delta(mu, high) > delta:
        high *= 2
    _, epsilon = _bisect(lambda value: gdp_delta(mu, value) > delta, 0.0, high)
    return epsilon * (1 + _SAFETY)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian release satisfies (epsilon, delta), rounded down.

    ``epsilon = inf`` gives ``inf``.
    """
    if math.isinf(epsilon):
        return math.inf
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    mu, _ = _bisect(lambda value: gdp_delta(value, epsilon) <= delta, 0.0, high)
    return mu * (1 - 4 * _SAFETY)


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
