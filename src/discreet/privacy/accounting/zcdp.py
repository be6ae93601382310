r"""From zero-concentrated differential privacy to (epsilon, delta).

A mechanism with :math:`\rho`-zCDP has Rényi divergence at most :math:`\rho\alpha` at every order
:math:`\alpha > 1`, and so satisfies (epsilon, delta) with

.. math:: \epsilon = \min_{\alpha > 1} \; \rho\alpha + \ln\Bigl(1 - \frac1\alpha\Bigr)
   - \frac{\ln(\alpha\delta)}{\alpha - 1} .

Every order gives a valid answer, so the search need not be exact; it is carried on to about six digits. Solved for
delta, :math:`\delta = \min_{\alpha > 1} e^{(\alpha - 1)(\rho\alpha - \epsilon)} (1 - 1/\alpha)^\alpha / (\alpha - 1)`.

References
----------
Bun, Steinke, "Concentrated differential privacy", arXiv:1605.02065.
Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", arXiv:2004.00010, proposition 12.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["zcdp_delta", "zcdp_epsilon"]


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon that ``rho``-zCDP satisfies at ``delta``, rounded up.

    Parameters
    ----------
    rho : float
        Not negative.
    delta : float
        From 0 to 1; at 0 the answer is infinite (or 0, where rho is 0).
    """
    if rho == 0:
        return 0.0
    if delta <= 0 or math.isinf(rho):
        return math.inf
    smallest, middle, width = math.inf, math.log(1e4), math.log(1e11)
    for _ in range(3):  # ever closer around the best order
        excess = np.exp(np.linspace(middle - width, middle + width, 2001))  # order - 1
        order = 1 + excess
        with np.errstate(over="ignore"):  # infinity is an answer
            epsilon = rho * order - np.log1p(1 / excess) - np.log(order * delta) / excess
            # Cancellation between the terms is bounded by their size.
            epsilon += 1e-14 * (rho * order + np.abs(np.log(order * delta)) / excess)
        best = int(np.argmin(epsilon))
        smallest = min(smallest, float(epsilon[best]))
        middle, width = math.log(excess[best]), width / 500
    return max(0.0, smallest)


def zcdp_delta(rho: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return deltas that ``rho``-zCDP satisfies at many epsilons, rounded up and at most 1. ``rho`` is positive."""
    excess = np.geomspace(1e-3, 1e6, 1501)[:, None]  # order - 1; every order is valid
    order = 1 + excess
    with np.errstate(over="ignore", invalid="ignore"):
        log_delta = excess * (rho * order - epsilon) + order * np.log1p(-1 / order) - np.log(excess)
        log_delta += 1e-14 * excess * (rho * order + np.abs(epsilon))
    return np.minimum(1.0, np.exp(np.minimum(log_delta.min(0), 0.0)) * (1 + 1e-12))
