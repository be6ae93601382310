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
from discreet.errors import ParameterError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import Guarantee, large_delta
from discreet.release.booking.ledger_limits import check_ledger
from discreet.release.editing import details as written
from discreet.release.files import json_file
from discreet.release.settings import Scalar, checked_settings

__all__ = ["COUNT_WEIGHT", "EXACT", "LARGEST_SUM", "SUM", "NumbersRelease", "Promised", "checked_level"]

#: What stands beside numbers without noise.
EXACT = "exact, without privacy: not for release"
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
    """Base of frozen dataclasses that hold what may leave."""

    ledger: Ledger
    configuration: Mapping[str, Any]
    reproducible: bool

    SECURE: ClassVar[str] = "secure"
    REPRODUCIBLE: ClassVar[str] = "reproducible, not for release"
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
        """Either "secure" or, where the noise came from a seed, "reproducible, not for release"."""
        return self.REPRODUCIBLE if self.reproducible else self.SECURE

    @cached_property
    def promise(self) -> Guarantee:
        """The promise of everything booked on the ledger, as numbers."""
        return self.ledger.guarantee()

    @property
    def guarantee(self) -> str:
        """The promise in words: unit, relation, epsilon, delta, and how the noise was drawn."""
        words = self.promise.in_words()
        return f"{words} {self._WARNING}" if self.reproducible else words


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
