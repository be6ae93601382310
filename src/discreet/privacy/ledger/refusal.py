"""What is said when a booking does not fit: what it would come to, and what would fit instead.

The advice is of the event's own kind, and was tried: what it says can be reserved.
"""

import math
from collections.abc import Callable, Sequence

from discreet.errors import DiscreetError, Part, Proposal
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import pure_epsilon, sort_events
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.totals import Cost, within
from discreet.privacy.ledger.filter import Standing

#: Nothing smaller than this part of what was asked for is advised.
_LEAST = 1e-4


#: What would be booked at another epsilon: one event, or one for each part.
EventsAt = Callable[[float], Event | Sequence[Event]]


def refusal(
    standing: Standing,
    parts: Sequence[tuple[Event, str]],
    at_epsilon: EventsAt | None,
    total: Cost,
    left: float,
) -> list[Part]:
    """Say why a booking does not fit after ``standing``, and what to do: the parts of a message.

    ``total``: what all costs with it; ``left``: what is left for one Gaussian release.
    """
    epsilon, delta = standing.budget.epsilon, standing.budget.delta
    said = " and ".join(f"{purpose!r} ({events.in_words(event)})" for event, purpose in parts)
    count, left = standing.n_bookings + 1, _down(left)
    bookings = "1 booking" if count == 1 else f"{count} bookings"
    comes_to = f"epsilon = {total.epsilon:.6g} ({total.accountant})"
    booked = [event for event, _ in parts]
    failures = [part for event in booked for part in events.failures_of(event)]
    lacks_delta = bool(failures) and not _fits(standing, failures)
    if lacks_delta:
        comes_to = "above any epsilon at this delta, because failures take more of it than there is"
    advice: list[Part] = ["Nothing is left: only a larger budget, which is a weaker promise, pays for more"]
    if left > 0:
        advice = [f"What is left is epsilon = {left:.3g} at this delta for one Gaussian release; "]
        if lacks_delta:
            advice.append(
                f"its failure probability alone is more than is left of the ledger's delta, {delta:g}: lower its own "
                "delta, book it before what is Gaussian, or make a ledger that sets more aside for failures"
            )
        elif at_epsilon is not None:
            advice += _at_another_epsilon(standing, at_epsilon)
        else:
            advice.append(_with_more_noise(standing, booked))
    return [
        f"the budget of epsilon = {epsilon:g} at delta = {delta:g} does not cover {said}: with it, the total of "
        f"{bookings} is {comes_to}. This was not booked. ",
        *advice,
        ".",
    ]


def _at_another_epsilon(standing: Standing, at_epsilon: EventsAt) -> list[Part]:
    def fits(epsilon: float) -> bool:
        booked = at_epsilon(epsilon)
        return _fits(standing, list(booked) if isinstance(booked, Sequence) else [booked])

    found = _largest(fits, standing.budget.epsilon)
    return [_lower(found), *((" (", Proposal("epsilon", found), ")") if found else ())]


def _with_more_noise(standing: Standing, booked: Sequence[Event]) -> str:
    pure = _pure_epsilon_of(booked)
    most = pure or 1.0
    found = _largest(
        lambda x: _fits(standing, [events.with_noise(event, most / x) for event in booked]), most
    )
    if pure or not found:
        return _lower(found)
    what = "it" if len(booked) == 1 else "all of them"
    return f"give {what} at least {math.ceil(1000 / found) / 1000:.7g} times as much noise"


def _fits(standing: Standing, booked: Sequence[Event]) -> bool:
    return within(standing.after(booked).cost().epsilon, standing.budget.epsilon)


def _lower(epsilon: float) -> str:
    return f"lower its epsilon to at most {epsilon:.3g}" if epsilon > 0 else "nothing more can be released"


def _pure_epsilon_of(booked: Sequence[Event]) -> float | None:
    """Return the pure loss of one of the equal releases that one event is made of, failures aside; else None."""
    totals = sort_events(booked)
    if len(booked) > 1 or totals.all_precision or len(totals.pure) != 1:
        return None
    return pure_epsilon(totals.pure[0][0])


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """Return the largest number of three digits, at most ``high``, that fits; 0 where there is none."""

    def ok(number: float) -> bool:
        try:
            return fits(number)
        except (DiscreetError, ArithmeticError, LookupError, ValueError):  # nothing can be calibrated to that
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
