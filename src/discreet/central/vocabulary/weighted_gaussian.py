r"""Weighted Gaussian choice of words: each unit gives the same weight to each of its words.

A unit with k words (at most :math:`\Delta_0`, its most used) adds :math:`1/\sqrt k` to each. Gaussian noise
of standard deviation :math:`\sigma` is added, and words above :math:`\rho` are released with their noisy
weights.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed. *Released*: words and noisy weights
above the threshold. *Sensitivity*: k integers :math:`c_k = \lfloor 2^m/\sqrt k \rfloor`, found in exact
integer arithmetic, have squared norm :math:`k c_k^2 \le 4^m`; a unit's integers depend on that unit only,
so the sums differ by at most :math:`2^m` in L2. *Booked as*: a Gaussian event with :math:`\sigma`
calibrated to :math:`(\epsilon, \delta/2)`, plus an additive :math:`\delta/2` for words nobody else has (see
``thresholds``). So it composes with training as one Gaussian more. Where a share of the precision is set aside
(:mod:`discreet.central.vocabulary.coverage`), the weights have the rest of it.

Sums are of integers: any order of the units and any sharding gives the same weights.

``epsilon = inf``: no noise; all held words are released.

Reference
---------
Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", ICML 2020,
arXiv:2002.09745.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.central.vocabulary.gaussian_choice import GaussianChoice
from discreet.central.vocabulary.sharded_words import ShardedWords, sum_even_weights
from discreet.central.vocabulary.thresholds import gaussian_group_failure, on_lattice
from discreet.central.vocabulary.units import Choice, UnitWords, first_words, held_words, passing
from discreet.privacy.bound import BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream

__all__ = ["WeightedGaussian", "choose_once", "even_weights", "sum_even_weights"]


def even_weights(max_words: int, bits: int) -> NDArray[np.int64]:
    """Return the integer weight of each word of a unit with k words, for k = 0 .. max_words; 0 for k = 0."""
    return np.array([0, *(math.isqrt(4**bits // k) for k in range(1, max_words + 1))], np.int64)


def choose_once(
    units: UnitWords | ShardedWords,
    max_words: int,
    mechanism: GaussianMechanism,
    threshold: float,
    stream: SecureStream,
    reservation: Reservation,
    n_jobs: int | None,
    done: NDArray[np.bool_] | None = None,
) -> Choice:
    """Cap, weigh, sum, add noise and compare: one weighted Gaussian choice among words not yet ``done``."""
    bound = mechanism.bound
    if isinstance(units, ShardedWords):
        held, total = units.even_weights(max_words, even_weights(max_words, bound.bits), done)
    else:
        held, kept = held_words(first_words(units, max_words, done))
        longest = int(kept.sizes.max(initial=0))
        total = sum_even_weights(kept, len(held), even_weights(longest, bound.bits))
    noisy = mechanism.release(BoundedSum(total, bound), stream, reservation, n_jobs=n_jobs)
    # Without noise there is nothing to hide behind a threshold: the twin names every held word.
    least = on_lattice(threshold, bound.bits) if mechanism.noise_multiplier else -1
    return passing(held, noisy, least, bound.step)


@dataclass(frozen=True)
class WeightedGaussian(GaussianChoice):
    """Public configuration of the weighted Gaussian choice.

    Parameters are those of :class:`~discreet.central.vocabulary.gaussian_choice.GaussianChoice`.
    """

    def group_failure(self, size: int) -> float:
        """Return a bound on the probability that a word is listed which only one person's ``size`` units hold."""
        noise = self.mechanism.noise_multiplier
        return gaussian_group_failure(noise, self.threshold, self.max_words, size)

    def choose(
        self,
        units: UnitWords | ShardedWords,
        stream: SecureStream,
        reservation: Reservation,
        *,
        n_jobs: int | None = None,
    ) -> Choice:
        """Choose words; the only place that sees the units. Parameters as for ``Greedy.choose``."""
        return choose_once(units, self.max_words, self.mechanism, self.threshold, stream, reservation, n_jobs)
