"""What every estimator of private text does around its algorithm: refuse, say what it will cost, book.

It stands beside the release and not in one of the trust settings, because all of them may import it from here, and
because the floors below, which promise nothing, may not.

Where the columns of counts were chosen privately
=================================================
What is released of them is booked on that ledger, or refused. Counts of chosen columns are a function of the texts and
of the choice. If the choice is private at one cost, and what is computed from counts private at another for any fixed
columns, then both together are private at the composed cost; the second alone promises nothing of the choice, which
shows in it: a column of zeros is a word that was not chosen. So one ledger must hold both. That the choice stands there
is looked up by the number of its booking and the digest of what was booked, because a ledger can be put back to an
older state of itself. The digest holds a random nonce of the booking, because the same script, run again on the older
state, books the same again. That a seed was used stands there, too, in the purpose.

Noticing that one text is fitted twice, each time on a ledger of its own
========================================================================
Every release then tells too little. What is remembered is a keyed digest of what was read, and the ledger, for as long
as this process lives; the key is drawn anew in every process. It is a courtesy and no guard: another process knows
nothing of it, and a corpus with one document more, or other words, is another text to it. Whoever shares one ledger
between all fits needs none of this.
"""

import copy
import inspect
import math
import secrets
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from discreet._base.arrays import carried
from discreet._base.callers import warn_caller
from discreet._base.persons import check_persons, knows_persons, n_rows_of
from discreet._base.validate import Checked, collect, is_number, is_whole, kind_of, refuse, shown
from discreet.corpus.counting import check_counts
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.vocabulary import ColumnChoice, choices_of
from discreet.errors import (
    CorpusError,
    DiscreetError,
    LargeDeltaWarning,
    ParameterError,
    PrivacyError,
    SeparateBudgetsWarning,
)
from discreet.privacy.accounting import events
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.ledger.refusal import EventsAt, round_down
from discreet.privacy.units import check_delta, check_epsilon, round_up
from discreet.release.numbers import NumbersRelease, Promised, faults_of_topics

if TYPE_CHECKING:
    from discreet.privacy.accounting.events import Event
    from discreet.privacy.ledger.reservation import Entry


def booked_choice(ledger: Ledger, reservation: Reservation, *, seeded: bool) -> ColumnChoice:
    """Return the choice that a reservation paid for, as counts carry it."""
    entry = reservation.entry
    assert entry is not None  # it was booked by itself, or as a part of a plan
    return ColumnChoice(ledger.identity, entry.booking, entry.digest, seeded, ledger)


def ledger_of_choices(X: Any) -> Ledger | None:
    """Return the ledger on which the choices of the columns of X are booked, where there are any and it is at hand."""
    ledger = carried(X, "ledger") if choices_of(X) else None
    return ledger if isinstance(ledger, Ledger) else None


Estimator = TypeVar("Estimator", bound="PrivateEstimator")

#: Where neither a fit nor a ledger says it.
DELTA = 1e-6
_MOST_TEXTS = 256
_key = secrets.token_bytes(32)
_ledgers: "OrderedDict[tuple[str, ...], _Books]" = OrderedDict()
_taking_turns = threading.Lock()


@dataclass
class _Books:
    """The ledgers on which one text was fitted; how many bookings, and what, the last warning about it told.

    All warnings about a text tell epsilon at the delta of the first, so that what is told never falls as more is spent.
    """

    by_identity: "dict[str, Ledger]" = field(default_factory=dict)
    n_told: int = 0
    epsilon: float = 0.0
    delta: float = 0.0


def notice_fit(counts: Any | None, ledger: "Ledger", texts_digest: str = "") -> None:
    """Warn where what was booked adds to what a text has cost on several ledgers in this process.

    Every booking counts, whatever it read: words chosen from a text and topics fitted to those words stand on one
    ledger, and the text is known by the first of them. Noticed are the same counts, and the same texts in the same
    order, however they were cut into words. Not noticed are texts of which one is missing, added or changed, another
    privacy unit, shards of other cutting, and fits in other processes.

    ``counts`` are all that the fit has read; None for columns that were chosen from a text, which is known then.
    """
    if counts is not None:
        remember_text(counts, ledger, texts_digest)
    with _taking_turns:
        told = [_grown(books) for books in _ledgers.values() if ledger.identity in books.by_identity]
    worst = max((one for one in told if one is not None), default=None)
    if worst is not None:
        warn_caller(_told(*worst), SeparateBudgetsWarning)


