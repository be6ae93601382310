"""What a silo keeps of each run between messages: its account, and its last answer. Runs that have paid, on the disk.

*The last answer*: a message that is asked for again, byte for byte, gets the same bytes again. Nothing is computed,
booked or told by that: an answer that was lost or late costs no second one. Any other second message is refused, or
booked, as ever.

*What a restart may find.* Keys that mask a second sum would lay the difference of two sums open, and shares that were
told for one list of silos must not be told for another. So

* a run is written down when it has paid, which for a sum is after its vector was made: no keys are ever read back that
  could still mask one. (Were they, the ledger would refuse: it books a roster once, under its own lock.) A run that
  is cut off before that has cost nothing, and is begun anew. Of a run of several sums, keys of one that has no
  vector yet are not written either: after a restart the silo takes part in the next sum again;
* what is written is on the disk before the answer leaves, so that no crash takes back what was told. Where it cannot
  be written, nothing is sent, until it can;
* one process at a time has the folder, by a lock for as long as it lives;
* with the last message of a sum, its keys are forgotten, whether or not another sum follows; those of a sum that was
  cut off after its vector, when the silo starts or is asked for a new run a day or more later.

What nobody can prevent is that somebody puts an older copy of the folder back: with a server that lies, that could have
a silo vouch for two lists. Take the folder away instead; all it costs are the sums that are under way.

The files hold keys: they are their owner's alone (mode 0600), and as secret as the texts.
"""

import base64
import hashlib
import json
import os
import stat
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet._files import hold_folder, open_plain, write_whole
from discreet.errors import DiscreetError, PrivacyError
from discreet.federated.account import Account
from discreet.federated.rounds import client_update
from discreet.federated.secure_aggregation.messages import MESSAGES
from discreet.federated.state import State
from discreet.federated.wire import account_json, read_account, values_bytes
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream

__all__ = ["Session", "Sessions"]

_SCHEMA = "discreet.session/1"
_LARGEST_FILE = 1 << 30
#: Runs that have not paid, or have ended: more of them are forgotten, or refused. A run that was told who takes part is
#: kept for so many seconds after its last message, for others of it may have paid before this silo does.
_MOST_IDLE, _PATIENCE = 64, 86_400.0
_AFTER_VECTOR = ("vector", "senders", "reveal")


