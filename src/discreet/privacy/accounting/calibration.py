r"""The noise for a budget, and what noise costs: for whoever plans a run.

No promise rests on it: a ledger prices what is booked. The root search ends on the safe side and asks the accountant
few times.

**Two accountants of 2016** are kept to draw the figures of their time. They are valid, and loose.

``moments2016``: the moments accountant of a Poisson-subsampled Gaussian at integer orders
:math:`\lambda = 1 \dots \lfloor \sigma^2 \ln(1/(q\sigma)) \rfloor`,

.. math:: \epsilon = \min_\lambda \frac{T \alpha(\lambda) + \ln(1/\delta)}{\lambda}, \qquad
   e^{\alpha(\lambda)} = \sum_{k=0}^{\lambda+1} \binom{\lambda+1}{k} (1-q)^{\lambda+1-k} q^k
   e^{k(k-1)/(2\sigma^2)} .

``strong``: each round a classical Gaussian, :math:`\sigma = \sqrt{2 \ln(1.25/\delta_0)}/\epsilon_0` with
:math:`\delta_0 = 10^{-6}`, amplified to :math:`\epsilon' = \ln(1 + q(e^{\epsilon_0} - 1))` and
:math:`\delta' = q\delta_0`, then composed,

.. math:: \epsilon = \sqrt{2 T \ln(1/\delta'')}\,\epsilon' + T \epsilon' (e^{\epsilon'} - 1),
   \qquad \delta'' = \delta - T\delta' .

References
----------
Abadi et al., "Deep learning with differential privacy", arXiv:1607.00133.
Dwork, Rothblum, Vadhan, "Boosting and differential privacy", FOCS 2010, doi:10.1109/FOCS.2010.12.
As used by Park, Foulds, Chaudhuri, Welling, arXiv:1609.04120.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import gammaln

from discreet._base.validate import check, choice, number, whole
from discreet.errors import PrivacyError
from discreet.privacy.accounting.curves import gaussian_noise_for, gdp_mu, rdp_epsilon, sort_events
from discreet.privacy.accounting.pld import GRID_ERROR
from discreet.privacy.accounting.totals import cost_on_grid
from discreet.privacy.units import check_delta, check_epsilon

Accountant = Literal["pld", "rdp", "moments2016", "strong"]
ACCOUNTANTS = ("pld", "rdp", "moments2016", "strong")
_FARTHEST = 12.0
_MOST_CALLS = 60


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
    run = _checked_run(sampling_rate, n_rounds, accountant)
    check(noise_multiplier=(noise_multiplier, number(least=0, most=math.inf)))
    if noise_multiplier == 0:
        return math.inf
    return _epsilon_for(float(noise_multiplier), delta, *run)


@lru_cache(maxsize=4096)
def _epsilon_for(
    noise: float, delta: float, rate: float, n_rounds: int, accountant: str, grid_error: float = GRID_ERROR
) -> float:
    from discreet.privacy.accounting import events

    if accountant == "moments2016":
        return moments_2016_epsilon(noise, delta, rate, n_rounds)
    if accountant == "strong":
        return strong_composition_epsilon(noise, delta, rate, n_rounds)
    event = events.composed(events.poisson_sampled(rate, events.gaussian(noise)), n_rounds)
    totals = sort_events([event])
    if accountant == "rdp":
        return rdp_epsilon(totals, delta)
    return cost_on_grid(totals, delta, grid_error).epsilon


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
    run = _checked_run(sampling_rate, n_rounds, accountant)
    return 0.0 if math.isinf(epsilon) else _noise_multiplier_for(epsilon, delta, *run)


@lru_cache(maxsize=512)
def _noise_multiplier_for(epsilon: float, delta: float, rate: float, n_rounds: int, accountant: str) -> float:
    if rate == 1 and accountant == "pld":
        return gaussian_noise_for(epsilon, delta, n_rounds)
    mu = gdp_mu(epsilon, delta)

    def excess(log_noise: float, grid_error: float = GRID_ERROR) -> float:
        found = _epsilon_for(math.exp(log_noise), delta, rate, n_rounds, accountant, grid_error)
        return math.log(found / epsilon) if math.isfinite(found) and found > 0 else math.inf

    # Begin where the central limit theorem says; solve q sqrt(T (e^(1/s^2) - 1)) = mu for the noise s.
    ratio = mu / (rate * math.sqrt(n_rounds))
    start, slope = -math.log(math.log1p(ratio * ratio)) / 2, 1.5
    try:
        if accountant == "pld":  # first on a coarse grid, which takes milliseconds
            start = solve(lambda x: excess(x, 30 * GRID_ERROR), start, tolerance=2e-3)
            here, beside = (excess(x, 30 * GRID_ERROR) for x in (start, start + 0.02))
            slope = (here - beside) / 0.02
        return math.exp(solve(excess, start, tolerance=8e-4, slope=slope))
    except ArithmeticError:
        raise PrivacyError(
            f"no noise reaches epsilon = {epsilon} at delta = {delta} with {accountant}; use a larger epsilon "
            'or accountant="pld".'
        ) from None


def _checked_run(sampling_rate: float, n_rounds: int, accountant: str) -> tuple[float, int, str]:
    check(
        sampling_rate=(sampling_rate, number(above=0, most=1)),
        n_rounds=(n_rounds, whole()),
        accountant=(accountant, choice(*ACCOUNTANTS)),
    )
    return float(sampling_rate), int(n_rounds), accountant


def solve(excess: Callable[[float], float], start: float, *, tolerance: float, slope: float = 1.5) -> float:
    """Return an x where a falling function lies between ``-tolerance`` and 0.

    Parameters
    ----------
    excess : function
        Falling; ``inf`` is allowed where x is too small. Log epsilon over its goal, against log noise, is
        nearly straight.
    start : float
        Where to begin; anything near will do.
    tolerance : float
    slope : float, default 1.5
        Guess of how steeply it falls.

    Returns
    -------
    float
        ``excess`` of it is not positive. It is below ``-tolerance`` only where the function jumps.

    Raises
    ------
    ArithmeticError
        Where the function stays positive.
    """
    aim = -tolerance / 2
    x, slope = start, min(max(slope, 0.3), 30.0)
    low, high = -math.inf, math.inf  # excess(low) > 0 >= excess(high)
    low_value = high_value = math.nan
    last: tuple[float, float] | None = None
    for turn in range(_MOST_CALLS):
        value = excess(x)
        if -tolerance <= value <= 0:
            return x
        if value > 0:
            low, low_value = x, value
        else:
            high, high_value = x, value
        if high - low < 1e-9:
            return high
        if last is not None and math.isfinite(value) and math.isfinite(last[1]) and x != last[0]:
            slope = min(max((last[1] - value) / (x - last[0]), 0.3), 30.0)
        last = (x, value)
        step = (value - aim) / slope if math.isfinite(value) else 0.5
        x += min(max(step, -1.0), 1.0)
        if not low < x < high or (turn % 4 == 3 and math.isfinite(high - low)):
            share = 0.5
            if turn % 4 != 3 and math.isfinite(low_value):
                share = (low_value - aim) / (low_value - high_value)
            x = low + (high - low) * min(max(share, 0.02), 0.98)
        if abs(x - start) > _FARTHEST:
            if math.isfinite(high):
                return high
            raise ArithmeticError("the function stays positive")
    if math.isfinite(high):
        return high
    raise ArithmeticError("the function stays positive")


#: Failure probability of one round's classical Gaussian.
DELTA_OF_A_ROUND = 1e-6


def moments_2016_epsilon(noise_multiplier: float, delta: float, sampling_rate: float, n_rounds: int) -> float:
    """Return epsilon by the moments accountant; ``inf`` where no order is allowed."""
    spread = sampling_rate * noise_multiplier
    highest = math.floor(noise_multiplier**2 * math.log(1 / spread)) if spread < 1 else 0
    best = math.inf
    for order in range(1, highest + 1):
        k = np.arange(order + 2)
        terms = gammaln(order + 2) - gammaln(k + 1) - gammaln(order + 2 - k) + k * math.log(sampling_rate)
        if sampling_rate < 1:
            terms = terms + (order + 1 - k) * math.log1p(-sampling_rate)
        else:
            terms = np.where(k == order + 1, terms, -np.inf)
        moment: float = np.logaddexp.reduce(terms + k * (k - 1) / (2 * noise_multiplier**2))
        best = min(best, (n_rounds * moment - math.log(delta)) / order)
    return best


def strong_composition_epsilon(
    noise_multiplier: float, delta: float, sampling_rate: float, n_rounds: int
) -> float:
    """Return epsilon by strong composition; ``inf`` where the rounds' own deltas use up ``delta``.

    Parameters are those of :func:`moments_2016_epsilon`.
    """
    left = delta - n_rounds * sampling_rate * DELTA_OF_A_ROUND
    if left <= 0:
        return math.inf
    round_epsilon = math.sqrt(2 * math.log(1.25 / DELTA_OF_A_ROUND)) / noise_multiplier
    amplified = math.log1p(sampling_rate * math.expm1(round_epsilon))
    spread = math.sqrt(2 * n_rounds * math.log(1 / left)) * amplified
    return spread + n_rounds * amplified * math.expm1(amplified)
