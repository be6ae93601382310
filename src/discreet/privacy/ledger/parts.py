r"""Disjoint parts of a corpus, released one after another: each unit pays for its own part only.

A *division* is a public rule that puts each document into one part, or none, by looking at nothing but that document:
the month of its date. A booking touches some parts (the months it is about), or everybody. What is promised to a unit
then depends on the bookings that touch everybody and those that touch its part; all others are computed without it.

Why it holds, also where the next month's booking is chosen by what earlier ones released
-----------------------------------------------------------------------------------------
Fix two neighbours: with and without document u. Its part t is a function of u alone, so the documents of every other
part are the same in both. A booking that touches only other parts reads only those: given what was released before, its
release has one and the same distribution under both hypotheses, and can be simulated without knowing which holds. What
remains are the bookings that touch everybody or t, in their order, each chosen by what was released before: that is an
interaction with the filter of :mod:`discreet.privacy.ledger.filter` over just these bookings, and its theorem applies.
The ledger keeps one such filter for each part, and grants a booking only where all of them stay within the budget. What
it has spent is the largest of them.

Where it does not hold, and is refused
--------------------------------------
* *A person as the unit*: one person's documents may lie in several parts, each of which tells of that person. Such
  bookings touch everybody, and add up.
* ``replace_one``: the replacement may lie in another part, so that two are touched.
* *A second division on the same ledger*: a document has a month and a quarter, and is touched in both.
* Parts that depend on other documents (a tenth by position in the file, say): adding one document moves others. The
  ledger cannot see that. Whoever names a division vouches that a document's part is a function of the document alone,
  and stays the same.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import DiscreetError, PrivacyError, Proposal
from discreet.privacy.accounting.totals import Cost
from discreet.privacy.ledger.entry import Entry
from discreet.privacy.ledger.filter import Standing

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Standings", "check_division", "dearest"]


class Standings(NamedTuple):
    """Where the filters stand: that of units in no part that was touched, and that of each such part."""

    elsewhere: Standing
    of_parts: dict[str, Standing]

    def after(self, events: Iterable["Event"], touched: tuple[str, ...] = ()) -> "Standings":
        """Return where they stand after one more booking, which touches some parts, or everybody."""
        booked = list(events)
        seen: dict[Standing, Standing] = {}

        def advance(standing: Standing) -> Standing:
            if standing not in seen:
                seen[standing] = standing.after(booked)
            return seen[standing]

        if not touched:
            return Standings(advance(self.elsewhere), {part: advance(s) for part, s in self.of_parts.items()})
        moved = {part: advance(self.of_parts.get(part, self.elsewhere)) for part in touched}
        return Standings(self.elsewhere, self.of_parts | moved)

    def distinct(self, touched: tuple[str, ...] = ()) -> list[Standing]:
        """Return the filters that a booking concerns, each once."""
        if touched:
            return list(dict.fromkeys(self.of_parts.get(part, self.elsewhere) for part in touched))
        return list(dict.fromkeys([self.elsewhere, *self.of_parts.values()]))

    def cost(self) -> Cost:
        """Return what was spent: the largest over all parts."""
        return max((standing.cost() for standing in self.distinct()), key=lambda cost: cost.epsilon)


def check_division(
    entries: Iterable[Entry], division: str, parts: tuple[str, ...], privacy_unit: str, neighboring: str
) -> None:
    """Raise ``PrivacyError`` where parts are not known to be disjoint for each unit."""
    if privacy_unit != "document" or neighboring != "add_or_remove_one":
        raise PrivacyError(
            f"disjoint parts cost as one for documents that are added or removed, but this ledger protects "
            f"{privacy_unit} ({neighboring}), of which one may be in several parts: their costs add up: leave ",
            Proposal("division"),
            " out.",
        )
    if not division or not parts or not all(parts) or len(set(parts)) != len(parts):
        raise PrivacyError("a division must have a name, and its parts distinct names, one or more.")
    others = sorted({entry.division for entry in entries if entry.division} - {division})
    if others:
        raise PrivacyError(
            f"this ledger is divided by the {others[0]} already, and a document has a part in both divisions: name "
            "that one, or "
            "leave ",
            Proposal("division"),
            " out, and the costs add up.",
        )


def dearest(standings: Iterable[Standing], booked: Sequence["Event"]) -> tuple[Standing, Cost]:
    """Return the filter in which a booking comes to most, and to how much."""
    return max(
        ((standing, _priced(standing, booked)) for standing in standings), key=lambda each: each[1].epsilon
    )


def _priced(standing: Standing, booked: Sequence["Event"]) -> Cost:
    """Return what all costs with a booking more; ``PrivacyError`` where no accountant reaches as far."""
    try:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return standing.after(booked).cost()
    except DiscreetError:
        raise
    except (ArithmeticError, ValueError):
        pass  # of libraries whose floats end before the event's parameters do
    raise PrivacyError(
        "an event is so small or so large that no accountant can price it; nothing was booked. Leave out what costs "
        "nothing, and take a smaller loss for what costs everything."
    )