def remember_text(counts: Any, ledger: "Ledger", texts_digest: str = "") -> None:
    """Remember that what was booked on a ledger read these canonical counts, or shards, or chose their columns."""
    with _taking_turns:
        for digest in filter(None, (_digest_of(counts), texts_digest)):
            text = (digest, ledger.privacy_unit, ledger.neighboring)
            _ledgers.setdefault(text, _Books()).by_identity[ledger.identity] = ledger
            _ledgers.move_to_end(text)
        while len(_ledgers) > _MOST_TEXTS:
            _ledgers.popitem(last=False)


def _digest_of(counts: Any) -> str:
    """Return a digest of canonical counts, or of shards, that nobody can make in another process."""
    digest = blake2b(repr(counts.shape).encode(), key=_key)
    if isinstance(counts, ShardedCorpus):
        digest.update("".join(entry.sha256 for entry in counts.manifest.entries).encode())
        return digest.hexdigest()
    for part in (counts.indptr, counts.indices, counts.data):
        digest.update(memoryview(part).cast("B") if len(part) else b"")
    return digest.hexdigest()


def _is_for_release(book: "Ledger") -> bool:
    """Whether something is booked there, and nothing with a seed."""
    purposes = [entry.purpose for entry in _entries(book)]
    seeded = any(NumbersRelease.REPRODUCIBLE in purpose for purpose in purposes)
    return bool(purposes) and not seeded and math.isfinite(book.epsilon)


def _entries(book: "Ledger") -> tuple["Entry", ...]:
    """Return what is booked there; nothing where its file was exchanged, which is the affair of whoever books there."""
    try:
        return book.entries
    except PrivacyError:
        return ()


def _grown(books: _Books) -> tuple[float, float, int] | None:
    """Return what a text has cost on all its ledgers: epsilon, delta, how many; None where that is told, or one."""
    # What has no privacy is not for release, and no part of what leaves.
    free, held = events.non_private(), books.by_identity.values()
    ledgers = [book for book in held if free not in [entry.event for entry in _entries(book)]]
    if len(ledgers) < 2:
        return None
    found = [entry.event for book in ledgers for entry in _entries(book)]
    if len(found) <= books.n_told:
        return None
    books.n_told = len(found)
    deltas, relation = min(sum(book.delta for book in ledgers), 0.5), ledgers[0].neighboring
    books.delta = books.delta or deltas
    together = composed_epsilon(found, books.delta, neighboring=relation).epsilon
    if math.isinf(together):  # some of what was booked since fails with more than the first delta
        books.delta = max(books.delta, deltas)
        together = composed_epsilon(found, books.delta, neighboring=relation).epsilon
    books.epsilon = max(books.epsilon, together)
    return books.epsilon, books.delta, len(ledgers)


def _told(together: float, delta: float, n_ledgers: int) -> str:
    return (
        f"the same text was fitted on {n_ledgers} ledgers in this process. Each release tells what stands on its own; "
        f"whoever sees all of them can learn as much as epsilon = {round_up(together)} at delta = {delta:g} allows. "
        "Share one: ledger = Ledger(epsilon, delta), and ledger=ledger in every call. If this is a search for "
        "settings (GridSearchCV), choose them on public text: discreet.evaluate.choose_n_topics."
    )


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
        """Return the event of what ``fit`` will release, from parameters alone."""


