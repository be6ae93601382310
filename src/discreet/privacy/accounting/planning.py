r"""For whoever plans a run: the noise for a budget, what noise costs, and what an attacker could do with the release.

No promise rests on it: a ledger prices what is booked. The root search ends on the safe side and asks the accountant
few times.

**What a budget means.** All figures are those of Gaussian noise, which is what training uses, with the failure
probability d of whatever else is booked (a word that only one unit has may be listed): the trade-off curve of this is
exact. The best test of membership with false-positive rate :math:`\alpha` has the true-positive rate :math:`d + (1 - d)
\Phi(\Phi^{-1}(\alpha / (1 - d)) + \mu)`. No attack on the release can do better, whatever it knows beside it. Several
units of one person make :math:`\mu` as many times as large; how much more probable a failure becomes depends on what
fails, and is for the mechanism to say (``group_failure``).

Cards and reports say how well membership inference can do against a release. Where all that was booked is known to be
Gaussian noise and failures, the figure is that of its exact curve, as in :func:`explain_budget`. Otherwise it holds for
any mechanism with this (epsilon, delta): at the false-positive rate a, TPR <= min(e^epsilon a + delta, 1 - e^-epsilon
(1 - delta - a)).

References
----------
Dong, Roth, Su, "Gaussian differential privacy", arXiv:1905.02383.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from scipy.special import expit, logit, ndtr, ndtri

from discreet._base.validate import check, number, whole
from discreet.errors import ParameterError, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import (
    gaussian_noise_for,
    gdp_epsilon,
    gdp_mu,
    root_up,
    sort_events,
)
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.pld import GRID_ERROR
from discreet.privacy.accounting.totals import cost_of
from discreet.privacy.ledger.reservation import Entry
from discreet.privacy.units import Guarantee, check_delta, check_epsilon, check_unit, check_unit_name, plural

_FARTHEST = 12.0
_MOST_CALLS = 60


def epsilon_for(
    noise_multiplier: float,
    delta: float,
    *,
    sampling_rate: float = 1.0,
    n_rounds: int = 1,
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

    Returns
    -------
    float
        Add-or-remove-one epsilon.
    """
    delta = check_delta(delta)
    run = _checked_run(sampling_rate, n_rounds)
    check(noise_multiplier=(noise_multiplier, number(least=0, most=math.inf)))
    return math.inf if noise_multiplier == 0 else _epsilon_for(float(noise_multiplier), delta, *run)


@lru_cache(maxsize=4096)
def _epsilon_for(
    noise: float, delta: float, rate: float, n_rounds: int, grid_error: float = GRID_ERROR
) -> float:
    event = events.composed(events.poisson_sampled(rate, events.gaussian(noise)), n_rounds)
    return cost_of(sort_events([event]), delta, grid_error).epsilon


def noise_multiplier_for(
    epsilon: float,
    delta: float,
    *,
    sampling_rate: float = 1.0,
    n_rounds: int = 1,
) -> float:
    """Return the smallest noise multiplier whose ``n_rounds`` releases satisfy (epsilon, delta).

    Parameters
    ----------
    epsilon, delta : float
        ``epsilon = inf`` gives 0.
    sampling_rate, n_rounds
        As for :func:`epsilon_for`.

    Returns
    -------
    float
        Rounded to the safe side: ``epsilon_for`` of it is at most ``epsilon``, and above 0.999 times it.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    run = _checked_run(sampling_rate, n_rounds)
    return 0.0 if math.isinf(epsilon) else _noise_multiplier_for(epsilon, delta, *run)


@lru_cache(maxsize=512)
def _noise_multiplier_for(epsilon: float, delta: float, rate: float, n_rounds: int) -> float:
    if rate == 1:
        return gaussian_noise_for(epsilon, delta, n_rounds)
    mu = gdp_mu(epsilon, delta)

    def excess(log_noise: float, grid_error: float = GRID_ERROR) -> float:
        found = _epsilon_for(math.exp(log_noise), delta, rate, n_rounds, grid_error)
        return math.log(found / epsilon) if math.isfinite(found) and found > 0 else math.inf

    # Begin where the central limit theorem says; solve q sqrt(T (e^(1/s^2) - 1)) = mu for the noise s.
    ratio = mu / (rate * math.sqrt(n_rounds))
    start = -math.log(math.log1p(ratio * ratio)) / 2
    try:
        # first on a coarse grid, which takes milliseconds
        start = solve(lambda x: excess(x, 30 * GRID_ERROR), start, tolerance=2e-3)
        here, beside = (excess(x, 30 * GRID_ERROR) for x in (start, start + 0.02))
        return math.exp(solve(excess, start, tolerance=8e-4, slope=(here - beside) / 0.02))
    except ArithmeticError:
        raise PrivacyError(
            f"no noise reaches epsilon = {epsilon} at delta = {delta}; use a larger epsilon."
        ) from None


def _checked_run(sampling_rate: float, n_rounds: int) -> tuple[float, int]:
    check(sampling_rate=(sampling_rate, number(above=0, most=1)), n_rounds=(n_rounds, whole()))
    return float(sampling_rate), int(n_rounds)


def solve(excess: Callable[[float], float], start: float, *, tolerance: float, slope: float = 1.5) -> float:
    """Return an x where a falling function is not positive; below ``-tolerance`` only where it jumps.

    ``excess`` may be ``inf`` where x is too small: log epsilon over its goal, against log noise, is nearly straight.
    ``start`` is anything near, ``slope`` a guess of how steeply it falls.

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


