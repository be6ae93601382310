r"""Greedy choice of words: each unit spends a budget of 1 on its favourite words that still need it.

Units come one after another. Each has a budget of 1 and gives to its words, the most used first, what the
word lacks to a cut-off :math:`\Gamma`, until the budget is spent. Words everybody uses soon have enough, so
later units' budgets go to rarer words. Then Laplace noise of scale :math:`1/\epsilon` is added and words
above :math:`\rho` are released, with their noisy weights. :math:`\Gamma = \rho + 3/\epsilon`.

Guarantee
---------
*Unit*: ``privacy_unit``. *Neighbours*: one unit is added or removed, anywhere; the others keep their order.
*Released*: words and noisy weights above the threshold. *Booked as*: discrete Laplace noise of
:math:`\epsilon`, plus an additive :math:`\delta` for words nobody else has (see ``thresholds``).

Sensitivity: the two histograms differ by at most 1 in L1
---------------------------------------------------------
What a unit gives depends on the units before it, so one extra unit changes what all later ones do. Still
the difference never grows. Let h be the histogram without the extra unit and h' that with it. Claim: after
every common unit, :math:`h \le h'` in every word, and :math:`\sum (h' - h) \le 1`. Then the L1 distance is
that sum.

*At the extra unit*: h' gains at most 1 in total, in non-negative parts; h gains nothing.

*At a later unit v*, with words 1, ..., k in v's own order, which is the same in both runs. Let :math:`g_j =
\Gamma - h_j \ge 0` be what word j lacks and :math:`C_j = g_1 + ... + g_j`. The greedy rule gives to the
first j words together :math:`\min(1, C_j)`. From :math:`h \le h'` follows :math:`g' \le g` and :math:`C'
\le C`.

* Order is kept. If :math:`C_j \le 1`, word j is filled in both runs: both become :math:`\Gamma`. If
  :math:`C_{j-1} \ge 1`, word j of h gains nothing. Otherwise word j of h becomes :math:`h_j + 1 - C_{j-1}`,
  and word j of h' becomes :math:`\min(\Gamma, h'_j + 1 - C'_{j-1})`, which is at least as much.
* The sum does not grow: h' gains :math:`\min(1, C'_k)` in total, h gains :math:`\min(1, C_k)`, which is at
  least as much.

This needs that v's order is v's own. Filling the word that lacks least first, say, would let other units
decide the order, and the proof (and the guarantee) would fail. Everything is in integers (budget
:math:`2^m`, cut-off rounded), for which the same proof holds word for word: there is no rounding here.
``tests`` go through all small corpora, and all neighbours of each.

A word that is held but got nothing is still looked at: weights of zero, too, get noise. Otherwise the extra
unit could, through later units' choices, change which words are looked at far beyond its own.

``epsilon = inf``: no noise, no cut-off; all held words are released.

Reference
---------
Carvalho, Wang, Gondara, "Incorporating item frequency for differentially private set union", AAAI 2022,
doi:10.1609/aaai.v36i9.21183 (their threshold covers one private word; ``published`` reproduces it and books
what it costs). Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic modeling",
arXiv:2403.04451.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.central.vocabulary.thresholds import (
    laplace_threshold,
    on_lattice,
    published_leak,
    published_threshold,
)
from discreet.central.vocabulary.units import Choice, UnitWords, first_words, held_words, passing
from discreet.privacy.accounting import events
from discreet.privacy.bound import Bound, BoundedSum
from discreet.privacy.ledger.ledger import Reservation
from discreet.privacy.mechanism import LaplaceMechanism
from discreet.privacy.noise.stream import SecureStream

_NO_CUTOFF = 2**61


@kernel()
def fill_greedily(
    indptr: NDArray[np.int64], words: NDArray[np.int64], n_words: int, budget: int, cutoff: int
) -> NDArray[np.int64]:
    """Let each unit, in turn, fill its words up to the cut-off until its budget is spent.

    Parameters
    ----------
    indptr, words : arrays of int64
        Words of each unit, favourites first, as in ``UnitWords``.
    n_words : int
        Number of words.
    budget, cutoff : int
        In lattice steps.

    Returns
    -------
    array of shape (n_words,), int64
        Weights, each at most ``cutoff``.
    """
    weights = np.zeros(n_words, np.int64)
    for unit in range(len(indptr) - 1):
        left = np.int64(budget)
        for entry in range(indptr[unit], indptr[unit + 1]):
            word = words[entry]
            given = min(left, np.int64(cutoff) - weights[word])
            weights[word] += given
            left -= given
            if left == 0:
                break
    return weights


@dataclass(frozen=True)
class Greedy:
    """Public configuration of the greedy choice.

    Parameters
    ----------
    epsilon, delta : float
        What the choice costs in all.
    max_words : int
        Most distinct words of one unit that count.
    privacy_unit : str
        Whose presence is hidden.
    published : bool, default False
        Use the threshold of the paper, for reproduction only. The delta that is booked is then the one that
        this threshold really has, which is larger than ``delta``.
    """

    epsilon: float
    delta: float
    max_words: int
    privacy_unit: str = "document"
    published: bool = False

    @property
    def mechanism(self) -> LaplaceMechanism:
        """Laplace noise on weights whose L1 norm is bounded by 1."""
        return LaplaceMechanism(Bound(norm="l1", privacy_unit=self.privacy_unit), self.epsilon)

    @property
    def threshold(self) -> float:
        """Noisy weight that a word must pass, in units of one unit's budget."""
        if self.published:
            return published_threshold(self.epsilon, self.delta)
        return laplace_threshold(self.epsilon, self.delta, self.max_words)

    @property
    def cutoff(self) -> int:
        """Weight, in lattice steps, at which a word has enough."""
        if math.isinf(self.epsilon):
            return _NO_CUTOFF
        return min(_NO_CUTOFF, on_lattice(self.threshold + 3.0 / self.epsilon, self.mechanism.bound.bits))

    def event(self) -> Any:
        """Return what the ledger must reserve."""
        event = self.mechanism.event()
        if math.isinf(self.epsilon):
            return event
        leak = published_leak(self.epsilon, self.delta, self.max_words) if self.published else self.delta
        return events.with_delta(event, leak)

    def choose(
        self, units: UnitWords, stream: SecureStream, reservation: Reservation, *, n_jobs: int | None = None
    ) -> Choice:
        """Choose words; the only place that sees the units.

        Parameters
        ----------
        units : UnitWords
            Words of each unit, favourites first; capped here.
        stream : SecureStream
            Source of the noise.
        reservation : Reservation
            Of :meth:`event`.
        n_jobs : int, optional
            Threads for the noise.
        """
        held, kept = held_words(first_words(units, self.max_words))
        bound = self.mechanism.bound
        weights = fill_greedily(kept.indptr, kept.words, len(held), bound.sensitivity, self.cutoff)
        noisy = self.mechanism.release(BoundedSum(weights, bound), stream, reservation, n_jobs=n_jobs)
        # Without noise there is nothing to hide behind a threshold: the twin names every held word.
        least = -1 if math.isinf(self.epsilon) else on_lattice(self.threshold, bound.bits)
        return passing(held, noisy, least, bound.step)
