r"""What is known of words and pairs of words: unbiased rates from randomised bits or noised moments; how much it tells.

**Rates.** The formulas of bits stand in :mod:`discreet.lda.moments.moments`.

**Noised moments**, whoever added the noise. What was summed over documents: the unigram :math:`x / \sqrt l` and the
pairs :math:`x_i x_j / \sqrt{l (l - 1) / 2}` (x: which words a document has, l: how many), so that each has L2 norm 1.
Both are brought to the scale of rates of presence, where the fit starts as it does for reports: the mean of :math:`x /
\sqrt l` sums to :math:`\sqrt l`, whose square is the length.

**How many topics the noise lets through**, before anything is fitted. Whiten the unbiased covariance of n documents:
divide row and column i by the standard deviation of one document's estimate of word i,

.. math:: A_{ij} = \frac{\hat C_{ij} - \hat u_i \hat u_j}{\sqrt{s_i s_j}}, \quad A_{ii} = 0, \qquad
          s_i = u_i (1 - u_i) + (1 - u_i) \frac{q (1 - q)}{(p - q)^2} + u_i \frac{p (1 - p)}{(p - q)^2}.

Were the words independent, A would be the off-diagonal part of a sample correlation matrix, whose largest
eigenvalue is :math:`2 \sqrt{V/n} + V/n` (Marchenko and Pastur). Eigenvalues above it are structure: their number
is how many directions, hence about how many topics, can be told from noise. One of them usually is the length of
documents (all words rise together), so a single one says that nothing but lengths can be seen.

Where bits are so rare that most pairs are never seen, single chance pairs would stand far above that edge, which
is a law of many small terms. So the variance of a bit is taken as at least :math:`1 / \sqrt n` (one chance pair in
n reports).

Reference
---------
Marchenko, Pastur, "Distribution of eigenvalues for some sets of random matrices", 1967,
doi:10.1070/SM1967v001n04ABEH001994.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread

Floats = NDArray[np.float64]
_SHORTEST = 2.0
#: Of the precision of the noise, for each sum; what fits best.
SHARES = {"count": 0.002, "unigram": 0.04, "pairs": 0.958}


class Channel(Protocol):
    """What randomises a bit: P(1 | word present) = p and P(1 | word absent) = q, floats or fractions."""

    @property
    def p(self) -> Any:
        """P(1 | present)."""

    @property
    def q(self) -> Any:
        """P(1 | absent)."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Unbiased rates of words and pairs, with how far each may be trusted: what topics are fitted to."""

    #: (n_words,): share of documents that have the word.
    rates: Floats
    #: (n_words, n_words): share of documents that have both words; the diagonal is not used.
    pairs: Floats
    #: Variance of one document's estimate of an absent word.
    noise: float
    #: Number of documents, or the effective number where they are weighted.
    n_documents: float
    #: How much a present word's estimate varies more than an absent one's.
    slope: float = 0.0
    #: p - q: what a present word adds to the chance of its bit.
    contrast: float = 1.0

    def variance(self, rates: Floats) -> Floats:
        """Variance of one document's estimate of words with these rates."""
        return np.maximum(rates * (1 - rates) + self.noise + rates * self.slope, 1e-3)

    def rate_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``rates``, shape (n_words,), were these the true ones."""
        return self.n_documents / self.variance(rates)

    def pair_precision(self, rates: Floats) -> Floats:
        """Inverse variances of ``pairs``, were these the true rates and words independent."""
        variance = self.variance(rates)
        return self.n_documents / np.outer(variance, variance)

    def whitened(self) -> tuple[Floats, float]:
        """Return A, and the edge that its eigenvalues keep below where words are independent."""
        rates = np.clip(self.rates, 1e-4, 0.999)
        rarest = 1 / (np.sqrt(self.n_documents) * self.contrast**2)
        scale = 1 / np.sqrt(np.maximum(self.variance(rates), rarest))
        white = scale[:, None] * (self.pairs - np.outer(self.rates, self.rates)) * scale
        np.fill_diagonal(white, 0.0)
        ratio = len(rates) / self.n_documents
        return white, float(2 * np.sqrt(ratio) + ratio)


def noise_variance(channel: Channel) -> float:
    """Return q (1 - q) / (p - q)^2, the variance of the unbiased estimate of an absent word's bit."""
    p, q = float(channel.p), float(channel.q)
    return q * (1 - q) / (p - q) ** 2


def estimates(n: float, first: NDArray[Any], second: NDArray[Any], channel: Channel) -> Estimates:
    """Return unbiased rates from (possibly weighted) sums; see the formula above."""
    p, q = float(channel.p), float(channel.q)
    mean = first / n
    pairs = (second / n - q * mean[:, None] - q * mean[None, :] + q * q) / (p - q) ** 2
    rates = (mean - q) / (p - q)
    np.fill_diagonal(pairs, rates)
    noise = noise_variance(channel)
    return Estimates(rates, pairs, noise, float(n), p * (1 - p) / (p - q) ** 2 - noise, p - q)


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Released moments in units of rates of presence: a source for ``fit_topics``."""

    #: (n_words,).
    rates: Floats
    #: (n_words, n_words): symmetric; the diagonal is 0 and not used.
    pairs: Floats
    #: Noisy number of units, at least 1.
    n_documents: float
    #: Standard deviations of the noise in each rate and pair.
    rate_noise: float
    pair_noise: float

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


def moments_of_sums(
    n_documents: float, first: Floats, triangle: Floats, first_noise: float, triangle_noise: float
) -> NoisyMoments:
    """Scale noisy sums to rates of presence.

    ``first``: of unigrams, in units of one contribution; ``triangle``: of pairs, the strict upper triangle row by row;
    the noises are standard deviations in each cell; ``n_documents`` is noisy, and at least 1.
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


def learnable(found: Estimates | NoisyMoments) -> int:
    """Return the number of eigenvalues above the noise edge; 1 or less means that there is nothing to learn.

    Parameters
    ----------
    found : Estimates or NoisyMoments
        Of bits, as :class:`~discreet.local.Moments` returns them, or of a noisy co-occurrence matrix.
    """
    white, edge = found.whitened()
    with one_blas_thread():  # more threads cost more than they bring at this size
        values = np.linalg.eigvalsh(white)
    return int((values > edge).sum())