FALSE_POSITIVE_RATES = (0.001, 0.01, 0.1)
PRIORS = (0.01, 0.1, 0.5)
GROUP_SIZES = (2, 5, 10)


class Noise(NamedTuple):
    """Gaussian noise of parameter ``mu`` that fails outright with probability ``failure``."""

    mu: float
    failure: float = 0.0


def noise_of_events(events: Sequence[Event], neighboring: str = "add_or_remove_one") -> Noise | None:
    """Return what events amount to where all of them are Gaussian noise and failures; None where they are not."""
    totals = sort_events(events, neighboring)
    if not (totals.private and totals.all_gaussian):
        return None
    return Noise(root_up(totals.precision), float(totals.failure))


def best_true_positive_rate(mu: float, false_positive_rate: float, failure: float = 0.0) -> float:
    """Return the largest true-positive rate of any membership test at a false-positive rate.

    ``failure``: probability with which everything is told.
    """
    alarm = min(1.0, false_positive_rate / (1 - failure))
    return 1.0 if math.isinf(mu) else failure + (1 - failure) * float(ndtr(ndtri(alarm) + mu))


def largest_posterior(mu: float, prior: float, failure: float = 1e-6) -> float:
    """Return how sure an attacker can become that a unit is in the corpus, but for a failure of the noise.

    An attacker who knows everything but whether the unit is in the corpus, and held that for likely with
    probability ``prior``, multiplies the odds by exp(L) on seeing the release. Where the unit is in the corpus, the
    privacy loss L of the Gaussian mechanism is normal with mean mu^2 / 2 and standard deviation mu (where it is not,
    the mean is - mu^2 / 2), so with probability at least 1 - ``failure`` it stays below
    mu^2 / 2 + mu Phi^-1(1 - ``failure``). No bound holds with probability one for Gaussian noise.

    ``failure``: probability, over the noise, with which the posterior may be larger; usually the budget's delta.
    """
    loss = mu * mu / 2 - mu * float(ndtri(failure))
    return float(expit(logit(prior) + loss))


