r"""The grid that privacy losses are put on: as coarse as the wanted accuracy allows.

A loss between two points of a grid of step :math:`h` is split between them. At a fraction :math:`f` of the step above
the lower one, that adds a variance of :math:`v = f (1 - f) h^2` to the summed loss, and half of it to its mean (the
losses stay those of two probability distributions). Seen at :math:`x = \Phi^{-1}(1 - \delta)`, :math:`\mu` being the
spread of the sum, :math:`T` events add :math:`T v (1 + x / \mu) / 2` to epsilon. Where losses are spread out,
:math:`v` is taken at its largest, :math:`h^2 / 4`.

Losses that lie on a lattice of their own (randomised response: plus or minus epsilon; discrete Laplace noise: multiples
of its parameter) cost nothing on a grid that divides it. So the steps that are looked at are the lattices' own, over 1,
2, 3, ...; the coarsest that is good enough is taken.

Privacy loss distributions (PLD), with an answer that can be trusted
====================================================================
dp-accounting rounds losses to a grid on the safe side ("connect the dots"), so its answer is an upper bound, but for
two things that are dealt with here. (It rounds up each loss of discrete Laplace noise, which makes many of them dear;
they are put on the grid here, see ``_on_grid``.)

*The grid.* A coarse grid is halved until two answers show that the rest is a few parts in ten thousand; where memory
forbids that, the answer stays valid and gets looser. Where losses lie on a lattice, the grid divides it.

*Rounding errors of the FFT*, which may fall on either side. Raising the transform to the power :math:`T`
multiplies the relative error of each coefficient by :math:`T`; by Parseval and Cauchy-Schwarz the sum of absolute
errors over all cells is a small multiple of :math:`T \cdot 2^{-52}`. Eight times that is taken off delta before
the curve is read (without it the answer for a million events at delta = 1e-11 lies 5 % below the truth), and
where it would be half of delta, PLD is not used at all.

Time and memory are bounded, whatever the events are. A discrete Laplace on a fine lattice (:math:`a` per step,
sensitivity :math:`\Delta`) is accounted for on one :math:`m` times coarser, :math:`(a m, \lceil \Delta / m \rceil)`,
with at most 2^14 steps. That is never less: its losses :math:`a (m \lceil \Delta/m \rceil - 2 m i)` are some of
those of :math:`(a, m \lceil \Delta/m \rceil)`; both curves take the value :math:`1 - e^{(x - \epsilon)/2}` at their
losses x and are straight in :math:`e^x` between them; this function is convex in :math:`e^x`, and chords of a convex
function rise when points are left out. More than 300 different events are left to Rényi accounting.

References
----------
Doroshenko et al., "Connect the dots: tighter discrete approximations of privacy loss distributions",
arXiv:2207.04380.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from dp_accounting import dp_event as dp
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.privacy.accounting.curves import Totals, noise_of, pure_epsilon, root_up

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


#: Share of epsilon that the grid of losses may add.
GRID_ERROR = 3e-4
_MOST_STEPS = 2**14  # of a discrete Laplace's lattice
_MOST_CURVES = 300
_FFT_ERROR = 8 * 2.0**-52


class PldAnswer(NamedTuple):
    """An epsilon, and whether the grid was fine enough for it to be tight."""

    epsilon: float
    converged: bool


def pld_epsilon(totals: Totals, delta: float, *, grid_error: float = GRID_ERROR) -> PldAnswer:
    """Return epsilon at ``delta`` by privacy loss distributions; ``inf`` where they do not apply."""
    found = losses(totals, delta)
    if found is None:
        return PldAnswer(math.inf, converged=False)

    def on_a_grid(step: float) -> float:
        return float(found.composed(step).get_epsilon_for_delta(delta - found.error))

    grids = Grids(found.kinds, delta, grid_error)
    step = grids.first()
    coarse = on_a_grid(step)
    while step > grids.finest:
        step = max(step / 2, grids.finest)
        fine = on_a_grid(step)
        if coarse - fine <= 3 * grid_error * fine:  # the error falls with the square of the step
            return PldAnswer(min(coarse, fine), converged=True)
        coarse = min(coarse, fine)
    return PldAnswer(coarse, converged=False)


class Losses(NamedTuple):
    """What is composed: events with their counts, all Gaussians as one."""

    leaves: tuple[tuple[Any, int], ...]
    kinds: tuple[Kind, ...]
    error: float  # of the composed delta, from the FFT

    def composed(self, step: float) -> Any:
        """Return the privacy loss distribution of all events together, on a grid."""
        total = privacy_loss_distribution.identity(value_discretization_interval=step)
        for leaf, count in self.leaves:
            total = total.compose(_distribution(leaf, step).self_compose(count))
        return total


def _distribution(leaf: Any, step: float) -> Any:
    """Return the privacy loss distribution of one event, on a grid."""
    if isinstance(leaf, dp.DiscreteLaplaceDpEvent):
        cells, weights = _on_grid(leaf.noise_parameter, leaf.sensitivity, step)
        masses = dict(zip(cells.tolist(), weights.tolist(), strict=True))
        pmf = pld_pmf.create_pmf(masses, step, 0.0, pessimistic_estimate=True)
        return privacy_loss_distribution.PrivacyLossDistribution(pmf)
    rate = leaf.sampling_probability if isinstance(leaf, dp.PoissonSampledDpEvent) else 1.0
    noise = noise_of(leaf) if isinstance(leaf, dp.PoissonSampledDpEvent) else leaf.noise_multiplier
    return privacy_loss_distribution.from_gaussian_mechanism(
        noise, value_discretization_interval=step, sampling_prob=rate
    )


def _on_grid(lattice: float, sensitivity: int, step: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return cells and weights of a discrete Laplace's losses on a grid.

    The losses are ``lattice * (sensitivity - 2 i)``. Each is split between the two cells around it such that its
    weight stays the same under both of the distributions that are compared; the two parts tell more than the one did.
    """
    i = np.arange(sensitivity + 1)
    weights = np.exp(-lattice * i) * -math.expm1(-lattice)
    weights[0] = 1.0
    weights[-1] = math.exp(-lattice * sensitivity)
    weights /= 1 + math.exp(-lattice)
    exact = lattice * (sensitivity - 2 * i) / step
    below = np.floor(exact)
    upper = weights * np.expm1(-(exact - below) * step) / math.expm1(-step)
    first = int(below.min())
    cells = (below - first).astype(np.int64)
    total = np.zeros(cells.max() + 2)
    np.add.at(total, cells, weights - upper)
    np.add.at(total, cells + 1, upper)
    kept = np.flatnonzero(total)
    return kept + first, total[kept]


