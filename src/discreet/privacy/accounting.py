r"""What a list of events costs: the smallest epsilon that a valid accountant proves.

| events | accountants tried |
| --- | --- |
| Gaussian only | closed form (:mod:`discreet.privacy.gdp`), exact |
| Laplace, discrete Laplace | the plain sum; PLD |
| Gaussian with those, Poisson samples | PLD |
| zCDP with any of those | RDP (a discrete Laplace event enters as its pure epsilon: rho = epsilon^2 / 2) |

A failure probability of a mechanism's own (a ``FailureDpEvent``) is taken from delta before the curve of the
rest is read. Order does not matter: events are sorted into sums first.

PLD answers are upper bounds (losses are rounded to the safe side); the grid is as fine as the losses are small.

References
----------
Doroshenko et al., "Connect the dots: tighter discrete approximations of privacy loss distributions",
arXiv:2207.04380. Mironov, "Rényi differential privacy", arXiv:1702.07476. Bun, Steinke, "Concentrated
differential privacy", arXiv:1605.02065.
"""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu
from discreet.privacy.units import check_delta, check_epsilon

__all__ = [
    "Cost",
    "composed_epsilon",
    "epsilon_for",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "noise_multiplier_for",
]

Accountant = Literal["pld", "rdp", "moments2016", "strong"]
ACCOUNTANTS = ("pld", "rdp", "moments2016", "strong")
#: Steps of the grid of losses: the coarsest gives three digits of epsilon, the finest bounds memory.
_COARSEST_GRID, _FINEST_GRID = 1e-4, 1e-7
_CLOSED_FORM = "the exact curve of Gaussian mechanisms"
_PURE = "the sum of pure privacy losses"
_RDP = "Rényi accounting"
_PLD = "privacy loss distributions"


class Cost(NamedTuple):
    """An epsilon at a delta, and how it was found."""

    epsilon: float
    delta: float
    accountant: str


class _Totals(NamedTuple):
    """Events, sorted into what each accountant needs. Sums are exact, so order cannot matter."""

    precision: Fraction  # of all Gaussians: sum of 1 / sigma^2
    pure: float
    rho: float
    failure: float
    others: tuple[tuple[Any, int], ...]  # Laplace and Poisson-sampled leaves with their counts
    private: bool


def _totals(events: Iterable[Any]) -> _Totals:
    from dp_accounting import dp_event as dp

    from discreet.privacy.events import FailureDpEvent, leaves

    precision, failures, rhos = Fraction(0), [0.0], [0.0]
    others: Counter[Any] = Counter()
    private = True
    for event in events:
        for leaf, count in leaves(event):
            if isinstance(leaf, dp.GaussianDpEvent):
                precision += count / Fraction(leaf.noise_multiplier) ** 2
            elif isinstance(leaf, FailureDpEvent):
                failures += [leaf.delta] * count
            elif isinstance(leaf, dp.ZCDpEvent):
                rhos += [leaf.rho] * count
            elif isinstance(leaf, dp.NonPrivateDpEvent):
                private = False
            else:
                others[leaf] += count
    pure = math.fsum(_pure_epsilon(leaf) * count for leaf, count in others.items())
    ordered = tuple(sorted(others.items(), key=repr))
    return _Totals(precision, pure, math.fsum(rhos), math.fsum(failures), ordered, private)


def _pure_epsilon(leaf: Any) -> float:
    from dp_accounting import dp_event as dp

    if isinstance(leaf, dp.LaplaceDpEvent):
        return 1 / leaf.noise_multiplier
    if isinstance(leaf, dp.DiscreteLaplaceDpEvent):
        return leaf.noise_parameter * leaf.sensitivity
    return math.inf  # a Poisson-sampled Gaussian has no pure bound


def composed_epsilon(events: Iterable[Any], delta: float, *, neighboring: str = "add_or_remove_one") -> Cost:
    """Return the smallest epsilon at ``delta`` that a valid accountant proves for all events together.

    Parameters
    ----------
    events : iterable of events
        As made by :mod:`discreet.privacy.events`.
    delta : float
        The total; mechanisms' own failure probabilities are taken from it.
    neighboring : {"add_or_remove_one", "replace_one"}
        The relation; Poisson-sampled events are accounted under ``add_or_remove_one`` only.

    Returns
    -------
    Cost
        ``epsilon`` is ``inf`` where nothing can be proved at this delta. The name says which accountant won.
    """
    return _composed(_totals(events), delta, neighboring)


