r"""Noise that leaves rare words out, as published: what it buys, and why its promise is none.

Noise that can give every word must spend much of itself on words that hardly anyone writes. The published mechanism
leaves out the tail of the vocabulary, rare words of total probability :math:`\delta`; where the probability of a word
of higher rank than r is :math:`r^{-\gamma}` (Zipf's law), the tail begins at rank :math:`\delta^{-1/\gamma}`, and
its first word has probability :math:`\delta_0 = \delta - (\delta^{-1/\gamma} + 1)^{-\gamma}` (:func:`zipf_edge`).

With noise outside the tail only, :math:`q_y = 0` for y in the tail T,

.. math:: P(y \mid x) = (1 - \eta) [y = x] + \eta q_y, \qquad
          \eta = \frac{1}{1 + q_{\min} (e^\epsilon - 1)}, \quad q_{\min} = \min_{y \notin T} q_y .

Guarantee
---------
*Unit, neighbours*: one secret cell, replaced by any other. *Released*: one report.

* Two cells outside T: pure :math:`\epsilon`, as for `fedlda.PairResponse`.
* In the worst case: :math:`(\epsilon, 1 - \eta)`, and no smaller delta. *Proof.* Delta is the largest
  :math:`\sum_y (P(y | x) - e^\epsilon P(y | x'))^+`. For x in T only y = x counts, which x' never gives:
  :math:`1 - \eta`. For x outside T and x' in T only y = x can count: :math:`1 - \eta + \eta q_x - e^\epsilon \eta
  q_x \le 0` by the choice of eta.
* As published, "(:math:`\epsilon, 2 \delta`)": if secret cells are *drawn* from a law of which T has at most
  :math:`\delta`, two of them both lie outside T but for a chance of :math:`2 \delta`. At :math:`\delta = .1` that is
  one comparison in five, and it says nothing to those who do write a rare word: theirs is then sent in the clear with
  probability :math:`1 - \eta`, and cannot be anything else.

So this is kept for comparison. :class:`~discreet.federated.FederatedLDA` does not use it.

Reference
---------
Wang, Tong, Shi, "Federated Latent Dirichlet Allocation: A Local Differential Privacy Based Framework", AAAI 2020,
doi:10.1609/aaai.v34i04.6096 (poster and abstract).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import shown
from discreet.errors import ParameterError
from discreet.privacy.noise.stream import SecureStream

from .fedlda import PairResponse

__all__ = ["RareWordResponse", "tail", "zipf_edge"]


def zipf_edge(delta: float, gamma: float) -> float:
    r"""Return delta0, the probability of the first word in a Zipf tail of total probability delta.

    Parameters
    ----------
    delta : float
        Between 0 and 1.
    gamma : float
        Exponent of the tail, positive: a word of higher rank than r has probability ``r ** -gamma``.
    """
    if not 0 < delta < 1 or not (math.isfinite(gamma) and gamma > 0):
        raise ParameterError(
            f"delta must lie between 0 and 1 and gamma be positive, but are {shown(delta)}, {shown(gamma)}."
        )
    return delta - (delta ** (-1 / gamma) + 1) ** (-gamma)


def tail(probability: ArrayLike, delta: float) -> NDArray[np.bool_]:
    """Return which cells are rare: the least probable ones, as many as have at most delta together.

    Parameters
    ----------
    probability : array of shape (n_cells,)
        Public. Equal ones: those of higher number are rarer.
    delta : float
        At least 0 and below 1.
    """
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or len(p) < 2 or not (np.isfinite(p).all() and (p >= 0).all() and p.sum() > 0):
        raise ParameterError("probability must be one row of at least two probabilities.")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, but is {shown(delta)}.")
    order = np.argsort(-p, kind="stable")[::-1]
    rare = np.zeros(len(p), bool)
    rare[order[np.cumsum(p[order]) <= delta * p.sum()]] = True
    return rare


class RareWordResponse:
    """A randomiser whose noise never gives a rare cell. No promise to those who write one.

    Parameters
    ----------
    noise : array of shape (n_cells,)
        Public q before the tail is left out; positive.
    epsilon : float
        Loss of one report between cells that are not rare.
    delta : float
        Largest total probability of the tail under ``noise``.

    Attributes
    ----------
    rare : array of shape (n_cells,), bool
    eta : Fraction
        Probability of noise.
    """

    def __init__(self, noise: ArrayLike, epsilon: float, delta: float) -> None:
        q = np.asarray(noise, dtype=np.float64)
        self.rare = tail(q, delta)
        self._kept = np.flatnonzero(~self.rare)
        self._inner = PairResponse(q[self._kept], epsilon)
        self.epsilon, self.delta, self.eta = float(epsilon), float(delta), self._inner.eta

    @property
    def q(self) -> NDArray[np.float64]:
        """Probabilities of the noise, shape (n_cells,); 0 in the tail."""
        spread = np.zeros(len(self.rare))
        spread[self._kept] = self._inner.q
        return spread

    @property
    def worst_delta(self) -> float:
        """Least delta of a promise to everyone at this epsilon: 1 - eta."""
        return float(1 - self.eta)

    def in_words(self) -> str:
        """Return what is promised, and what is not."""
        return (
            f"Between common words a report loses at most epsilon = {self.epsilon:g}. {int(self.rare.sum())} of "
            f"{len(self.rare)} cells are rare: noise never gives them, so a report of one is the truth, and is sent "
            f"with probability {self.worst_delta:.3g}. As published this is called "
            f"(epsilon, {2 * self.delta:g}): it holds only where words are drawn by chance, and "
            f"{2 * self.delta:g} is no promise. To everyone it promises (epsilon, {self.worst_delta:.3g})."
        )

    def randomise(self, cells: ArrayLike, stream: SecureStream) -> NDArray[np.int64]:
        """Return one report for each secret cell."""
        secret = np.asarray(cells)
        if secret.ndim != 1 or secret.dtype.kind not in "iu":
            raise ParameterError(f"cells must be one row of whole numbers, but are {secret.dtype}.")
        if len(secret) and not 0 <= secret.min() <= secret.max() < len(self.rare):
            raise ParameterError(f"cells must lie from 0 to {len(self.rare) - 1}.")
        noisy, drawn = self._inner.draw(len(secret), stream)
        return np.where(noisy, self._kept[drawn], secret).astype(np.int64)

    def debias(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return unbiased numbers of secret cells from numbers of reports, shape (n_cells,)."""
        seen = np.asarray(observed, dtype=np.float64)
        if self.eta == 1:
            raise ParameterError("reports of pure noise (eta = 1) say nothing; raise epsilon.")
        return (seen - float(self.eta) * seen.sum() * self.q) / float(1 - self.eta)

    def distribution(self, cell: int) -> list[Fraction]:
        """Return P(y | cell) for all y, exactly."""
        found = [Fraction(0)] * len(self.rare)
        for place, weight in zip(self._kept, self._inner.weights, strict=True):
            found[int(place)] = self.eta * Fraction(int(weight), int(self._inner.weights.sum()))
        found[cell] += 1 - self.eta
        return found
