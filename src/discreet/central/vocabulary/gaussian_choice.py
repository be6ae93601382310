r"""Gaussian choice of words: each unit gives the same weight to each of its words, in one round or in several.

A unit with k words (at most :math:`\Delta_0`, its most used) adds :math:`1/\sqrt k` to each. Gaussian noise
of standard deviation :math:`\sigma` is added, and words above :math:`\rho` are released with their noisy
weights. ``weighted_gaussian`` does this once; ``sips`` (DP-SIPS) three times, each among the words not yet released:
a unit's budget, no longer spent on words that everybody knows by now, goes to its remaining ones. Early rounds are
cheap, because the words they find are frequent; the last has most of the budget.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed. *Released*: per round, words and noisy weights
above the round's threshold. *Sensitivity*: k integers :math:`c_k = \lfloor 2^m/\sqrt k \rfloor`, found in exact
integer arithmetic, have squared norm :math:`k c_k^2 \le 4^m`; a unit's integers depend on that unit and on what earlier
rounds released, so in each round the sums differ by at most :math:`2^m` in L2, and rounds compose adaptively. *Booked
as*: one Gaussian event with :math:`1/\sigma^2 = \sum_i 1/\sigma_i^2`, :math:`\sigma` calibrated to
:math:`(\epsilon, \delta/2)`, plus an additive :math:`\delta/2 = \sum_i \delta_i` for words nobody else has (see
``thresholds``). So it composes with training as one Gaussian more. Round i of r has a share of :math:`1/\sigma^2`, less
what the coverage takes of it, and of :math:`\delta/2` in proportion to :math:`3^i`.

Sums are of integers: any order of the units and any sharding gives the same weights.

``epsilon = inf``: no noise; all held words are released.

Coverage: how much of the text the chosen words make up
-------------------------------------------------------
A unit of which the share :math:`s_u` of all counted tokens are chosen words adds :math:`(s_u, 1 - s_u)` to a sum of two
numbers; one without tokens adds nothing. With noise the first over both is the mean share of the text that the words
cover, and both together are the number of units that have any text.

*Released*: the two noisy sums. *Sensitivity*: 1 in L2, because :math:`s^2 + (1 - s)^2 \le 1` for s from 0 to 1, each
unit's vector is placed on the lattice by itself before the sum, and it is a function of that unit's tokens and of the
chosen words, which are released by then (so a list that is cut to its largest noisy weights is public, too). *Booked
as*: nothing of its own. The choice reserves one Gaussian event of noise multiplier :math:`\sigma`; its weights are
released at :math:`1/\sigma_w^2 = (1 - f)/\sigma^2` and these sums at :math:`1/\sigma_c^2 = f/\sigma^2`, f = 1/64:
adaptive composition within the reserved precision, which the reservation holds to. The thresholds are those of
:math:`\sigma_w`.

References
----------
Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", ICML 2020,
arXiv:2002.09745. Swanberg, Desfontaines, Haney, "DP-SIPS: a simpler, more scalable mechanism for differentially
private partition selection", PoPETs 2023, arXiv:2301.01998.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet.central.vocabulary.thresholds import gaussian_group_failure, gaussian_threshold, on_lattice
from discreet.central.vocabulary.units import (
    Choice,
    ShardedWords,
    UnitWords,
    first_words,
    held_words,
    passing,
    sum_even_weights,
)
from discreet.corpus.shards.shard_file import Rows
from discreet.corpus.vocabulary import Coverage
from discreet.privacy.accounting import events
from discreet.privacy.accounting.calibration import noise_multiplier_for
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import GaussianMechanism, noise_of_share
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.row_sums import sum_rows

#: Of the precision of a choice, for telling how much of the text the words make up.
SHARE = Fraction(1, 64)


def even_weights(max_words: int, bits: int) -> NDArray[np.int64]:
    """Return the integer weight of each word of a unit with k words, for k = 0 .. max_words; 0 for k = 0."""
    return np.array([0, *(math.isqrt(4**bits // k) for k in range(1, max_words + 1))], np.int64)


@dataclass(frozen=True)
class GaussianChoice:
    """Public configuration of a choice.

    Parameters
    ----------
    epsilon, delta : float
        What the choice costs in all: half of delta goes to the noise, half to the thresholds.
    max_words : int
        Most distinct words of one unit that count in one round.
    privacy_unit : str
        Whose presence is hidden.
    coverage_share : Fraction, default 0
        Of the precision, for telling how much of the text the words make up.
    n_rounds : int, default 1
        Number of rounds: 1 for ``weighted_gaussian``, 3 for ``sips``.
    """

    epsilon: float
    delta: float
    max_words: int
    privacy_unit: str = "document"
    coverage_share: Fraction = Fraction(0)
    n_rounds: int = 1

    @property
    def bound(self) -> Bound:
        """Of one unit, in each round."""
        return Bound("l2", privacy_unit=self.privacy_unit)

    @property
    def noise_multiplier(self) -> float:
        """Noise multiplier of one release that costs as much as all that is released."""
        return 0.0 if math.isinf(self.epsilon) else noise_multiplier_for(self.epsilon, self.delta / 2)

    @property
    def coverage_noise(self) -> float:
        """Noise multiplier of the sums that tell how much of the text the words make up."""
        return noise_of_share(self.noise_multiplier, self.coverage_share)

    @property
    def shares(self) -> list[Fraction]:
        """Share of each round in the budget for weights, and in delta; they sum to 1."""
        parts = [Fraction(3) ** i for i in range(self.n_rounds)]
        return [part / sum(parts) for part in parts]

    @property
    def rounds(self) -> list[tuple[float, float]]:
        """Noise multiplier and threshold of each round."""
        noise, left = self.noise_multiplier, 1 - self.coverage_share
        found: list[tuple[float, float]] = []
        for share in self.shares:
            of_round = noise if share * left == 1 else noise_of_share(noise, share * left)
            delta = self.delta / 2 * float(share)
            found.append((of_round, gaussian_threshold(of_round, delta, self.max_words)))
        return found

    @property
    def threshold(self) -> float:
        """Noisy weight that a word must pass; where there are several rounds, in the last."""
        return self.rounds[-1][1]

    def event(self) -> events.Event:
        """Return what the ledger must reserve."""
        event = GaussianMechanism(self.bound, self.noise_multiplier).event()
        return event if math.isinf(self.epsilon) else events.with_delta(event, self.delta / 2)

    def group_failure(self, size: int) -> float:
        """Return a bound on the probability that a word is listed which only one person's ``size`` units hold."""
        failures = [
            gaussian_group_failure(noise, threshold, self.max_words, size) for noise, threshold in self.rounds
        ]
        return min(1.0, sum(failures))

    def choose(
        self,
        units: UnitWords | ShardedWords,
        stream: SecureStream,
        reservation: Reservation,
        *,
        n_jobs: int | None = None,
    ) -> Choice:
        """Choose words; the only place that sees the units. Parameters as for ``Greedy.choose``."""
        if self.n_rounds == 1:
            return self._choose_once(units, *self.rounds[0], stream, reservation, n_jobs)
        n_words = units.n_words if isinstance(units, ShardedWords) else int(units.words.max(initial=-1)) + 1
        done = np.zeros(n_words, np.bool_)
        found: list[Choice] = []
        for number, (noise, threshold) in enumerate(self.rounds):
            of_round = stream.spawn(f"round {number}")
            chosen = self._choose_once(units, noise, threshold, of_round, reservation, n_jobs, done)
            done[chosen.words] = True
            found.append(chosen._replace(rounds=chosen.rounds + number))
        words, weights, rounds = (np.concatenate(part) for part in zip(*found, strict=True))
        ascending = np.argsort(words)
        return Choice(words[ascending], weights[ascending], rounds[ascending])

    def _choose_once(
        self,
        units: UnitWords | ShardedWords,
        noise: float,
        threshold: float,
        stream: SecureStream,
        reservation: Reservation,
        n_jobs: int | None,
        done: NDArray[np.bool_] | None = None,
    ) -> Choice:
        """Cap, weigh, sum, add noise and compare, among words not yet ``done``."""
        bound = self.bound
        if isinstance(units, ShardedWords):
            held, total = units.even_weights(self.max_words, even_weights(self.max_words, bound.bits), done)
        else:
            held, kept = held_words(first_words(units, self.max_words, done))
            longest = int(kept.sizes.max(initial=0))
            total = sum_even_weights(kept, len(held), even_weights(longest, bound.bits))
        mechanism = GaussianMechanism(bound, noise)
        noisy = mechanism.release(BoundedSum(total, bound), stream, reservation, n_jobs=n_jobs)
        # Without noise there is nothing to hide behind a threshold: the twin names every held word.
        return passing(held, noisy, on_lattice(threshold, bound.bits) if noise else -1, bound.step)