class PrivateEstimator(PlannedEstimator):
    """Base of estimators that book their cost on a ledger before they compute what they release.

    A subclass has the parameters below, rules for its others (``_constraints``), and says what a fit would do
    (``_plan``) and what the ledger is told it is for (``_purpose``).
    """

    epsilon: Any
    delta: Any
    privacy_unit: Any
    random_state: int | None
    ledger: Ledger | None
    #: Of which this is a copy, made by :func:`settled`.
    _of: "PrivateEstimator"
    #: Parameters for which a subclass has a rule of its own where nobody says them.
    _OWN_RULE: ClassVar[frozenset[str]] = frozenset()

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
        made = self._for_units_of(None)
        made._check_parameters()
        return made._plan().event

    def _for_units_of(self, X: Any, persons: Any = None) -> Self:
        """Return what fits X: this, or a copy with what nobody said.

        Persons are protected where they are known, or by the ledger; delta is that of the ledger.
        """
        book = self.ledger or (None if X is None else ledger_of_choices(X))
        others = getattr(getattr(self, "release", None), "ledger", None)
        known = (
            persons is not None or knows_persons(X) or getattr(book or others, "privacy_unit", "") == "person"
        )
        return settled(self, "person" if known else "document", book)

    def _take(self, made: "PrivateEstimator") -> Self:
        """Take what a fit of :meth:`_for_units_of` has found."""
        vars(self).update({name: value for name, value in vars(made).items() if name.endswith("_")})
        return self

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
        later = [self._settled_later(step, ledger) for step in _later_steps(getattr(self, "_of", self))]
        planned = [(step.planned_event(), step) for step in later]
        # A pipeline whose words are paid for and whose topics are not would have spent for nothing.
        then = [(event, step._entry()) for event, step in planned if event is not None]
        if not then:
            return ledger.reserve(plan.event, self._entry(), at_epsilon=self._event_at)
        return ledger.plan([(plan.event, self._entry())], then=then)[0]

    def _settled_later(self, step: "PrivateEstimator", ledger: Ledger) -> "PrivateEstimator":
        """Return a later step of a pipeline as it will book; refuse what would end it once this one is booked."""
        made, fault = copy.copy(settled(step, self.privacy_unit, ledger)), ""
        made.ledger = step.ledger or ledger
        if isinstance(made.ledger, Ledger) and made.ledger.identity != ledger.identity:
            fault = "the steps of this pipeline book on several ledgers: give each the same, as `ledger=`."
        if self.random_state is None and step.random_state is not None and math.isfinite(ledger.epsilon):
            fault = (
                "a later step of this pipeline has a seed: give `random_state` to all of them, or to none."
            )
        if fault:
            raise PrivacyError(f"{fault} Nothing was booked.")
        most = getattr(self, "max_words", None)
        refuse(step._faults_of_words(most) if most is not None else [])
        return made

    def _faults_of_words(self, n_words: int, spent: str = "") -> list[DiscreetError]:
        """Say where so few words cannot tell the topics apart, and what was spent."""
        return []

    def _notice(self, booking: Booking, counts: Any, texts_digest: str = "", *, later: bool = False) -> None:
        """Warn where this text was fitted on another ledger. Twins and seeded fits are not for release: no warning.

        ``counts`` is None where their columns say on which ledger they were chosen: the text is known there. ``later``:
        what follows on the ledger will warn of both.
        """
        if self.random_state is None and math.isfinite(self._promised(booking.plan)[0]):
            (remember_text if later else notice_fit)(counts, booking.ledger, texts_digest)

    def _notice_delta(self, made: NumbersRelease) -> None:
        """Warn where the released number of units tells that delta promises hardly anything."""
        if made.large_delta is not None:
            warn_caller(f"{made.large_delta} It was released all the same.", LargeDeltaWarning)

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
            remarks = [*remarks, NumbersRelease.REPRODUCIBLE]
        return f"{what} ({', '.join(remarks)})" if remarks else what

    # ---- refusals, before anything is booked or read

    def _check_call(self, X: Any, persons: Any) -> None:
        """Raise one error that tells all that is wrong with a call of ``fit``. Does not read X."""
        refuse([*self._faults(), *self._faults_of_call(X, persons)])

    def _faults(self) -> list[DiscreetError]:
        made = self._for_units_of(None)
        if made is not self:
            return made._faults()
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
            faults.append(PrivacyError(f"`privacy_unit` must be {units}, but is {shown(self.privacy_unit)}."))
        if not isinstance(self.ledger, Ledger):
            if self.ledger is not None:
                fault = f"`ledger` must be a Ledger or None, but is {kind_of(self.ledger)}"
                faults.append(PrivacyError(f"{fault}; Ledger.open makes one of a file."))
        elif (self.ledger.privacy_unit, self.ledger.neighboring) != (self.privacy_unit, self.neighboring):
            unit = self.ledger.privacy_unit
            whose = unit == "person" and self.privacy_unit == "document" and unit in self._protects
            told = "`privacy_unit='person'` and say whose each document is (`persons=`, or the column `person=`), or "
            fault = (
                f"the `ledger` protects {self.ledger.called} ({self.ledger.neighboring}), but this fit would protect "
                f"{self.privacy_unit} ({self.neighboring}): take {told * whose}a ledger of the same unit and relation."
            )
            faults.append(PrivacyError(fault))
        else:
            faults += self._faults_on(self.ledger)
        return faults

    def _faults_on(self, ledger: Ledger) -> list[DiscreetError]:
        """Say what does not go on a ledger, given or carried by X."""
        if _is_the_ledgers(type(self)) and is_number(self.delta) and self.delta > ledger.delta:
            fault = (
                f"`delta` = {self.delta:g} is above that of the `ledger`, {ledger.delta:g}, at which its releases are "
                "told, so that this one would cost more than its epsilon: leave `delta` out."
            )
            return [PrivacyError(fault)]
        if self.random_state is not None and _is_for_release(ledger):
            fault = (
                "`random_state` would mark all later releases of this `ledger` as reproducible, not for release, and "
                "its bookings until now had no seed: leave `random_state` out, or take a ledger of its own."
            )
            return [PrivacyError(fault)]
        return []

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        """Return what is wrong with what comes with X: asks for what X carries, and whether a matrix holds counts."""
        if n_rows_of(X) == 0:
            raise CorpusError("there is nothing to fit: expected at least one document.")
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
            check_counts(X)
        return [*faults_of_persons(self.privacy_unit, X, persons), *self._faults_of_choices(X)]

    def _faults_of_choices(self, X: Any) -> list[DiscreetError]:
        """Say where columns were chosen privately, and what that cost would not be told with this fit."""
        choices, given = choices_of(X), self.ledger
        if not choices or not (given is None or isinstance(given, Ledger)):
            return []
        book = given or ledger_of_choices(X)
        if len({choice.ledger for choice in choices}) > 1:
            fault = (
                "the columns went through choices on several ledgers, so that no one ledger can tell what this fit "
                "costs with them: make all choices on one, PrivateCountVectorizer(..., ledger=ledger)."
            )
        elif given is not None and given.identity != choices[0].ledger:
            fault = (
                "the words were chosen on another `ledger`, so that what they cost would be missing in this one: "
                "choose them on the same, PrivateCountVectorizer(..., ledger=ledger), or leave `ledger=` out, and this "
                "fit is booked where its words are."
            )
        elif book is None or book.closed:
            fault = (
                "the cost of choosing these words is booked on a ledger that is not at hand: they come from a file, "
                "the cache of a pipeline or another process, and a ledger goes with them only if it has a file of "
                "its own. Choose words on one, PrivateCountVectorizer(..., ledger=Ledger.open(path, epsilon, delta)), "
                "and pass it here, too: `ledger=`."
            )
        elif not all(book.holds(choice.booking, choice.entry) for choice in choices):
            fault = (
                "the `ledger` does not hold the choice of these words: it is an older state of the one that they were "
                "booked on, and their cost would be missing. Put the newer file back, or choose words anew."
            )
        elif given is None and (book.privacy_unit, book.neighboring) != (self.privacy_unit, self.neighboring):
            cure = "count with a public list of words the texts themselves, or take PrivateLDA"
            if book.privacy_unit in self._protects:
                cure = f"take `privacy_unit={book.privacy_unit!r}`"
            fault = (
                f"the choice of the words protects {book.called} ({book.neighboring}), but this fit would "
                f"protect {self.privacy_unit} ({self.neighboring}), and one promise cannot hold both: {cure}."
            )
        else:
            return [] if given is not None else self._faults_on(book)
        return [PrivacyError(fault)]


