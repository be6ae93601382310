"""What two choices of words have in common: Gaussian noise on weights of L2 norm 1, and a threshold for the rest."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.central.vocabulary.thresholds import gaussian_threshold
from discreet.privacy.accounting import events
from discreet.privacy.accounting.calibration import noise_multiplier_for
from discreet.privacy.bound import Bound
from discreet.privacy.mechanism import GaussianMechanism, noise_of_share

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
    coverage_share : Fraction, default 0
        Of the precision, for telling how much of the text the words make up.
    """

    epsilon: float
    delta: float
    max_words: int
    privacy_unit: str = "document"
    coverage_share: Fraction = Fraction(0)

    #: The lattice has steps of ``2**-_BITS``.
    _BITS: ClassVar[int] = Bound.bits

    @property
    def total_noise(self) -> float:
        """Noise multiplier of one release that costs as much as all that is released."""
        return 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta / 2)

    @property
    def mechanism(self) -> GaussianMechanism:
        """Gaussian noise on weights of L2 sensitivity 1."""
        return self._mechanism(1 - self.coverage_share)

    @property
    def coverage_noise(self) -> float:
        """Noise multiplier of the sums that tell how much of the text the words make up."""
        return noise_of_share(self.total_noise, self.coverage_share)

    def _mechanism(self, share: Fraction) -> GaussianMechanism:
        noise = self.total_noise if share == 1 else noise_of_share(self.total_noise, share)
        return GaussianMechanism(Bound(norm="l2", bits=self._BITS, privacy_unit=self.privacy_unit), noise)

    @property
    def threshold(self) -> float:
        """Noisy weight that a word must pass."""
        return gaussian_threshold(self.mechanism.noise_multiplier, self.delta / 2, self.max_words)

    def event(self) -> events.Event:
        """Return what the ledger must reserve."""
        event = self._mechanism(Fraction(1)).event()
        return event if math.isinf(self.epsilon) else events.with_delta(event, self.delta / 2)
