r"""The ledger: what was promised in all, and what was spent of it. Booked before the data are read.

``reserve`` adds an event to the list if all events together still satisfy (epsilon, delta), and raises
:class:`~discreet.errors.BudgetExceeded` otherwise, with nothing changed. It returns a :class:`Reservation`;
mechanisms draw on it (``use``) when they release something. What is reserved and never used stays spent: a
crash cannot give budget back.

Why adaptive shares are safe
----------------------------
A reservation of one Gaussian event with noise multiplier :math:`\sigma` may be used for several Gaussian releases
whose noise multipliers :math:`\sigma_i` are chosen on the way, looking at what was released before, as long as
:math:`\sum_i \sigma_i^{-2} \le \sigma^{-2}`. That is a filter for Gaussian differential privacy; the sum is kept as
an exact fraction.

References
----------
Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", arXiv:1605.08294.
Smith, Thakurta, "Fully adaptive composition for Gaussian differential privacy", arXiv:2210.17520.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy.accounting.totals import Cost, composed_epsilon, largest_gaussian, within
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger.entry import Entry, check_purpose, refusal
from discreet.privacy.ledger.reservation import Reservation
from discreet.privacy.ledger.storage import NeverCopied, Storage
from discreet.privacy.units import Guarantee, check_delta, check_epsilon, check_unit

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = ["Cost", "Entry", "Ledger", "Reservation"]


class Ledger(NeverCopied):
    """A privacy budget for one corpus, and the list of what was booked on it.

    Parameters
    ----------
    epsilon, delta : float
        The budget in all. ``epsilon = inf`` books without limit.
    privacy_unit : {"document", "author", "word", "report", "pair"}, default "document"
        Whose presence (or content) is hidden.
    neighboring : {"add_or_remove_one", "replace_one"}, default "add_or_remove_one"
    path : path, optional
        Keep the ledger in this file, shared by all processes that name it; see :meth:`open`.

    Notes
    -----
    Safe to share between threads, and between processes where it has a path. ``copy.copy``, ``copy.deepcopy`` and
    scikit-learn's ``clone`` return the same ledger, because a copy would be a second budget for the same text. A
    pickled ledger comes back closed (or, with a path, opened from its file), and a forked process cannot book on
    a ledger that has no path.

    Two ledgers are equal when budget, unit, relation and bookings are.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        privacy_unit: str = "document",
        neighboring: str = "add_or_remove_one",
        path: str | Path | None = None,
    ) -> None:
        self._epsilon = check_epsilon(epsilon)
        self._delta = check_delta(delta)
        check_unit(privacy_unit, neighboring)
        self._privacy_unit = privacy_unit
        self._neighboring = neighboring
        self._entries: tuple[Entry, ...] = ()
        self._storage = Storage()
        self._closed = False
        if path is not None:
            self._storage.path = Path(
                path
            ).resolve()  # through links, so that all names of a file are one ledger
            with ledger_file.locked(self._storage.path):
                if self._storage.path.exists():
                    raise PrivacyError(
                        f"{path} exists already; use Ledger.open({str(path)!r}) to go on with it."
                    )
                ledger_file.write(self._storage.path, self._json(()))

    @classmethod
    def open(
        cls,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        privacy_unit: str | None = None,
        neighboring: str | None = None,
    ) -> "Ledger":
        """Open the ledger kept in a file; make it where the file is absent and a budget is given.

        Parameters
        ----------
        path : path
        epsilon, delta : float, optional
            Budget of a new ledger. An existing one keeps its own.
        privacy_unit, neighboring : str, optional
            Must be those of an existing ledger where they are given.

        Raises
        ------
        PrivacyError
            Where the file is absent and no budget is given, is damaged, or protects another unit.
        """
        path = Path(path).resolve()
        if not path.exists():
            if epsilon is None or delta is None:
                raise PrivacyError(f"there is no ledger at {path}; give epsilon and delta to make one.")
            new = cls(
                epsilon,
                delta,
                privacy_unit=privacy_unit or "document",
                neighboring=neighboring or "add_or_remove_one",
            )
            with ledger_file.locked(path):
                if not path.exists():  # else another process was quicker: go on with its ledger
                    ledger_file.write(path, new.to_json())
        ledger = cls.from_json(ledger_file.read(path))
        unit, relation = privacy_unit or ledger.privacy_unit, neighboring or ledger.neighboring
        if (ledger.privacy_unit, ledger.neighboring) != (unit, relation):
            raise PrivacyError(
                f"the ledger {path} protects {ledger.privacy_unit} ({ledger.neighboring}), but this run would "
                f"protect {unit} ({relation}); use one unit for one ledger."
            )
        ledger._storage.path = path
        return ledger

    @property
    def epsilon(self) -> float:
        """The budget's epsilon."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self._delta

    @property
    def privacy_unit(self) -> str:
        """Whose presence (or content) is hidden."""
        return self._privacy_unit

    @property
    def neighboring(self) -> str:
        """How two corpora differ that must look alike."""
        return self._neighboring

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
        """All bookings, oldest first."""
        self._refresh()
        return self._entries

    def reserve(self, event: "Event", purpose: str) -> Reservation:
        """Book an event, before the data it will be computed from are read.

        Parameters
        ----------
        event : event
            As made by :mod:`discreet.privacy.accounting.events`.
        purpose : str
            What it is for; goes into the ledger, and so into every release. Do not write secrets.

        Returns
        -------
        Reservation

        Raises
        ------
        BudgetExceeded
            Where all events together would exceed the budget. Nothing is booked.
        PrivacyError
            Where the ledger is closed, or the event is of a kind that is not accounted for.
        """
        self._check_open()
        check_purpose(purpose)
        reservation = Reservation(event, purpose)
        self._book((Entry(event, purpose),))
        return reservation

    def plan(self, parts: Sequence[tuple["Event", str]]) -> list[Reservation]:
        """Book several events at once, priced together, before any of their data are read.

        What is known beforehand is best booked so: words and then topics, all rounds of a training. The parts are
        booked all or none, and each is drawn on by itself, in any order.

        Parameters
        ----------
        parts : sequence of (event, purpose)
            As for :meth:`reserve`, one entry each.

        Returns
        -------
        list of Reservation
            One for each part, in their order.

        Raises
        ------
        BudgetExceeded
            Where the parts together do not fit. Nothing is booked.
        PrivacyError
            As for :meth:`reserve`, or where there is no part.
        """
        self._check_open()
        if not parts:
            raise PrivacyError("a plan needs at least one (event, purpose), but there is none.")
        for _, purpose in parts:
            check_purpose(purpose)
        reservations = [Reservation(event, purpose) for event, purpose in parts]
        self._book(tuple(Entry(event, purpose) for event, purpose in parts))
        return reservations

    def reserve_parallel(self, parts: Sequence["Event"], purpose: str) -> tuple[Reservation, ...]:
        """Book events on *disjoint* sets of units, at the cost of the worst of them.

        Every unit is in one set only, so adding or removing it changes one release only, and what is promised
        to it is what that release promises.

        Parameters
        ----------
        parts : sequence of events
            One for each set. The caller vouches that no unit is in two of the sets, and that a unit's set
            depends on that unit alone (its year, its clinic; not its place in the file). Under ``replace_one`` the
            replacement must stay in its set.
        purpose : str
            As for :meth:`reserve`.

        Returns
        -------
        tuple of Reservation
            One for each set, in the order of ``parts``.

        Raises
        ------
        BudgetExceeded
            Where the worst event does not fit. Nothing is booked.
        PrivacyError
            Where no event is clearly the worst (see :func:`discreet.privacy.accounting.events.parallel`).
        """
        from discreet.privacy.accounting import events

        self._check_open()
        check_purpose(purpose)
        worst = events.parallel(parts)
        reservations = tuple(
            Reservation(event, f"{purpose}, part {number} of {len(parts)}")
            for number, event in enumerate(parts, 1)
        )
        self._book((Entry(worst, f"{purpose} (worst of {len(parts)} disjoint parts)"),))
        return reservations

    def _book(self, parts: tuple[Entry, ...]) -> None:
        with self._storage.exclusively():
            self._refresh()
            wanted = (*self._entries, *parts)
            total = self._cost(wanted)
            if not within(total.epsilon, self._epsilon):
                left = self.remaining().epsilon
                raise BudgetExceeded(refusal(parts, len(wanted), self._epsilon, total, left))
            if self._storage.path is not None:
                ledger_file.write(self._storage.path, self._json(wanted))
            self._entries = wanted

    def _check_open(self) -> None:
        if self._closed:
            raise PrivacyError(
                "this ledger is a closed record (of a release, or pickled); book on the ledger that made it. One that "
                "several processes may book on is kept in a file: Ledger.open."
            )
        self._storage.check_process()

    def spent(self) -> Cost:
        """Return what all bookings cost together, at the budget's delta."""
        return self._cost(self.entries)

    def remaining(self, *planned: "Event") -> Cost:
        """Return the largest epsilon, at the budget's delta, that one more Gaussian release could be calibrated to.

        That is: a release with ``noise_multiplier_for(epsilon, delta)`` can still be reserved, after the ``planned``
        events (``planned_event()`` of other estimators). Exact where all are Gaussian; otherwise up to 0.1 % too small.
        """
        if math.isinf(self._epsilon):
            return Cost(math.inf, self._delta, "no limit")
        found = largest_gaussian(
            [*(entry.event for entry in self.entries), *planned],
            self._epsilon,
            self._delta,
            neighboring=self._neighboring,
        )
        return Cost(found, self._delta, "one more Gaussian release")

    def guarantee(self) -> Guarantee:
        """Return the promise that everything booked so far amounts to."""
        spent = self.spent()
        return Guarantee(spent.epsilon, spent.delta, self._privacy_unit, self._neighboring, spent.accountant)

    def snapshot(self) -> "Ledger":
        """Return a closed copy, as a release carries it."""
        copy = Ledger(
            self._epsilon, self._delta, privacy_unit=self._privacy_unit, neighboring=self._neighboring
        )
        copy._entries = self.entries
        copy._closed = True
        return copy

    def to_json(self) -> dict[str, Any]:
        """Return the ledger as JSON values, with a schema version and a checksum."""
        return self._json(
            self.entries if self._storage.path is not None and self._storage.path.exists() else self._entries
        )

    @classmethod
    def from_json(cls, value: Any) -> "Ledger":
        """Return the ledger that :meth:`to_json` wrote. It is open, and has no file.

        Raises
        ------
        PrivacyError
            Where the schema is not known, the checksum does not fit, or anything else is off. The checksum
            notices accidents and careless edits; it is no signature, and whoever edits on purpose can renew
            it.
        """
        fields = ledger_file.check(value)
        ledger = cls(
            fields.epsilon, fields.delta, privacy_unit=fields.privacy_unit, neighboring=fields.neighboring
        )
        from discreet.privacy.accounting import events

        ledger._entries = tuple(Entry(events.from_json(event), purpose) for event, purpose in fields.entries)
        for entry in ledger._entries:
            list(events.leaves(entry.event))
        return ledger

    def _json(self, entries: tuple[Entry, ...]) -> dict[str, Any]:
        from discreet.privacy.accounting import events

        written = [{"purpose": entry.purpose, "event": events.to_json(entry.event)} for entry in entries]
        return ledger_file.seal(self._epsilon, self._delta, self._privacy_unit, self._neighboring, written)

    def _cost(self, entries: tuple[Entry, ...]) -> Cost:
        return composed_epsilon(
            [entry.event for entry in entries], self._delta, neighboring=self._neighboring
        )

    def _refresh(self) -> None:
        if self._storage.path is None or not self._storage.path.exists():
            return
        found = Ledger.from_json(ledger_file.read(self._storage.path))
        budget = (self._epsilon, self._delta, self._privacy_unit, self._neighboring)
        if (found._epsilon, found._delta, found._privacy_unit, found._neighboring) != budget:
            raise PrivacyError(
                f"the ledger file {self._storage.path} was replaced by another ledger; put it back."
            )
        if found._entries[: len(self._entries)] != self._entries:
            raise PrivacyError(
                f"the ledger file {self._storage.path} lacks bookings that it held before; restore the newer one."
            )
        self._entries = found._entries

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any:
        if self._storage.path is not None:
            return Ledger.open, (str(self._storage.path.absolute()),)
        return _reopen_closed, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.to_json() == other.to_json()

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (bookings change what it equals)

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        return (
            f"Ledger(epsilon={self._epsilon:g}, delta={self._delta:g}, privacy_unit={self._privacy_unit!r}, "
            f"{len(self._entries)} booked{closed})"
        )


def _reopen_closed(value: Any) -> Ledger:
    return Ledger.from_json(value).snapshot()
