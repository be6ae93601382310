r"""The gate: a bounded sum, plus exact noise, against a reservation made before the sum.

A mechanism takes a :class:`~discreet.privacy.bound.BoundedSum` (which knows its own sensitivity), never a
number somebody typed, and it makes its event from its own parameters, so that the noise drawn and the noise
booked cannot differ.

Guarantees
----------
*Unit, neighbours*: those of the bound. *Released*: the integers that :meth:`release` returns.

Gaussian: noise is :math:`\mathrm{round}(\mathcal N(0, s^2))` for each integer, :math:`s` being
``noise_multiplier`` times the sensitivity. For an integer vector :math:`z`, :math:`z + \mathrm{round}(X) =
\mathrm{round}(z + X)`: the release is a function of the continuous Gaussian mechanism's output, so it
satisfies whatever that satisfies, and the event is the Gaussian one with ``noise_multiplier``.

Laplace: discrete Laplace noise of scale sensitivity / epsilon on each integer: the ratio of the probabilities
of any outcome under two sums whose L1 distance is at most the sensitivity is at most :math:`e^\epsilon`.

``noise_multiplier = 0`` and ``epsilon = inf`` add nothing and are booked as not private.

One Gaussian reservation, shared by the statistics of a fit
===========================================================
An object that holds it and the source of noise.

It is handed the integer sum over units, each held to :attr:`SharedGaussian.bound`; this noises it with a share of what
was reserved, and gives back real numbers in units of one contribution, with the standard deviation of their noise.
Shares are kept as exact fractions of the reserved precision (the sum of 1 / noise_multiplier^2), and every noise
multiplier is rounded up, so shares that add up to 1 never ask for more than was reserved.

References
----------
Mironov, "On significance of the least significant bits for differential privacy", CCS
2012, doi:10.1145/2382196.2382264. Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy
mechanisms", arXiv:0811.2841.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import count_threads
from discreet._base.validate import kind_of
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.events import Event
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.noise._draws import as_scale, check_stream
from discreet.privacy.noise.gaussian import rounded_gaussian
from discreet.privacy.noise.laplace import discrete_laplace
from discreet.privacy.noise.stream import SecureStream


def _draw_on(
    reservation: Reservation,
    mechanism: GaussianMechanism | LaplaceMechanism,
    total: BoundedSum,
    stream: SecureStream,
    n_jobs: int | None,
) -> Fraction:
    """Return the scale of the noise once it is paid for; refuse wrong arguments before."""
    bound, event = mechanism.bound, mechanism.event()
    if not isinstance(total, BoundedSum):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PrivacyError(
            f"total must be a BoundedSum, whose units are bounded one by one, but is {kind_of(total)}; "
            "make it with sum_rows(matrix, bound) or bound.sum(arrays)."
        )
    if total.bound != bound:
        raise PrivacyError(
            f"this mechanism protects {bound}, but the sum was bounded by {total.bound}; "
            "make the mechanism from the sum's own bound."
        )
    if not isinstance(reservation, Reservation):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PrivacyError(
            f"reservation must be what ledger.reserve(mechanism.event(), purpose) returned before the sum was made, "
            f"but is {kind_of(reservation)}."
        )
    check_stream(stream)
    count_threads(n_jobs)
    exact = as_scale(mechanism.scale)
    if not exact and event != events.non_private():
        raise PrivacyError(f"noise of scale 0 would be booked as private: the sensitivity of {bound} is 0.")
    reservation.use(event, privacy_unit=bound.privacy_unit, neighboring=bound.neighboring)
    return exact


def _check_bound(bound: Bound, norm: str, noise: str) -> None:
    if not isinstance(bound, Bound):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PrivacyError(f"bound must be a Bound, but is {kind_of(bound)}; make it with Bound(...).")
    if bound.norm != norm:
        raise PrivacyError(f'{noise} noise needs a bound in "{norm}", but the norm is "{bound.norm}".')


@dataclass(frozen=True)
class GaussianMechanism:
    """Rounded Gaussian noise on a sum whose units are bounded in L2.

    Parameters
    ----------
    bound : Bound
        With ``norm="l2"``.
    noise_multiplier : float
        Standard deviation of the noise divided by the sensitivity; taken as the exact rational that the float
        is. 0 adds no noise and is booked as not private.
    sampling_rate : float, default 1.0
        Below 1, whoever makes the sum promises that each unit entered it with this probability, by an
        independent coin of its own (:func:`~discreet.privacy.noise.bernoulli.bernoulli`), and the event says so.
    """

    bound: Bound
    noise_multiplier: float
    sampling_rate: float = 1.0

    def __post_init__(self) -> None:
        _check_bound(self.bound, "l2", "Gaussian")
        if not (math.isfinite(self.noise_multiplier) and self.noise_multiplier >= 0):
            raise ParameterError(
                f"noise_multiplier must be finite and not negative, but is {self.noise_multiplier}."
            )

    @property
    def scale(self) -> Fraction:
        """Standard deviation of the noise before rounding, in lattice steps. Exact."""
        return Fraction(self.noise_multiplier) * self.bound.sensitivity

    def event(self) -> Event:
        """Return the event of one release."""
        if not self.noise_multiplier:
            return events.non_private()
        return events.poisson_sampled(self.sampling_rate, events.gaussian(self.noise_multiplier))

    def release(
        self, total: BoundedSum, stream: SecureStream, reservation: Reservation, *, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Draw on the reservation, and return the sum with noise: integers, in lattice steps.

        All arguments are checked first: a call that is refused has drawn nothing.

        Parameters
        ----------
        total : BoundedSum
            The private sum; its bound must be this mechanism's.
        stream : SecureStream
            Source of the noise; each array of noise has a key of its own.
        reservation : Reservation
            What the ledger set aside before the sum was made.
        n_jobs : int, optional
            Threads for the noise; the result does not depend on it.

        Raises
        ------
        PrivacyError
            Where the reservation does not cover one more release, is of a ledger of another unit or relation than the
            bound, or the bounds differ.
        TypeError, ParameterError
            Where ``stream`` is not a SecureStream, or ``n_jobs`` not a number of threads.
        """
        scale = _draw_on(reservation, self, total, stream, n_jobs)
        return total.values + rounded_gaussian(scale, total.values.shape, stream, n_jobs=n_jobs)


