"""Privacy curves, slow and obvious: 60 digits for one Gaussian, quadrature for mixed lists of events."""

import mpmath
import numpy as np
from scipy.stats import norm

mpmath.mp.dps = 60


def gaussian_delta_60_digits(mu: float, epsilon: float):
    """Return delta(epsilon) of mu-Gaussian differential privacy."""
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def gaussian_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """Return the same in floats; epsilon may be negative, where delta is 1 - e^epsilon or more."""
    return norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def laplace_and_gaussian_delta(pure: float, mu: float, epsilon: float, n: int = 200_001) -> float:
    """Return delta(epsilon) of one Laplace and one Gaussian release: E_L[delta_Gauss(epsilon - L)].

    The Laplace loss at x, for a shift of one sensitivity, is pure * (|x - 1| - |x|), x drawn around 0: it is
    ``pure`` with probability 1/2, ``-pure`` with probability e^-pure / 2, and in between for x in (0, 1).
    """
    x = (np.arange(n) + 0.5) / n
    between = pure * np.exp(-pure * x) / 2
    inside = np.mean(between * gaussian_delta(mu, epsilon - pure * (1 - 2 * x)))
    ends = gaussian_delta(mu, np.array([epsilon - pure, epsilon + pure])) * [0.5, np.exp(-pure) / 2]
    return float(inside + ends.sum())


def coin_delta(pure: float, times: int, epsilon: float) -> float:
    """Return delta(epsilon) of ``times`` randomised responses of loss ``pure`` each, by the binomial sum."""
    from scipy.stats import binom

    up = 1 / (1 + np.exp(-pure))
    k = np.arange(times + 1)  # how often the likelier answer came
    loss = pure * (2 * k - times)
    return float(np.sum(np.maximum(-np.expm1(epsilon - loss), 0) * binom.pmf(k, times, up)))


def coins_epsilon(coins, delta: float) -> float:
    """Return epsilon at ``delta`` of (loss, times) lists of randomised responses: every outcome, by binomial sums."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    losses, weights = np.zeros(1), np.ones(1)
    for pure, times in coins:
        k = np.arange(times + 1)
        up = 1 / (1 + np.exp(-pure))
        losses = (losses[:, None] + pure * (2 * k - times)).ravel()
        weights = (weights[:, None] * binom.pmf(k, times, up)).ravel()

    def over(epsilon):
        above = losses > epsilon
        return float(np.sum(-np.expm1(epsilon - losses[above]) * weights[above])) - delta

    return 0.0 if over(0.0) <= 0 else float(brentq(over, 0.0, losses.max(), xtol=1e-13, rtol=1e-13))


def discrete_laplace_delta(event, epsilon: np.ndarray) -> np.ndarray:
    """Return delta(epsilon) of discrete Laplace noise: sum over outcomes of max(0, P - e^epsilon Q)."""
    a, shift = event.noise_parameter, event.sensitivity
    far = int(60 / a) + shift
    outcomes = np.arange(-far, far + 1)
    norm_ = np.tanh(a / 2)
    p, q = norm_ * np.exp(-a * np.abs(outcomes)), norm_ * np.exp(-a * np.abs(outcomes - shift))
    return np.array([np.maximum(p - np.exp(e) * q, 0).sum() for e in epsilon])


def discrete_laplace_slack(below, above) -> float:
    """Return the least of delta_above - delta_below: not negative where ``above`` dominates."""
    largest = max(e.noise_parameter * e.sensitivity for e in (below, above))
    grid = np.linspace(-largest, largest, 997)
    return float((discrete_laplace_delta(above, grid) - discrete_laplace_delta(below, grid)).min())
