r"""Moments that forget: each batch weighs less than the next by a factor.

Kept are the weighted sums of reports, of their bits and of their pairs, with weights :math:`\gamma^a` for a batch
of which a batches came after, and :math:`\sum w` and :math:`\sum w^2` over reports. The estimates are those of
:mod:`discreet.lda.moments.moments` (weights cancel); their variances are those of
:math:`(\sum w)^2 / \sum w^2` reports. With :math:`\gamma = 1` use plain moments, which are exact.
"""

import numpy as np

from discreet._validate import shown, whole
from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.estimates import Estimates, estimates
from discreet.lda.moments.moments import Moments

__all__ = ["DiscountedMoments"]


class DiscountedMoments:
    """Weighted moments of a stream of batches.

    Parameters
    ----------
    like : Moments
        Whose channel, number of words and limit of memory to take over.
    forgetting : float
        gamma, above 0 and at most 1.
    """

    def __init__(self, like: Moments, forgetting: float) -> None:
        self.forgetting = float(forgetting)
        self.p, self.q = like.p, like.q
        self.n = 0
        self.weight = self.square = 0.0
        self.first = np.zeros(like.n_words)
        self.second = np.zeros((like.n_words, like.n_words))

    def merge(self, batch: Moments) -> "DiscountedMoments":
        """Let what came before fade by one batch, then add the new one."""
        self.first *= self.forgetting
        self.second *= self.forgetting
        self.weight *= self.forgetting
        self.square *= self.forgetting**2
        self._add(batch, 1.0)
        self.n += batch.n
        return self

    def subtract(self, batch: Moments, age: int) -> "DiscountedMoments":
        """Take away a batch after which ``age`` batches came; exact up to rounding."""
        if not whole(0).holds(age):
            raise ParameterError(
                f"age must say how many batches came after the one to delete (0, 1, ...), but is {shown(age)}."
            )
        weight = self.forgetting ** int(age)
        left = self.second - weight * batch.second
        if batch.n > self.n or left.min() < -1e-6 * max(1.0, self.weight):
            raise CorpusError("these reports were not part of the moments at that age.")
        self._add(batch, -weight)
        self.second = np.maximum(self.second, 0.0)
        self.first = np.maximum(self.first, 0.0)
        self.n -= batch.n
        return self

    def _add(self, batch: Moments, weight: float) -> None:
        self.first += weight * batch.first
        self.second += weight * batch.second
        self.weight += weight * batch.n
        self.square += weight * abs(weight) * batch.n

    def estimates(self) -> Estimates:
        """Return unbiased rates, with the effective number of reports."""
        if self.n == 0:
            raise CorpusError("there is no report to estimate anything from; add a batch first.")
        found = estimates(self.weight, self.first, self.second, self)
        effective = self.weight**2 / self.square
        return Estimates(found.rates, found.pairs, found.noise, effective, found.slope, found.contrast)
