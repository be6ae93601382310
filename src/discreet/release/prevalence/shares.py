r"""From noisy sums to shares: what was released of each group, read with all its uncertainty. Post-processing.

Released are, for each group g, the sums :math:`S_{gk}` of topic shares over its units and a count :math:`c\,n_g`,
each with Gaussian noise of the same standard deviation s. The number of units is told twice, by the sum of a row
(variance :math:`K s^2`) and by the count (:math:`s^2 / c^2`); weighted by precision,

.. math:: \hat n_g = w \sum_k S_{gk} + (1 - w)\, C_g / c, \qquad w = \frac{1}{1 + K c^2}, \qquad
          \mathrm{Var}(\hat n_g) = \frac{s^2}{1/K + c^2} .

A share is the ratio :math:`S_{gk} / \hat n_g`. Numerator and denominator have known variances and a known
covariance :math:`w s^2`, so its interval is Fieller's: all p that the released numbers do not speak against, exact
for Gaussian noise whatever the size of the group; and [0, 1] where the group may be empty.

Estimates of the shares:

* ``raw``: the ratio; unbiased but for the denominator, may be negative.
* ``projected``: the nearest point of the simplex.
* ``shrunk``: the posterior mean under a prior on the lift of a share over the topic's overall share. The prior is
  found from all released cells together (nonparametric maximum likelihood on a grid), so rows that noise moves
  apart are drawn together and those that differ stand. Its intervals are those of the posterior: of all cells, about
  the stated part is held, not of each.
* ``corrected``: for what fold-in does to short documents, see :mod:`discreet.release.prevalence.response`.

References
----------
Fieller, "Some problems in interval estimation", JRSS B 16, 1954. Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient
projections onto the l1-ball", ICML 2008 (projection on the simplex). Koenker, Mizera, "Convex optimization, shape
constraints, compound decisions, and empirical Bayes rules", JASA 109, 2014.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Shares", "Sums", "corrected", "group_sizes", "projected", "raw", "shrunk"]

Floats = NDArray[np.float64]
#: Lifts of a share over the topic's overall share: none, and from a thirtieth to thirty-fold.
_LIFTS = np.concatenate([[0.0], np.geomspace(1 / 32, 32, 241)])
_STEPS = 20
#: What was found on a grid is spread over neighbouring lifts (a quarter up or down), and a little over all: a prior
#: of few sharp points would make intervals too short.
_SPREAD, _EVERYWHERE = 0.5, 0.03


class Sums(NamedTuple):
    """What was released.

    Attributes
    ----------
    topics : array of shape (n_groups, n_topics)
        Sums of topic shares over the units of each group, with noise.
    counts : array of shape (n_groups,)
        ``count_weight`` times the number of units, with noise.
    noise : float
        Standard deviation of the noise in each of these numbers; 0 without privacy.
    count_weight : float
    """

    topics: Floats
    counts: Floats
    noise: float
    count_weight: float


class Shares(NamedTuple):
    """Shares of topics in groups, and how sure they are.

    Attributes
    ----------
    share, low, high, standard_error : arrays of shape (n_groups, n_topics)
        The interval is about the groups' own documents: it holds the uncertainty of the privacy noise.
    """

    share: Floats
    low: Floats
    high: Floats
    standard_error: Floats


def group_sizes(sums: Sums) -> tuple[Floats, float]:
    """Return the number of units in each group, and the standard error of each of these numbers."""
    n_topics, c = sums.topics.shape[1], sums.count_weight
    weight = _row_weight(sums)
    sizes = weight * sums.topics.sum(1) + (1 - weight) * sums.counts / c
    return sizes, sums.noise / np.sqrt(1 / n_topics + c * c)


def raw(sums: Sums, level: float = 0.95) -> Shares:
    """Return the ratios of the released numbers with Fieller's intervals, cut to [0, 1].

    Where a group's number of units is not positive, its shares are those of all groups together.
    """
    n_topics = sums.topics.shape[1]
    return _ratios(sums, sums.topics, np.ones(n_topics), np.ones(n_topics), level)


def corrected(sums: Sums, undo: Floats, level: float = 0.95) -> Shares:
    """Return shares corrected by a linear map of the totals, on the simplex, with Fieller's intervals cut to [0, 1].

    Parameters
    ----------
    sums : Sums
    undo : array of shape (n_topics, n_topics)
        Rows sum to 1: see :func:`discreet.release.prevalence.response.correction`.
    level : float, default 0.95
    """
    found = _ratios(sums, sums.topics @ undo, (undo**2).sum(0), undo.sum(0), level)
    return found._replace(share=_on_simplex(found.share))


def _ratios(sums: Sums, totals: Floats, spread: Floats, common: Floats, level: float) -> Shares:
    """Return ratios of totals and sizes, with Fieller's intervals.

    ``spread`` is the variance of each topic's totals in parts of that of the noise, ``common`` their covariance with a
    row's sum.
    """
    sizes, error = group_sizes(sums)
    safe = np.where(sizes > 0, sizes, np.inf)[:, None]
    share = np.where(sizes[:, None] > 0, totals / safe, overall(sums))
    weight, s2 = _row_weight(sums) * common, sums.noise**2
    variance = np.maximum(s2 * (spread - 2 * share * weight) + (share * error) ** 2, 0.0)
    deviation = np.where(sizes[:, None] > 0, np.sqrt(variance) / safe, np.inf)
    z2 = float(ndtri((1 + level) / 2)) ** 2
    a = (sizes**2 - z2 * error**2)[:, None]
    b = totals * sizes[:, None] - z2 * weight * s2
    root = np.sqrt(np.maximum(b**2 - a * (totals**2 - z2 * s2 * spread), 0.0))
    known = (a > 0) & (sizes[:, None] > 0)
    divisor = np.where(known, a, 1.0)
    low = np.where(known, (b - root) / divisor, 0.0)
    high = np.where(known, (b + root) / divisor, 1.0)
    return Shares(share, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), deviation)


def overall(sums: Sums) -> Floats:
    """Return the shares of all groups together, shape (n_topics,): not negative, sum 1."""
    total = np.maximum(sums.topics.sum(0), 0.0)
    return total / total.sum() if total.sum() > 0 else np.full(len(total), 1 / len(total))


def projected(sums: Sums, level: float = 0.95) -> Shares:
    """Return the points of the simplex nearest to the raw shares; intervals and errors are those of the raw shares."""
    found = raw(sums, level)
    return found._replace(share=_on_simplex(found.share))


def shrunk(sums: Sums, level: float = 0.95) -> Shares:
    """Return posterior means under a prior that all cells suggest together, and intervals of the posterior."""
    if sums.noise == 0:
        return projected(sums, level)
    sizes, error = group_sizes(sums)
    sizes = np.maximum(sizes, error)
    base = np.maximum(overall(sums), 1e-9)
    expected = sizes[:, None] * base
    # Cells that tell much take part in finding the prior as the others do: each is one draw from it.
    # The size of the group is known from the same noisy numbers: its error is part of each cell's.
    weight, likely = _row_weight(sums), np.clip(raw(sums).share, 0.0, 1.0)
    spread = np.sqrt(sums.noise**2 * (1 - 2 * likely * weight) + (likely * error) ** 2)
    distance = (sums.topics[:, :, None] - expected[:, :, None] * _LIFTS) / spread[:, :, None]
    log_fit = -0.5 * distance**2
    fit = np.exp(log_fit - log_fit.max(2, keepdims=True)).reshape(-1, len(_LIFTS))
    prior = np.full(len(_LIFTS), 1 / len(_LIFTS))
    for _ in range(_STEPS):
        posterior = fit * prior
        prior = (posterior / posterior.sum(1, keepdims=True)).mean(0)
    posterior = fit * _spread(prior)
    posterior = (posterior / posterior.sum(1, keepdims=True)).reshape(distance.shape)
    lift = posterior @ _LIFTS
    deviation = np.sqrt(np.maximum(posterior @ _LIFTS**2 - lift**2, 0.0)) * base
    share = lift * base
    scale = share.sum(1, keepdims=True)
    cumulated = posterior.cumsum(2)
    edge = (1 - level) / 2
    # One point of the grid further out on either side: a quantile lies somewhere between two points.
    low = _LIFTS[np.maximum(np.argmax(cumulated >= edge, 2) - 1, 0)] * base
    high = _LIFTS[np.minimum(np.argmax(cumulated >= 1 - edge, 2) + 1, len(_LIFTS) - 1)] * base
    return Shares(
        share / scale, np.clip(low / scale, 0.0, 1.0), np.clip(high / scale, 0.0, 1.0), deviation / scale
    )


def _spread(prior: Floats) -> Floats:
    """Smooth a distribution over lifts, on the scale of their logarithm; no lift at all stays as it is."""
    positive = np.log(_LIFTS[1:])
    near = np.exp(-0.5 * ((positive[:, None] - positive) / _SPREAD) ** 2)
    wide = np.concatenate([prior[:1], prior[1:] @ (near / near.sum(1, keepdims=True))])
    return (1 - _EVERYWHERE) * wide + _EVERYWHERE / len(prior)


def _row_weight(sums: Sums) -> float:
    return 1 / (1 + sums.topics.shape[1] * sums.count_weight**2)


def _on_simplex(rows: Floats) -> Floats:
    """Project each row on the simplex."""
    ordered = -np.sort(-rows, axis=1)
    above = ordered.cumsum(1) - 1
    n = np.arange(1, rows.shape[1] + 1)
    last = (ordered - above / n > 0).sum(1)
    threshold = above[np.arange(len(rows)), last - 1] / last
    return np.maximum(rows - threshold[:, None], 0.0)