@lru_cache(maxsize=512)
def _composed(totals: _Totals, delta: float, neighboring: str) -> Cost:
    if not totals.private:
        return Cost(math.inf, delta, "no accountant: something was not private")
    left = delta - totals.failure
    mu = _sqrt_up(totals.precision)
    only_gaussian = not totals.others and not totals.rho
    if left < 0 or (left == 0 and not (mu == 0 and totals.rho == 0)):
        return Cost(math.inf, delta, "no accountant: failure probabilities use up delta")
    if only_gaussian:
        return Cost(gdp_epsilon(mu, left), delta, _CLOSED_FORM)
    candidates: list[tuple[float, str]] = []
    if mu == 0 and totals.rho == 0 and math.isfinite(totals.pure):
        candidates.append((totals.pure, _PURE))
    lone = len(totals.others) == 1 and totals.others[0][1] == 1
    if left > 0 and not (candidates and lone):
        if totals.rho == 0:
            candidates.append((_pld_epsilon(totals, mu, left, neighboring), _PLD))
        if totals.rho > 0 or math.isinf(min(candidates)[0]):
            candidates.append((_rdp_epsilon(totals, mu, left, neighboring), _RDP))
    epsilon, name = min(candidates)
    return Cost(epsilon, delta, name)


def _sqrt_up(value: Fraction) -> float:
    if value == 0:
        return 0.0
    # The float quotient is within one rounding of the truth; one step up covers it and the root's own.
    return math.nextafter(math.sqrt(math.nextafter(float(value), math.inf)), math.inf)


def _relation(neighboring: str) -> Any:
    from dp_accounting import NeighboringRelation

    return NeighboringRelation[neighboring.upper()]


def _rdp_epsilon(totals: _Totals, mu: float, delta: float, neighboring: str) -> float:
    from dp_accounting import dp_event as dp
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(_orders(totals), _relation(neighboring))
    rho = totals.rho + mu * mu / 2
    if rho > 0:
        accountant.compose(dp.ZCDpEvent(rho))
    for leaf, count in totals.others:
        if isinstance(leaf, dp.DiscreteLaplaceDpEvent):
            accountant.compose(dp.ZCDpEvent(_pure_epsilon(leaf) ** 2 / 2), count)
        elif accountant.supports(leaf):
            accountant.compose(leaf, count)
        else:
            return math.inf
    return float(accountant.get_epsilon(delta))


def _orders(totals: _Totals) -> list[float] | None:
    """Rényi orders: all of the library's, but those where its series for sampled Gaussians fails to converge."""
    from dp_accounting import dp_event as dp
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    inner: list[Any] = [leaf.event for leaf, _ in totals.others if isinstance(leaf, dp.PoissonSampledDpEvent)]
    sampled = [event.noise_multiplier for event in inner]
    if not sampled:
        return None
    return [
        order for order in DEFAULT_RDP_ORDERS if order >= 2 and (min(sampled) >= 1 or order == int(order))
    ]


def _pld_epsilon(totals: _Totals, mu: float, delta: float, neighboring: str) -> float:
    from dp_accounting import dp_event as dp
    from dp_accounting.pld import PLDAccountant

    # Losses are rounded to a grid, on the safe side; keep its step far below the spread of their sum.
    step = min(_COARSEST_GRID, max(_FINEST_GRID, _spread(totals, mu) / 100))
    accountant = PLDAccountant(_relation(neighboring), value_discretization_interval=step)
    if mu > 0:
        accountant.compose(dp.GaussianDpEvent(1 / mu))
    for leaf, count in totals.others:
        if not accountant.supports(leaf):
            return math.inf
        accountant.compose(leaf, count)
    return float(accountant.get_epsilon(delta))


def _spread(totals: _Totals, mu: float) -> float:
    """Return about the standard deviation of the summed privacy loss, by the central limit theorem."""
    from dp_accounting import dp_event as dp

    squares = mu * mu
    for leaf, count in totals.others:
        if isinstance(leaf, dp.PoissonSampledDpEvent):
            inner: Any = leaf.event
            squares += count * _sampled_spread(inner.noise_multiplier, leaf.sampling_probability) ** 2
        else:
            squares += count * _pure_epsilon(leaf) ** 2
    return math.sqrt(squares)


def _sampled_spread(noise: float, rate: float) -> float:
    """Gaussian-DP parameter of one of many Poisson-sampled Gaussian releases, in the limit."""
    return rate * math.sqrt(math.expm1(min(noise**-2, 600.0)))


def epsilon_for(
    noise_multiplier: float,
    delta: float,
    *,
    sampling_rate: float = 1.0,
    n_rounds: int = 1,
    accountant: Accountant = "pld",
) -> float:
    """Return the epsilon of ``n_rounds`` Gaussian releases, each on a Poisson sample.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the L2 sensitivity. 0 gives ``inf``.
    delta : float
    sampling_rate : float, default 1.0
        Probability with which each unit enters a round. At 1 the closed form is used.
    n_rounds : int, default 1
    accountant : {"pld", "rdp", "moments2016", "strong"}
        ``"pld"`` is the tightest. The last two are those of the literature of 2016.

    Returns
    -------
    float
        Add-or-remove-one epsilon.
    """
    delta = check_delta(delta)
    _check_run(sampling_rate, n_rounds, accountant)
    if not (isinstance(noise_multiplier, int | float) and noise_multiplier >= 0):
        raise ParameterError(f"noise_multiplier must not be negative, but is {noise_multiplier!r}.")
    if noise_multiplier == 0:
        return math.inf
    return _epsilon_for(float(noise_multiplier), delta, float(sampling_rate), n_rounds, accountant)


