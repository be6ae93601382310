r"""Events, sorted into what each accountant needs, and Rényi accounting of them.

Events are stated relative to the sensitivity under the ledger's own relation, so the curve of plain additive
noise is the same for both relations. A Poisson sample under ``replace_one`` is booked as if everybody had been
in it, which is valid (mixing both sides with the same distribution hides more) and rarely tight.

References
----------
Mironov, "Rényi differential privacy", arXiv:1702.07476.
"""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = [
    "NOTHING",
    "Totals",
    "noise_of",
    "pure_epsilon",
    "rdp_epsilon",
    "root_up",
    "sort_events",
]


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
    def exact_pure_epsilon(self) -> Fraction:
        """The same, without rounding."""
        return sum((Fraction(pure_epsilon(leaf)) * count for leaf, count in self.pure), Fraction(0))

    @property
    def all_precision(self) -> Fraction:
        """Sum of 1 / sigma^2 as if everybody had been in every sample."""
        return self.precision + sum(count / Fraction(noise_of(leaf)) ** 2 for leaf, count in self.sampled)


#: No events at all.
NOTHING = Totals(Fraction(0), 0.0, Fraction(0), (), (), private=True)


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
                precision += count / Fraction(noise_of(leaf)) ** 2
    return Totals(precision, math.fsum(rhos), failure, _ordered(pure), _ordered(sampled), private)


def _ordered(counts: Counter[Any]) -> tuple[tuple[Any, int], ...]:
    return tuple(sorted(counts.items(), key=repr))


def noise_of(sampled: Any) -> float:
    """Return the noise multiplier of a Poisson-sampled Gaussian event."""
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
    whole_only = min(noise_of(leaf) for leaf, _ in totals.sampled) < 1
    return [order for order in DEFAULT_RDP_ORDERS if order >= 2 and (order == int(order) or not whole_only)]