@dataclass(frozen=True)
class BudgetExplanation:
    """A budget in numbers; :meth:`in_words` says them.

    Attributes
    ----------
    guarantee : Guarantee
    mu : float
        Parameter of all Gaussian noise together that the budget is spent on.
    failure : float
        Probability of whatever else may fail, within delta.
    true_positive_rates : dict of float to float
        Best true-positive rate of any membership test, by false-positive rate.
    posteriors : dict of float to float
        Largest probability, after seeing the release, that a unit is in the corpus, by the probability before
        (:func:`largest_posterior`); exceeded with probability delta at most.
    group_epsilons : dict of int to float
        Epsilon (at the same delta) for a person with that many units; ``inf`` where failures alone exceed delta.
    group_failures : dict of int to float
        Probability of a failure for such a person: a word that nobody else has is listed.
    group_noise : dict of int to float
        Epsilon at delta for such a person of the noise alone: what holds but for those failures.
    """

    guarantee: Guarantee
    mu: float
    failure: float
    true_positive_rates: dict[float, float]
    posteriors: dict[float, float]
    group_epsilons: dict[int, float]
    group_failures: dict[int, float]
    group_noise: dict[int, float]

    def in_words(self) -> str:
        """Return the explanation as a few lines of text."""
        unit = self.guarantee.called
        lines = [self.guarantee.in_words()]
        if math.isinf(self.mu):
            return "\n".join(lines)
        lines += [
            "",
            self._spent_on(),
            f"What an attacker who knows everything but one {unit} can do at best:",
        ]
        lines += [
            f"  with {percent(alarm)} of false alarms, {percent(found)} of true members found"
            for alarm, found in self.true_positive_rates.items()
        ]
        lines += [f"How far a suspicion can rise (except with probability {self.guarantee.delta:g}):"]
        lines += [f"  from {percent(prior)} to {at_most(after)}" for prior, after in self.posteriors.items()]
        if self.guarantee.privacy_unit == "document":
            lines += ["For one person with several documents, the same noise gives:"]
        else:
            lines += [f"For a group of several {plural(unit)}, the same noise gives:"]
        lines += [self._group(size) for size in self.group_epsilons]
        return "\n".join(lines)

    def _spent_on(self) -> str:
        if self.failure:
            return (
                "The figures below are those of words that are chosen privately and topics that are trained on them, "
                f"both with Gaussian noise (Gaussian-DP parameter mu = {self.mu:.3g} together); a word that only one "
                f"{self.guarantee.called} has is listed with probability at most {self.failure:.2g}."
            )
        return (
            "The figures below are exact for one Gaussian mechanism that spends this budget (Gaussian-DP parameter "
            f"mu = {self.mu:.3g}), which is how topics are trained."
        )

    def _group(self, size: int) -> str:
        epsilon, failure = self.group_epsilons[size], self.group_failures[size]
        if math.isfinite(epsilon):
            return f"  {size}: epsilon = {epsilon:.3g}"
        return (
            f"  {size}: none at this delta, because a word that only they have is listed with probability up to "
            f"{failure:.2g}; apart from that, epsilon = {self.group_noise[size]:.3g}"
        )


def explain_budget(
    epsilon: float,
    delta: float,
    *,
    privacy_unit: str = "document",
    unit_name: str | None = None,
    neighboring: str = "add_or_remove_one",
    n_documents: int | None = None,
    events: Sequence[Event] | None = None,
    group_failure: Callable[[int], float] | None = None,
) -> BudgetExplanation:
    """Explain what (epsilon, delta) means, before anything is spent.

    Parameters
    ----------
    epsilon, delta : float
    privacy_unit, neighboring : str
    unit_name : str, optional
        What one person is called, such as "patient".
    n_documents : int, optional
        Number of units, which bounds delta.
    events : sequence of events, optional
        What the budget will be spent on, Gaussian noise and failures; by default one Gaussian release that takes all.
    group_failure : callable, optional
        ``group_failure(size)`` is the probability of those failures for a person with so many units. Needed where an
        event may fail: nothing general can be said.

    Returns
    -------
    BudgetExplanation

    Raises
    ------
    ParameterError, PrivacyError
        Where a number is out of range, or ``events`` are not of a kind whose figures are known.
    """
    epsilon = check_epsilon(epsilon)
    check_unit(privacy_unit, neighboring)
    unit_name = check_unit_name(unit_name, privacy_unit)
    if n_documents is not None:
        check(n_documents=(n_documents, whole()))
    delta = check_delta(delta, n_units_lower_bound=n_documents)
    mu, failure = _noise_of(epsilon, delta, events, neighboring)
    if failure and group_failure is None:
        raise ParameterError(
            "`group_failure` is needed where an event may fail: what it is for several units."
        )
    fails = {size: 0.0 if group_failure is None else group_failure(size) for size in GROUP_SIZES}
    return BudgetExplanation(
        guarantee=Guarantee(epsilon, delta, privacy_unit, neighboring, unit_name=unit_name),
        mu=mu,
        failure=failure,
        true_positive_rates={
            alarm: best_true_positive_rate(mu, alarm, failure) for alarm in FALSE_POSITIVE_RATES
        },
        posteriors={prior: largest_posterior(mu, prior, delta - failure) for prior in PRIORS},
        group_epsilons={
            size: gdp_epsilon(size * mu, delta - fails[size]) if fails[size] < delta else math.inf
            for size in GROUP_SIZES
        },
        group_failures=fails,
        group_noise={size: gdp_epsilon(size * mu, delta) for size in GROUP_SIZES},
    )


