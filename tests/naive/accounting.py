"""Accounting, slow and obvious: the definition of delta by numerical integration of the hockey-stick divergence."""

import numpy as np
from scipy.stats import norm


def hockey_stick(epsilon: float, p, q, low: float, high: float, n: int = 400_001) -> float:
    """Integrate max(p - e^epsilon q, 0) by the trapezium rule."""
    x = np.linspace(low, high, n)
    return float(np.trapezoid(np.maximum(p(x) - np.exp(epsilon) * q(x), 0), x))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Delta of one Gaussian release with noise 1 and sensitivity mu."""
    return hockey_stick(epsilon, norm(mu).pdf, norm(0).pdf, -12, mu + 12)


def sampled_gaussian_delta(noise: float, rate: float, epsilon: float) -> float:
    """Delta of one Poisson-sampled Gaussian release: the worse of the two directions."""

    def mixed(x):
        return (1 - rate) * norm(0, noise).pdf(x) + rate * norm(1, noise).pdf(x)

    edges = (-14 * noise, 14 * noise + 1)
    alone = norm(0, noise).pdf
    return max(hockey_stick(epsilon, mixed, alone, *edges), hockey_stick(epsilon, alone, mixed, *edges))


def moments_2016(noise: float, rate: float, order: int) -> float:
    """Log moment of the privacy loss by numerical integration: log E_mixed[(mixed / alone)^order]."""
    x = np.linspace(-40 * noise, 60 * noise + order, 2_000_001)
    alone = norm.logpdf(x, 0, noise)
    mixed = np.logaddexp(np.log1p(-rate) + alone, np.log(rate) + norm.logpdf(x, 1, noise))
    return float(np.log(np.trapezoid(np.exp((order + 1) * mixed - order * alone), x)))