@lru_cache(maxsize=4096)
def _epsilon_for(noise: float, delta: float, rate: float, n_rounds: int, accountant: str) -> float:
    from discreet.privacy import events, historic

    if accountant == "moments2016":
        return historic.moments_2016_epsilon(noise, delta, rate, n_rounds)
    if accountant == "strong":
        return historic.strong_composition_epsilon(noise, delta, rate, n_rounds)
    event = events.composed(events.poisson_sampled(rate, events.gaussian(noise)), n_rounds)
    if accountant == "rdp":
        totals = _totals([event])
        return _rdp_epsilon(totals, _sqrt_up(totals.precision), delta, "add_or_remove_one")
    return composed_epsilon([event], delta).epsilon


def noise_multiplier_for(
    epsilon: float,
    delta: float,
    *,
    sampling_rate: float = 1.0,
    n_rounds: int = 1,
    accountant: Accountant = "pld",
) -> float:
    """Return the smallest noise multiplier whose ``n_rounds`` releases satisfy (epsilon, delta).

    Parameters
    ----------
    epsilon, delta : float
        ``epsilon = inf`` gives 0.
    sampling_rate, n_rounds, accountant
        As for :func:`epsilon_for`.

    Returns
    -------
    float
        Rounded to the safe side: ``epsilon_for`` of it is at most ``epsilon`` (and, but for the historic
        accountants' jumps, above 0.999 times it).
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    _check_run(sampling_rate, n_rounds, accountant)
    if math.isinf(epsilon):
        return 0.0
    if sampling_rate == 1 and accountant == "pld":
        return math.sqrt(n_rounds) / gdp_mu(epsilon, delta) * (1 + 1e-15)
    return _noise_multiplier_for(epsilon, delta, float(sampling_rate), n_rounds, accountant)


@lru_cache(maxsize=512)
def _noise_multiplier_for(epsilon: float, delta: float, rate: float, n_rounds: int, accountant: str) -> float:
    """Regula falsi on log epsilon against log noise, which is nearly straight: few calls of the accountant."""

    def excess(log_noise: float) -> float:
        found = _epsilon_for(math.exp(log_noise), delta, rate, n_rounds, accountant)
        return math.log(found / epsilon) if math.isfinite(found) and found > 0 else math.inf

    # Begin where the central limit theorem says; solve q sqrt(T (e^(1/s^2) - 1)) = mu for the noise s.
    ratio = gdp_mu(epsilon, delta) / (rate * math.sqrt(n_rounds))
    start = -math.log(math.log1p(ratio * ratio)) / 2
    low = high = start
    step = 0.02
    at_high = at_low = excess(start)
    while at_high > 0:
        low, at_low = high, at_high
        high += step
        at_high = excess(high)
        step *= 2
        if high > start + 12:
            raise PrivacyError(f"no noise reaches epsilon = {epsilon} at delta = {delta} with {accountant}.")
    while at_low <= 0:
        high, at_high = low, at_low
        low -= step
        at_low = excess(low)
        step *= 2
        if low < start - 12:
            return math.exp(high)
    for turn in range(60):
        if at_high > -5e-4 or high - low < 1e-6:
            break
        share = at_low / (at_low - at_high) if math.isfinite(at_low) else 0.5
        # Aim a little to the safe side; every third turn halve, so that the interval must shrink.
        middle = low + (high - low) * (0.5 if turn % 3 == 2 else min(max(share, 0.02), 0.98))
        middle = min(middle + 1e-4, high - 1e-9 * (high - low)) if turn % 3 != 2 else middle
        value = excess(middle)
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return math.exp(high)


def _check_run(sampling_rate: float, n_rounds: int, accountant: str) -> None:
    if not (isinstance(sampling_rate, int | float) and 0 < sampling_rate <= 1):
        raise ParameterError(f"sampling_rate must be above 0 and at most 1, but is {sampling_rate!r}.")
    if isinstance(n_rounds, bool) or not isinstance(n_rounds, int) or n_rounds < 1:
        raise ParameterError(f"n_rounds must be a positive whole number, but is {n_rounds!r}.")
    if accountant not in ACCOUNTANTS:
        raise ParameterError(f"accountant must be one of {', '.join(ACCOUNTANTS)}, but is {accountant!r}.")
