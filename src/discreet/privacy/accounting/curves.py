r"""The numerical accountants: privacy loss distributions (PLD) and Rényi accounting of sorted events.

Why the answers can be trusted
------------------------------
dp-accounting rounds losses to a grid on the safe side ("connect the dots"), so its PLD answer is an upper bound,
but for two things that are dealt with here.

*The grid.* Rounding adds about :math:`T h^2 (1 + x/\mu) / 8` to epsilon after :math:`T` events on a grid of step
:math:`h`, :math:`\mu` being the spread of the summed loss and :math:`x = \Phi^{-1}(1-\delta)` (seen against the
closed form at up to a million events). A coarse grid is halved until two answers show that the rest is a few parts
in ten thousand; where memory forbids that, the answer stays valid and gets looser.

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

Events are stated relative to the sensitivity under the ledger's own relation, so the curve of plain additive
noise is the same for both relations. A Poisson sample under ``replace_one`` is booked as if everybody had been
in it, which is valid (mixing both sides with the same distribution hides more) and rarely tight.

References
----------
Doroshenko et al., "Connect the dots: tighter discrete approximations of privacy loss distributions",
arXiv:2207.04380.
Mironov, "Rényi differential privacy", arXiv:1702.07476.
"""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from scipy.special import ndtri

__all__ = [
    "PldAnswer",
    "Totals",
    "pld_epsilon",
    "pure_epsilon",
    "rdp_epsilon",
    "root_up",
    "sampled_spread",
    "sort_events",
]

#: Share of epsilon that the grid of losses may add.
GRID_ERROR = 3e-4
_MOST_CELLS = 500_000
_MOST_STEPS = 2**14  # of a discrete Laplace's lattice
_MOST_CURVES = 300
_FFT_ERROR = 8 * 2.0**-52


class Totals(NamedTuple):
    """Events, sorted into what each accountant needs. Sums are exact, so order cannot matter."""

    precision: Fraction  # of all Gaussians that everybody is in: sum of 1 / sigma^2
    rho: float  # of zCDP events
    failure: Fraction  # sum of mechanisms' own failure probabilities
    pure: tuple[tuple[Any, int], ...]  # Laplace, discrete Laplace, bounded range; with their counts
    sampled: tuple[tuple[Any, int], ...]  # Poisson-sampled Gaussians with their counts
    private: bool

    @property
    def pure_epsilon(self) -> float:
        """Sum of the pure losses."""
        return math.fsum(pure_epsilon(leaf) * count for leaf, count in self.pure)

    @property
    def all_precision(self) -> Fraction:
        """Sum of 1 / sigma^2 as if everybody had been in every sample."""
        return self.precision + sum(count / Fraction(_noise(leaf)) ** 2 for leaf, count in self.sampled)


def sort_events(events: Iterable[Any], neighboring: str = "add_or_remove_one") -> Totals:
    """Take events apart and add up what can be added."""
    from dp_accounting import dp_event as dp

    from discreet.privacy.accounting.events import FailureDpEvent, leaves

    precision, failure, rhos = Fraction(0), Fraction(0), [0.0]
    pure: Counter[Any] = Counter()
    sampled: Counter[Any] = Counter()
    private = True
    for event in events:
        for leaf, count in leaves(event):
            if isinstance(leaf, dp.GaussianDpEvent):
                precision += count / Fraction(leaf.noise_multiplier) ** 2
            elif isinstance(leaf, FailureDpEvent):
                failure += count * Fraction(leaf.delta)
            elif isinstance(leaf, dp.ZCDpEvent):
                rhos.append(leaf.rho * count)
            elif isinstance(leaf, dp.NonPrivateDpEvent):
                private = False
            elif not isinstance(leaf, dp.PoissonSampledDpEvent):
                pure[leaf] += count
            elif neighboring == "add_or_remove_one":
                sampled[leaf] += count
            else:
                precision += count / Fraction(_noise(leaf)) ** 2
    return Totals(precision, math.fsum(rhos), failure, _ordered(pure), _ordered(sampled), private)


def _ordered(counts: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(counts.items(), key=repr))


def _noise(sampled: Any) -> float:
    return sampled.event.noise_multiplier


def pure_epsilon(leaf: Any) -> float:
    """Return the pure loss of a Laplace, discrete Laplace or bounded-range event."""
    from dp_accounting import dp_event as dp

    if isinstance(leaf, dp.LaplaceDpEvent):
        return 1 / leaf.noise_multiplier
    if isinstance(leaf, dp.DiscreteLaplaceDpEvent):
        return leaf.noise_parameter * leaf.sensitivity
    return leaf.log_ratio


def root_up(value: Fraction) -> float:
    """Return the square root of an exact fraction, rounded up."""
    if value == 0:
        return 0.0
    try:
        # The float quotient is within one rounding of the truth; one step up covers it and the root's own.
        return math.nextafter(math.sqrt(math.nextafter(float(value), math.inf)), math.inf)
    except OverflowError:
        return math.inf