def coverage_sum(
    counts: sp.csr_matrix, persons: NDArray[np.int64] | None, chosen: NDArray[np.bool_], bound: Bound
) -> NDArray[np.int64]:
    """Add up what the units give.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
        Of all words.
    persons : array of shape (n_documents,), int64, or None
        Unit of each document; None: each document is a unit.
    chosen : array of shape (n_words,), bool
    bound : Bound
        Of one unit.

    Returns
    -------
    array of shape (2,), int64
        In steps of the bound's lattice. Private.
    """
    n_rows = len(counts.indptr) - 1
    unit = np.arange(n_rows) if persons is None else np.unique(persons, return_inverse=True)[1]
    unit_of_entry = np.repeat(unit, np.diff(counts.indptr))
    n_units = int(unit.max(initial=-1)) + 1
    tokens = np.bincount(unit_of_entry, counts.data, minlength=n_units)
    covered = np.bincount(unit_of_entry, counts.data * chosen[counts.indices], minlength=n_units)
    share = (covered / np.maximum(tokens, 1))[tokens > 0]
    return sum_rows(np.column_stack([share, 1 - share]), bound).values


def _sum_of_rows(rows: Rows, chosen: NDArray[np.bool_], bound: Bound) -> NDArray[np.int64]:
    return coverage_sum(rows.counts, rows.persons, chosen, bound)


