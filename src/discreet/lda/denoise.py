r"""Reading noisy counts: the posterior mean under a prior that the noisy counts themselves suggest.

Model: a released cell is :math:`S_i \sim \mathcal N(b_i \rho_i, s_i^2)`, with a known base :math:`b_i > 0`, a
known standard deviation :math:`s_i`, and lifts :math:`\rho_i \ge 0` drawn from one unknown law. The law is a
mixture of narrow normals on a geometric grid (and an atom at 0), whose weights are fitted by
expectation-maximisation on the marginal likelihood: a nonparametric maximum-likelihood prior. The answer is
:math:`b_i \, E[\rho_i \mid S_i]`.

The topics of a round differ in size and in how far their words depart from the base. So each column of cells may have a
law of its own: as many further steps from the law of all cells, which holds it where a column says little.

This sees released values only, so it costs nothing.

References
----------
Robbins, "An empirical Bayes approach to statistics", 1956.
Koenker, Mizera, "Convex optimization, shape constraints, compound decisions, and empirical Bayes rules", JASA 2014,
doi:10.1080/01621459.2013.869224.
"""

import numpy as np
from numpy.typing import NDArray

#: Lifts over the base that a topic's word may have: none at all, or from far below to far above it.
LIFTS = np.concatenate([[0.0], np.geomspace(0.02, 100, 40)])
#: Half of the way from one lift to the next.
_RELATIVE_WIDTH = float(np.log(LIFTS[-1] / LIFTS[-2])) / 2
_FITTED_CELLS, _ITERATIONS = 8000, 25
#: Variance of the starting weights over log lifts.
_START_SPREAD = 2.0
_LEAST_RATE = 1e-9


def posterior_mean(
    noisy: NDArray[np.float64],
    base: NDArray[np.float64],
    noise: NDArray[np.float64],
    lifts: NDArray[np.float64] = LIFTS,
    *,
    by_column: bool = False,
) -> NDArray[np.float64]:
    """Estimate what stands under noise of known size: an array of the shape of ``noisy``, released values; not
    negative.

    ``base``: what each cell would be at lift 1, 0 where it is 0, and ``noise``: standard deviations, are broadcast;
    ``lifts``: grid of the prior, may hold 0; ``by_column``: fit a law to each column of ``noisy``, starting from that
    of all cells.
    """
    values = noisy.ravel()
    bases = np.broadcast_to(base, noisy.shape).ravel()
    deviations = np.broadcast_to(noise, noisy.shape).ravel()
    cells = np.flatnonzero(bases > 0)
    weights = np.exp(-0.5 * np.log(np.maximum(lifts, lifts[1])) ** 2 / _START_SPREAD)
    weights = _law((values, bases, deviations), cells, lifts, weights / weights.sum())
    answer = np.zeros(values.size)
    n_columns = noisy.shape[-1] if by_column else 1
    for column in range(n_columns):
        part = column + n_columns * np.flatnonzero(bases[column::n_columns] > 0)
        law = _law((values, bases, deviations), part, lifts, weights) if by_column else weights
        for start in range(0, part.size, _FITTED_CELLS):
            few = part[start : start + _FITTED_CELLS]
            answer[few] = _means(values[few], bases[few], deviations[few], lifts, law)
    return answer.reshape(noisy.shape)


def read_rates(noisy: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate positive rates, (n,), that are around one mean, such as how frequent words are.

    ``noisy`` are returned as they are, or nearly 0, where there is no noise, whose standard deviations are ``noise``.
    """
    read = noisy
    if noise.any():
        mean = np.full(noisy.shape, max(float(noisy.mean()), _LEAST_RATE))
        read = posterior_mean(noisy, mean, noise, LIFTS[1:])
    return np.maximum(read, _LEAST_RATE)


def _law(
    noisy: tuple[NDArray[np.float64], ...],
    cells: NDArray[np.int64],
    lifts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fit the weights of the lifts to these cells of (values, bases, deviations), from ``weights`` on."""
    if cells.size == 0:
        return weights
    # An even stride through the cells: as good as a random subset here, and the same every time.
    fitted = cells[:: max(1, -(-cells.size // _FITTED_CELLS))]
    values, bases, deviations = (part[fitted] for part in noisy)
    likelihood = _likelihood(values, bases, deviations, lifts)
    for _ in range(_ITERATIONS):
        posterior = likelihood * weights
        posterior /= posterior.sum(1, keepdims=True)
        weights = posterior.mean(0) + 1e-9
        weights /= weights.sum()
    return weights


def _means(
    values: NDArray[np.float64],
    bases: NDArray[np.float64],
    deviations: NDArray[np.float64],
    lifts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    posterior = _likelihood(values, bases, deviations, lifts) * weights
    posterior /= posterior.sum(1, keepdims=True)
    within = (bases[:, None] * (_RELATIVE_WIDTH * lifts)) ** 2
    gain = within / (within + deviations[:, None] ** 2 + 1e-300)
    centres = bases[:, None] * lifts
    means = centres + gain * (values[:, None] - centres)
    return np.maximum((posterior * means).sum(1), 0.0)


def _likelihood(
    values: NDArray[np.float64],
    bases: NDArray[np.float64],
    deviations: NDArray[np.float64],
    lifts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Likelihood of each cell under each lift, up to a factor of the cell's own: (n_cells, n_lifts)."""
    variance = deviations[:, None] ** 2 + (bases[:, None] * (_RELATIVE_WIDTH * lifts)) ** 2 + 1e-300
    gap = values[:, None] - bases[:, None] * lifts
    log = -0.5 * (gap * gap / variance + np.log(variance))
    log -= log.max(1, keepdims=True)
    return np.exp(log) + 1e-30
