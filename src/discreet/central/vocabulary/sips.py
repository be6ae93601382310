r"""Choice of words in rounds (DP-SIPS): words found in one round make room for rarer ones in the next.

Each round is a weighted Gaussian choice among the words not yet released: a unit's budget, no longer spent
on words that everybody knows by now, goes to its remaining ones. Early rounds are cheap, because the words
they find are frequent; the last has most of the budget. Within a round units do not depend on one another:
the sums are of integers, and any sharding over machines gives the same result. Its quality is near that of
the sequential methods.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed. *Released*: per round, words and noisy
weights above the round's threshold. *Sensitivity*: in each round 1 in L2, as for ``weighted_gaussian``;
which words are skipped follows from what earlier rounds released, so this is adaptive composition. *Booked
as*: one Gaussian event with :math:`1/\sigma^2 = \sum_i 1/\sigma_i^2`, :math:`\sigma` calibrated to
:math:`(\epsilon, \delta/2)`, plus an additive :math:`\delta/2 = \sum_i \delta_i` for words nobody else has.
Round i of r has a share of :math:`1/\sigma^2`, less what :mod:`discreet.central.vocabulary.coverage` takes of it,
and of :math:`\delta/2` in proportion to :math:`3^i`.

``epsilon = inf``: no noise; all held words are released.

Reference
---------
Swanberg, Desfontaines, Haney, "DP-SIPS: a simpler, more scalable mechanism for differentially private
partition selection", PoPETs 2023, arXiv:2301.01998.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.central.vocabulary.sharded_words import ShardedWords
from discreet.central.vocabulary.thresholds import gaussian_threshold
from discreet.central.vocabulary.units import Choice, UnitWords
from discreet.central.vocabulary.weighted_gaussian import choose_once
from discreet.privacy.accounting import events
from discreet.privacy.accounting.calibration import noise_multiplier_for
from discreet.privacy.bound import Bound
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism
from discreet.privacy.noise.stream import SecureStream

__all__ = ["Sips", "noise_of_share"]


def noise_of_share(noise_multiplier: float, share: Fraction) -> float:
    """Return the least float s with 1/s^2 <= share/noise_multiplier^2, in exact arithmetic."""
    least = Fraction(noise_multiplier) ** 2 / share
    found = noise_multiplier / math.sqrt(share)
    while Fraction(found) ** 2 < least:
        found = math.nextafter(found, math.inf)
    return found


@dataclass(frozen=True)
class Sips:
    """Public configuration of the choice in rounds.

    Parameters
    ----------
    epsilon, delta : float
        What the choice costs in all.
    max_words : int
        Most distinct words of one unit that count in one round.
    privacy_unit : str
        Whose presence is hidden.
    coverage_share : Fraction, default 0
        Of the precision, for telling how much of the text the words make up.
    n_rounds : int, default 3
        Number of rounds.
    """

    epsilon: float
    delta: float
    max_words: int
    privacy_unit: str = "document"
    coverage_share: Fraction = Fraction(0)
    n_rounds: int = 3

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of one Gaussian release that costs as much as all rounds together."""
        return 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta / 2)

    @property
    def coverage_noise(self) -> float:
        """Noise multiplier of the sums that tell how much of the text the words make up."""
        return noise_of_share(self.noise_multiplier, self.coverage_share) if self.noise_multiplier else 0.0

    @property
    def shares(self) -> list[Fraction]:
        """Share of each round in the budget for weights, and in delta; they sum to 1."""
        parts = [Fraction(3) ** i for i in range(self.n_rounds)]
        return [part / sum(parts) for part in parts]

    @property
    def rounds(self) -> list[tuple[float, float]]:
        """Noise multiplier and threshold of each round."""
        noise = self.noise_multiplier
        left = 1 - self.coverage_share
        noises = [noise_of_share(noise, share * left) if noise else 0.0 for share in self.shares]
        deltas = [self.delta / 2 * float(share) for share in self.shares]
        thresholds = [gaussian_threshold(s, d, self.max_words) for s, d in zip(noises, deltas, strict=True)]
        return list(zip(noises, thresholds, strict=True))

    def event(self) -> Any:
        """Return what the ledger must reserve."""
        if math.isinf(self.epsilon):
            return events.non_private()
        return events.with_delta(events.gaussian(self.noise_multiplier), self.delta / 2)

    def choose(
        self,
        units: UnitWords | ShardedWords,
        stream: SecureStream,
        reservation: Reservation,
        *,
        n_jobs: int | None = None,
    ) -> Choice:
        """Choose words; the only place that sees the units. Parameters as for ``Greedy.choose``."""
        bound = Bound(norm="l2", privacy_unit=self.privacy_unit)
        n_words = units.n_words if isinstance(units, ShardedWords) else int(units.words.max(initial=-1)) + 1
        done = np.zeros(n_words, np.bool_)
        found: list[Choice] = []
        for number, (noise, threshold) in enumerate(self.rounds):
            chosen = choose_once(
                units,
                self.max_words,
                GaussianMechanism(bound, noise),
                threshold,
                stream.spawn(f"round {number}"),
                reservation,
                n_jobs,
                done,
            )
            done[chosen.words] = True
            found.append(chosen._replace(rounds=chosen.rounds + number))
        words = np.concatenate([choice.words for choice in found])
        ascending = np.argsort(words)
        return Choice(
            words[ascending],
            np.concatenate([choice.weights for choice in found])[ascending],
            np.concatenate([choice.rounds for choice in found])[ascending],
        )