def rdp_epsilon(totals: Totals, delta: float) -> float:
    """Return epsilon at ``delta`` by Rényi accounting; the failure probabilities are the caller's."""
    from dp_accounting import dp_event as dp
    from dp_accounting.rdp import RdpAccountant

    mu = root_up(totals.precision)
    if math.isinf(mu):
        return math.inf
    accountant = RdpAccountant(_orders(totals))
    # A pure loss is epsilon^2/2-zCDP, a draw of bounded range r is r^2/8-zCDP, and a Gaussian mu^2/2-zCDP.
    rho = math.fsum([totals.rho, mu * mu / 2])
    for leaf, count in totals.pure:
        if isinstance(leaf, dp.LaplaceDpEvent):
            accountant.compose(leaf, count)
        else:
            rho += count * pure_epsilon(leaf) ** 2 / (2 if isinstance(leaf, dp.DiscreteLaplaceDpEvent) else 8)
    if rho > 0:
        accountant.compose(dp.ZCDpEvent(rho))
    for leaf, count in totals.sampled:
        accountant.compose(leaf, count)
    return float(accountant.get_epsilon(delta))


def _orders(totals: Totals) -> list[float] | None:
    """Rényi orders: all of the library's, but those where its series for sampled Gaussians fails to converge."""
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    if not totals.sampled:
        return None
    whole_only = min(_noise(leaf) for leaf, _ in totals.sampled) < 1
    return [order for order in DEFAULT_RDP_ORDERS if order >= 2 and (order == int(order) or not whole_only)]


class PldAnswer(NamedTuple):
    """An epsilon, and whether the grid was fine enough for it to be tight."""

    epsilon: float
    converged: bool


def pld_epsilon(totals: Totals, delta: float, *, grid_error: float = GRID_ERROR) -> PldAnswer:
    """Return epsilon at ``delta`` by privacy loss distributions; ``inf`` where they do not apply."""
    from dp_accounting import dp_event as dp
    from dp_accounting.pld import PLDAccountant

    mu = root_up(totals.precision)
    leaves = [(_curve_of(leaf), count) for leaf, count in (*totals.pure, *totals.sampled)]
    if mu > 0:
        leaves.append((dp.GaussianDpEvent(1 / mu), 1))
    n_events = sum(count for _, count in leaves)
    error = _FFT_ERROR * (n_events + len(leaves))
    if totals.rho > 0 or math.isinf(mu) or error > delta / 2 or len(leaves) > _MOST_CURVES:
        return PldAnswer(math.inf, converged=False)

    def on_a_grid(step: float) -> float:
        accountant = PLDAccountant(value_discretization_interval=step)
        for leaf, count in leaves:
            accountant.compose(leaf, count)
        return float(accountant.get_epsilon(delta - error))

    step, finest = _steps(totals, mu, n_events, delta, grid_error)
    coarse = on_a_grid(step)
    while step > finest:
        step = max(step / 2, finest)
        fine = on_a_grid(step)
        if coarse - fine <= 3 * grid_error * fine:  # the error falls with the square of the step
            return PldAnswer(min(coarse, fine), converged=True)
        coarse = min(coarse, fine)
    return PldAnswer(coarse, converged=False)


def _curve_of(leaf: Any) -> Any:
    """Return an event that dp-accounting has a curve for, and that dominates ``leaf``."""
    from dp_accounting import dp_event as dp

    if hasattr(leaf, "log_ratio"):
        # A choice between two outcomes dominates every pure loss, and discrete Laplace on a bit is one.
        return dp.DiscreteLaplaceDpEvent(leaf.log_ratio, 1)
    if isinstance(leaf, dp.DiscreteLaplaceDpEvent) and leaf.sensitivity > _MOST_STEPS:
        times = -(-leaf.sensitivity // _MOST_STEPS)
        return dp.DiscreteLaplaceDpEvent(leaf.noise_parameter * times, -(-leaf.sensitivity // times))
    return leaf


def _steps(totals: Totals, mu: float, n_events: int, delta: float, grid_error: float) -> tuple[float, float]:
    """Return the steps of the first grid and of the finest that memory allows: see the module's head."""
    # Of each kind: variance of the summed loss, largest loss of one event, number of events.
    kinds = [(mu * mu, 10 * mu + mu * mu / 2, 1)]
    kinds += [(count * pure_epsilon(leaf) ** 2, pure_epsilon(leaf), count) for leaf, count in totals.pure]
    for leaf, count in totals.sampled:
        noise, rate = _noise(leaf), leaf.sampling_probability
        exponent = 10 / noise + 1 / (2 * noise * noise)
        largest = exponent if exponent > 50 else math.log1p(rate * math.expm1(exponent))
        kinds.append((count * sampled_spread(noise, rate) ** 2, largest, count))
    spread = math.sqrt(math.fsum(variance for variance, _, _ in kinds))
    quantile = max(1.0, -float(ndtri(delta)))
    epsilon = spread * quantile + spread * spread / 2
    wanted = math.sqrt(8 * grid_error * epsilon / (n_events * (1 + quantile / spread)))
    widest = max(_range_of_sum(*kind) for kind in kinds)
    finest = (widest + 4 * min(epsilon, 100.0)) / _MOST_CELLS
    return max(min(2 * wanted, 2e-2, epsilon / 30), finest), finest


def _range_of_sum(variance: float, largest: float, count: int) -> float:
    """Return the range of losses that the library keeps for a sum: Chernoff bounds at orders 1..20 / width."""
    width = 2 * largest
    if count == 1 or width == 0:
        return width
    return min(count * width, min(variance * k / width + 70 * width / k for k in range(1, 21)) + width)


def sampled_spread(noise: float, rate: float) -> float:
    """Return the Gaussian-DP parameter of one of many Poisson-sampled Gaussian releases, in the limit."""
    return rate * math.sqrt(math.expm1(min(noise**-2, 600.0)))