def _noise_of(epsilon: float, delta: float, events: Sequence[Event] | None, neighboring: str) -> Noise:
    if events is None or math.isinf(epsilon):
        return Noise(gdp_mu(epsilon, delta))
    noise = noise_of_events(events, neighboring)
    if noise is None or not noise.failure < delta or gdp_epsilon(noise.mu, delta - noise.failure) > epsilon:
        raise ParameterError(
            "`events` must be Gaussian noise and failures that the budget covers, but are not."
        )
    return noise


def percent(share: float) -> str:
    """Write a share as a percentage with enough digits to be read; nothing below 1 as 100 %.

    A bound that is 1 as a floating-point number is below it, and is written as one.
    """
    value = 100 * share
    if value > 99.99:
        return "over 99.99 %"
    return f"{value:.4g} %" if value > 99.9 else f"{value:.3g} %"


def at_most(share: float) -> str:
    """Write a bound: as a percentage with "at most" before it, where there is anything to bound."""
    said = percent(share)
    return said if said.startswith("over") else f"at most {said}"


#: At which false-positive rate the figure is told.
_ALARM = 0.01


def attack_risk_of(guarantee: Guarantee, entries: Sequence[Entry] = ()) -> str:
    """Return how well membership inference can do under a guarantee, by what stands on its ledger, where it is known.

    Where bookings touch parts of a division, a document pays for its own part: the figure is that of the part of which
    a test finds most, so it is the same on all releases of one promise.
    """
    if math.isinf(guarantee.epsilon):
        return "Nothing limits what an attacker may find out about who is in the training text."
    noise = _worst_noise(guarantee, entries)
    found = at_most(_found(guarantee, noise))
    meaning = (
        "all that epsilon and delta allow, whatever the noise"
        if noise is None
        else "the best that any test can do against the noise that was booked"
    )
    return (
        f"Whatever an attacker knows, a test that wrongly accuses {percent(_ALARM)} of outsiders "
        f"{'finds' if found.startswith('at most') else 'may find'} {found} of those who are in the training text "
        f"(unit: {guarantee.called}). That is {meaning}."
    )


def found_at_most(guarantee: Guarantee, entries: Sequence[Entry]) -> float:
    """Return the figure of :func:`attack_risk_of`: the largest share of members that a test finds."""
    return _found(guarantee, _worst_noise(guarantee, entries))


def _found(guarantee: Guarantee, noise: Noise | None) -> float:
    if noise is not None:
        return best_true_positive_rate(noise.mu, _ALARM, noise.failure)
    growth = math.exp(min(guarantee.epsilon, 700.0))
    return min(growth * _ALARM + guarantee.delta, 1 - (1 - guarantee.delta - _ALARM) / growth, 1.0)


def _worst_noise(guarantee: Guarantee, entries: Sequence[Entry]) -> Noise | None:
    """Return the noise of the part of which a test finds most; None where it is not known to be all that was booked."""
    noises = [noise_of_events(history, guarantee.neighboring) for history in _histories(entries)]
    known = [noise for noise in noises if noise is not None]
    if not entries or len(known) < len(noises):
        return None
    return max(known, key=lambda noise: best_true_positive_rate(noise.mu, _ALARM, noise.failure))


def _histories(entries: Sequence[Entry]) -> list[list[Event]]:
    """Return what each part of a ledger's division went through, and what units elsewhere did; each once."""
    names = [repr(entry.event) for entry in entries]
    found: dict[tuple[str, ...], list[int]] = {}
    for part in {"": None} | dict.fromkeys(part for entry in entries for part in entry.touched):
        places = [place for place, entry in enumerate(entries) if not entry.touched or part in entry.touched]
        found[tuple(names[place] for place in places)] = places
    return [[entries[place].event for place in places] for places in found.values() if places]