def losses(totals: Totals, delta: float) -> Losses | None:
    """Return what PLD composes, or None where it does not apply at this delta."""
    mu = root_up(totals.precision)
    if math.isinf(mu):
        return None
    leaves = [(_curve_of(leaf), count) for leaf, count in (*totals.pure, *totals.sampled)]
    kinds = [_kind(leaf, count) for leaf, count in leaves]
    if mu > 0:
        leaves.append((dp.GaussianDpEvent(1 / mu), 1))
        kinds.append(Kind(1, mu * mu, 10 * mu + mu * mu / 2))
    error = _FFT_ERROR * sum(count + 1 for _, count in leaves)
    if not leaves or error > delta / 2 or len(leaves) > _MOST_CURVES:
        return None
    return Losses(tuple(leaves), tuple(kinds), error)


def _curve_of(leaf: Any) -> Any:
    """Return an event that dp-accounting has a curve for, and that dominates ``leaf``."""
    if isinstance(leaf, dp.DiscreteLaplaceDpEvent) and leaf.sensitivity > _MOST_STEPS:
        times = -(-leaf.sensitivity // _MOST_STEPS)
        return dp.DiscreteLaplaceDpEvent(leaf.noise_parameter * times, -(-leaf.sensitivity // times))
    return leaf


def _kind(leaf: Any, count: int) -> Kind:
    """Return what a grid must know of a leaf with a curve."""
    if isinstance(leaf, dp.PoissonSampledDpEvent):
        noise, rate = noise_of(leaf), leaf.sampling_probability
        exponent = 10 / noise + 1 / (2 * noise * noise)
        largest = exponent if exponent > 50 else math.log1p(rate * math.expm1(exponent))
        return Kind(count, sampled_spread(noise, rate) ** 2, largest)
    largest, lattice = pure_epsilon(leaf), leaf.noise_parameter
    at_ends = (1 + math.exp(-largest)) / (1 + math.exp(-lattice))
    return Kind(count, largest * largest, largest, min(1.0, at_ends), lattice)


def sampled_spread(noise: float, rate: float) -> float:
    """Return the Gaussian-DP parameter of one of many Poisson-sampled Gaussian releases, in the limit."""
    return rate * math.sqrt(math.expm1(min(noise**-2, 600.0)))
