"""How much a ledger may hold that comes from a file, so that pricing it takes seconds, and little memory."""

from discreet.errors import ReleaseError
from discreet.privacy.ledger.ledger import Ledger

__all__ = ["MOST_EVENTS", "MOST_SLOW_BOOKINGS", "MOST_SLOW_EVENTS", "check_ledger"]

#: Different events, and those of them that are not Gaussian; bookings that hold such ones, each priced by itself.
MOST_EVENTS, MOST_SLOW_EVENTS, MOST_SLOW_BOOKINGS = 2_000, 300, 100


def check_ledger(ledger: Ledger) -> None:
    """Raise ``ReleaseError`` where a ledger holds more than can be accounted for in a few seconds."""
    from discreet.privacy.accounting import events

    different: set[str] = set()
    slow: set[str] = set()
    slow_bookings: set[int] = set()
    for number, entry in enumerate(ledger.entries):
        for leaf in events.leaves(entry.event):
            name = repr(leaf.event)
            different.add(name)
            if type(leaf.event).__name__ != "GaussianDpEvent":
                slow.add(name)
                slow_bookings.add(entry.booking or -number)
            if (
                len(different) > MOST_EVENTS
                or len(slow) > MOST_SLOW_EVENTS
                or len(slow_bookings) > MOST_SLOW_BOOKINGS
            ):
                raise ReleaseError(
                    f"the ledger of a release may hold {MOST_EVENTS} different events, {MOST_SLOW_EVENTS} of them not "
                    f"Gaussian in {MOST_SLOW_BOOKINGS} bookings, but this one holds more; book repetitions as one "
                    "event (discreet.privacy.accounting.events.composed), or as a plan."
                )
