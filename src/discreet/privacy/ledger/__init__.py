"""The ledger: a budget for one corpus, booked before the data are read, in memory or in a file."""

from typing import TYPE_CHECKING

from discreet._base.lazy import lazy_names

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger
    from discreet.privacy.ledger.reservation import Entry, Reservation

_HOMES = {
    "discreet.privacy.ledger.ledger": ("Ledger",),
    "discreet.privacy.ledger.reservation": ("Entry", "Reservation"),
}

__all__ = ["Entry", "Ledger", "Reservation"]

__getattr__, __dir__ = lazy_names("discreet.privacy.ledger", _HOMES)
