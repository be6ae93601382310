r"""What a list of events costs: the smallest epsilon that a valid accountant proves.

| events | accountants tried |
| --- | --- |
| Gaussian only | closed form (:mod:`discreet.privacy.accounting.curves`), exact |
| pure losses only (discrete Laplace, randomised response) | their sum; zCDP closed form; PLD |
| Gaussian with those, Poisson samples | closed form plus pure sum; zCDP closed form; PLD |

Where PLD does not apply (a delta too small for its arithmetic) or its grid would not fit into memory, Rényi
accounting is tried as well.

A failure probability of a mechanism's own (a ``FailureDpEvent``) is taken from delta before the curve of the
rest is read. Order does not matter: events are sorted into exact sums first. See
:mod:`discreet.privacy.accounting.pld` for why the numerical answers can be trusted.

References
----------
Dwork, Roth, "The algorithmic foundations of differential privacy", doi:10.1561/0400000042 (plain sums).
Dong, Roth, Su, "Gaussian differential privacy", arXiv:1905.02383.
Koskela, Jälkö, Honkela, "Computing tight differential privacy guarantees using FFT", arXiv:1906.03049.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from discreet._base.validate import shown
from discreet.errors import PrivacyError
from discreet.privacy.accounting.curves import (
    LEAST_MU,
    Totals,
    gaussian_noise_for,
    gdp_epsilon,
    gdp_mu,
    pure_epsilon,
    rdp_epsilon,
    root_up,
    sort_events,
    zcdp_epsilon,
)
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.pld import GRID_ERROR, pld_epsilon
from discreet.privacy.units import NEIGHBORING

#: Budgets, losses and failures are decimals to whoever typed them, and floats here: 0.1 + 0.2 is a hair above 0.3.
_LAST_DIGITS = Fraction(1, 2**50)
_CLOSED_FORM = "the exact curve of Gaussian mechanisms"
_PURE = "the sum of pure privacy losses"
_SUM = "the sum of pure privacy losses and a closed form"
_ALL_IN = "the exact curve of Gaussian mechanisms, as if everybody had been in every sample"
_ZCDP = "zero-concentrated accounting"
_RDP = "Rényi accounting"
_PLD = "privacy loss distributions"
_SUM_RDP = "the sum of pure privacy losses and Rényi accounting"


class Cost(NamedTuple):
    """An epsilon at a delta, and how it was found.

    Attributes
    ----------
    epsilon, delta : float
    accountant : str
        The name of what composed the events.
    """

    epsilon: float
    delta: float
    accountant: str


def composed_epsilon(
    events: Iterable[Event], delta: float, *, neighboring: str = "add_or_remove_one"
) -> Cost:
    """Return the smallest epsilon at ``delta`` that a valid accountant proves for all events together.

    Parameters
    ----------
    events : iterable of events
        As made by :mod:`discreet.privacy.accounting.events`.
    delta : float
        The total; mechanisms' own failure probabilities are taken from it.
    neighboring : {"add_or_remove_one", "replace_one"}
        The relation. Under ``replace_one``, Poisson samples are booked as if everybody had been in them.

    Returns
    -------
    Cost
        ``epsilon`` is ``inf`` where nothing can be proved at this delta. The name says which accountant won.
    """
    if neighboring not in NEIGHBORING:
        raise PrivacyError(
            f"neighboring must be one of {', '.join(NEIGHBORING)}, but is {shown(neighboring)}."
        )
    return cost_of(sort_events(events, neighboring), float(delta))


def largest_gaussian(totals: Totals, epsilon: float, delta: float) -> float:
    """Return the largest epsilon, at ``delta``, of one Gaussian release that still fits beside sorted events.

    A release calibrated to it (:func:`gaussian_noise_for`) keeps everything within (epsilon, delta): that is
    checked, not assumed. To the last digits where a closed form holds, to 0.1 % otherwise.
    """

    def fits(precision: Fraction) -> bool:
        beside = totals._replace(precision=totals.precision + precision)
        return cost_of(beside, delta).epsilon <= epsilon

    def fits_calibrated(wanted: float) -> bool:
        return fits(1 / Fraction(gaussian_noise_for(wanted, delta)) ** 2)

    low, high = 0.0, gdp_mu(epsilon, delta)
    if high < LEAST_MU:
        return 0.0
    if fits_calibrated(epsilon):
        return epsilon
    tolerance = 1e-13 if totals.all_gaussian else 1e-3
    while high - low > tolerance * high:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(Fraction(middle) ** 2) else (low, middle)
        if high < 1e-9:
            return 0.0
    left, shrink = gdp_epsilon(low, delta), 2.0**-50
    while left > 0 and not fits_calibrated(left):  # a rounding between mu and epsilon
        left *= 1 - shrink
        shrink *= 2
    return left


def within(total: float | Fraction, budget: float | Fraction) -> bool:
    """Tell whether a total is within a budget, give or take the last digits of floats that were typed as decimals."""
    return total <= budget or (
        math.isfinite(total) and Fraction(total) <= Fraction(budget) * (1 + _LAST_DIGITS)
    )


@lru_cache(maxsize=512)
def cost_of(totals: Totals, delta: float, grid_error: float = GRID_ERROR) -> Cost:
    """Return what sorted events cost, on a grid that may add this share to epsilon."""
    if not totals.private:
        return Cost(math.inf, delta, "no accountant: something was not private")
    exactly_left = max(Fraction(0), Fraction(delta) - totals.failure)
    if not within(totals.failure, delta):
        return Cost(math.inf, delta, "no accountant: failure probabilities use up delta")
    left = max(0.0, math.nextafter(float(exactly_left), -1.0)) if totals.failure else delta
    if totals.all_gaussian:
        return Cost(gdp_epsilon(root_up(totals.precision), left), delta, _CLOSED_FORM)
    epsilon, name = min(_candidates(totals, left, grid_error))
    return Cost(epsilon, delta, name)


def _candidates(totals: Totals, left: float, grid_error: float) -> Iterator[tuple[float, str]]:
    """Yield what each accountant that applies proves, quick ones first."""
    pure, mu_of_all = totals.pure_epsilon, root_up(totals.all_precision)
    if not mu_of_all:
        yield pure, _PURE
        if len(totals.pure) == 1 and totals.pure[0][1] == 1:
            return
    # Valid for every list: each Poisson sample as if everybody was in it, and the pure losses added on top, or
    # turned into zCDP, which is close to the best for many small ones.
    yield pure + gdp_epsilon(mu_of_all, left), _SUM if pure else _ALL_IN
    rho_of_pure = math.fsum(count * pure_epsilon(leaf) ** 2 / 2 for leaf, count in totals.pure)
    yield zcdp_epsilon(math.fsum([mu_of_all * mu_of_all / 2, rho_of_pure]), left), _ZCDP
    if left <= 0:
        return
    losses = pld_epsilon(totals, left, grid_error=grid_error)
    yield losses.epsilon, _PLD
    if not losses.converged:
        yield rdp_epsilon(totals, left), _RDP
        if pure and totals.sampled:
            yield pure + rdp_epsilon(totals._replace(pure=()), left), _SUM_RDP
