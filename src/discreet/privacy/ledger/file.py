"""The ledger's JSON: schema, checksum, and writing it so that a crash cannot lose a booking.

A write goes to a temporary file in the same folder, is flushed to the disk, and then takes the old file's place in one
step; whoever reads finds the old ledger or the new one. Processes take turns by a lock on the ledger file itself: who
gets the lock looks whether the file under that name is still the one that was locked, and begins again where another
has put a newer one there. There is no file beside it that somebody could tidy away. New ledgers are made under a lock
on the folder. Where the system locks no open files (Windows), the lock is a file beside the ledger, which cannot be
tidied away while it is held.

A new ledger can be read and written by its owner only; whoever shares one with a group sets that once, and it stays.

Where a ledger's bookings are: in one process, or in a file whose users take turns
==================================================================================
A ledger has an identity, a random number, as long as it can be booked on. A ledger file names its own path; a copy
of it under another name is refused while the file that it names is there. And a process remembers under which path it
opened a ledger: another path is taken for the same file, moved, only where the first is gone and no booking is missing;
from then on nothing can be booked under the first.
"""

import errno
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from discreet._base.files import (
    checksum_of,
    has_handle_locks,
    lock_beside,
    lock_handle,
    read_json,
    write_file,
)
from discreet.errors import PrivacyError
from discreet.privacy.accounting import events
from discreet.privacy.ledger.filter import Budget, Standing, Standings
from discreet.privacy.ledger.reservation import Entry, begins_with

_NAME = "discreet.ledger/"
SCHEMA = _NAME + "2"
_LARGEST_FILE = 16 * 2**20
_OWNER = 0o600
_LARGEST_NUMBER = 2**53
_NONCE = re.compile("([0-9a-f]{32})?")


class Fields(NamedTuple):
    """What the JSON of a ledger holds.

    Attributes
    ----------
    budget : Budget
        Not checked: making a ledger of it does that.
    entries : tuple of Entry
    identity : str or None
        Of a ledger that can be booked on; None for a record.
    path : str or None
        The file that it is kept in.
    """

    budget: Budget
    entries: tuple[Entry, ...]
    identity: str | None = None
    path: str | None = None


def seal(fields: Fields) -> dict[str, Any]:
    """Return a ledger's JSON values with the schema's name and a checksum."""
    content: dict[str, Any] = {"schema": SCHEMA, **fields.budget._asdict()}
    if fields.budget.epsilon == float("inf"):
        content["epsilon"] = "inf"
    if not fields.budget.unit_name:
        del content["unit_name"]
    content["entries"] = [
        {"purpose": entry.purpose, "event": events.to_json(entry.event), "booking": entry.booking}
        | ({"division": entry.division, "touched": list(entry.touched)} if entry.touched else {})
        # records stay the same for a seed
        | ({"nonce": entry.nonce} if entry.nonce and fields.identity is not None else {})
        for entry in fields.entries
    ]
    if fields.identity is not None:
        content["id"] = fields.identity
    if fields.path is not None:
        content["path"] = fields.path
    return {**content, "checksum": checksum_of(content)}


