r"""The ledger: what was promised in all, and what was spent of it. Booked before the data are read.

``reserve`` adds an event to the list if all events together still satisfy (epsilon, delta), and raises
:class:`~discreet.errors.BudgetExceeded` otherwise, with nothing changed. It returns a :class:`Reservation`;
mechanisms draw on it (``use``) when they release something. What is reserved and never used stays spent: a
crash cannot give budget back.

Why adaptive shares are safe ---------------------------- A reservation of one Gaussian event with noise
multiplier :math:`\sigma` may be used for several Gaussian releases whose noise multipliers :math:`\sigma_i`
are chosen on the way, looking at what was released before, as long as :math:`\sum_i \sigma_i^{-2} \le
\sigma^{-2}`. That is a filter for Gaussian differential privacy; the sum is kept as an exact fraction.

References ---------- Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters", arXiv:1605.08294. Smith,
Thakurta, "Fully adaptive composition for Gaussian differential privacy", arXiv:2210.17520.
"""

import math
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, SupportsIndex

from discreet.errors import BudgetExceeded, PrivacyError
from discreet.privacy import ledger_file
from discreet.privacy.accounting import Cost, composed_epsilon, gdp_epsilon, gdp_mu
from discreet.privacy.reservation import Reservation
from discreet.privacy.units import Guarantee, check_delta, check_epsilon, check_unit

__all__ = ["Cost", "Entry", "Ledger", "Reservation"]

#: Relative slack when a total is compared with the budget: sums of floats such as 0.1 + 0.2 against 0.3.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Entry:
    """One booking: an event, and what it was for."""

    event: Any
    purpose: str


