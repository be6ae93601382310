"""What all releases share: the promise, from the ledger on which their cost was booked, and how small ones are kept."""

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from discreet._articles import kind_of
from discreet._presenter import presenter
from discreet._validate import Rule, number, shown
from discreet.errors import DiscreetError, Parameter, ParameterError, PrivacyError, Proposal, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import Guarantee, large_delta
from discreet.release.booking.ledger_limits import check_ledger
from discreet.release.editing import details as written
from discreet.release.files import json_file
from discreet.release.settings import Scalar, checked_settings

__all__ = [
    "COUNT_WEIGHT",
    "LARGEST_SUM",
    "SUM",
    "NumbersRelease",
    "Promised",
    "checked_level",
    "faults_of_topics",
]

#: How much of a budget may say how many units there are. Beyond, sums or counts drown in rounding or in noise.
COUNT_WEIGHT = number(least=1e-3, most=100)
#: No sum of bounded contributions comes near it.
LARGEST_SUM = 1e15
SUM = number(least=-LARGEST_SUM, most=LARGEST_SUM)
_NOISE = number(least=0, most=LARGEST_SUM)


def checked_level(level: Any) -> float:
    """Return the level of an interval; ``ParameterError`` unless it lies between 0 and 1."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, but is {shown(level)}.")
    return float(level)


class Promised:
    """Base of frozen dataclasses that hold what may leave, or say why they may not.

    Two things make a release unfit to leave: noise from a seed, and a ledger that promises nothing (epsilon = inf).
    Both are told here, by :attr:`determinism`, and stand in every file, table and page that is made of a release. What
    estimators make of the topics of an unfit release is unfit, too: a seed marks it, and topics without privacy are
    refused where a finite epsilon would be promised of them (:mod:`discreet.release.private_estimator`).
    """

    ledger: Ledger
    configuration: Mapping[str, Any]
    reproducible: bool

    SECURE: ClassVar[str] = "secure"
    REPRODUCIBLE: ClassVar[str] = "reproducible, not for release"
    WITHOUT_PRIVACY: ClassVar[str] = "without privacy, not for release"
    #: Said behind the promise where the noise came from a seed.
    _WARNING: ClassVar[str] = f"The noise came from a seed: {REPRODUCIBLE}."

    def _close(self) -> None:
        """Keep a closed copy of the ledger, and look whether any step on it had a seed."""
        if not isinstance(self.ledger, Ledger):
            raise ReleaseError(
                f"a release needs the ledger that its cost was booked on, but got {kind_of(self.ledger)}."
            )
        object.__setattr__(self, "ledger", self.ledger if self.ledger.closed else self.ledger.snapshot())
        # One seeded step is enough: a vocabulary chosen with a seed marks the topics trained on it, too.
        seeded = any(self.REPRODUCIBLE in entry.purpose for entry in self.ledger.entries)
        object.__setattr__(self, "reproducible", bool(self.reproducible) or seeded)

    @property
    def determinism(self) -> str:
        """How noise was drawn: "secure", or why nothing of this may leave.

        That is "reproducible, not for release" where it came from a seed, "without privacy, not for release" where the
        ledger promises none, and both where both hold.
        """
        unfit = [self.WITHOUT_PRIVACY] if math.isinf(self.promise.epsilon) else []
        unfit += [self.REPRODUCIBLE] if self.reproducible else []
        return "; ".join(unfit) or self.SECURE

    @property
    def may_leave(self) -> bool:
        """Whether this was made with privacy, and with noise that nobody can draw again."""
        return self.determinism == self.SECURE

    @cached_property
    def promise(self) -> Guarantee:
        """The promise of everything booked on the ledger, as numbers."""
        return self.ledger.guarantee()

    @property
    def guarantee(self) -> str:
        """The promise in words: unit, relation, epsilon, delta, and how the noise was drawn."""
        words = self.promise.in_words()
        return f"{words} {self._WARNING}" if self.reproducible else words


def faults_of_topics(topics: Any, epsilon: Any, ledger: Ledger | None) -> list[DiscreetError]:
    """Say where something private is to be told of topics that were released without privacy.

    Topics of epsilon = inf may be one unit's own words. Shares of them and scores under them stand on those, so that no
    noise in the numbers makes them private: they are made without privacy, or not at all. On a ledger that promises
    nothing (the topics' own) they say so themselves.
    """
    if not isinstance(topics, Promised) or math.isfinite(topics.promise.epsilon) or math.isinf(epsilon):
        return []
    if ledger is not None and math.isinf(ledger.spent().epsilon):
        return []
    return [
        PrivacyError(
            "the topics of ",
            Parameter("release"),
            " were fitted without privacy (epsilon = inf) and may be one unit's own words, so that nothing private can "
            "be told of them: fit topics with an epsilon, or compare without privacy here, too: ",
            Proposal("epsilon", math.inf),
            ".",
        )
    ]


class NumbersRelease(Promised):
    """Base of releases of a few numbers, kept in one JSON file."""

    SCHEMA: ClassVar[str]
    #: What messages call it.
    _THING: ClassVar[str]
    #: What begins the purpose of its booking.
    PURPOSE: ClassVar[str]
    #: Rules of its numbers.
    _NUMBERS: ClassVar[Mapping[str, Rule]] = {"noise": _NOISE, "count_weight": COUNT_WEIGHT}
    noise: float
    count_weight: float
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _close(self) -> None:
        for name, rule in self._NUMBERS.items():
            value = getattr(self, name)
            if not rule.holds(value):
                raise ReleaseError(f"{name} must be {rule.words}, but is {shown(value)}.")
            object.__setattr__(self, name, float(value))
        settings = MappingProxyType(checked_settings(self.configuration))
        object.__setattr__(self, "configuration", settings)
        super()._close()

    def with_settings(self, **settings: Scalar) -> Self:
        """Return the same release with more public settings written down."""
        return replace(self, configuration={**self.configuration, **settings})

    def with_details(self, **details: str) -> Self:
        """Return the release with words about it: title, owner, contact, period, date, other_spending. They are public.

        Raises
        ------
        ReleaseError
            Where a detail has another name, or is not a short text.
        """
        return written.with_details(self, **details)

    @property
    def details(self) -> dict[str, str]:
        """What was said by :meth:`with_details`."""
        return written.details(self)

    @property
    def review(self) -> str | None:
        """Who reviewed the words in it, and what they changed; None where nobody did."""
        return written.review(self)

    @property
    def n_units_in_all(self) -> float:
        """Noisy number of units, at least 0."""
        raise NotImplementedError

    @property
    def large_delta(self) -> str | None:
        """What is wrong with a delta above 1 over the noisy number of units; None where nothing is."""
        promise = self.promise
        told = large_delta(promise.delta, self.n_units_in_all, promise.called)
        return None if told is None or math.isinf(promise.epsilon) else f"delta {told}"

    @property
    def _size(self) -> float:
        """Norm to which contributions were held."""
        return math.hypot(1.0, self.count_weight)

    def check_booked(self) -> None:
        """Raise ``ReleaseError`` where the ledger is too long to be read, or the noise none that was booked on it."""
        from discreet.privacy.accounting import events

        check_ledger(self.ledger)
        mine = [entry for entry in self.ledger.entries if entry.purpose.startswith(self.PURPOSE)]
        leaves = [leaf.event for entry in mine for leaf in events.leaves(entry.event)]
        booked = [self._size * getattr(event, "noise_multiplier", 0.0) for event in leaves]
        if not any(np.isclose(self.noise, noise, rtol=1e-9, atol=0.0) for noise in booked):
            raise ReleaseError(
                f"{self._THING} tell of noise of {self.noise:.6g}, which was not booked with a count_weight of "
                f"{self.count_weight:g}."
            )

    def save(self, path: str | Path) -> None:
        """Write the release to a new JSON file, whole or not at all; ``ReleaseError`` where it could not be read."""
        json_file.save(self, Path(path), self._THING)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a release; ``ReleaseError`` for anything that is not exactly one."""
        return json_file.load(Path(path), cls)

    def _repr_html_(self) -> str:
        return presenter.numbers_notebook(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and json_file.content(self) == json_file.content(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> Any:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return type(self), tuple({**values, "configuration": dict(self.configuration)}.values())