def check(value: Any) -> Fields:
    """Return the fields of a sealed ledger; ``PrivacyError`` where schema, checksum or form is off."""
    if not isinstance(value, Mapping):
        raise PrivacyError("expected a ledger as a JSON object, but got something else.")
    content: dict[str, Any] = dict(value)
    checksum = content.pop("checksum", None)
    schema = content.get("schema")
    if schema != SCHEMA:
        if isinstance(schema, str) and schema.startswith(_NAME):
            advice = "open it with the version of discreet that wrote it."
        else:
            advice = "give the path of a file that a Ledger wrote."
        raise PrivacyError(
            f"expected a ledger of schema {SCHEMA}, but it says {str(schema)[:40]!r}; {advice}"
        )
    if not checksum or checksum != checksum_of(content):
        raise PrivacyError(
            "the ledger's checksum does not fit its content: it was damaged or edited; restore it from a copy."
        )
    try:
        terms: dict[str, Any] = {"unit_name": "", **content}
        if terms["epsilon"] == "inf":
            terms["epsilon"] = float("inf")
        budget = Budget(*(terms[name] for name in Budget._fields))
        entries = tuple(_entry(each) for each in content["entries"])
        fields = Fields(budget, entries, content.get("id"), content.get("path"))
    except (KeyError, TypeError):
        raise PrivacyError("the ledger lacks a field; restore it from a copy.") from None
    if not isinstance(content["entries"], list) or any(
        isinstance(number, int) and abs(number) > _LARGEST_NUMBER
        for number in (budget.epsilon, budget.delta, budget.failure_share)
    ):
        raise PrivacyError("the ledger's numbers or entries are not valid; restore it from a copy.")
    texts = [text for entry in fields.entries for text in (entry.purpose, entry.division, *entry.touched)]
    texts += [text for text in (fields.identity, fields.path) if text is not None]
    if not all(isinstance(e.nonce, str) and _NONCE.fullmatch(e.nonce) for e in fields.entries):
        raise PrivacyError("a ledger's booking has a nonce that is not valid; restore it from a copy.")
    if not all(isinstance(text, str) for text in texts):
        raise PrivacyError("a ledger's purposes, id and path must be text; restore it from a copy.")
    if any(bool(entry.division) != bool(entry.touched) for entry in fields.entries):
        raise PrivacyError("a ledger's entry names a division without its parts; restore it from a copy.")
    numbers = [entry.booking for entry in fields.entries]
    if not all(type(number) is int and number > 0 for number in numbers) or numbers != sorted(numbers):
        raise PrivacyError("a ledger's bookings must be numbered in their order; restore it from a copy.")
    return fields


def _entry(value: Any) -> Entry:
    event = events.from_json(value["event"])
    divided = (value["division"], tuple(value["touched"])) if "division" in value else ("", ())
    return Entry(event, value["purpose"], value["booking"], *divided, value.get("nonce", ""))


def read(path: Path) -> Any:
    """Return the JSON values in a ledger file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
        if len(raw) > _LARGEST_FILE:
            raise PrivacyError(f"{path} is too large for a ledger; give the path of a ledger file.")
        return read_json(raw)
    except IsADirectoryError:
        raise PrivacyError(f"{path} is a folder; give the path of a ledger file.") from None
    except ValueError as error:
        raise PrivacyError(f"{path} is not a ledger: it holds {error}; restore it from a copy.") from None


class Turn(NamedTuple):
    """The right to write one ledger file, once."""

    path: Path
    inode: tuple[int, int]  # device and number of the file that is locked

    def write(self, value: dict[str, Any]) -> None:
        """Put a newer ledger in the place of the one that is locked.

        Raises
        ------
        PrivacyError
            Where another file took its place meanwhile. Nothing is written.
        """
        _replace(self.path, value, self.inode)


def create(path: Path, value: dict[str, Any]) -> bool:
    """Write the file of a new ledger; return False, and write nothing, where there is a file already."""
    with _telling(path), _lock_for_new(path):
        if path.exists():
            return False
        _replace(path, value, None)
    return True


def remove_unused(path: Path) -> None:
    """Remove the file of a ledger without bookings; whoever opened it meanwhile finds it gone when they would book."""
    with locked(path):
        if not check(read(path)).entries:
            path.unlink()


@contextmanager
def locked(path: Path) -> Generator[Turn]:
    """Keep other processes out while a ledger file is read, extended and written.

    Raises
    ------
    PrivacyError
        Where the file is gone, or has a second name in the file system: a booking would change only one of the two.
    """
    with _telling(path):
        if not has_handle_locks():
            with lock_beside(path), _there(path):
                yield _turn(path, path.lstat())
            return
        while True:
            with _there(path):
                handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                with lock_handle(handle):
                    mine = os.fstat(handle)
                    if _inode(path) != (mine.st_dev, mine.st_ino):
                        continue  # whoever held the lock before has put a newer one there
                    yield _turn(path, mine)
                    return
            finally:
                os.close(handle)


def _turn(path: Path, mine: os.stat_result) -> Turn:
    if stat.S_ISLNK(mine.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if mine.st_nlink > 1:
        raise PrivacyError(
            f"the ledger file {path} has another name in the file system (a hard link), under which "
            "it would stay as it is now: two budgets for one text. Remove the other name."
        )
    return Turn(path, (mine.st_dev, mine.st_ino))


@contextmanager
def _lock_for_new(path: Path) -> Generator[None]:
    if not has_handle_locks():
        with lock_beside(path):
            yield
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with lock_handle(folder):
            yield
    finally:
        os.close(folder)


@contextmanager
def _there(path: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise PrivacyError(f"the ledger file {path} is gone; nothing can be booked without it.") from None


@contextmanager
def _telling(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise PrivacyError(f"the ledger {path} cannot be kept there: {reason}; give another path.") from error


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _replace(path: Path, value: dict[str, Any], expected: tuple[int, int] | None) -> None:
    """Write a ledger so that it is on the disk, whole, when this returns."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n"  # plain ASCII
    if read_json(text) != value:
        raise PrivacyError("a booking cannot be read back from JSON, so it was not made.")
    if len(text) > _LARGEST_FILE:
        raise PrivacyError(
            f"the ledger {path} would be larger than {_LARGEST_FILE >> 20} MiB; book repetitions as one event "
            "(discreet.privacy.accounting.events.composed)."
        )

    def still_there() -> None:
        if _inode(path) != expected:
            raise PrivacyError(
                f"the ledger file {path} was replaced while a booking was made; nothing was booked. Put it back."
            )

    mode = _OWNER if expected is None else None  # a new one; later as somebody has set it
    write_file(path, lambda file: file.write(text.encode()), mode=mode, before=still_there)


