"""One Gaussian reservation, shared by the statistics of a fit: an object that holds it and the source of noise.

It is handed the integer sum over units, each held to :attr:`SharedGaussian.bound`; this noises it with a share of what
was reserved, and gives back real numbers in units of one contribution, with the standard deviation of their noise.
Shares are kept as exact fractions of the reserved precision (the sum of 1 / noise_multiplier^2), and every noise
multiplier is rounded up, so shares that add up to 1 never ask for more than was reserved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream

__all__ = ["BITS", "Noisy", "SharedGaussian", "noise_of_share"]

#: A contribution spreads over up to half a million cells (pairs of words); with the usual 14 bits the rounding toward
#: zero would take a few percent of a long document's weight. Four more bits leave it below a thousandth.
BITS = 18
#: How far the float shares of a schedule may add up to more than 1, before rounding noise up takes it back.
_SLACK = Fraction(1, 10**9)


class Noisy(NamedTuple):
    """A released statistic: values in units of one contribution, and the standard deviation of their noise."""

    values: NDArray[np.float64]
    noise: float


@dataclass(frozen=True)
class SharedGaussian:
    """The way out for statistics of one fit.

    Parameters
    ----------
    reservation : Reservation
        Of one Gaussian event, or of no privacy at all.
    noise_multiplier : float
        Of the reserved event; 0 stands for no privacy.
    privacy_unit : str
        Whose contributions the kernels bound; that of the ledger, or nothing is released.
    stream : SecureStream
    n_jobs : int or None
    """

    reservation: Reservation
    noise_multiplier: float
    privacy_unit: str
    stream: SecureStream
    n_jobs: int | None

    @property
    def bound(self) -> Bound:
        """The bound that kernels must hold each unit to: L2 norm 1 on a lattice of 2**-BITS."""
        return Bound("l2", bits=BITS, privacy_unit=self.privacy_unit)

    def release(
        self, total: BoundedSum | NDArray[np.int64], share: float, purpose: str, bits: int = BITS
    ) -> Noisy:
        """Noise an integer sum over units, each of which was held to ``bound``, on a lattice of 2**-bits.

        Parameters
        ----------
        total : BoundedSum, or array of any shape, int64
            The private sum: ``sum_rows(rows, shared.bound)``. Whoever hands over an array states that each unit was
            placed by ``place_l2`` with these bits, once, before the sum.
        share : float
            Share of the reserved precision.
        purpose : str
            Part of the noise's key.
        bits : int, optional
            Where units were placed on a finer lattice than ``bound`` has: without noise only, so that no caller who
            names another lattice than that of its units gets less noise than it needs.

        Raises
        ------
        PrivacyError
            Where less is left of the reservation than the share, or noise is to be added on another lattice.
        """
        if self.noise_multiplier and bits != BITS:
            raise PrivacyError(f"noise is added on the lattice of 2**-{BITS}, but the sum is of 2**-{bits}.")
        bound = replace(self.bound, bits=bits)
        mechanism = GaussianMechanism(bound, self._noise_for(share))
        bounded = total if isinstance(total, BoundedSum) else BoundedSum(total, bound)
        noisy = mechanism.release(bounded, self.stream.spawn(purpose), self.reservation, n_jobs=self.n_jobs)
        values = np.asarray(noisy * bound.step, dtype=np.float64)
        return Noisy(values, mechanism.noise_multiplier)

    def draw(self, share: float) -> float:
        """Use up a share for noise that is drawn elsewhere, and return the noise multiplier that it takes.

        Whoever calls this promises to release nothing but a sum bounded by ``bound``, with that much noise.
        """
        mechanism = GaussianMechanism(self.bound, self._noise_for(share))
        self.reservation.use(
            mechanism.event(), privacy_unit=self.privacy_unit, neighboring=self.bound.neighboring
        )
        return mechanism.noise_multiplier

    def _noise_for(self, share: float) -> float:
        if self.noise_multiplier == 0:
            return 0.0
        if not (math.isfinite(share) and share > 0):
            raise PrivacyError(f"a release needs a positive share of the reservation, but asked for {share}.")
        reserved = 1 / Fraction(self.noise_multiplier) ** 2
        precision, left = Fraction(share) * reserved, self.reservation.precision_left
        # Float shares that add up to 1 may be off in the last digits: what is left is then taken as it is.
        if precision > left + _SLACK * reserved or left <= 0:
            raise PrivacyError(
                f"a release asked for a share of {share:.6g} of the reservation, but {float(left / reserved):.6g} is "
                "left; shares of all releases must add up to 1 at most."
            )
        return noise_multiplier_of(min(precision, left))


def noise_of_share(noise_multiplier: float, share: float | Fraction) -> float:
    """Return the noise multiplier of a release that uses up this share of a Gaussian event; 0 without privacy."""
    if noise_multiplier == 0:
        return 0.0
    return noise_multiplier_of(Fraction(share) / Fraction(noise_multiplier) ** 2)


def noise_multiplier_of(precision: Fraction) -> float:
    """Return the smallest float whose 1 / noise_multiplier^2 is at most ``precision``, give or take one step up."""
    noise = 1 / math.sqrt(precision)
    while precision * Fraction(noise) ** 2 < 1:
        noise = math.nextafter(noise, math.inf)
    return noise
