r"""Unbiased rates of words and pairs of words, from sums over randomised bits or from noised moments.

The formulas stand in :mod:`discreet.lda.moments.moments`.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Channel", "Estimates", "estimates", "noise_variance", "presence_variance"]

Floats = NDArray[np.float64]


class Channel(Protocol):
    """What randomises a bit: P(1 | word present) = p and P(1 | word absent) = q, floats or fractions."""

    @property
    def p(self) -> Any:
        """P(1 | present)."""
        ...

    @property
    def q(self) -> Any:
        """P(1 | absent)."""
        ...


@dataclass(frozen=True, eq=False)
class Estimates:
    """Unbiased rates of words and pairs, with how far each may be trusted: what topics are fitted to.

    Parameters
    ----------
    rates : array of shape (n_words,)
        Share of documents that have the word.
    pairs : array of shape (n_words, n_words)
        Share of documents that have both words; the diagonal is not used.
    noise : float
        Variance of one document's estimate of an absent word.
    n_documents : float
        Number of documents, or the effective number where they are weighted.
    slope : float
        How much a present word's estimate varies more than an absent one's.
    contrast : float
        p - q: what a present word adds to the chance of its bit.
    """

    rates: Floats
    pairs: Floats
    noise: float
    n_documents: float
    slope: float = 0.0
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


def noise_variance(channel: Channel) -> float:
    """Return q (1 - q) / (p - q)^2, the variance of the unbiased estimate of an absent word's bit."""
    p, q = float(channel.p), float(channel.q)
    return q * (1 - q) / (p - q) ** 2


def presence_variance(channel: Channel) -> float:
    """Return p (1 - p) / (p - q)^2, the same for a present word's bit."""
    p, q = float(channel.p), float(channel.q)
    return p * (1 - p) / (p - q) ** 2


def estimates(n: float, first: NDArray[Any], second: NDArray[Any], channel: Channel) -> Estimates:
    """Return unbiased rates from (possibly weighted) sums; see the formula above."""
    p, q = float(channel.p), float(channel.q)
    mean = first / n
    pairs = (second / n - q * mean[:, None] - q * mean[None, :] + q * q) / (p - q) ** 2
    rates = (mean - q) / (p - q)
    np.fill_diagonal(pairs, rates)
    noise = noise_variance(channel)
    return Estimates(rates, pairs, noise, float(n), presence_variance(channel) - noise, p - q)