_homes: dict[str, "Storage"] = {}  # of ledger files: opened or booked on last in this process


class Storage:
    """The bookings of one ledger, and whose turn it is to add to them.

    Attributes
    ----------
    path : Path or None
        The file; None for a ledger of this process alone.
    identity : str
    entries : tuple of Entry
        As last read.
    """

    def __init__(self, budget: Budget) -> None:
        self.path: Path | None = None
        self.identity = secrets.token_hex(16)
        self.entries: tuple[Entry, ...] = ()
        self._stood: tuple[tuple[Entry, ...], Standings] = ((), Standings(Standing(budget), {}))
        self._locks: dict[int, threading.RLock] = {}
        self._process = os.getpid()

    @property
    def lock(self) -> threading.RLock:
        """What one thread of this process holds; another thread may have held its parent's when it was forked."""
        return self._locks.setdefault(os.getpid(), threading.RLock())

    def standings(self) -> Standings:
        """Return where the filters stand after all entries; quick where only new ones were added."""
        with self.lock:
            entries = self.entries
            done, standings = self._stood
            if entries[: len(done)] != done:
                done, standings = (), Standings(Standing(standings.elsewhere.budget), {})
            for _, each in groupby(entries[len(done) :], lambda entry: entry.booking):
                together = list(each)
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
    def exclusively(self) -> Generator[Turn | None]:
        """Keep all other threads and processes out; yield the right to write the file, where there is one."""
        with self.lock:
            if self.path is None:
                yield None
                return
            with locked(self.path) as turn:
                yield turn

    def settle(self, path: Path, identity: str) -> None:
        """Be the storage of a ledger file that was read, at its path.

        Takes no lock, which a fork could keep: of two copies that are opened at once, one is found at its next booking.

        Raises
        ------
        PrivacyError
            Where this process opened the same ledger under another path, which is still there, or which held bookings
            that this file lacks.
        """
        self.path, self.identity = path, identity
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


def check_original(path: Path, fields: Fields) -> str:
    """Return the identity; ``PrivacyError`` where a file is no ledger to book on, or a copy of one that is there."""
    identity, named = fields.identity, fields.path
    if identity is None or named is None:
        raise PrivacyError(
            f"{path} holds the record of a release, on which nothing can be booked; make a ledger of your own."
        )
    original = Path(named)
    if original != path and _is_there(original, path, identity):
        raise PrivacyError(_copy_of(path, original))
    return identity


def _is_there(original: Path, path: Path, identity: str) -> bool:
    """Tell whether another file holds the same ledger."""
    try:
        return not original.samefile(path) and check(read(original)).identity == identity
    except (FileNotFoundError, NotADirectoryError, PrivacyError):  # gone, or something else by now
        return False
    except OSError as error:
        raise PrivacyError(
            f"the ledger file {path} may be a copy of {original}, which cannot be looked at: {error.strerror}. "
            "Open it as somebody who may read there."
        ) from error


def _copy_of(path: Path, original: Path) -> str:
    return (
        f"the ledger file {path} is a copy of {original}: two budgets for one text. Open {original}; to move a "
        "ledger, take the old file away."
    )