@dataclass(frozen=True)
class LaplaceMechanism:
    """Discrete Laplace noise on a sum whose units are bounded in L1.

    Parameters
    ----------
    bound : Bound
        With ``norm="l1"``.
    epsilon : float
        Pure privacy loss of one release. ``inf`` adds no noise and is booked as not private.
    """

    bound: Bound
    epsilon: float

    def __post_init__(self) -> None:
        _check_bound(self.bound, "l1", "Laplace")
        if not self.epsilon > 0:
            raise PrivacyError(f"epsilon must be positive, but is {self.epsilon}.")

    @property
    def scale(self) -> Fraction:
        """Scale of the noise in lattice steps. Exact for the float that ``epsilon`` is."""
        return Fraction(0) if math.isinf(self.epsilon) else self.bound.sensitivity / Fraction(self.epsilon)

    def event(self) -> Event:
        """Return the event of one release."""
        if math.isinf(self.epsilon):
            return events.non_private()
        return self.bound.laplace_event(self.epsilon)

    def release(
        self, total: BoundedSum, stream: SecureStream, reservation: Reservation, *, n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Draw on the reservation, and return the sum with noise: integers, in lattice steps.

        Parameters and errors are those of :meth:`GaussianMechanism.release`.
        """
        scale = _draw_on(reservation, self, total, stream, n_jobs)
        return total.values + discrete_laplace(scale, total.values.shape, stream, n_jobs=n_jobs)


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
        return Noisy(np.asarray(noisy * bound.step, dtype=np.float64), mechanism.noise_multiplier)

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
