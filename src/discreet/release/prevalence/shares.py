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

References
----------
Fieller, "Some problems in interval estimation", JRSS B 16, 1954. Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient
projections onto the l1-ball", ICML 2008 (projection on the simplex). Wilson, "Probable inference, the law of
succession, and statistical inference", JASA 22, 1927.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


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
        The interval is about the groups' own documents: it holds the uncertainty of the privacy noise (that of
        :func:`drawn` of chance, too).
    """

    share: Floats
    low: Floats
    high: Floats
    standard_error: Floats


def long_table(groups: Sequence[str], topics: Sequence[str], **numbers: Floats) -> dict[str, list[Any]]:
    """Return a row for each group and topic, as columns; topics count from 1."""
    n_groups, n_topics = len(groups), len(topics)
    return {
        "group": [group for group in groups for _ in range(n_topics)],
        "topic": list(range(1, n_topics + 1)) * n_groups,
        "words": list(topics) * n_groups,
        **{name: np.ravel(value).tolist() for name, value in numbers.items()},
    }


def group_sizes(sums: Sums) -> tuple[Floats, float]:
    """Return the number of units in each group, and the standard error of each of these numbers."""
    n_topics, c = sums.topics.shape[1], sums.count_weight
    weight = row_weight(sums)
    sizes = weight * sums.topics.sum(1) + (1 - weight) * sums.counts / c
    return sizes, sums.noise / np.sqrt(1 / n_topics + c * c)


def raw(sums: Sums, level: float = 0.95) -> Shares:
    """Return the ratios of the released numbers with Fieller's intervals, cut to [0, 1].

    Where a group's number of units is not positive, its shares are those of all groups together.
    """
    sizes, error = group_sizes(sums)
    safe = np.where(sizes > 0, sizes, np.inf)[:, None]
    share = np.where(sizes[:, None] > 0, sums.topics / safe, overall(sums))
    variance = sums.noise**2 * (1 - 2 * share * row_weight(sums)) + (share * error) ** 2
    deviation = np.where(sizes[:, None] > 0, np.sqrt(np.maximum(variance, 0.0)) / safe, np.inf)
    low, high = limits(sums, float(ndtri((1 + level) / 2)))
    return Shares(share, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), deviation)


def drawn(sums: Sums, level: float = 0.95) -> Shares:
    """Return raw shares with intervals about what each group's documents are drawn from: noise and chance."""
    sizes, _ = group_sizes(sums)
    found, many = raw(sums, level), np.maximum(sizes, 1.0)[:, None]
    low, high = limits(sums, float(ndtri((1 + level) / 2)), chance=True)
    share = np.clip(found.share, 0.0, 1.0)
    error = np.sqrt(found.standard_error**2 + share * (1 - share) / many)
    return Shares(found.share, np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), error)


def limits(sums: Sums, z: float | Floats, *, chance: bool = False) -> tuple[Floats, Floats]:
    r"""Return the raw shares that lie z standard deviations off the released numbers; -inf and inf for empty groups.

    With ``chance`` they are about what documents are drawn from. The total of n documents drawn with share p varies
    with a variance of at most :math:`n p (1 - p)`, which it has where each document is of one topic. Added to that of
    the noise it leaves Fieller's equation quadratic in p; without noise, its solutions are Wilson's interval.
    """
    sizes, error = group_sizes(sums)
    totals, s2, z2 = sums.topics, sums.noise**2, z**2
    sampled = z2 * np.maximum(sizes, 0.0)[:, None] if chance else 0.0
    there = sizes[:, None] ** 2 - z2 * error**2
    known = (there > 0) & (sizes[:, None] > 0)
    a = there + sampled
    b = totals * sizes[:, None] - z2 * row_weight(sums) * s2 + sampled / 2
    root = np.sqrt(np.maximum(b**2 - a * (totals**2 - z2 * s2), 0.0))
    divisor = np.where(known, a, 1.0)
    return np.where(known, (b - root) / divisor, -np.inf), np.where(known, (b + root) / divisor, np.inf)


def surely_there(sums: Sums) -> NDArray[np.bool_]:
    """Whether each group is surely not empty: with 95 % confidence none that is empty is called so, all together."""
    sizes, error = group_sizes(sums)
    return sizes > max(float(ndtri(1 - 0.05 / len(sizes))), 2.0) * error


def overall(sums: Sums) -> Floats:
    """Return the shares of all groups together, shape (n_topics,): not negative, sum 1.

    Groups that may be empty are left out, where others are not: they would add their noise and little else.
    """
    there = surely_there(sums)
    total = np.maximum(sums.topics[there if there.any() else slice(None)].sum(0), 0.0)
    return total / total.sum() if total.sum() > 0 else np.full(len(total), 1 / len(total))


def projected(sums: Sums, level: float = 0.95) -> Shares:
    """Return the points of the simplex nearest to the raw shares; intervals and errors are those of the raw shares."""
    found = raw(sums, level)
    return found._replace(share=_on_simplex(found.share))


def row_weight(sums: Sums) -> float:
    """Return w: what the sum of a row weighs in the size of its group."""
    return 1 / (1 + sums.topics.shape[1] * sums.count_weight**2)


def _on_simplex(rows: Floats) -> Floats:
    """Project each row on the simplex."""
    ordered = -np.sort(-rows, axis=1)
    above = ordered.cumsum(1) - 1
    n = np.arange(1, rows.shape[1] + 1)
    last = (ordered - above / n > 0).sum(1)
    threshold = above[np.arange(len(rows)), last - 1] / last
    return np.maximum(rows - threshold[:, None], 0.0)
