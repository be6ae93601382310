"""What two choices of words have in common: Gaussian noise on weights of L2 norm 1, and a threshold for the rest."""

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.central.vocabulary.thresholds import gaussian_threshold
from discreet.privacy.accounting import events
from discreet.privacy.accounting.totals import noise_multiplier_for
from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import GaussianMechanism

__all__ = ["GaussianChoice"]


@dataclass(frozen=True)
class GaussianChoice:
    """Public configuration of a choice.

    Parameters
    ----------
    epsilon, delta : float
        What the choice costs in all: half of delta goes to the noise, half to the threshold.
    max_words : int
        Most distinct words of one unit that count.
    privacy_unit : str
        Whose presence is hidden.
    """

    epsilon: float
    delta: float
    max_words: int
    privacy_unit: str = "document"

    #: The lattice has steps of ``2**-_BITS``.
    _BITS: ClassVar[int] = Bound.bits

    @property
    def mechanism(self) -> GaussianMechanism:
        """Gaussian noise on weights of L2 sensitivity 1."""
        noise = 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta / 2)
        return GaussianMechanism(Bound(norm="l2", bits=self._BITS, privacy_unit=self.privacy_unit), noise)

    @property
    def threshold(self) -> float:
        """Noisy weight that a word must pass."""
        return gaussian_threshold(self.mechanism.noise_multiplier, self.delta / 2, self.max_words)

    def event(self) -> events.Event:
        """Return what the ledger must reserve."""
        event = self.mechanism.event()
        return event if math.isinf(self.epsilon) else events.with_delta(event, self.delta / 2)