def _is_the_ledgers(kind: type[PrivateEstimator]) -> bool:
    """Whether estimators of this kind have the delta of their ledger, unless somebody says another."""
    delta = inspect.signature(kind).parameters.get("delta")
    return delta is not None and delta.default is None


def settled(estimator: Estimator, privacy_unit: str, book: Ledger | None) -> Estimator:
    """Return an estimator that protects such units, at the delta of this ledger, where nobody said otherwise."""
    usual = {"privacy_unit": privacy_unit, "delta": getattr(book, "delta", DELTA)}
    missing = {name: value for name, value in usual.items() if name not in estimator._OWN_RULE}  # pyright: ignore[reportPrivateUsage]
    missing = {name: value for name, value in missing.items() if getattr(estimator, name) is None}
    if not missing:
        return estimator
    made = copy.copy(estimator)
    vars(made).update(missing, _of=estimator)
    return made


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
        fault = (
            "`persons` cannot be compared with documents that come one after another before the cost is booked: "
            "pass the documents as a list."
        )
    elif privacy_unit == "person" and not known:
        fault = '`privacy_unit`="person" needs to know the people; pass `persons=` to fit.'
    elif privacy_unit == "person":
        try:
            if persons is not None:
                check_persons(X, persons)
        except PrivacyError as refused:  # a CorpusError is about the persons alone
            return [refused]
        return []
    elif privacy_unit == "document" and known:
        fault = (
            '`privacy_unit`="document" protects each document for itself, but `persons` say that one person may '
            "have written several, who would be protected less: take `privacy_unit='person'`, or leave the persons "
            "out (Corpus.without_persons())."
        )
    elif persons is not None:
        fault = f"`persons` have no effect where the unit is {privacy_unit}: leave `persons=` out."
        return [ParameterError(fault)]
    else:
        return []
    return [PrivacyError(fault)]


