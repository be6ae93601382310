"""Where a ledger's bookings are: in one process, or in a file whose users take turns.

A ledger has an identity, a random number, as long as it can be booked on. Whatever is made from its JSON in the same
process has the same storage, so that one JSON cannot become two budgets there. A ledger file names its own path; a copy
of it under another name is refused while the file that it names is there. And a process remembers under which path it
opened a ledger: another path is taken for the same file, moved, only where the first is gone and no booking is missing;
from then on nothing can be booked under the first.
"""

import os
import secrets
import threading
from collections.abc import Generator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from discreet.errors import PrivacyError
from discreet.privacy.ledger import file as ledger_file
from discreet.privacy.ledger.entry import Entry, begins_with
from discreet.privacy.ledger.filter import Budget, Standing
from discreet.privacy.ledger.parts import Standings

__all__ = ["NeverCopied", "Storage", "check_original", "new_identity", "storage_of"]

_told: dict[str, "Storage"] = {}
_homes: dict[str, "Storage"] = {}  # of ledger files: opened or booked on last in this process
_telling = threading.Lock()


def new_identity() -> str:
    """Return the identity of a new ledger."""
    return secrets.token_hex(16)


class NeverCopied:
    """What stays one object whoever copies it: a copy of a ledger would be a second budget for the same text."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any], /) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self


class Storage:
    """The bookings of one ledger, and whose turn it is to add to them.

    Attributes
    ----------
    path : Path or None
        The file; None for a ledger of this process alone.
    identity : str or None
        None for a file that was written before there were any, until it is written again.
    entries : tuple of Entry
        As last read.
    """

    def __init__(self, budget: Budget) -> None:
        self.path: Path | None = None
        self.identity: str | None = new_identity()
        self.entries: tuple[Entry, ...] = ()
        self._stood: tuple[tuple[Entry, ...], Standings] = ((), Standings(Standing(budget), {}))
        self._lock = threading.RLock()
        self._process = os.getpid()

    def standings(self) -> Standings:
        """Return where the filters stand after all entries; quick where only new ones were added."""
        with self._lock:
            entries = self.entries
            done, standings = self._stood
            if entries[: len(done)] != done:
                done, standings = (), Standings(Standing(standings.elsewhere.budget), {})
            for _, each in groupby(enumerate(entries[len(done) :]), lambda e: e[1].booking or -e[0]):
                together = [entry for _, entry in each]
                standings = standings.after((entry.event for entry in together), together[0].touched)
            self._stood = entries, standings
            return standings

    def check_process(self) -> None:
        """Raise ``PrivacyError`` in a fork of the process that a ledger without a file belongs to."""
        if self.path is None and os.getpid() != self._process:
            raise PrivacyError(
                "this ledger was made in another process, which would not see the booking; keep it in a file that "
                "both open (Ledger.open)."
            )

    @contextmanager
    def exclusively(self) -> Generator[ledger_file.Turn | None]:
        """Keep all other threads and processes out; yield the right to write the file, where there is one."""
        if os.getpid() != self._process:  # another thread may have held the lock when this process was forked
            self._lock, self._process = threading.RLock(), os.getpid()
        with self._lock:
            if self.path is None:
                yield None
                return
            with ledger_file.locked(self.path) as turn:
                yield turn

    def settle(self, path: Path, identity: str | None) -> None:
        """Be the storage of a ledger file that was read, at its path.

        Takes no lock, which a fork could keep: of two copies that are opened at once, one is found at its next booking.

        Raises
        ------
        PrivacyError
            Where this process opened the same ledger under another path, which is still there, or which held bookings
            that this file lacks.
        """
        self.path, self.identity = path, identity
        if identity is None:
            return
        home = _homes.setdefault(identity, self)
        if home.path is not None and home.path != path:
            if _is_there(home.path, path, identity):
                raise PrivacyError(_copy_of(path, home.path))
            if not begins_with(self.entries, home.entries):
                raise PrivacyError(
                    f"the ledger file {path} is an older copy of {home.path}, on which this process has booked since: "
                    "it would spend the same budget twice. Put that file back."
                )
        _homes[identity] = self

    def tell(self) -> str:
        """Return the identity for JSON, and remember that it was told."""
        assert self.identity is not None
        with _telling:
            _told[self.identity] = self
        return self.identity


def storage_of(identity: str, entries: tuple[Entry, ...], budget: Budget) -> Storage:
    """Return the storage of JSON that was told before, or a new one.

    Raises
    ------
    PrivacyError
        Where this process knows of bookings that the JSON lacks.
    """
    with _telling:
        storage = _told.get(identity)
        if storage is None:
            storage = Storage(budget)
            storage.identity, storage.entries = identity, entries
            _told[identity] = storage
        elif begins_with(entries, storage.entries):
            storage.entries = entries
        else:
            raise PrivacyError(
                "this is an older state of a ledger on which this process has booked since: it would spend the same "
                "budget twice. Go on with that ledger, or with what its to_json() says now."
            )
        return storage


def check_original(path: Path, fields: ledger_file.Fields) -> None:
    """Raise ``PrivacyError`` where a file is no ledger to book on, or a copy of one that is still there."""
    identity, named = fields.identity, fields.path
    if named is None and any(entry.booking for entry in fields.entries):
        raise PrivacyError(
            f"{path} holds the record of a release, on which nothing can be booked; make a ledger of your own."
        )
    if identity is not None and named is None:
        raise PrivacyError(
            f"{path} holds the JSON of a ledger that is kept in a process, not in a file: two such files would be "
            "two budgets. Read it by Ledger.from_json, or make a ledger of your own."
        )
    if identity is not None and named is not None and named != str(path):
        original = Path(named)
        if _is_there(original, path, identity):
            raise PrivacyError(_copy_of(path, original))


def _is_there(original: Path, path: Path, identity: str | None) -> bool:
    """Tell whether another file holds the same ledger."""
    try:
        return (
            not original.samefile(path) and ledger_file.check(ledger_file.read(original)).identity == identity
        )
    except (OSError, PrivacyError):
        return False


def _copy_of(path: Path, original: Path) -> str:
    return (
        f"the ledger file {path} is a copy of {original}: two budgets for one text. Open {original}; to move a "
        "ledger, take the old file away."
    )
