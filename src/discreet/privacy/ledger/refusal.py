"""What is said when a booking does not fit: what it would come to, and what would fit instead.

The advice is of the event's own kind, and was tried: what it says can be reserved.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import DiscreetError, Part, Proposal
from discreet.privacy.accounting.curves import gaussian_noise_for, pure_epsilon, sort_events
from discreet.privacy.accounting.totals import Cost, within
from discreet.privacy.ledger.filter import Standing

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event


#: Nothing smaller than this part of what was asked for is advised.
_LEAST = 1e-4


#: What would be booked at another epsilon: one event, or one for each part.
EventsAt = Callable[[float], "Event | Sequence[Event]"]


class Asked(NamedTuple):
    """A booking that does not fit.

    Attributes
    ----------
    parts : sequence of (event, purpose)
    at_epsilon : callable or None
        The events of the same releases at another epsilon.
    total : Cost
        With it.
    left : float
        What is left for one Gaussian release.
    """

    parts: Sequence[tuple["Event", str]]
    at_epsilon: "EventsAt | None"
    total: Cost
    left: float


def refusal(standing: Standing, asked: Asked) -> list[Part]:
    """Say why a booking does not fit after ``standing``, and what to do: the parts of a message."""
    from discreet.privacy.accounting import events

    epsilon, delta = standing.budget.epsilon, standing.budget.delta
    said = " and ".join(f"{purpose!r} ({events.in_words(event)})" for event, purpose in asked.parts)
    count, left = standing.n_bookings + 1, _down(asked.left)
    bookings = "1 booking" if count == 1 else f"{count} bookings"
    advice = _advice(standing, asked)
    total = f"epsilon = {asked.total.epsilon:.6g} ({asked.total.accountant})"
    if _lacks_delta(standing, asked):
        total = "above any epsilon at this delta, because failures take more of it than there is"
    return [
        f"the budget of epsilon = {epsilon:g} at delta = {delta:g} does not cover {said}: with it, the total of "
        f"{bookings} is {total}. This was not booked. ",
        *(
            [f"What is left is epsilon = {left:.3g} at this delta for one Gaussian release; ", *advice]
            if left > 0
            else ["Nothing is left: only a larger budget, which is a weaker promise, pays for more"]
        ),
        ".",
    ]


def _advice(standing: Standing, asked: Asked) -> list[Part]:
    if (at_epsilon := asked.at_epsilon) is not None and not _lacks_delta(standing, asked):

        def fits(epsilon: float) -> bool:
            booked = at_epsilon(epsilon)
            return _fits(standing, list(booked) if isinstance(booked, Sequence) else [booked])

        found = _largest(fits, standing.budget.epsilon)
        return [_lower(found), *((" (", Proposal("epsilon", found), ")") if found else ())]
    return [_plain_advice(standing, asked)]


def _fits(standing: Standing, booked: "Sequence[Event]") -> bool:
    return within(standing.after(booked).cost().epsilon, standing.budget.epsilon)


def _lacks_delta(standing: Standing, asked: Asked) -> bool:
    """Whether the failures alone are more than is left of delta."""
    from discreet.privacy.accounting import events

    failures = [part for event, _ in asked.parts for part in events.failures_of(event)]
    return bool(failures) and not _fits(standing, failures)


def _plain_advice(standing: Standing, asked: Asked) -> str:
    from discreet.privacy.accounting import events

    budget, parts = standing.budget, [event for event, _ in asked.parts]

    fit = partial(_fits, standing)
    failure = [events.failures_of(event) for event in parts]
    if _lacks_delta(standing, asked):
        return (
            f"its failure probability alone is more than is left of the ledger's delta, {budget.delta:g}: lower its "
            "own delta, book it before what is Gaussian, or make a ledger that sets more aside for failures"
        )
    if len(parts) == 1:
        (event,), (failures,) = parts, failure
        kinds = {type(leaf.event).__name__ for leaf in events.leaves(event)} - {"FailureDpEvent"}
        if kinds == {"GaussianDpEvent"}:
            noise = partial(gaussian_noise_for, delta=budget.delta)
            return _lower(_largest(lambda x: fit([events.gaussian(noise(x)), *failures]), budget.epsilon))
        if (pure := _pure_epsilon_of(event)) is not None:
            return _lower(_largest(lambda x: fit([events.with_noise(event, pure / x)]), pure))
    share = _largest(lambda x: fit([events.with_noise(event, 1 / x) for event in parts]), 1.0)
    if not share:
        return _lower(0.0)
    what = "it" if len(parts) == 1 else "all of them"
    return f"give {what} at least {math.ceil(1000 / share) / 1000:.7g} times as much noise"


def _lower(epsilon: float) -> str:
    return f"lower its epsilon to at most {epsilon:.3g}" if epsilon > 0 else "nothing more can be released"


def _pure_epsilon_of(event: "Event") -> float | None:
    """Return the pure loss of one of the equal releases that an event is made of, failures aside; else None."""
    totals = sort_events([event])
    if totals.precision or totals.sampled or totals.rho or len(totals.pure) != 1:
        return None
    return pure_epsilon(totals.pure[0][0])


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """Return the largest number of three digits, at most ``high``, that fits; 0 where there is none."""

    def ok(number: float) -> bool:
        try:
            return fits(number)
        except (DiscreetError, ArithmeticError, ValueError):  # nothing can be calibrated to that
            return False

    low, least = high, _LEAST * high
    while not ok(low):
        low, high = low / 2, low
        if low < least:
            return 0.0
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ok(middle) else (low, middle)
    shown = _down(low)
    while shown > 0 and not ok(shown):
        shown = _down(shown * 0.9999)
    return shown


def _down(number: float) -> float:
    """Round down to three digits, so that what is shown does fit."""
    if not 0 < number < math.inf:
        return number
    digits = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.floor(number / digits) * digits:.3g}")