class Ledger:
    """A privacy budget for one corpus, and the list of what was booked on it.

    Parameters
    ----------
    epsilon, delta : float
        The budget in all. ``epsilon = inf`` books without limit.
    privacy_unit : {"document", "author", "word", "report"}, default "document"
        Whose presence (or content) is hidden.
    neighboring : {"add_or_remove_one", "replace_one"}, default "add_or_remove_one"
    path : path, optional
        Keep the ledger in this file, shared by all processes that name it; see :meth:`open`.

    Notes ----- Safe to share between threads, and between processes where it has a path. ``copy.copy``,
    ``copy.deepcopy`` and scikit-learn's ``clone`` return the same ledger, because a copy would be a second
    budget for the same text. A pickled ledger comes back closed (or, with a path, opened from its file).
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
        self._lock = threading.RLock()
        self._closed = False
        self._path = None
        if path is not None:
            self._path = Path(path)
            with ledger_file.locked(self._path):
                if self._path.exists():
                    raise PrivacyError(
                        f"{path} exists already; use Ledger.open({str(path)!r}) to go on with it."
                    )
                ledger_file.write(self._path, self.to_json())

    @classmethod
    def open(
        cls,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        privacy_unit: str | None = None,
        neighboring: str = "add_or_remove_one",
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
        path = Path(path)
        if not path.exists():
            if epsilon is None or delta is None:
                raise PrivacyError(f"there is no ledger at {path}; give epsilon and delta to make one.")
            unit = privacy_unit or "document"
            return cls(epsilon, delta, privacy_unit=unit, neighboring=neighboring, path=path)
        ledger = cls.from_json(ledger_file.read(path))
        if privacy_unit is not None and (ledger.privacy_unit, ledger.neighboring) != (
            privacy_unit,
            neighboring,
        ):
            raise PrivacyError(
                f"the ledger {path} protects {ledger.privacy_unit} ({ledger.neighboring}), but this run would "
                f"protect {privacy_unit} ({neighboring}); use one unit for one ledger."
            )
        ledger._path = path
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
        return self._path

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All bookings, oldest first."""
        self._refresh()
        return self._entries

    def reserve(self, event: Any, purpose: str) -> Reservation:
        """Book an event, before the data it will be computed from are read.

        Parameters
        ----------
        event : event
            As made by :mod:`discreet.privacy.events`.
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
        if self._closed:
            raise PrivacyError(
                "this ledger is the closed record of a release; book on the ledger that made it, or on a new one."
            )
        if not isinstance(purpose, str) or not purpose:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PrivacyError("purpose must say in a few words what is booked, but is empty.")
        reservation = Reservation(event, purpose)
        with self._exclusively():
            wanted = (*self._entries, Entry(event, purpose))
            total = self._cost(wanted)
            if total.epsilon > self._epsilon * (1 + _ROUNDING):
                raise BudgetExceeded(self._refusal(purpose, total))
            if self._path is not None:
                ledger_file.write(self._path, self._json(wanted))
            self._entries = wanted
        return reservation

    def reserve_parallel(self, parts: Sequence[Any], purpose: str) -> Reservation:
        """Book events that are computed from *disjoint* sets of units, at the cost of the worst of them.

        The caller vouches that no unit is in two of the sets, and that a unit's set depends on that unit
        alone. The reservation covers one release of the worst event; make one reservation for each set of
        calls.
        """
        from discreet.privacy import events

        return self.reserve(events.parallel(parts), f"{purpose} (worst of {len(parts)} disjoint parts)")

    def spent(self) -> Cost:
        """Return what all bookings cost together, at the budget's delta."""
        return self._cost(self.entries)

    def remaining(self) -> Cost:
        """Return the largest epsilon, at the budget's delta, that one more Gaussian release could be calibrated to."""
        entries = self.entries
        if math.isinf(self._epsilon):
            return Cost(math.inf, self._delta, "no limit")
        from discreet.privacy import events

        def fits(mu: float) -> bool:
            total = self._cost((*entries, Entry(events.gaussian(1 / mu), "?")))
            return total.epsilon <= self._epsilon * (1 + _ROUNDING)

        low, high = 0.0, gdp_mu(self._epsilon, self._delta)
        if fits(high):
            low = high
        for _ in range(14):
            if high - low <= 1e-3 * high:
                break
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return Cost(gdp_epsilon(low, self._delta), self._delta, "one more Gaussian release")

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
        return self._json(self.entries if self._path is not None and self._path.exists() else self._entries)

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
        from discreet.privacy import events

        ledger._entries = tuple(Entry(events.from_json(event), purpose) for event, purpose in fields.entries)
        for entry in ledger._entries:
            list(events.leaves(entry.event))
        return ledger

    def _json(self, entries: tuple[Entry, ...]) -> dict[str, Any]:
        from discreet.privacy import events

        written = [{"purpose": entry.purpose, "event": events.to_json(entry.event)} for entry in entries]
        return ledger_file.seal(self._epsilon, self._delta, self._privacy_unit, self._neighboring, written)

    def _cost(self, entries: tuple[Entry, ...]) -> Cost:
        return composed_epsilon(
            [entry.event for entry in entries], self._delta, neighboring=self._neighboring
        )

    def _refusal(self, purpose: str, total: Cost) -> str:
        left = self.remaining().epsilon
        return (
            f"the budget of epsilon = {self._epsilon:g} (delta = {self._delta:g}) does not cover {purpose!r}: all "
            f"bookings together would come to {total.epsilon:.4g}; about {left:.3g} is left. Lower this epsilon "
            "(or its delta), or give the ledger a larger budget before anything else is spent."
        )

    def _refresh(self) -> None:
        if self._path is not None and self._path.exists():
            self._entries = Ledger.from_json(ledger_file.read(self._path))._entries

    @contextmanager
    def _exclusively(self) -> Generator[None]:
        with self._lock:
            if self._path is None:
                yield
                return
            with ledger_file.locked(self._path):
                if not self._path.exists():
                    raise PrivacyError(
                        f"the ledger file {self._path} is gone; nothing can be booked without it."
                    )
                self._refresh()
                yield

    def __copy__(self) -> "Ledger":
        return self

    def __deepcopy__(self, memo: dict[int, Any], /) -> "Ledger":
        return self

    def __sklearn_clone__(self) -> "Ledger":
        return self

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any:
        if self._path is not None:
            return Ledger.open, (str(self._path.absolute()),)
        return _reopen_closed, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.to_json() == other.to_json()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        return (
            f"Ledger(epsilon={self._epsilon:g}, delta={self._delta:g}, privacy_unit={self._privacy_unit!r}, "
            f"{len(self._entries)} booked{closed})"
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Ledger is neither true nor false; ask `ledger is None`, or ledger.remaining().epsilon > 0."
        )


def _reopen_closed(value: Any) -> Ledger:
    return Ledger.from_json(value).snapshot()
