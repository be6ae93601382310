r"""The grid that privacy losses are put on: as coarse as the wanted accuracy allows.

A loss between two points of a grid of step :math:`h` is split between them. At a fraction :math:`f` of the step above
the lower one, that adds a variance of :math:`v = f (1 - f) h^2` to the summed loss, and half of it to its mean (the
losses stay those of two probability distributions). Seen at :math:`x = \Phi^{-1}(1 - \delta)`, :math:`\mu` being the
spread of the sum, :math:`T` events add :math:`T v (1 + x / \mu) / 2` to epsilon. Where losses are spread out,
:math:`v` is taken at its largest, :math:`h^2 / 4`.

Losses that lie on a lattice of their own (randomised response: plus or minus epsilon; discrete Laplace noise: multiples
of its parameter; most of the weight of Laplace noise: plus or minus epsilon) cost nothing on a grid that divides it. So
the steps that are looked at are the lattices' own, over 1, 2, 3, ...; the coarsest that is good enough is taken.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Grids", "Kind"]

_MOST_CELLS = 500_000
#: How many times as many cells a grid may have that needs no halving, because it divides all lattices.
_LONGER = 4
_COARSEST = 2e-2
#: Lattices whose steps are looked at, those with the largest share of the summed loss.
_MOST_LATTICES = 8
_MOST_DIVISORS = 2000


class Kind(NamedTuple):
    """What a grid must know of the losses of ``times`` equal events.

    Attributes
    ----------
    times : int
    variance : float
        Of one loss.
    largest : float
    at_ends : float
        Probability that the loss is plus or minus ``largest``.
    lattice : float
        All losses are multiples of it; 0 where they are not.
    """

    times: int
    variance: float
    largest: float
    at_ends: float = 0.0
    lattice: float = 0.0


class Grids:
    """Steps for one list of events, read at one delta.

    Parameters
    ----------
    kinds : sequence of Kind
    delta : float
    error : float
        Share of epsilon that the grid may add.
    """

    def __init__(self, kinds: Sequence[Kind], delta: float, error: float) -> None:
        self._kinds = kinds
        # It guides the choice only; the floor is for losses so small that their squares vanish.
        spread = max(math.sqrt(math.fsum(kind.times * kind.variance for kind in kinds)), 1e-100)
        quantile = max(1.0, -float(ndtri(delta)))
        epsilon = spread * quantile + spread * spread / 2
        self._weight = (1 + quantile / spread) / 2
        self._tolerance = error * epsilon
        self._coarsest = min(_COARSEST, epsilon / 30)
        widest = max(_range_of_sum(kind) for kind in kinds)
        self.finest = (widest + 4 * min(epsilon, 100.0)) / _MOST_CELLS

    def first(self) -> float:
        """Return a step to begin with; halved once or twice, it should be good enough."""
        steps = self._candidates()
        errors = self._errors(steps)
        good = errors <= 4 * self._tolerance  # the error falls with the square of the step
        return float(steps[good].max()) if good.any() else float(steps[np.argmin(errors)])

    def _candidates(self) -> NDArray[np.float64]:
        n_events = sum(kind.times for kind in self._kinds)
        smooth = 4 * math.sqrt(self._tolerance / (n_events * self._weight))  # whatever the losses are
        plain = max(min(smooth, self._coarsest), self.finest)
        steps = [np.array([plain])]
        lattices = sorted(self._kinds, key=lambda kind: -math.sqrt(kind.times) * kind.largest)
        for kind in [kind for kind in lattices if kind.at_ends][:_MOST_LATTICES]:
            for length in {kind.largest, kind.lattice} - {0.0}:
                most = min(max(1, math.floor(length / plain)), _MOST_DIVISORS)
                steps.append(length / np.arange(1, most + 1))
                least = math.floor(_LONGER * length / self.finest)
                if least > most:  # and the finest ones that memory allows
                    steps.append(length / np.arange(max(1, least - _MOST_DIVISORS), least + 1))
        found = np.concatenate(steps)
        return found[found >= self.finest / _LONGER]

    def _errors(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much each grid is expected to raise epsilon."""
        added = np.zeros_like(steps)
        smooth = np.zeros(len(steps), np.bool_)
        for kind in self._kinds:
            inside = np.full_like(steps, 0.25)
            if kind.lattice:
                ratio = kind.lattice / steps
                inside = np.where((ratio > 0.5) & (_split(ratio) < 1e-9), 0.0, inside)
            ends = _split(kind.largest / steps) if kind.at_ends else np.zeros_like(steps)
            added += kind.times * (kind.at_ends * ends + (1 - kind.at_ends) * inside)
            smooth |= (1 - kind.at_ends) * inside > 0
        errors = added * steps**2 * self._weight
        # What is smooth must also be seen at all.
        hopeless = (smooth & (steps > self._coarsest)) | (
            (steps < self.finest) & (errors > self._tolerance / 100)
        )
        return np.where(hopeless, np.inf, errors)


def _split(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return f (1 - f), f being what a ratio is above a whole number."""
    off = np.abs(ratio - np.round(ratio))
    return off * (1 - off)


def _range_of_sum(kind: Kind) -> float:
    """Return the range of losses that dp-accounting keeps for a sum: Chernoff bounds at orders 1..20 / width."""
    width, count = 2 * kind.largest, kind.times
    if count == 1 or width == 0:
        return width
    variance = count * kind.variance
    return min(count * width, min(variance * k / width + 70 * width / k for k in range(1, 21)) + width)
