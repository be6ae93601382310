"""What a ledger says: its budget, its bookings, what they cost and what is left. The part that only reads."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet._tables import frame
from discreet._validate import number, shown
from discreet.errors import Parameter, ParameterError, PrivacyError
from discreet.privacy.accounting.curves import sort_events
from discreet.privacy.accounting.totals import Cost, composed_epsilon, largest_gaussian
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger.entry import Entry, begins_with
from discreet.privacy.ledger.filter import Budget, Standing
from discreet.privacy.ledger.notebook import ledger_html
from discreet.privacy.ledger.storage import NeverCopied, Storage
from discreet.privacy.units import Guarantee, check_delta, check_epsilon, check_unit, check_unit_name

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Statement", "entries_of"]

_AS_A_PLAN = "as a plan fixed beforehand, because this older ledger was no filter"


class Statement(NeverCopied):
    """What a ledger says. Made by :class:`discreet.Ledger` only."""

    def __init__(
        self,
        epsilon: Any,
        delta: Any,
        privacy_unit: str,
        neighboring: str,
        failure_share: Any,
        unit_name: Any,
    ) -> None:
        check_unit(privacy_unit, neighboring)
        share = _check_share(failure_share)
        self._budget = Budget(check_epsilon(epsilon), check_delta(delta), neighboring, share)
        self._privacy_unit = privacy_unit
        self._unit_name = check_unit_name(unit_name, privacy_unit)
        self._storage = Storage(self._budget)
        self._closed = False

    @property
    def epsilon(self) -> float:
        """The budget's epsilon."""
        return self._budget.epsilon

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self._budget.delta

    @property
    def identity(self) -> str:
        """What tells this ledger from all others, whatever is booked on it; the same for all who open one file."""
        return self._storage.identity or ""

    @property
    def failure_share(self) -> float | None:
        """Share of delta set aside for failures after the first booking; None where that booking decides."""
        return self._budget.failure_share

    @property
    def privacy_unit(self) -> str:
        """Whose presence (or content) is hidden."""
        return self._privacy_unit

    @property
    def unit_name(self) -> str:
        """What one unit is called, or "" where it has the name of its kind."""
        return self._unit_name

    @property
    def called(self) -> str:
        """What one unit is called: "patient", or the kind of unit."""
        return self._unit_name or self._privacy_unit

    def check_called(self, unit_name: str | None) -> None:
        """Raise ``PrivacyError`` where a name is given, and units are called otherwise here."""
        if check_unit_name(unit_name, self._privacy_unit) not in ("", self._unit_name):
            raise PrivacyError(
                Parameter("unit_name"),
                f" is {unit_name!r}, but the ledger calls a unit {self.called!r}; leave it out, or make a new ledger.",
            )

    @property
    def neighboring(self) -> str:
        """How two corpora differ that must look alike."""
        return self._budget.neighboring

    @property
    def closed(self) -> bool:
        """Whether this is a record only, on which nothing can be booked."""
        return self._closed

    @property
    def path(self) -> Path | None:
        """The file this ledger is kept in, if any."""
        return self._storage.path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that was booked, oldest first."""
        self._refresh()
        return self._storage.entries

    def holds(self, booking: int, digest: str) -> bool:
        """Whether a booking stands here: one of this number, whose :attr:`Entry.digest` is this one."""
        return any(entry.booking == booking and entry.digest == digest for entry in self.entries)

    def spent(self) -> Cost:
        """Return what all bookings cost together, at the budget's delta.

        A single booking, or a plan, is priced as tightly as the accountants can: nothing was seen before it. From the
        second on it is the filter's figure, which holds however each booking was chosen by what the earlier ones
        released, its kind included: for every e, the interaction that stops before this figure would pass e is
        (e, delta)-private (:mod:`discreet.privacy.ledger.filter`). It is never below what :meth:`reserve` compares with
        the budget.

        A list of events that was fixed beforehand may cost less than the figure: book it as a :meth:`plan`.
        """
        entries = self.entries
        if entries and not any(entry.booking for entry in entries):
            found = composed_epsilon(
                [entry.event for entry in entries], self.delta, neighboring=self.neighboring
            )
            several = len(entries) > 1
            return found._replace(accountant=f"{found.accountant}, {_AS_A_PLAN}") if several else found
        return self._storage.standings().cost()

    def remaining(self, *planned: "Event", together: bool = False) -> Cost:
        """Return the largest epsilon, at the budget's delta, that one more Gaussian release could be calibrated to.

        That is: a release with ``noise_multiplier_for(epsilon, delta)`` can still be reserved, after the ``planned``
        events (``planned_event()`` of other estimators). Exact where all bookings are Gaussian; otherwise up to 0.1 %
        too small. 0 where nothing is left.

        Parameters
        ----------
        *planned : events
            To be booked before that release, in this order, one by one.
        together : bool, default False
            Whether they will be booked as one :meth:`plan` with it, which leaves more for it.
        """
        self._refresh()
        if math.isinf(self.epsilon):
            return Cost(math.inf, self.delta, "no limit")
        least = min(
            self._left(standing, planned, together) for standing in self._storage.standings().distinct()
        )
        return Cost(least, self.delta, "one more Gaussian release")

    def _left(self, standing: Standing, planned: "tuple[Event, ...]", together: bool) -> float:
        if together and standing.first is None:
            frame = sort_events(planned, self.neighboring)
        else:
            for event in planned:
                standing = standing.after([event])
            frame = standing.next_frame()
        left = self.epsilon - float(standing.pure)
        return largest_gaussian(frame, left, self.delta) if standing.covered and left > 0 else 0.0

    def guarantee(self) -> Guarantee:
        """Return the promise that everything booked so far amounts to; see :meth:`spent` for when it holds."""
        spent = self.spent()
        return Guarantee(
            spent.epsilon, spent.delta, self.privacy_unit, self.neighboring, spent.accountant, self.unit_name
        )

    @property
    def promise(self) -> Guarantee:
        """The same as :meth:`guarantee`, by the name that releases have for it; their ``guarantee`` is its words."""
        return self.guarantee()

    def _terms(self) -> dict[str, Any]:
        """Return what a new ledger of the same budget is made from."""
        epsilon, delta, neighboring, share = self._budget
        return {
            "epsilon": epsilon,
            "delta": delta,
            "privacy_unit": self.privacy_unit,
            "neighboring": neighboring,
            "failure_share": share,
            "unit_name": self.unit_name,
        }

    def _sealed(self, entries: tuple[Entry, ...], identity: str | None = None) -> dict[str, Any]:
        from discreet.privacy.accounting import events

        written = [
            ledger_file.Booked(events.to_json(e.event), e.purpose, e.booking, e.division, e.touched, e.nonce)
            for e in entries
        ]
        path = None if identity is None or self.path is None else str(self.path)
        return ledger_file.seal(
            ledger_file.Fields(**self._terms(), identity=identity, path=path, entries=written)
        )

    def _refresh(self) -> None:
        storage = self._storage
        if storage.path is None or not storage.path.exists():
            return
        found = ledger_file.check(ledger_file.read(storage.path))
        told = found._asdict()
        another = None not in (found.identity, storage.identity) and found.identity != storage.identity
        if another or any(told[name] != mine for name, mine in self._terms().items()):
            raise PrivacyError(f"the ledger file {storage.path} was replaced by another ledger; put it back.")
        entries = entries_of(found)
        if not begins_with(entries, storage.entries):
            raise PrivacyError(
                f"the ledger file {storage.path} lacks bookings that it held before; restore the newer one."
            )
        storage.entries, storage.identity = entries, found.identity or storage.identity

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statement):
            return NotImplemented
        mine, yours = ((s._terms(), s.entries) for s in (self, other))
        return mine == yours

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (bookings change what it equals)

    def to_frame(self) -> Any:
        """Return the bookings as a frame: booking, purpose, event."""
        from discreet.privacy.accounting import events

        return frame(
            {
                "booking": [entry.booking for entry in self.entries],
                "purpose": [entry.purpose for entry in self.entries],
                "event": [events.in_words(entry.event) for entry in self.entries],
            }
        )

    def _repr_html_(self) -> str:
        return ledger_html(self)

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        unit = repr(self.privacy_unit) + (f", unit_name={self.unit_name!r}" if self.unit_name else "")
        return (
            f"Ledger(epsilon={self.epsilon:g}, delta={self.delta:g}, privacy_unit={unit}, "
            f"{len(self._storage.entries)} booked{closed})"
        )


def entries_of(fields: ledger_file.Fields) -> tuple[Entry, ...]:
    """Return the bookings that a checked ledger holds."""
    from discreet.privacy.accounting import events

    entries = tuple(
        Entry(events.from_json(e.event), e.purpose, e.booking, e.division, e.touched, e.nonce)
        for e in fields.entries
    )
    for entry in entries:
        list(events.leaves(entry.event))
    return entries


def _check_share(share: Any) -> float | None:
    if share is None:
        return None
    if not number(least=0, below=1).holds(share):
        raise ParameterError(f"failure_share must be from 0 to below 1 (or None), but is {shown(share)}.")
    return float(share)
