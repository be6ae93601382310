r"""The ledger: what was promised in all, and what was spent of it. Booked before the sums are made.

``reserve`` adds an event to the list if the budget (epsilon, delta) still covers all, and raises
:class:`~discreet.errors.BudgetExceeded` otherwise, with nothing changed. It returns a :class:`Reservation`; mechanisms
draw on it (``use``) when they release something. What is reserved and never used stays spent: a crash cannot give
budget back.

Why adaptive use is safe
------------------------
The next booking may be chosen, its size and its kind, by whatever earlier ones released: the ledger is a filter, with
its rule and proof in :mod:`discreet.privacy.ledger.filter`. A reservation of Gaussian noise may in turn be used for
several releases whose noise multipliers :math:`\sigma_i` are chosen on the way, as long as
:math:`\sum_i \sigma_i^{-2}` stays within what was reserved; the sum is kept as an exact fraction.

References
----------
Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", arXiv:1605.08294.
Feldman, Zrnic, "Individual privacy accounting via a Rényi filter", arXiv:2008.11193.
Smith, Thakurta, "Fully adaptive composition for Gaussian differential privacy", arXiv:2210.17520.
Koskela, Tobaben, Honkela, "Individual privacy accounting with Gaussian differential privacy", arXiv:2209.15596.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

from discreet._base.display import facts_html, frame, table_html
from discreet._base.validate import check, number, optional
from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.curves import sort_events
from discreet.privacy.accounting.events import Event
from discreet.privacy.accounting.totals import Cost, largest_gaussian, within
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger.file import Storage, check_original
from discreet.privacy.ledger.filter import Budget, Standing, check_division, dearest
from discreet.privacy.ledger.refusal import EventsAt, refusal
from discreet.privacy.ledger.reservation import Entry, Reservation, begins_with, check_purpose
from discreet.privacy.units import (
    Guarantee,
    check_delta,
    check_epsilon,
    check_unit,
    check_unit_name,
    round_up,
)

#: As in every estimator.
DEFAULT_DELTA = 1e-6


class Ledger:
    """A privacy budget for one corpus, and the list of what was booked on it.

    Parameters
    ----------
    epsilon : float
        The budget in all; ``inf`` books without limit.
    delta : float, default 1e-6
        What is allowed beyond exp(epsilon) in all, as in every estimator. Pure losses alone (Laplace noise)
        need none of it: there ``events.PURE_DELTA`` is as good as zero, and as cheap.
    privacy_unit : {"document", "person", "word", "report", "pair"}, default "document"
        Whose presence (or content) is hidden.
    neighboring : {"add_or_remove_one", "replace_one"}, default "add_or_remove_one"
    path : path, optional
        Keep the ledger in this file, shared by all processes that name it; see :meth:`open`.
    failure_share : float, optional
        Share of delta, from 0 to 1, that is set aside for failures after the first booking: those of a vocabulary's
        threshold, and those by which what is neither Gaussian nor pure (Poisson samples, say) is covered. The more, the
        dearer is Gaussian noise. By default the first booking decides: nothing where it is all Gaussian, so that such a
        ledger loses nothing; a tenth otherwise, where that leaves the budget enough for that booking.
    unit_name : str, optional
        What one person is called, such as "patient": in this ledger, and in every release and message. Public.

    Notes
    -----
    Safe to share between threads, and between processes where it has a path. ``copy.copy``, ``copy.deepcopy`` and
    scikit-learn's ``clone`` return the same ledger, because a copy would be a second budget for the same text. A
    pickled ledger comes back closed (or, with a path, opened from its file), and a forked process cannot book on
    a ledger that has no path.

    Two ledgers are equal when budget, unit and its name, relation and bookings are.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = DEFAULT_DELTA,
        *,
        privacy_unit: str = "document",
        neighboring: str = "add_or_remove_one",
        path: str | Path | None = None,
        failure_share: float | None = None,
        unit_name: str | None = None,
    ) -> None:
        check_unit(privacy_unit, neighboring)
        check(failure_share=(failure_share, optional(number(least=0, below=1))))
        self._budget = Budget(
            check_epsilon(epsilon),
            check_delta(delta),
            privacy_unit,
            neighboring,
            check_unit_name(unit_name, privacy_unit),
            None if failure_share is None else float(failure_share),
        )
        self._storage = Storage(self._budget)
        self._closed = False
        self._rehearses = False
        if path is not None:
            # through links, so that all names of a file are one ledger
            self._storage.settle(Path(path).resolve(), self._storage.identity)
            assert self._storage.path is not None
            if not ledger_file.create(self._storage.path, self._sealed(())):
                raise PrivacyError(f"{path} exists already; use Ledger.open({str(path)!r}) to go on with it.")

    @classmethod
    def open(
        cls,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        privacy_unit: str | None = None,
        neighboring: str | None = None,
        failure_share: float | None = None,
        unit_name: str | None = None,
    ) -> Ledger:
        """Open the ledger kept in a file; make it where the file is absent and a budget is given.

        Parameters
        ----------
        path : path
        epsilon, delta, failure_share : float, optional
            Budget of a new ledger, which needs an epsilon at least.
        privacy_unit, neighboring, unit_name : str, optional
            These, epsilon and delta must be those of an existing ledger where they are given.

        Raises
        ------
        PrivacyError
            Where the file is absent and no epsilon is given, is damaged, a copy or a record, protects another unit, or
            has another budget.
        """
        path = Path(path).resolve()
        if not path.exists():
            if epsilon is None:
                raise PrivacyError(f"there is no ledger at {path}; give epsilon and delta to make one.")
            new = cls(
                epsilon,
                DEFAULT_DELTA if delta is None else delta,
                privacy_unit=privacy_unit or "document",
                neighboring=neighboring or "add_or_remove_one",
                failure_share=failure_share,
                unit_name=unit_name,
            )
            new._storage.path = path
            # Where another process was quicker, nothing is written; go on with its ledger.
            ledger_file.create(path, new._sealed(()))
        ledger = cls._from_fields(fields := ledger_file.check(ledger_file.read(path)))
        unit, relation = privacy_unit or ledger.privacy_unit, neighboring or ledger.neighboring
        if (ledger.privacy_unit, ledger.neighboring) != (unit, relation):
            raise PrivacyError(
                f"the ledger {path} protects {ledger.called} ({ledger.neighboring}), but this run would "
                f"protect {unit} ({relation}); use one unit for one ledger."
            )
        ledger.check_called(unit_name)
        for name, given, kept in (("epsilon", epsilon, ledger.epsilon), ("delta", delta, ledger.delta)):
            if given is not None and given != kept:
                raise PrivacyError(
                    f"the ledger {path} was made with {name} = {kept:g}, not {given:g}; leave the budget out. A "
                    "second ledger for the same texts would not tell what this one has spent."
                )
        ledger._storage.settle(path, check_original(path, fields))
        return ledger

    def reserve(
        self,
        event: Event,
        purpose: str,
        *,
        at_epsilon: Callable[[float], Event] | None = None,
        once: str | None = None,
        division: str = "",
        touched: Sequence[str] = (),
    ) -> Reservation:
        """Book an event, before the sum that it pays for is made.

        Whatever earlier releases showed may decide what is booked next, its kind too. An event may read some parts of
        the corpus only, as months that are released one after another (``division``, ``touched``): each document pays
        for its own part, and what is spent is the dearest part. Proof, and what is refused (people, replaced
        documents, a second division): :mod:`discreet.privacy.ledger.filter`.

        Parameters
        ----------
        event : event
            As made by :mod:`discreet.privacy.accounting.events`. All of it is fixed now, and priced as one.
        purpose : str
            What it is for; goes into the ledger, and so into every release. Do not write secrets.
        at_epsilon : callable, optional
            The event that the same release would have at another epsilon: lets a refusal say which would fit.
        once : str, optional
            A part of ``purpose`` that no earlier booking may have: what must not be answered twice is then refused, in
            whichever process, before anything is booked.
        division : str
            The public rule that says which part a document is in, such as "month of the date received". You vouch that
            it looks at nothing but the document, and that the answer stays the same.
        touched : sequence of str
            The parts that the event reads; no document of another part has any influence on it.

        Returns
        -------
        Reservation

        Raises
        ------
        BudgetExceeded, PrivacyError
            Where the budget does not cover it; where the ledger is closed, the event is of a kind or size that is not
            accounted for, or ``once`` is no part of ``purpose`` or stands in an earlier booking. Nothing is booked.
        """
        return self._book([(event, purpose)], at_epsilon, once, division, tuple(touched))[0]

    def plan(
        self,
        parts: Sequence[tuple[Event, str]],
        *,
        at_epsilon: EventsAt | None = None,
        then: Sequence[tuple[Event, str]] = (),
    ) -> list[Reservation]:
        """Book several events at once, priced together, before the sums that they pay for are made.

        What is known beforehand is best booked so: words and then topics, all rounds of a training. The parts are
        booked all or none, composed exactly like one event, and each is drawn on by itself, in any order.

        Parameters
        ----------
        parts : sequence of (event, purpose)
            As for :meth:`reserve`, one entry each.
        at_epsilon : callable, optional
            The events of all parts, and of what comes ``then``, at another epsilon in all, for a refusal.
        then : sequence of (event, purpose)
            What is to be booked next, and must fit after the parts; it is not booked. What the parts show may decide
            that it never will be, and somebody else's booking may take its place.

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
        if not parts:
            raise PrivacyError("a plan needs at least one (event, purpose), but there is none.")
        return self._book(parts, at_epsilon, then=then)

    def _book(
        self,
        parts: Sequence[tuple[Event, str]],
        at_epsilon: EventsAt | None = None,
        once: str | None = None,
        division: str = "",
        touched: tuple[str, ...] = (),
        then: Sequence[tuple[Event, str]] = (),
    ) -> list[Reservation]:
        self._check_open()
        for _, purpose in (*parts, *then):
            check_purpose(purpose)
        if once is not None and not any(once in purpose for _, purpose in parts):
            raise PrivacyError(
                "`once` must be a part of `purpose`, by which a later booking finds it; nothing was booked."
            )
        # what its caller holds can be changed; what a file cannot hold, such as a float of one's own kind, is refused
        parts = [(events.from_json(events.to_json(event)), purpose) for event, purpose in parts]
        reservations = [
            Reservation(*part, self.privacy_unit, self.neighboring, rehearsed=self._rehearses)
            for part in parts
        ]
        storage = self._storage
        with storage.exclusively() as turn:
            self._refresh()
            before = storage.entries
            if once is not None and any(once in entry.purpose for entry in storage.entries):
                raise PrivacyError(
                    f"{once!r} is booked on this ledger already, and must be once; nothing was booked."
                )
            if division or touched:
                check_division(storage.entries, division, touched, self._budget)
            standings, booked = storage.standings(), [event for event, _ in parts]
            standing, total = dearest(standings.distinct(touched), booked)
            if then:
                after = standings.after(booked, touched).distinct(touched)
                total = dearest(after, [event for event, _ in then])[1]
            if not within(total.epsilon, self.epsilon):
                left = self.remaining().epsilon
                raise BudgetExceeded(*refusal(standing, [*parts, *then], at_epsilon, total, left))
            if storage.entries is not before:
                raise PrivacyError(
                    "something else was booked on this ledger while this was priced, by a signal's handler perhaps; "
                    "nothing was booked for this: book again."
                )
            number = 1 + max((entry.booking for entry in before), default=0)
            nonce = secrets.token_hex(16)
            new = tuple(Entry(*part, number, division, touched, nonce) for part in parts)
            entries = (*before, *new)
            if turn is not None:
                storage.settle(turn.path, storage.identity)
                turn.write(self._sealed(entries))
            storage.entries = entries
        for reservation, entry in zip(reservations, new, strict=True):
            reservation.entry = entry
        return reservations

    def _check_open(self) -> None:
        if self._closed:
            raise PrivacyError(
                "this ledger is a closed record (of a release, or pickled); book on the ledger that made it, or, where "
                "nobody holds that any more, on a new one, and say of its releases that more was spent on these texts: "
                "with_details(other_spending=...). One that several runs may book on is kept in a file: Ledger.open."
            )
        self._storage.check_process()

    def snapshot(self) -> Ledger:
        """Return a closed copy, as a release carries it."""
        copy = self._from_fields(ledger_file.Fields(self._budget, self.entries))
        copy._closed = True
        return copy

    def rehearsal(self) -> Ledger:
        """Return an open copy to try bookings on: its reservations release nothing, and this ledger stays as it is."""
        copy = self._from_fields(ledger_file.Fields(self._budget, self.entries))
        copy._rehearses = True
        return copy

    # ---- what it says; reading spends nothing

    @property
    def epsilon(self) -> float:
        """The budget's epsilon."""
        return self._budget.epsilon

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self._budget.delta

    @property
    def failure_left(self) -> float:
        """How much failure probability one more booking may have (a choice of words does); delta before the first."""
        self._refresh()
        return float(min(standing.failure_left for standing in self._storage.standings().distinct()))

    @property
    def identity(self) -> str:
        """What tells this ledger from all others, whatever is booked on it; the same for all who open one file."""
        return self._storage.identity

    @property
    def failure_share(self) -> float | None:
        """Share of delta set aside for failures after the first booking; None where that booking decides."""
        return self._budget.failure_share

    @property
    def privacy_unit(self) -> str:
        """Whose presence (or content) is hidden."""
        return self._budget.privacy_unit

    @property
    def unit_name(self) -> str:
        """What one unit is called, or "" where it has the name of its kind."""
        return self._budget.unit_name

    @property
    def called(self) -> str:
        """What one unit is called: "patient", or the kind of unit."""
        return self.unit_name or self.privacy_unit

    def check_called(self, unit_name: str | None) -> None:
        """Raise ``PrivacyError`` where a name is given, and units are called otherwise here."""
        if check_unit_name(unit_name, self.privacy_unit) not in ("", self.unit_name):
            raise PrivacyError(
                f"`unit_name` is {unit_name!r}, but the ledger calls a unit {self.called!r}; leave it out, or make a "
                "new ledger."
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

    def discard_if_unused(self) -> None:
        """Remove the file of a ledger on which nobody ever booked anything; one that holds a booking stays."""
        if self.path is not None and not self.entries:
            ledger_file.remove_unused(self.path)

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
        self._refresh()
        return self._storage.standings().cost()

    def remaining(self, *planned: Event, together: bool = False) -> Cost:
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
        standings = self._storage.standings().distinct()
        least = min(self._left(standing, planned, together) for standing in standings)
        return Cost(least, self.delta, "one more Gaussian release")

    def _left(self, standing: Standing, planned: tuple[Event, ...], together: bool) -> float:
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

    def _sealed(self, entries: tuple[Entry, ...]) -> dict[str, Any]:
        """Return the content of the ledger's file."""
        fields = ledger_file.Fields(self._budget, entries, self._storage.identity, str(self.path))
        return ledger_file.seal(fields)

    def _refresh(self) -> None:
        storage = self._storage
        if storage.path is None or not storage.path.exists():
            return
        with storage.lock:  # else a booking that another thread makes meanwhile would be forgotten
            found = ledger_file.check(ledger_file.read(storage.path))
            if (found.identity, found.budget) != (storage.identity, self._budget):
                raise PrivacyError(
                    f"the ledger file {storage.path} was replaced by another ledger; put it back."
                )
            entries = found.entries
            if not begins_with(entries, storage.entries):
                raise PrivacyError(
                    f"the ledger file {storage.path} lacks bookings that it held before; restore the newer one."
                )
            storage.entries = entries

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self._budget, self.entries) == (other._budget, other.entries)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (bookings change what it equals)

    def to_frame(self) -> Any:
        """Return the bookings as a frame: booking, purpose, event."""
        return frame(
            {
                "booking": [entry.booking for entry in self.entries],
                "purpose": [entry.purpose for entry in self.entries],
                "event": [events.in_words(entry.event) for entry in self.entries],
            }
        )

    def _repr_html_(self) -> str:
        spent, left = self.spent(), self.remaining()
        budget = "no limit" if math.isinf(self.epsilon) else f"{self.epsilon:g}"
        facts = [
            ("budget", f"epsilon = {budget}, delta = {self.delta:g}, for each {self.called}"),
            ("spent", f"epsilon = {round_up(spent.epsilon)}, delta = {round_up(spent.delta)}"),
            ("left", "nothing: closed" if self.closed else f"epsilon = {left.epsilon:.4g}"),
        ]
        rows = [
            (str(number), entry.purpose, events.in_words(entry.event))
            for number, entry in enumerate(self.entries, 1)
        ]
        return facts_html("Ledger", facts, table_html(("", "for", "as"), rows))

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        unit = repr(self.privacy_unit) + (f", unit_name={self.unit_name!r}" if self.unit_name else "")
        return (
            f"Ledger(epsilon={self.epsilon:g}, delta={self.delta:g}, privacy_unit={unit}, "
            f"{len(self._storage.entries)} booked{closed})"
        )

    # ---- as JSON

    def to_json(self) -> dict[str, object]:
        """Return a record of the ledger as JSON values, with a schema version and a checksum."""
        return ledger_file.seal(ledger_file.Fields(self._budget, self.entries))

    @classmethod
    def from_json(cls, value: object) -> Ledger:
        """Return the ledger that :meth:`to_json` wrote: closed, for two that read one JSON would be two budgets.

        Raises
        ------
        PrivacyError
            Where the schema is not known, the checksum does not fit, or anything else is off; where it was read from a
            ledger's file, which must be opened by its path. The checksum notices accidents and careless edits; it is no
            signature, and whoever edits on purpose can renew it.
        """
        fields = ledger_file.check(value)
        if fields.path is not None:
            raise PrivacyError("this is the content of a ledger file; use Ledger.open with the file's path.")
        ledger = cls._from_fields(fields)
        ledger._closed = True
        return ledger

    @classmethod
    def _from_fields(cls, fields: ledger_file.Fields) -> Ledger:
        ledger = cls(**fields.budget._asdict())
        ledger._storage.entries = fields.entries
        return ledger

    # ---- one object whoever copies it: a copy would be a second budget for the same text

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any], /) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any:
        if self.path is not None:
            return Ledger.open, (str(self.path),)
        return Ledger.from_json, (self.to_json(),)
