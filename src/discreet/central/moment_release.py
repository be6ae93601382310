r"""Moments under the central Gaussian: who goes with whom in a corpus, released once, then fitted like reports.

Each unit (a document, or all documents of an author) adds two vectors to two sums, each scaled to L2 norm 1 (up as
well as down) and placed on the integer lattice: the square roots of its word counts, and the strict upper triangle
of the outer product of its presence vector :math:`x` (which words it has), summed over its documents. With
documents of l words each that is, up to scale,

.. math:: u \propto E[x / \sqrt l], \qquad C_{ij} \propto E[x_i x_j / l] \quad (i \ne j),

which a topic model explains as :math:`m^\top \Phi` and :math:`\Phi^\top S \Phi` with its own m and S: the fit of
:mod:`discreet.lda.moment_fit`. Scales are matched to rates of presence, so that the fit starts where it
does for reports.

Guarantee
---------
*Unit, neighbours*: a document, or all documents of an author, added or removed. *Released*: the number of units, u and
C with noise, and whatever is computed from them. *Sensitivity*: 1 in L2 for each, because a unit's vector is a
function of that unit's documents alone, with norm at most 1 (see :mod:`discreet.central.statistics`). *Event*: one
Gaussian event of noise multiplier :math:`\sigma`, of whose precision the three releases use shares that add up to 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from discreet.central.gate import Gate
from discreet.central.schedule import COUNT_SHARE
from discreet.central.statistics import cooccurrence_sum, count_sum, unigram_sum
from discreet.central.units import Units

__all__ = ["NoisyMoments", "learnable_directions", "release_moments"]

Floats = NDArray[np.float64]
_UNIGRAM_SHARE = 0.04
_SHORTEST = 2.0


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Released moments in units of rates of presence: a source for ``fit_topics``.

    Parameters
    ----------
    rates : array of shape (n_words,)
    pairs : array of shape (n_words, n_words)
        Symmetric; the diagonal is 0 and not used.
    n_documents : float
        Noisy number of units, at least 1.
    rate_noise, pair_noise : float
        Standard deviations of the noise in each rate and pair.
    """

    rates: Floats
    pairs: Floats
    n_documents: float
    rate_noise: float
    pair_noise: float

    def rate_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``rates``: noise, and documents drawn from many."""
        return 1 / (self.rate_noise**2 + np.maximum(rates, 1e-4) / self.n_documents)

    def pair_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``pairs``."""
        return 1 / (self.pair_noise**2 + np.maximum(np.outer(rates, rates), 1e-6) / self.n_documents)


def release_moments(units: Units, gate: Gate) -> NoisyMoments:
    """Release the number of units, the unigram and all pairs; every unit must hold zeros and ones only.

    Parameters
    ----------
    units : Units
        Of presences.
    gate : Gate
        Its reservation is used up.
    """
    n_words = units.n_words
    count = gate.release(count_sum(units), COUNT_SHARE, "count").values[0]
    n = max(float(count), 1.0)
    first = gate.release(unigram_sum(units, gate.n_jobs), _UNIGRAM_SHARE, "unigram")
    triangle = gate.release(
        cooccurrence_sum(units, np.arange(n_words), np.ones(n_words), gate.n_jobs),
        1 - COUNT_SHARE - _UNIGRAM_SHARE,
        "co-occurrence",
    )
    # The mean of x / sqrt(l) sums to sqrt(l): its square is the length, by which both are turned into rates.
    length = max((float(first.values.sum()) / n) ** 2, _SHORTEST)
    rate_scale = math.sqrt(length) / n
    pair_scale = math.sqrt(length * (length - 1) / 2) / n
    pairs = np.zeros((n_words, n_words))
    pairs[np.triu_indices(n_words, 1)] = triangle.values * pair_scale
    return NoisyMoments(
        first.values * rate_scale, pairs + pairs.T, n, first.noise * rate_scale, triangle.noise * pair_scale
    )


def learnable_directions(moments: NoisyMoments) -> int:
    r"""Return how many directions of the pairs stand above the noise, the words' frequencies among them.

    A symmetric matrix of independent noise of standard deviation 1 has eigenvalues up to
    :math:`2 \sqrt V` (Wigner); each cell is divided by the standard deviation of its own.
    """
    rates = np.clip(moments.rates, 1e-4, 0.999)
    white = moments.pairs * np.sqrt(moments.pair_precision(rates))
    np.fill_diagonal(white, 0.0)
    with threadpool_limits(1, user_api="blas"):
        values = np.linalg.eigvalsh(white)
    return int((values > 2 * math.sqrt(len(rates))).sum())
