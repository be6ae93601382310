"""What every estimator of private text does around its algorithm: refuse, say what it will cost, book.

It stands beside the release and not in one of the trust settings, because all of them may import it from here, and
because the floors below, which promise nothing, may not.
"""

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sklearn.base import BaseEstimator

from discreet._base.persons import check_persons, knows_persons
from discreet._base.validate import Checked, collect, is_whole, kind_of, refuse, shown
from discreet.errors import (
    DiscreetError,
    LargeDeltaWarning,
    Parameter,
    ParameterError,
    PrivacyError,
    Proposal,
)
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.ledger.refusal import EventsAt
from discreet.privacy.units import check_delta, check_epsilon
from discreet.release.booking.booked_choices import faults_of_choices, ledger_of_choices
from discreet.release.booking.separate_budgets import notice_fit
from discreet.release.numbers import NumbersRelease, Promised, faults_of_topics

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event

__all__ = [
    "Booking",
    "Plan",
    "PlannedEstimator",
    "PrivateEstimator",
    "book_together",
    "faults_of_call",
    "faults_of_estimator",
    "faults_of_persons",
]


class Plan(NamedTuple):
    """What a fit will do, from parameters alone.

    Attributes
    ----------
    event : event
        What it costs; what will be booked.
    how : Any
        What the algorithm needs to keep to it: a noise multiplier, a method.
    """

    event: "Event"
    how: Any = None


class Booking(NamedTuple):
    """What was planned and reserved, and where."""

    ledger: Ledger
    plan: Plan
    reservation: Reservation


class PlannedEstimator(Checked, BaseEstimator, ABC):
    """Base of all estimators of private text: what they cost is known before they see any."""

    @abstractmethod
    def planned_event(self) -> "Event":
        """Return the event of what ``fit`` will release, from parameters alone.

        Raises
        ------
        ParameterError, PrivacyError
            Naming all parameters that are out of range.
        """


class PrivateEstimator(PlannedEstimator):
    """Base of estimators that book their cost on a ledger before they look at data.

    A subclass has the parameters below, rules for its others (``_constraints``), and says what a fit would do
    (``_plan``) and what the ledger is told it is for (``_purpose``).
    """

    epsilon: Any
    delta: Any
    privacy_unit: Any
    random_state: int | None
    ledger: Ledger | None

    #: The relation that the promise is about.
    neighboring: ClassVar[str] = "add_or_remove_one"
    #: The units that a subclass can protect.
    _protects: ClassVar[tuple[str, ...]] = ("document", "person")

    def planned_event(self) -> "Event":
        """Return the event that ``fit`` would book, from parameters alone: before any data, and booking nothing.

        Returns
        -------
        event
            As made by :mod:`discreet.privacy.events`; ``composed_epsilon([event, ...], delta)`` tells what it costs,
            alone or together with others.

        Raises
        ------
        ParameterError, PrivacyError
            Naming all parameters that are out of range.
        """
        self._check_parameters()
        return self._plan().event

    @abstractmethod
    def _plan(self) -> Plan:
        """Return what a fit will do. Called where the parameters are right."""

    @abstractmethod
    def _purpose(self) -> tuple[str, Sequence[str]]:
        """Return what the cost is for, and remarks on it, as they stand in the ledger."""

    def _promised(self, plan: Plan) -> tuple[float, float]:
        """Return epsilon and delta of the fit, which are the budget of the ledger that it makes where it has none."""
        return self.epsilon, self.delta

    def _book(self, X: Any) -> Booking:
        """Plan and book: on the ledger given, or that of the choices of X, or a new one. X may be read from here on."""
        plan, ledger = self._plan(), self.ledger
        if ledger is None:
            ledger = ledger_of_choices(X) or self._own_ledger(plan)
        return Booking(ledger, plan, self._reserve(ledger, plan))

    def _reserve(self, ledger: Ledger, plan: Plan) -> Reservation:
        return ledger.reserve(plan.event, self._entry(), at_epsilon=self._event_at)

    def _notice(self, booking: Booking, counts: Any) -> None:
        """Warn where this text was fitted on another ledger. Twins and seeded fits are not for release: no warning.

        ``counts`` is None where their columns say on which ledger they were chosen: the text is known there.
        """
        if self.random_state is None and math.isfinite(self._promised(booking.plan)[0]):
            notice_fit(counts, booking.ledger)

    def _notice_delta(self, made: NumbersRelease) -> None:
        """Warn where the released number of units tells that delta promises hardly anything."""
        if made.large_delta is not None:
            warnings.warn(
                f"{made.large_delta} It was released all the same.", LargeDeltaWarning, stacklevel=4
            )

    def _event_at(self, epsilon: float) -> "Event":
        """Return the event that a fit would book at another epsilon."""
        other = copy.copy(self)
        other.epsilon = epsilon
        return other._plan().event

    def _own_ledger(self, plan: Plan) -> Ledger:
        terms: dict[str, Any] = {"privacy_unit": self.privacy_unit, "neighboring": self.neighboring}
        measured = getattr(self, "release", None)  # whose topics are looked at, by estimators that do that
        if isinstance(measured, Promised) and measured.ledger.privacy_unit == self.privacy_unit:
            terms["unit_name"] = measured.ledger.unit_name
        return Ledger(*self._promised(plan), **terms)

    @property
    def _called(self) -> str:
        """What one unit is called: by the ledger that was given, or its kind."""
        return self.ledger.called if self.ledger is not None else self.privacy_unit

    def _entry(self) -> str:
        what, remarks = self._purpose()
        if self.random_state is not None:
            remarks = [*remarks, "reproducible, not for release"]
        return f"{what} ({', '.join(remarks)})" if remarks else what

    # ---- refusals, before anything is booked or read

    def _check_call(self, X: Any, persons: Any) -> None:
        """Raise one error that tells all that is wrong with a call of ``fit``. Does not read X."""
        refuse([*self._faults(), *self._faults_of_call(X, persons)])

    def _faults(self) -> list[DiscreetError]:
        own = [*self._faults_of_promise(), *self._faults_of_ledger(), *super()._faults()]
        return own or faults_of_topics(getattr(self, "release", None), self.epsilon, self.ledger)

    def _faults_of_promise(self) -> list[DiscreetError]:
        least = getattr(self, "n_units_lower_bound", None)
        bound = least if is_whole(least) and not getattr(self, "allow_large_delta", False) else None
        return collect(
            lambda: check_epsilon(self.epsilon), lambda: check_delta(self.delta, n_units_lower_bound=bound)
        )

    def _faults_of_ledger(self) -> list[DiscreetError]:
        faults: list[DiscreetError] = []
        if self.privacy_unit not in self._protects:
            units = " or ".join(f'"{unit}"' for unit in self._protects)
            faults.append(
                PrivacyError(
                    Parameter("privacy_unit"), f" must be {units}, but is {shown(self.privacy_unit)}."
                )
            )
        if self.ledger is None:
            return faults
        if not isinstance(self.ledger, Ledger):
            said = f" must be a Ledger or None, but is {kind_of(self.ledger)}."
            return [*faults, PrivacyError(Parameter("ledger"), said)]
        if (self.ledger.privacy_unit, self.ledger.neighboring) != (self.privacy_unit, self.neighboring):
            faults.append(
                PrivacyError(
                    "the ",
                    Parameter("ledger"),
                    f" protects {self.ledger.called} ({self.ledger.neighboring}), but this fit would protect "
                    f"{self.privacy_unit} ({self.neighboring}); use one unit and relation for both.",
                )
            )
        return faults

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        """Return what is wrong with what comes with X: asks for what X carries, and reads none of it."""
        return [*faults_of_persons(self.privacy_unit, X, persons), *self._faults_of_choices(X)]

    def _faults_of_choices(self, X: Any) -> list[DiscreetError]:
        """Say where the columns of X were chosen privately, and what that cost would not be told with this fit."""
        return faults_of_choices(X, self.ledger, self.privacy_unit, self.neighboring, self._protects)


