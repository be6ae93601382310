"""What one booking allows: mechanisms draw on it when they release something."""

import threading
from collections import Counter
from fractions import Fraction
from typing import Any

from discreet.errors import PrivacyError

__all__ = ["Reservation"]


class Reservation:
    """What one booking allows. Made by :meth:`Ledger.reserve`; mechanisms call :meth:`use`.

    Attributes
    ----------
    event : event
    purpose : str
    """

    def __init__(self, event: Any, purpose: str) -> None:
        from dp_accounting import dp_event as dp

        from discreet.privacy import events

        self.event = event
        self.purpose = purpose
        self._lock = threading.Lock()
        self._precision = Fraction(0)
        self._left: Counter[Any] = Counter()
        self._unlimited = False
        for leaf, count in events.leaves(event):
            if isinstance(leaf, dp.GaussianDpEvent):
                self._precision += count / Fraction(leaf.noise_multiplier) ** 2
            elif isinstance(leaf, dp.NonPrivateDpEvent):
                self._unlimited = True
            else:
                self._left[leaf] += count

    def use(self, event: Any) -> None:
        """Draw on the reservation for one release.

        Gaussian events draw on the sum of 1 / noise_multiplier^2 of the reserved ones, exactly; each other
        event needs an equal one among the reserved, and takes it.

        Raises
        ------
        PrivacyError
            Where less is left than the event needs. Nothing is drawn then.
        """
        from dp_accounting import dp_event as dp

        from discreet.privacy import events

        if self._unlimited:
            return
        needed, precision = Counter[Any](), Fraction(0)
        for leaf, count in events.leaves(event):
            if isinstance(leaf, dp.GaussianDpEvent):
                precision += count / Fraction(leaf.noise_multiplier) ** 2
            else:
                needed[leaf] += count
        with self._lock:
            if precision > self._precision or any(self._left[leaf] < count for leaf, count in needed.items()):
                raise PrivacyError(
                    f"the reservation for {self.purpose!r} does not cover {events.in_words(event)}: "
                    "reserve it in the ledger before the data are read."
                )
            self._precision -= precision
            self._left -= needed

    @property
    def precision_left(self) -> Fraction:
        """Sum of 1 / noise_multiplier^2 that Gaussian releases may still draw."""
        return self._precision

    def __repr__(self) -> str:
        return f"Reservation({self.purpose!r})"
