r"""Differences between groups, and trends over ordered groups. Post-processing of released numbers.

*Differences*: :math:`p_{ak} - p_{bk}` of the raw shares, with the noise of both and the sampling of both (how far
shares of that many units differ by chance, at most :math:`p(1-p)/n`). The topics are tested together: p-values are
Holm's, so that with probability ``level`` not one difference is called certain that is none.

*Trends*: a local level for each topic, :math:`y_t = \mu_t + e_t`, :math:`\mu_t = \mu_{t-1} + u_t`, where the
variance of :math:`e_t` is known (noise and sampling) and that of :math:`u_t` is not: the smoother runs for each of a
grid of variances, and the answers are averaged by how well each explains the released shares. Bands hold both
uncertainties.

References
----------
Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
Durbin, Koopman, "Time series analysis by state space methods", 2nd edition, 2012, chapter 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.release.prevalence.shares import Sums, group_sizes, raw, shrunk

__all__ = ["Differences", "Trend", "differences", "growth", "is_flat", "sampling_error", "trend"]

Floats = NDArray[np.float64]
#: Standard deviations of a step, as parts of the topic's overall share: from standing still to jumping.
_PACES = np.concatenate([[0.0], np.geomspace(0.01, 2.0, 40)])
_FLAT = 1e6


class Differences(NamedTuple):
    """Differences of shares between two groups, an entry for each topic.

    Attributes
    ----------
    difference, low, high, standard_error, p_value : arrays of shape (n_topics,)
        ``p_value`` is Holm's, over all topics.
    certain : array of shape (n_topics,), bool
    """

    difference: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    certain: NDArray[np.bool_]


class Trend(NamedTuple):
    """Smoothed shares over ordered groups, with their bands; arrays of shape (n_groups, n_topics)."""

    level: Floats
    low: Floats
    high: Floats
    standard_error: Floats


def sampling_error(sums: Sums) -> Floats:
    """Return how far shares vary from one draw of that many units to the next, at most; shape (n_groups, n_topics)."""
    sizes, error = group_sizes(sums)
    share = shrunk(sums).share  # not 0 where noise has only pushed a share below 0
    return np.sqrt(share * (1 - share) / np.maximum(sizes, max(error, 1.0))[:, None])


def differences(sums: Sums, first: int, second: int, level: float = 0.95) -> Differences:
    """Compare two groups, all topics together."""
    found, sampled = raw(sums), sampling_error(sums)
    difference = found.share[first] - found.share[second]
    error = np.sqrt(
        found.standard_error[first] ** 2
        + found.standard_error[second] ** 2
        + sampled[first] ** 2
        + sampled[second] ** 2
    )
    score = np.divide(
        difference, error, out=np.zeros_like(difference), where=np.isfinite(error) & (error > 0)
    )
    alone = 2 * ndtr(-np.abs(score))
    order = np.argsort(alone, kind="stable")
    stepped = np.maximum.accumulate(alone[order] * np.arange(len(order), 0, -1))
    p_value = np.empty_like(alone)
    p_value[order] = np.minimum(stepped, 1.0)
    reach = ndtri((1 + level) / 2) * error
    low, high = np.maximum(difference - reach, -1.0), np.minimum(difference + reach, 1.0)
    return Differences(difference, low, high, error, p_value, p_value < 1 - level)


def growth(sums: Sums, level: float = 0.95) -> Differences:
    """Compare the last quarter of the groups with the first, all topics together; one group where there are few.

    The groups of a quarter are added up: totals, sizes and noise. Their order is that of time.
    """
    n_groups = len(sums.topics)
    many = max(1, n_groups // 4)
    ends = [slice(n_groups - many, None), slice(0, many)]
    topics = np.array([sums.topics[end].sum(0) for end in ends])
    counts = np.array([sums.counts[end].sum() for end in ends])
    return differences(Sums(topics, counts, sums.noise * np.sqrt(many), sums.count_weight), 0, 1, level)


def is_flat(found: Trend) -> NDArray[np.bool_]:
    """Whether one constant share lies in all bands of a topic, shape (n_topics,): then nothing is seen to move."""
    return found.low.max(0) <= found.high.min(0)


def trend(sums: Sums, level: float = 0.95) -> Trend:
    """Smooth each topic's shares over the groups, which are taken in their order."""
    found, sampled = raw(sums), sampling_error(sums)
    n_groups, n_topics = found.share.shape
    variance = np.where(np.isfinite(found.standard_error), found.standard_error**2 + sampled**2, np.inf)
    out = np.empty((2, n_groups, n_topics))
    for k in range(n_topics):
        size = max(float(np.average(found.share[:, k])), 1 / n_topics / 10)
        fits = [_smooth(found.share[:, k], variance[:, k], (pace * size) ** 2) for pace in _PACES]
        weight = np.exp(np.array([fit[2] for fit in fits]) - max(fit[2] for fit in fits))
        weight /= weight.sum()
        means = np.array([fit[0] for fit in fits])
        out[0, :, k] = weight @ means
        out[1, :, k] = weight @ (np.array([fit[1] for fit in fits]) + (means - out[0, :, k]) ** 2)
    error = np.sqrt(out[1])
    reach = ndtri((1 + level) / 2) * error
    clipped = np.clip(out[0], 0.0, 1.0)
    return Trend(clipped, np.clip(out[0] - reach, 0.0, 1.0), np.clip(out[0] + reach, 0.0, 1.0), error)


def _smooth(values: Floats, variance: Floats, step: float) -> tuple[Floats, Floats, float]:
    """Kalman filter and smoother of one local level: means, variances and the log likelihood."""
    n = len(values)
    mean, spread = np.empty(n), np.empty(n)
    before_mean, before_spread = np.empty(n), np.empty(n)
    level, width, likelihood, seen = 0.0, _FLAT, 0.0, False
    for t in range(n):
        width += step if t else 0.0
        before_mean[t], before_spread[t] = level, width
        if np.isfinite(variance[t]):
            total = width + variance[t]
            gain, surprise = (width / total, values[t] - level) if total > 0 else (1.0, values[t] - level)
            if seen and total > 0:  # the first value only says where the series begins
                likelihood -= 0.5 * (np.log(total) + surprise**2 / total)
            seen = True
            level, width = level + gain * surprise, width * (1 - gain)
        mean[t], spread[t] = level, width
    for t in range(n - 2, -1, -1):
        pull = spread[t] / before_spread[t + 1] if before_spread[t + 1] > 0 else 0.0
        mean[t] += pull * (mean[t + 1] - before_mean[t + 1])
        spread[t] += pull**2 * (spread[t + 1] - before_spread[t + 1])
    return mean, np.maximum(spread, 0.0), likelihood