def release_coverage(
    method: GaussianChoice,
    texts: tuple[sp.csr_matrix, NDArray[np.int64] | None] | ShardedWords,
    words: tuple[tuple[str, ...], tuple[str, ...]],
    stream: SecureStream,
    reservation: Reservation,
) -> Coverage | None:
    """Release how much of the text the chosen words make up; the only place that sees the texts.

    Parameters
    ----------
    method : GaussianChoice
        That has chosen the words.
    texts : (counts, persons) or ShardedWords
        As for :func:`coverage_sum`.
    words : (all words, chosen words)
        All words of the texts, in the order of their columns, and those that are released.
    stream : SecureStream
    reservation : Reservation
        Of the choice.

    Returns
    -------
    Coverage or None
        None where the noise leaves no number of units above zero.
    """
    named = frozenset(words[1])
    chosen = np.fromiter((word in named for word in words[0]), np.bool_, len(words[0]))
    bound, noise = method.bound, method.coverage_noise
    if isinstance(texts, ShardedWords):
        total = texts.shards.sum(_sum_of_rows, chosen, bound)
    else:
        total = coverage_sum(*texts, chosen, bound)
    noisy = GaussianMechanism(bound, noise).release(BoundedSum(total, bound), stream, reservation)
    inside, outside = (float(value) * bound.step for value in noisy.tolist())
    n_units = inside + outside
    if n_units < 1:
        return None
    share = min(max(inside / n_units, 0.0), 1.0)
    return Coverage(share, noise * float(np.hypot(share, 1 - share)) / n_units, n_units)
