r"""Moments to which Gaussian noise was added, as a source for fitting topics; whoever added it.

What was summed over documents: the unigram :math:`x / \sqrt l` and the pairs :math:`x_i x_j / \sqrt{l (l - 1) / 2}`
(x: which words a document has, l: how many), so that each has L2 norm 1. Both are brought to the scale of rates of
presence, where the fit starts as it does for reports: the mean of :math:`x / \sqrt l` sums to :math:`\sqrt l`, whose
square is the length.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHARES", "NoisyMoments", "moments_of_sums"]

Floats = NDArray[np.float64]
_SHORTEST = 2.0
#: Of the precision of the noise, for each sum; what fits best.
SHARES = {"count": 0.002, "unigram": 0.04, "pairs": 0.958}


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

    @property
    def noise(self) -> float:
        """Variance of a pair's noise as if each document had brought its own, as reports have it for a bit."""
        return self.pair_noise * math.sqrt(self.n_documents)

    def rate_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``rates``: noise, and documents drawn from many."""
        return 1 / (self.rate_noise**2 + np.maximum(rates, 1e-4) / self.n_documents)

    def pair_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``pairs``."""
        return 1 / (self.pair_noise**2 + np.maximum(np.outer(rates, rates), 1e-6) / self.n_documents)

    def whitened(self) -> tuple[Floats, float]:
        """Return the pairs, each over the deviation of its own noise, and the edge of their eigenvalues."""
        rates = np.clip(self.rates, 1e-4, 0.999)
        white = self.pairs * np.sqrt(self.pair_precision(rates))
        np.fill_diagonal(white, 0.0)
        return white, 2 * math.sqrt(len(rates))

    def dependence(self) -> Floats:
        """Return :meth:`whitened` without what words that are independent of one another would show."""
        rates = np.clip(self.rates, 1e-4, 0.999)
        white, scale = self.whitened()[0], np.sqrt(self.pair_precision(rates))
        apart = np.outer(rates, rates) * scale
        np.fill_diagonal(apart, 0.0)
        return white - float(np.vdot(white, apart) / np.vdot(apart, apart)) * apart


def moments_of_sums(
    n_documents: float, first: Floats, triangle: Floats, first_noise: float, triangle_noise: float
) -> NoisyMoments:
    """Scale noisy sums to rates of presence.

    Parameters
    ----------
    n_documents : float
        Noisy number of documents (or people), at least 1.
    first : array of shape (n_words,)
        Noisy sum of unigrams, in units of one contribution.
    triangle : array of shape (n_words * (n_words - 1) / 2,)
        Noisy sum of pairs, the strict upper triangle row by row.
    first_noise, triangle_noise : float
        Standard deviations of the noise in each cell.
    """
    n, n_words = n_documents, len(first)
    length = max((float(first.sum()) / n) ** 2, _SHORTEST)
    rate_scale = math.sqrt(length) / n
    pair_scale = math.sqrt(length * (length - 1) / 2) / n
    pairs = np.zeros((n_words, n_words))
    pairs[np.triu_indices(n_words, 1)] = triangle * pair_scale
    return NoisyMoments(
        first * rate_scale, pairs + pairs.T, n, first_noise * rate_scale, triangle_noise * pair_scale
    )
