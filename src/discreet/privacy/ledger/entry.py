"""One line of a ledger, and what is said when a line does not fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import PrivacyError
from discreet.privacy.accounting.totals import Cost

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Entry", "check_purpose", "refusal"]


@dataclass(frozen=True)
class Entry:
    """One booking: an event, and what it was for."""

    event: "Event"
    purpose: str


def check_purpose(purpose: Any) -> None:
    """Raise ``PrivacyError`` unless ``purpose`` is text."""
    if not isinstance(purpose, str) or not purpose.strip():
        raise PrivacyError(f"purpose must say in a few words what is booked, but is {purpose!r}.")


def refusal(parts: Sequence[Entry], n_bookings: int, epsilon: float, total: Cost, left: float) -> str:
    """Say why ``parts`` do not fit into the budget ``epsilon``, and what to do.

    ``n_bookings`` counts all entries, these included.

    ``left`` is shown with three digits, rounded down, so that what is shown does fit.
    """
    from discreet.privacy.accounting import events

    said = " and ".join(f"{part.purpose!r} ({events.in_words(part.event)})" for part in parts)
    digits = 10.0 ** (math.floor(math.log10(left)) - 2) if left > 0 else 1.0
    shown = f"{math.floor(left / digits) * digits:.3g}"
    advice = f"lower its epsilon to at most {shown}" if left > 0 else "nothing more can be released"
    return (
        f"the budget of epsilon = {epsilon:g} at delta = {total.delta:g} does not cover {said}: "
        f"with it, the total of {n_bookings} bookings is epsilon = "
        f"{total.epsilon:.6g} ({total.accountant}). Nothing was booked. What is left is epsilon = {shown} at this "
        f"delta for one Gaussian release (ledger.remaining()); {advice}."
    )
