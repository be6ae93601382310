"""Does a sample follow a distribution on the integers? Chi-squared on exact cells, and Kolmogorov-Smirnov."""

import numpy as np
from scipy import special, stats

#: Below this, a check says no; above ACCEPT, it says yes. Seeds are fixed, so nothing here is flaky.
REJECT, ACCEPT = 1e-9, 1e-4
#: For comparisons with a library whose generator cannot be seeded: wrongly refused once in a million runs.
ACCEPT_UNSEEDED = 1e-6


def gaussian_cdf(m, scale):
    """P(X <= m) of round(N(0, scale^2))."""
    return special.ndtr((np.asarray(m, dtype=float) + 0.5) / scale)


def laplace_cdf(m, scale):
    """P(X <= m) of the discrete Laplace."""
    m = np.asarray(m, dtype=float)
    ratio = np.exp(-1 / scale)
    return np.where(
        m >= 0, 1 - np.exp(-(m + 1) / scale) / (1 + ratio), np.exp(-np.abs(m) / scale) / (1 + ratio)
    )


def edges(cdf, scale):
    """Right ends of cells: all integers of a small distribution, or else quantiles and the integers by 0."""
    if scale <= 30:
        return np.arange(-int(30 * scale) - 5, int(30 * scale) + 6)
    grid = np.unique(np.linspace(-20 * scale, 20 * scale, 8_001).astype(np.int64))
    quantiles = grid[np.searchsorted(cdf(grid, scale), np.linspace(0.002, 0.998, 500))]
    return np.unique(np.concatenate([quantiles, np.arange(-3, 3)]))


def chi_squared(values, cdf, scale):
    """p-value of Pearson's test; cells of fewer than 10 expected draws are merged with their neighbours."""
    ends = edges(cdf, scale)
    observed = np.bincount(np.searchsorted(ends, values), minlength=len(ends) + 1)
    expected = len(values) * np.diff(np.concatenate([[0.0], cdf(ends, scale), [1.0]]))
    merged: list[list[float]] = [[0.0, 0.0]]
    for seen, wanted in zip(observed, expected, strict=True):
        if merged[-1][1] >= 10:
            merged.append([0.0, 0.0])
        merged[-1][0] += seen
        merged[-1][1] += wanted
    if merged[-1][1] < 10:
        seen, wanted = merged.pop()
        merged[-1][0] += seen
        merged[-1][1] += wanted
    seen, wanted = np.array(merged).T
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1))


def kolmogorov_smirnov(values, cdf, scale):
    """p-value (conservative for a discrete distribution)."""
    points, counts = np.unique(values, return_counts=True)
    up_to = np.cumsum(counts)
    distance = max(
        np.abs(up_to / len(values) - cdf(points, scale)).max(),
        np.abs((up_to - counts) / len(values) - cdf(points - 1, scale)).max(),
    )
    return float(special.kolmogorov(np.sqrt(len(values)) * distance))


def two_samples(left, right):
    """p-value that two samples have one distribution: chi-squared on up to 200 common cells."""
    ends = np.unique(np.quantile(np.concatenate([left, right]), np.linspace(0.005, 0.995, 200)))
    table = np.array(
        [np.bincount(np.searchsorted(ends, sample), minlength=len(ends) + 1) for sample in (left, right)]
    )
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) >= 20]).pvalue)


def low_bits(values, bits=8):
    """p-value that the lowest bits are uniform, as they must be where the scale is large."""
    return float(stats.chisquare(np.bincount(values & (2**bits - 1), minlength=2**bits)).pvalue)


def symmetric(values):
    """Smallest p-value of: as many positive as negative, zero mean, the same magnitudes on both sides."""
    positive, negative = values[values > 0], -values[values < 0]
    signs = stats.binomtest(len(positive), len(positive) + len(negative)).pvalue
    floats = values.astype(float)
    mean = 2 * stats.norm.sf(abs(floats.mean()) / (floats.std() / np.sqrt(len(values))))
    magnitudes = two_samples(positive, negative) if len(np.unique(positive)) > 1 else 1.0
    return float(min(signs, mean, magnitudes))
