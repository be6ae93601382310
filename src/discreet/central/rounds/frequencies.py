"""How frequent words are: what the unigram tells, and what rounds tell besides.

A round's statistic is told by topics, and what it says of a word over all topics is how frequent the word is. Its
noise adds up over the topics, but rounds have the largest shares: where the unigram's own is small, they know as much
as it does. All of them are averaged by precision and read through a denoiser. The topics that rounds are read around
follow, and it is in short texts, where words differ most in how frequent they are, that this is felt.

This sees released values only, so it costs nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.denoise import UNIGRAM_LIFTS, posterior_mean
from discreet.privacy.shared_gaussian import Noisy

__all__ = ["Frequencies", "read_unigram"]

Floats = NDArray[np.float64]


class Frequencies(NamedTuple):
    """Noisy shares of words, averaged over releases.

    Attributes
    ----------
    shares : array of shape (n_words,)
        They sum to 1; noisy, so some may be below 0.
    precision : array of shape (n_words,)
        One over the variance of their noise.
    """

    shares: Floats
    precision: Floats

    @classmethod
    def of_unigram(cls, noisy: Noisy) -> "Frequencies":
        """Return what the released unigram says; its noise is above 0."""
        mass = max(float(noisy.values.sum()), 1e-9)
        return cls(noisy.values / mass, np.full(noisy.values.shape, (mass / noisy.noise) ** 2))

    def with_round(self, noisy: Noisy, weights: Floats) -> "Frequencies":
        """Return the mean by precision with what a round says.

        Parameters
        ----------
        noisy : Noisy
            A round's statistic, (n_words, n_topics).
        weights : array of shape (n_words,)
            The public weights that words had in it.
        """
        rows = noisy.values.sum(1) / weights
        mass = max(float(rows.sum()), 1e-9)
        told = (weights * mass / noisy.noise) ** 2 / noisy.values.shape[1]
        precision = self.precision + told
        return Frequencies((self.precision * self.shares + told * rows / mass) / precision, precision)

    def read(self) -> Floats:
        """Return a distribution over words."""
        return _read(self.shares, self.precision**-0.5)


def read_unigram(noisy: Noisy) -> Floats:
    """Read a distribution over words from the noisy unigram."""
    return _read(noisy.values, np.full(noisy.values.shape, noisy.noise))


def _read(level: Floats, deviation: Floats) -> Floats:
    if deviation.any():
        base = np.full(level.shape, max(float(level.mean()), 1e-9))
        level = posterior_mean(level, base, deviation, UNIGRAM_LIFTS)
    level = np.maximum(level, 1e-9)
    return level / level.sum()
