"""One line of a ledger, and what is said when a line does not fit."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from discreet._validate import shown
from discreet.errors import PrivacyError

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Entry", "begins_with", "check_purpose"]


@dataclass(frozen=True)
class Entry:
    """One event that was booked, and what it was for.

    Attributes
    ----------
    event : event
    purpose : str
    booking : int
        Its number; the parts of a plan have the same. 0 where it was made before bookings were told apart.
    division : str
        The public rule by which documents are divided, where the event touches some parts only; else "".
    touched : tuple of str
        Those parts; () for everybody.
    nonce : str
        Random, and its booking's own: what is booked anew, to the letter, is another booking. Kept with a ledger that
        can be booked on, and left out of records. Entries and ledgers are compared without it. "" where there is none.
    """

    event: "Event"
    purpose: str
    booking: int = 0
    division: str = ""
    touched: tuple[str, ...] = ()
    nonce: str = field(default="", compare=False, repr=False)

    @property
    def digest(self) -> str:
        """What tells this entry from all others: the digest of all that it holds, its nonce included."""
        from discreet.privacy.accounting import events

        told = [self.booking, events.to_json(self.event), self.purpose]
        # All others are of older files, and keep the digest that they were noted by.
        if self.division or self.nonce:
            told += [self.division, self.touched, self.nonce]
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def begins_with(entries: tuple[Entry, ...], earlier: tuple[Entry, ...]) -> bool:
    """Tell whether entries are the earlier ones with newer behind them: the same bookings, not others like them."""
    first = entries[: len(earlier)]
    return first == earlier and [entry.nonce for entry in first] == [entry.nonce for entry in earlier]


def check_purpose(purpose: Any) -> None:
    """Raise ``PrivacyError`` unless ``purpose`` is text."""
    if not isinstance(purpose, str) or not purpose.strip():
        raise PrivacyError(f"purpose must say in a few words what is booked, but is {shown(purpose)}.")
