"""What all releases share: the promise, from the ledger on which their cost was booked, and how small ones are kept."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from discreet.errors import ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.units import Guarantee
from discreet.release.files import json_file

__all__ = ["NumbersRelease", "Promised"]


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
            kind = type(self.ledger).__name__
            raise ReleaseError(f"a release needs the ledger that its cost was booked on, but got a {kind}.")
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
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def save(self, path: str | Path) -> None:
        """Write the release to a new JSON file, whole or not at all."""
        json_file.save(self, Path(path), self._THING)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a release; ``ReleaseError`` for anything that is not exactly one."""
        return json_file.load(Path(path), cls)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and json_file.content(self) == json_file.content(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> Any:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return type(self), tuple({**values, "configuration": dict(self.configuration)}.values())
