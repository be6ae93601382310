"""What is said when a booking does not fit: what it would come to, and what would fit instead.

The advice was tried: what it says can be reserved.
"""

import math
from collections.abc import Callable, Sequence

from discreet.errors import DiscreetError, Part, Proposal
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import sort_events
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
    budget, count, left = standing.budget, standing.n_bookings + len(parts), round_down(left)
    said = " and ".join(f"{purpose!r} ({events.in_words(event)})" for event, purpose in parts)
    bookings = "1 booking" if count == 1 else f"{count} bookings"
    comes_to = f"epsilon = {total.epsilon:.6g} ({total.accountant})"
    failure = sort_events(event for event, _ in parts).failure
    lacks_delta = failure > standing.failure_left
    if lacks_delta:
        comes_to = "above any epsilon at this delta, because failures take more of it than there is"
    advice: list[Part] = ["Nothing is left: only a larger budget, which is a weaker promise, pays for more"]
    if left > 0:
        advice = [f"What is left is epsilon = {left:.3g} at this delta for one Gaussian release"]
        if lacks_delta:
            advice.append(
                f" that cannot fail, such as topics of a public list of words (`vocabulary=`): this may fail with "
                f"probability {float(failure):.3g}, as choices of words do, and of the ledger's delta, "
                f"{budget.delta:g}, {float(standing.failure_left):.3g} is left for failures"
            )
        elif at_epsilon is not None:
            advice += ["; ", *_at_another_epsilon(standing, at_epsilon, left)]
    return [
        f"the budget of epsilon = {budget.epsilon:g} at delta = {budget.delta:g} does not cover {said}: with it, the "
        f"total of {bookings} is {comes_to}. This was not booked. ",
        *advice,
        ".",
    ]


def _at_another_epsilon(standing: Standing, at_epsilon: EventsAt, left: float) -> list[Part]:
    def fits(epsilon: float) -> bool:
        booked = at_epsilon(epsilon)
        after = standing.after(list(booked) if isinstance(booked, Sequence) else [booked])
        return within(after.cost().epsilon, standing.budget.epsilon)

    found = _largest(fits, standing.budget.epsilon)
    if not found:
        return ["no smaller epsilon fits"]
    own = ", at its own smaller delta," if found > 1.01 * left else ""
    return [f"lower its epsilon{own} to at most {found:.3g} (", Proposal("epsilon", found), ")"]


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
    shown = round_down(low)
    while shown > 0 and not ok(shown):
        shown = round_down(shown * 0.9999)
    return shown


def round_down(number: float) -> float:
    """Round down to three digits, so that what is shown of what is left does fit."""
    if not 0 < number < math.inf:
        return number
    digits = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.floor(number / digits) * digits:.3g}")