def faults_of_estimator(estimator: PrivateEstimator) -> list[DiscreetError]:
    """Return all that is wrong with the parameters of an estimator."""
    return estimator._faults()  # pyright: ignore[reportPrivateUsage]


def faults_of_call(estimator: PrivateEstimator, X: Any, persons: Any) -> list[DiscreetError]:
    """Return all that is wrong with what comes with X in a call of ``fit``. Does not read X."""
    return estimator._faults_of_call(X, persons)  # pyright: ignore[reportPrivateUsage]


def faults_of_persons(privacy_unit: Any, X: Any, persons: Any) -> list[DiscreetError]:
    """Say where people are the unit and nobody knows them, or are not and somebody does.

    And what is wrong with persons that come beside X. Looks at nothing of X but its size and the index of its rows.
    """
    known = persons is not None or knows_persons(X)
    if privacy_unit == "person" and persons is not None and isinstance(X, Iterator):
        return [
            PrivacyError(
                Parameter("persons"),
                " cannot be compared with documents that come one after another before the cost is booked: pass the "
                "documents as a list.",
            )
        ]
    if privacy_unit == "person" and known:
        try:
            if persons is not None:
                check_persons(X, persons)
        except PrivacyError as fault:
            return [fault]
        return []
    if privacy_unit == "person":
        advice = ('="person" needs to know the people; pass ', Proposal("persons"), " to fit.")
        return [PrivacyError(Parameter("privacy_unit"), *advice)]
    if privacy_unit == "document" and known:
        return [
            PrivacyError(
                Parameter("privacy_unit"),
                '="document" protects each document for itself, but ',
                Parameter("persons"),
                " say that one person may have written several, who would be protected less: take ",
                Proposal("privacy_unit", "person"),
                ", or leave the persons out (Corpus.without_persons()).",
            )
        ]
    if persons is not None:
        advice = (f" have no effect where the unit is {privacy_unit}: leave ", Proposal("persons"), " out.")
        return [ParameterError(Parameter("persons"), *advice)]
    return []


def book_together(
    ledger: Ledger,
    *estimators: PrivateEstimator,
    at_epsilon: EventsAt | None = None,
) -> list[Booking]:
    """Book what several estimators plan at once, all or none, priced together."""
    plans = [estimator._plan() for estimator in estimators]  # pyright: ignore[reportPrivateUsage]
    purposes = [estimator._entry() for estimator in estimators]  # pyright: ignore[reportPrivateUsage]
    parts = [(plan.event, purpose) for plan, purpose in zip(plans, purposes, strict=True)]
    reservations = ledger.plan(parts, at_epsilon=at_epsilon)
    return [Booking(ledger, *booked) for booked in zip(plans, reservations, strict=True)]