def book_together(
    ledger: Ledger,
    *estimators: PrivateEstimator,
    at_epsilon: EventsAt | None = None,
    then: PrivateEstimator | None = None,
) -> list[Booking]:
    """Book what several estimators plan at once, all or none, priced together; what comes ``then`` must fit, too."""
    plans = [estimator._plan() for estimator in estimators]  # pyright: ignore[reportPrivateUsage]
    purposes = [estimator._entry() for estimator in estimators]  # pyright: ignore[reportPrivateUsage]
    parts = [(plan.event, purpose) for plan, purpose in zip(plans, purposes, strict=True)]
    last = [] if then is None else [(then.planned_event(), then._entry())]  # pyright: ignore[reportPrivateUsage]
    reservations = ledger.plan(parts, at_epsilon=at_epsilon, then=last)
    return [Booking(ledger, *booked) for booked in zip(plans, reservations, strict=True)]


def pipelines() -> Iterator[Any]:
    """Yield the scikit-learn pipelines among the callers, the innermost first; only they know their steps."""
    frame, seen = inspect.currentframe(), list[Any]()
    while frame is not None:
        pipeline = (
            frame.f_locals.get("self") if frame.f_globals.get("__name__") == "sklearn.pipeline" else None
        )
        if getattr(pipeline, "steps", None) and not any(pipeline is one for one in seen):
            seen.append(pipeline)
            yield pipeline
        frame = frame.f_back


def _later_steps(estimator: PrivateEstimator) -> list[PrivateEstimator]:
    """Return the private estimators that come after this one in the pipelines that it is in."""
    later, inside = list[PrivateEstimator](), cast("Any", estimator)
    for pipeline in pipelines():
        steps = [step for _, step in pipeline.steps]
        # A pipeline with a memory fits copies of its steps, which have the same ledger.
        what = (type(inside), getattr(inside, "ledger", None))
        alike = [type(step) is what[0] and getattr(step, "ledger", None) is what[1] for step in steps]
        places = [place for place, step in enumerate(steps) if step is inside] or np.flatnonzero(
            alike
        ).tolist()
        if not places:
            break
        later += [one for step in steps[places[0] + 1 :] for one in _private_in(step)]
        inside = pipeline
    return later


def _private_in(step: Any) -> list[PrivateEstimator]:
    """Return a step of a pipeline, or those of the pipeline that it is, as far as they book."""
    if isinstance(step, PrivateEstimator):
        return [step]
    return [one for _, inner in getattr(step, "steps", ()) for one in _private_in(inner)]


def spent_and_left(ledger: Ledger) -> str:
    """Say what a fit that stops has spent, and what is left for another."""
    spent = round_up(ledger.spent().epsilon)
    if math.isinf(ledger.epsilon):
        return f"Epsilon {spent} is spent."
    left = f"{round_down(ledger.remaining().epsilon):.3g}"
    return (
        f"Of epsilon {ledger.epsilon:g}, {spent} is spent; another fit on these texts may spend about {left}: costs "
        "add up to less than their sum."
    )
