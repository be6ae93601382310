"""Privacy losses of mixed lists of events, slow and obvious: rounded *down* to a fine grid, and convolved.

Every loss rounded down gives less than the truth, every loss rounded up more: the truth lies between the two.
Nothing here is shared with the accountants: losses come from the densities, sums from SciPy's convolution.
"""

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import norm

# An event is (kind, *parameters); below, p is the weight of each loss under the first distribution.


def coin(epsilon):
    """Losses and weights of randomised response."""
    up = 1 / (1 + np.exp(-epsilon))
    return np.array([-epsilon, epsilon]), np.array([1 - up, up])


def discrete_laplace(epsilon, sensitivity):
    """Losses and weights of discrete Laplace noise, by summing over outcomes."""
    a = epsilon / sensitivity
    outcomes = np.arange(-sensitivity - int(45 / a), 2 * sensitivity + int(45 / a))
    p = np.exp(-a * np.abs(outcomes)) * np.tanh(a / 2)
    return a * (np.abs(outcomes - sensitivity) - np.abs(outcomes)), p / p.sum()


def laplace(epsilon, n=20_001):
    """Losses and weights of Laplace noise: the ends, and the middle cut into ``n`` pieces."""
    edges = np.linspace(0, 1, n + 1)
    tail = np.exp(-epsilon * edges) / 2  # P(noise > edge)
    middle = epsilon * (1 - edges[:-1] - edges[1:])
    return np.r_[epsilon, middle, -epsilon], np.r_[0.5, tail[:-1] - tail[1:], tail[-1]]


def sampled_gaussian(noise, rate, remove, n=100_001):
    """Losses and weights of a Poisson-sampled Gaussian, in one of the two directions."""
    x = np.linspace(-12 * noise, 12 * noise + 1, n)
    step = x[1] - x[0]
    alone = norm(0, noise).pdf(x) * step
    mixed = (1 - rate) * alone + rate * norm(1, noise).pdf(x) * step
    loss = np.log1p(rate * np.expm1((2 * x - 1) / (2 * noise * noise)))
    return (loss, mixed) if remove else (-loss, alone)


def gaussian(mu, n=100_001):
    """Losses and weights of a Gaussian."""
    x = np.linspace(-12, 12, n)
    p = norm.pdf(x) * (x[1] - x[0])
    return mu * mu / 2 + mu * x, p


def on_grid(losses, weights, step, rounding):
    """Return the lowest cell and the weights of all cells, each loss being rounded."""
    cells = rounding(losses / step + (1e-7 if rounding is np.floor else -1e-7)).astype(int)
    low = cells.min()
    return low, np.bincount(cells - low, weights)


def composed(parts, step, rounding):
    """Convolve events, given as ((losses, weights), times)."""
    low, total = 0, np.ones(1)
    for (losses, weights), times in parts:
        one_low, one = on_grid(losses, weights, step, rounding)
        for digit in reversed(f"{times:b}"):
            if digit == "1":
                low, total = trimmed(low + one_low, fftconvolve(total, one))
            one_low, one = trimmed(2 * one_low, fftconvolve(one, one))
    return (low + np.arange(len(total))) * step, np.maximum(total, 0)


def trimmed(low, weights, least=1e-18):
    """Cut off cells of no weight at both ends."""
    kept = np.flatnonzero(weights > least)
    return low + kept[0], weights[kept[0] : kept[-1] + 1]


def epsilon_at(losses, weights, delta):
    """Return where the hockey-stick divergence falls to ``delta``, by bisection."""
    low, high = 0.0, float(losses[-1])
    for _ in range(60):
        middle = (low + high) / 2
        above = losses > middle
        found = float(np.sum(-np.expm1(middle - losses[above]) * weights[above]))
        low, high = (middle, high) if found > delta else (low, middle)
    return high


def bounds(parts_by_direction, delta, step):
    """Return a lower and an upper bound on epsilon: the worse direction counts."""
    return tuple(
        max(epsilon_at(*composed(parts, step, rounding), delta) for parts in parts_by_direction)
        for rounding in (np.floor, np.ceil)
    )
