"""One line of a ledger, and what is said when a line does not fit."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from discreet._validate import shown
from discreet.errors import PrivacyError

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Entry", "check_purpose"]


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
    """

    event: "Event"
    purpose: str
    booking: int = 0
    division: str = ""
    touched: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What tells this entry from others of its ledger: the digest of number, event and purpose."""
        from discreet.privacy.accounting import events

        told = [self.booking, events.to_json(self.event), self.purpose]
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def check_purpose(purpose: Any) -> None:
    """Raise ``PrivacyError`` unless ``purpose`` is text."""
    if not isinstance(purpose, str) or not purpose.strip():
        raise PrivacyError(f"purpose must say in a few words what is booked, but is {shown(purpose)}.")
