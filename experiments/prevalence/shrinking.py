"""Shares of topics in groups as posterior means, which draw rows together that noise moves apart.

The prior is on the lift of a share over the topic's overall share, and is found from all released cells together
(nonparametric maximum likelihood on a grid), so rows that noise moves apart are drawn together and those that differ
stand. No share is drawn out of its own 95 % interval ("limited translation"): where the numbers of a cell speak against
what the others suggest, they prevail.

*Why these have the intervals of raw shares.* A posterior holds its part of the cells only if the prior is the true one.
What is found from a few hundred noisy cells is not, and its intervals held 62 to 98 % of all cells where they said 95,
and of single cells anything. Nor is there much to gain: an interval that holds each cell, whatever its share, is on
average no shorter than 85 % of the plain one even where the guess is right (Pratt; with 95 %, Gaussian noise).

References
----------
Koenker, Mizera, "Convex optimization, shape constraints, compound decisions, and empirical Bayes rules", JASA 109,
2014. Efron, Morris, "Limiting the risk of Bayes and empirical Bayes estimators", part II, JASA 67, 1972. Pratt, "Length
of confidence intervals", JASA 56, 1961.
"""

import numpy as np

from discreet.release.prevalence.shares import Shares, Sums, group_sizes, overall, raw, row_weight

#: Lifts of a share over the topic's overall share: none, and from a thirtieth to thirty-fold.
_LIFTS = np.concatenate([[0.0], np.geomspace(1 / 32, 32, 241)])
_STEPS = 20
#: What was found on a grid is spread over neighbouring lifts (a quarter up or down), and a little over all: a prior
#: of few sharp points, found from few cells, would draw too much.
_SPREAD, _EVERYWHERE = 0.5, 0.03


def shrunk(sums: Sums) -> Shares:
    """Return posterior means under a prior that all cells suggest together; intervals and errors of the raw shares."""
    found = raw(sums)
    sizes, error = group_sizes(sums)
    sizes = np.maximum(sizes, error)
    base = np.maximum(overall(sums), 1e-9)
    expected = sizes[:, None] * base
    # Cells that tell much take part in finding the prior as the others do: each is one draw from it.
    # The size of the group is known from the same noisy numbers: its error is part of each cell's.
    weight, likely = row_weight(sums), np.clip(found.share, 0.0, 1.0)
    spread = np.sqrt(sums.noise**2 * (1 - 2 * likely * weight) + (likely * error) ** 2)
    distance = (sums.topics[:, :, None] - expected[:, :, None] * _LIFTS) / spread[:, :, None]
    log_fit = -0.5 * distance**2
    fit = np.exp(log_fit - log_fit.max(2, keepdims=True)).reshape(-1, len(_LIFTS))
    prior = np.full(len(_LIFTS), 1 / len(_LIFTS))
    for _ in range(_STEPS):
        prior = _posterior(fit, prior).mean(0)
    posterior = _posterior(fit, _spread(prior))
    share = (posterior @ _LIFTS).reshape(expected.shape) * base
    return found._replace(share=_within(share / share.sum(1, keepdims=True), found.low, found.high))


def _posterior(fit: np.ndarray, prior: np.ndarray) -> np.ndarray:
    weighted = fit * prior
    return weighted / weighted.sum(1, keepdims=True)


def _spread(prior: np.ndarray) -> np.ndarray:
    """Smooth a distribution over lifts, on the scale of their logarithm; no lift at all stays as it is."""
    positive = np.log(_LIFTS[1:])
    near = np.exp(-0.5 * ((positive[:, None] - positive) / _SPREAD) ** 2)
    wide = np.concatenate([prior[:1], prior[1:] @ (near / near.sum(1, keepdims=True))])
    return (1 - _EVERYWHERE) * wide + _EVERYWHERE / len(prior)


def _within(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Move each row as little as can be into its bounds, so that it still sums to 1: shifted by one number, and cut."""
    down, up = -np.ones(len(rows)), np.ones(len(rows))
    for _ in range(60):
        shift = (down + up) / 2
        over = np.clip(rows + shift[:, None], low, high).sum(1) > 1
        down, up = np.where(over, down, shift), np.where(over, shift, up)
    return np.clip(rows + up[:, None], low, high)
