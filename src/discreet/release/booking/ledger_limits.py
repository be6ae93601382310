"""How much a ledger may hold that comes from a file, so that pricing it takes seconds, and little memory.

Where bookings touch parts of a division, each part has a filter of its own, priced by itself unless it went through the
same bookings as another. So what is counted is counted for each such *history*, told apart by the bookings alone,
before anything is priced.
"""

from itertools import groupby
from typing import TYPE_CHECKING

from discreet.errors import ReleaseError
from discreet.privacy.ledger.entry import Entry
from discreet.privacy.ledger.ledger import Ledger

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = [
    "MOST_EVENTS",
    "MOST_HISTORIES",
    "MOST_SLOW_BOOKINGS",
    "MOST_SLOW_EVENTS",
    "MOST_SLOW_HISTORIES",
    "MOST_SLOW_STEPS",
    "MOST_STEPS",
    "check_ledger",
    "check_room",
]

#: Different events, and those of them that are not Gaussian; bookings that hold such ones, each priced by itself.
MOST_EVENTS, MOST_SLOW_EVENTS, MOST_SLOW_BOOKINGS = 2_000, 300, 100
#: Different histories of parts, and those of them that hold what is not Gaussian; bookings, each counted for every part
#: that it moves, and those that are not Gaussian, counted for every history that they lengthen.
MOST_HISTORIES, MOST_SLOW_HISTORIES, MOST_STEPS, MOST_SLOW_STEPS = 1_000, 30, 50_000, 100


def check_ledger(ledger: Ledger) -> None:
    """Raise ``ReleaseError`` where a ledger holds more than can be accounted for in a few seconds."""
    _check_entries(ledger.entries)


def check_room(ledger: Ledger, event: "Event", touched: tuple[str, ...] = ()) -> None:
    """Raise ``ReleaseError`` where a ledger would hold too much with one more event: before that is booked.

    Parameters
    ----------
    ledger : Ledger
    event : event
        What is about to be booked.
    touched : tuple of str
        The parts that it touches; () for everybody.
    """
    number = 1 + max((entry.booking for entry in ledger.entries), default=0)
    try:
        _check_entries((*ledger.entries, Entry(event, "next", number, "division", touched)))
    except ReleaseError as fault:
        raise ReleaseError(
            *fault.args, " Nothing was booked: what this would release could not be read again."
        ) from None


def _check_entries(entries: tuple[Entry, ...]) -> None:
    from discreet.privacy.accounting import events

    different: set[str] = set()
    slow: set[str] = set()
    slow_bookings: set[int] = set()
    for number, entry in enumerate(entries):
        for leaf in events.leaves(entry.event):
            name = repr(leaf.event)
            different.add(name)
            if _is_slow(leaf.event):
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
    if any(entry.touched for entry in entries):
        _check_histories(entries)


def _check_histories(entries: tuple[Entry, ...]) -> None:
    """Raise ``ReleaseError`` where a ledger's parts went through more than can be priced one by one."""
    from discreet.privacy.accounting import events

    histories: dict[tuple[int, str], int] = {}  # a shorter history and the booking after it -> the longer one
    slow: dict[int, frozenset[str]] = {0: frozenset()}  # what each history holds that is not Gaussian
    of_parts: dict[str, int] = {}
    elsewhere = steps = slow_steps = 0
    for _, together in groupby(enumerate(entries), lambda each: each[1].booking or -each[0]):
        booked = [entry for _, entry in together]
        leaves = [leaf.event for entry in booked for leaf in events.leaves(entry.event)]
        content = repr([entry.event for entry in booked])
        slow_here = frozenset(repr(leaf) for leaf in leaves if _is_slow(leaf))

        touched = booked[0].touched
        before = {part: of_parts.get(part, elsewhere) for part in touched or of_parts}
        moved = dict.fromkeys(before.values() if touched else [elsewhere, *before.values()], 0)
        steps += len(touched) or 1 + len(of_parts)
        slow_steps += len(moved) if slow_here else 0
        if steps > MOST_STEPS or slow_steps > MOST_SLOW_STEPS:
            raise _too_many()
        for history in moved:
            moved[history] = longer = histories.setdefault((history, content), len(histories) + 1)
            slow[longer] = slow[history] | slow_here if slow_here else slow[history]
        of_parts |= {part: moved[history] for part, history in before.items()}
        elsewhere = elsewhere if touched else moved[elsewhere]
    different = {elsewhere, *of_parts.values()}
    priced = [slow[history] for history in different if slow[history]]
    if (
        len(different) > MOST_HISTORIES
        or len(priced) > MOST_SLOW_HISTORIES
        or sum(map(len, priced)) > MOST_SLOW_EVENTS
    ):
        raise _too_many()


def _too_many() -> ReleaseError:
    return ReleaseError(
        f"the parts of a release's ledger may have {MOST_HISTORIES:,} different histories of bookings, "
        f"{MOST_SLOW_HISTORIES} of them with events that are not Gaussian ({MOST_SLOW_EVENTS} in all of these, "
        f"{MOST_SLOW_STEPS} bookings), and be moved {MOST_STEPS:,} times, but these go beyond; book the same "
        "event for each part."
    )


def _is_slow(event: object) -> bool:
    return type(event).__name__ != "GaussianDpEvent"
