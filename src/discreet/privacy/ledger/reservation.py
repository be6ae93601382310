"""One line of a ledger, and what one booking allows: mechanisms draw on it when they release something."""

import json
import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any, NoReturn, SupportsIndex

from dp_accounting import dp_event as dp

from discreet._base.validate import shown
from discreet.errors import PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.events import Event


@dataclass(frozen=True)
class Entry:
    """One event that was booked, and what it was for.

    Attributes
    ----------
    event : event
    purpose : str
    booking : int
        Its number, from 1; the parts of a plan have the same.
    division : str
        The public rule by which documents are divided, where the event touches some parts only; else "".
    touched : tuple of str
        Those parts; () for everybody.
    nonce : str
        Random, and its booking's own: what is booked anew, to the letter, is another booking. Kept with a ledger that
        can be booked on, and left out of records. Entries and ledgers are compared without it. "" where there is none.
    """

    event: Event
    purpose: str
    booking: int
    division: str = ""
    touched: tuple[str, ...] = ()
    nonce: str = field(default="", compare=False, repr=False)

    @property
    def digest(self) -> str:
        """What tells this entry from all others: the digest of all that it holds, its nonce included."""
        told = [
            self.booking,
            events.to_json(self.event),
            self.purpose,
            self.division,
            self.touched,
            self.nonce,
        ]
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def begins_with(entries: tuple[Entry, ...], earlier: tuple[Entry, ...]) -> bool:
    """Tell whether entries are the earlier ones with newer behind them: the same bookings, not others like them."""
    first = entries[: len(earlier)]
    return first == earlier and [entry.nonce for entry in first] == [entry.nonce for entry in earlier]


def is_text(value: Any) -> bool:
    """Whether this is text that UTF-8 has; two surrogates would be read back from JSON as one letter."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def check_purpose(purpose: Any) -> None:
    """Raise ``PrivacyError`` unless ``purpose`` is text."""
    if not is_text(purpose) or not purpose.strip():
        raise PrivacyError(
            f"purpose must say in a few words of valid Unicode what is booked, but is {shown(purpose)}."
        )


class Reservation:
    """What one booking allows, and whom it protects. Made by :meth:`Ledger.reserve`; mechanisms call :meth:`use`.

    Safe to share between threads. It cannot be copied, pickled, or used in a forked process: what is drawn there
    would not be missing here.

    Parameters
    ----------
    event : event
        What was paid for.
    purpose : str
        What for, in words.
    privacy_unit, neighboring : str
        What the ledger promises: whose presence is hidden, and how two corpora differ.
    rehearsed : bool, default False
        From a rehearsal, which books nothing; :meth:`use` then refuses.

    Attributes
    ----------
    entry : Entry or None
        What stands in the ledger; None until it stands there.
    """

    entry: "Entry | None" = None

    def __init__(
        self, event: Event, purpose: str, privacy_unit: str, neighboring: str, *, rehearsed: bool = False
    ) -> None:
        self.event = event
        self.purpose = purpose
        self.privacy_unit = privacy_unit
        self.neighboring = neighboring
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._rehearsed = rehearsed
        self._precision, self._left = _needed(event)
        self._unlimited = any(isinstance(leaf, dp.NonPrivateDpEvent) for leaf in self._left)
        self._reserved = (self._precision, self._left.copy())

    def use(self, event: Event, *, privacy_unit: str, neighboring: str) -> None:
        """Draw on the reservation for one release.

        An event says how large noise is beside a sensitivity, and a sensitivity is about one unit and one relation:
        those of the release must be the ledger's. Gaussian events draw on the sum of 1 / noise_multiplier^2 of the
        reserved ones, exactly; each other event needs an equal one among the reserved, and takes it.

        Raises
        ------
        PrivacyError
            Where less is left than the event needs, or the release bounds another unit, or another relation, than the
            ledger promises. Nothing is drawn then.
        """
        if self._rehearsed:
            raise PrivacyError(
                f"the reservation for {self.purpose!r} is from a rehearsal, which books nothing; reserve on the ledger."
            )
        if os.getpid() != self._process:
            raise PrivacyError(
                f"the reservation for {self.purpose!r} was made in another process; reserve in this one, on a "
                "ledger that is kept in a file (Ledger.open)."
            )
        if (privacy_unit, neighboring) != (self.privacy_unit, self.neighboring):
            raise PrivacyError(
                f"the reservation for {self.purpose!r} is of a ledger that protects each {self.privacy_unit} "
                f"({self.neighboring}), but this release is bounded for each {privacy_unit} ({neighboring}); bound "
                "contributions for the unit and relation of the ledger: "
                f'Bound(..., privacy_unit="{self.privacy_unit}", neighboring="{self.neighboring}").'
            )
        if self._unlimited:
            return
        precision, needed = _needed(event)
        with self._lock:
            if not _covers(self._precision, self._left, precision, needed):
                raise PrivacyError(self._short(event, once=_covers(*self._reserved, precision, needed)))
            self._precision -= precision
            self._left -= needed

    def _short(self, event: Event, *, once: bool) -> str:
        """Say why an event is not covered; ``once`` tells that the whole reservation would have covered it."""
        if once:
            return (
                f"the reservation for {self.purpose!r} has been used, and what is left of it does not cover "
                f"{events.in_words(event)}: reserve each release, before its sum is made."
            )
        return (
            f"the reservation for {self.purpose!r} does not cover {events.in_words(event)}, for it is of "
            f"{events.in_words(self.event)}: reserve what will be released, before its sum is made."
        )

    @property
    def precision_left(self) -> Fraction:
        """Sum of 1 / noise_multiplier^2 that Gaussian releases may still draw."""
        return self._precision

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise PrivacyError("a reservation cannot be copied or pickled: it could be spent twice.")

    def __repr__(self) -> str:
        return f"Reservation({self.purpose!r})"


def _needed(event: Event) -> tuple[Fraction, Counter[Any]]:
    """Return what an event draws: the sum of 1 / noise_multiplier^2 of what is Gaussian, and each of the others."""
    precision, others = Fraction(0), Counter[Any]()
    for leaf, count in events.leaves(event):
        if isinstance(leaf, dp.GaussianDpEvent):
            precision += count / Fraction(leaf.noise_multiplier) ** 2
        else:
            others[leaf] += count
    return precision, others


def _covers(precision: Fraction, left: Counter[Any], asked: Fraction, needed: Counter[Any]) -> bool:
    return asked <= precision and all(left[leaf] >= count for leaf, count in needed.items())