class Session:
    """One run's account, and the last message with its answer."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.ended = False
        self._asked, self._answer = "", b""
        self._answered, self._last = 0, time.monotonic()

    @property
    def paid(self) -> bool:
        """Whether anything was booked for it."""
        return bool(self.account.rounds)

    @property
    def needless(self) -> bool:
        """Whether nothing is lost with it: it ended, never paid, or is between sums, which have keys of their own."""
        between = self.account.terms is not None and self.account.terms["mechanism"] == "aggregate"
        return self.ended or not self.paid or (between and self.account.masker is None)

    @property
    def under_way(self) -> bool:
        """Whether others may count on it: it went beyond its first message, and not too long ago."""
        return not self.ended and self._answered > 1 and time.monotonic() - self._last < _PATIENCE

    def answer(self, content: bytes, state: State, corpus: Any) -> bytes:
        """Return the answer to a message, as the bytes of its values: the same where it is asked again.

        Parameters
        ----------
        content : bytes
            The message.
        state : State
            As it was read.
        corpus : matrix of counts, or a callable that returns one
        """
        asked = hashlib.sha256(content).hexdigest()
        if not self._answer or asked != self._asked:
            update = client_update(state, corpus, SecureStream(None), self.account)
            self._asked, self._answer = asked, values_bytes(update.values)
            self._answered, self._last = self._answered + 1, time.monotonic()
            self.ended = state.round == state.n_rounds - 1
            if self.ended or state.round % MESSAGES == MESSAGES - 1:
                self.account.masker = None
        return self._answer

    def to_json(self, *, spent_keys_only: bool = False) -> dict[str, Any]:
        """Return everything, secrets included; of the keys, on demand, only those whose vector was made."""
        masker = self.account.masker
        keys = masker is None or not spent_keys_only or masker._step in _AFTER_VECTOR
        return {
            "account": account_json(self.account, keys=keys),
            "asked": self._asked,
            "answer": base64.b64encode(self._answer).decode(),
            "ended": self.ended,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], ledger: Ledger | None, **how: Any) -> "Session":
        """Return what was written; ``ledger`` and ``how`` as for :func:`~discreet.federated.wire.read_account`."""
        session = cls(read_account(value["account"], ledger, **how))
        session._asked, session.ended = str(value["asked"]), bool(value["ended"])
        session._answer = base64.b64decode(value["answer"], validate=True)
        return session


class Sessions:
    """All runs of a silo.

    Parameters
    ----------
    ledger : Ledger
    folder : path, optional
        Where runs that have paid are kept; made where it is absent. None: in memory only.

    Raises
    ------
    PrivacyError
        Where another process has the folder.
    """

    def __init__(self, ledger: Ledger, folder: str | Path | None = None) -> None:
        self._ledger, self._known = ledger, dict[str, Session]()
        self._written: dict[str, str] = {}
        self._folder = None if folder is None else Path(folder).absolute()
        self._handle = -1
        if self._folder is not None:
            self._handle = _only_here(self._folder)
            weakref.finalize(self, os.close, self._handle)
            self._forget_old_keys(self._folder)

    def find(self, run: str, **how: Any) -> Session | None:
        """Return the session of a run, from the disk where memory has none; ``how`` as for :class:`Account`."""
        if run not in self._known and self._folder is not None:
            found = self._read(run, how)
            if found is not None:
                self._known[run] = found
        return self._known.get(run)

    def begin(self, run: str, account: Account) -> Session:
        """Return a new session; those that have ended make room, then those that were asked one thing only.

        Raises
        ------
        PrivacyError
            Where so many runs are under way that none can make room.
        """
        if self._folder is not None:
            self._forget_old_keys(self._folder)
        idle = [name for name, known in self._known.items() if known.needless]
        idle.sort(key=lambda name: not self._known[name].ended)  # within these, the oldest first
        for name in [name for name in idle if not self._known[name].under_way]:
            if len(idle) < _MOST_IDLE:
                break
            idle.remove(name)
            del self._known[name]
        if len(idle) >= _MOST_IDLE:
            raise PrivacyError(
                f"{len(idle)} runs are under way here and wait for their next message; end them, or come again when "
                "they have ended."
            )
        self._known[run] = Session(account)
        return self._known[run]

    def keep(self, run: str) -> None:
        """Write a session down, if it has paid: to be called before its answer leaves.

        Raises
        ------
        DiscreetError
            Where it cannot be written. The answer must not leave then; the same message asked again tries again.
        """
        session = self._known[run]
        if self._folder is None or not session.paid:
            return
        content = {"schema": _SCHEMA, "run": run, "ledger": self._ledger.identity}
        content |= session.to_json(spent_keys_only=True)
        try:
            self._write(run, content)
        except OSError as fault:
            raise PrivacyError(
                f"what run {run} has come to cannot be written to {self._folder} ({fault.strerror}), so nothing is "
                "sent; make room, and have the server ask again."
            ) from None

    def _write(self, run: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content)
        checksum = hashlib.sha256(text.encode()).hexdigest()
        if self._written.get(run) != checksum:
            write_whole(f"{checksum}\n{text}".encode(), self._path(run), "a silo's session", secret=True)
            self._written[run] = checksum

    def _forget_old_keys(self, folder: Path) -> None:
        """Take the keys out of runs that nothing was written of for a day: nobody will ask for those sums again."""
        for path in folder.glob("*.json"):
            try:
                if time.time() - path.stat().st_mtime < _PATIENCE:
                    continue
                value = json.loads(_read_own(path).split(b"\n", 1)[1])
                account, run = json.loads(value["account"]), str(value["run"])
                if account["masker"] is None or path != self._path(run):
                    continue
                account["masker"] = None
                self._write(run, {**value, "account": json.dumps(account)})
            except (OSError, ValueError, LookupError, TypeError):
                continue  # a damaged file is told of where its run goes on
            if run in self._known:
                self._known[run].account.masker = None

    def _path(self, run: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(run.encode()).hexdigest()[:32]}.json"

    def _read(self, run: str, how: Mapping[str, Any]) -> Session | None:
        try:
            content = _read_own(self._path(run))
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise PrivacyError(f"what is kept of run {run} cannot be read ({fault.strerror}).") from None
        try:
            checksum, text = content.split(b"\n", 1)
            if hashlib.sha256(text).hexdigest().encode() != checksum:
                raise ValueError("damaged")
            value = json.loads(text)
            if (value["schema"], value["run"], value["ledger"]) != (_SCHEMA, run, self._ledger.identity):
                raise ValueError("of another run or another ledger")
            session = Session.from_json(value, self._ledger, **how)
            masker = session.account.masker
            if not session.paid or (masker is not None and masker._step not in _AFTER_VECTOR):
                raise ValueError("of a run that had not paid, which is never written")
        except DiscreetError:
            raise
        except Exception as fault:  # whatever a damaged file does to a reader
            raise PrivacyError(
                f"what is kept of run {run} in {self._path(run)} is damaged, or of another ledger; the run cannot go "
                "on. Take the file away."
            ) from fault
        self._written[run] = checksum.decode()
        return session


def _only_here(folder: Path) -> int:
    """Return the handle of the folder, locked as long as this process lives."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        handle = hold_folder(folder)
    except BlockingIOError:
        raise PrivacyError(
            f"another silo runs with {folder}: two of them could give two answers under one key. Stop it, or give this "
            "one a ledger and texts of its own."
        ) from None
    except OSError as fault:
        raise PrivacyError(
            f"sessions cannot be kept in {folder}: {fault.strerror}; give another ledger's path."
        ) from fault
    mode = os.fstat(handle)
    if mode.st_uid != os.geteuid() or stat.S_IMODE(mode.st_mode) & 0o077:
        os.close(handle)
        raise PrivacyError(
            f"{folder} holds keys, and others can read it or own it: make it yours alone (chmod 700)."
        )
    return handle


def _read_own(path: Path) -> bytes:
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
            raise OSError(0, "no file of ours")
        return file.read()
