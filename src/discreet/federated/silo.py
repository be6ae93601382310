"""A silo that answers what was agreed and runs nothing that a server sends; what it keeps of each run; its program.

A SuperNode of Flower runs the app that the SuperLink sends it: whoever may submit one reads what the SuperNode's user
can read. :class:`Silo` takes a SuperNode's place. It speaks to a SuperLink as one, asks for messages, and answers
them with this library and with what its own command line says; it never asks for an app, so there is none to run. What
a server can do is what :mod:`~discreet.federated.rounds` lets it do. Of errors the server learns that there was one,
and nothing more: what is left of a budget, or what is wrong with the counts, is for the silo's own eyes.

What is kept between messages
-----------------------------
Of each run its account and its last answer; of runs that have paid, on the disk.

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
a silo vouch for two lists. Take the folder away instead; all it costs are the sums that are under way. The files hold
keys: they are their owner's alone (mode 0600), and as secret as the texts.
"""

import base64
import hashlib
import json
import math
import os
import stat
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet._base.files import hold_folder, open_plain, read_json, write_whole
from discreet._base.sealed import Seal
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.federated.account import Account, check_silo
from discreet.federated.rounds import client_update
from discreet.federated.state import MESSAGES, TERMS, State, agreed_terms
from discreet.federated.wire import RECORD, account_json, read_account, read_state, values_bytes
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream

_SEAL = Seal(
    "discreet.session/2",
    "session of a run",
    PrivacyError,
    "the run cannot go on: take the file away",
    1 << 30,
)
#: Runs in memory; and seconds after which nobody asks for a sum any more.
_MOST_RUNS, _PATIENCE = 64, 86_400.0
_AFTER_VECTOR = ("vector", "senders", "reveal")
_LOOK_EVERY = 1.0
_LONGEST_PAUSE = 30.0
_AFTER_FAULT = 0.1
_LONGEST_LINE = 300
_NO_ANSWER = "the silo does not answer this"


class Session:
    """One run's account, and the last message with its answer."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.ended = False
        self._asked, self._answer = "", b""
        self._answered = 0

    @property
    def paid(self) -> bool:
        """Whether anything was booked for it."""
        return bool(self.account.rounds)

    @property
    def worth(self) -> int:
        """How many messages are lost with it: none where it ended, or is between sums, which have keys of their own."""
        over = self.ended or (self.paid and self.account.masker is None)
        return 0 if over else self._answered

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
            self._answered += 1
            self.ended = state.round == state.n_rounds - 1
            if self.ended or state.round % MESSAGES == MESSAGES - 1:
                self.account.masker = None
        return self._answer

    def to_json(self) -> dict[str, Any]:
        """Return everything, secrets included; of the keys only those whose vector was made."""
        masker = self.account.masker
        keys = masker is None or masker._step in _AFTER_VECTOR
        return {
            "account": account_json(self.account, keys=keys),
            "asked": self._asked,
            "answer": base64.b64encode(self._answer).decode(),
            "ended": self.ended,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any], ledger: Ledger, **how: Any) -> "Session":
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
        self._written: dict[str, bytes] = {}
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
        """Return a new session; of many runs one that went least far is no more in memory.

        So runs that somebody begins and leaves do not push out one that other silos pay for. A run that has paid goes
        on from the disk.
        """
        if self._folder is not None:
            self._forget_old_keys(self._folder)
        while len(self._known) >= _MOST_RUNS:
            del self._known[min(self._known, key=lambda name: self._known[name].worth)]
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
        try:
            self._write(run, {"run": run, "ledger": self._ledger.identity, **session.to_json()})
        except OSError as fault:
            raise PrivacyError(
                f"what run {run} has come to cannot be written to {self._folder} ({fault.strerror}), so nothing is "
                "sent; make room, and have the server ask again."
            ) from None

    def _write(self, run: str, content: Mapping[str, Any]) -> None:
        raw = _SEAL.to_bytes(content)
        digest = hashlib.sha256(raw).digest()
        if self._written.get(run) != digest:
            write_whole(raw, self._path(run), "a silo's session", secret=True)
            self._written[run] = digest

    def _forget_old_keys(self, folder: Path) -> None:
        """Take the keys out of runs that nothing was written of for a day: nobody will ask for those sums again."""
        for path in folder.glob("*.json"):
            try:
                if time.time() - path.stat().st_mtime < _PATIENCE:
                    continue
                with _SEAL.reading(_read_own(path), path) as value:
                    account, run = read_json(value["account"]), value["run"]
                    if account["masker"] is None or path != self._path(run):
                        continue
                account["masker"] = None
                self._write(run, {**value, "account": json.dumps(account)})
            except (OSError, DiscreetError):
                continue  # a damaged file is told of where its run goes on
            if run in self._known:
                self._known[run].account.masker = None

    def _path(self, run: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(run.encode()).hexdigest()[:32]}.json"

    def _read(self, run: str, how: Mapping[str, Any]) -> Session | None:
        path = self._path(run)
        try:
            content = _read_own(path)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise PrivacyError(f"what is kept of run {run} cannot be read ({fault.strerror}).") from None
        with _SEAL.reading(content, path) as value:
            session = Session.from_json(value, self._ledger, **how)
            masker = session.account.masker
            early = not session.paid or (masker is not None and masker._step not in _AFTER_VECTOR)
            if early or (value["run"], value["ledger"]) != (run, self._ledger.identity):
                raise PrivacyError(
                    f"it is of another run, of another ledger or of a run that had not paid; {_SEAL.cure}."
                )
        self._written[run] = hashlib.sha256(content).digest()
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
        return file.read(_SEAL.largest + 1)


def read_tasks(path: str | Path) -> list[dict[str, Any]]:
    """Return the tasks that a silo agreed to: a JSON list of what :class:`Account` takes as ``expected``.

    Raises
    ------
    ParameterError
        Where it is no such list, or a task names something that is no setting.
    """
    try:
        tasks = read_json(Path(path).read_bytes())
    except (OSError, ValueError) as fault:
        raise ParameterError(
            f"{path} must hold a JSON list of tasks, but cannot be read as one ({fault})."
        ) from None
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise ParameterError(f"{path} must hold a JSON list of tasks, each an object of settings.")
    for number, task in enumerate(tasks, 1):
        unknown = sorted(set(task) - set(TERMS))
        if unknown:
            raise ParameterError(
                f"task {number} in {path} must name settings out of {', '.join(TERMS)} only, but has "
                f"{', '.join(unknown)}."
            )
    return tasks


class Silo:
    """One silo's counts, budget and agreements, and its answers.

    Parameters
    ----------
    corpus : Corpus or matrix of counts
        Over the public vocabulary that was agreed. A Corpus knows how its texts were cut into words.
    ledger : Ledger
        The silo's own, best kept in a file.
    tasks : sequence of mappings
        What was agreed to (:func:`read_tasks`). A server that asks for anything else gets no answer.
    confirm : callable, optional
        As for :class:`Account`.
    folder : path, optional
        Where runs that have paid are kept, so that they survive a restart
        (:mod:`~discreet.federated.silo`). None: in memory only.
    """

    def __init__(
        self,
        corpus: Any,
        ledger: Ledger,
        tasks: Sequence[Mapping[str, Any]],
        *,
        confirm: Callable[[str, int, int], bool] | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self._counts = check_silo(corpus, corpus.shape[1])
        self.ledger, self.tasks, self.confirm = ledger, list(tasks), confirm
        self._sessions = Sessions(ledger, folder)

    def answer(self, asked: Mapping[str, Any], run: int | str) -> dict[str, Any]:
        """Return the answer to one message: its round, and the values as bytes.

        Parameters
        ----------
        asked : mapping
            The message: ``client``, this silo's number, and ``state``.
        run : int or str
            Which run it belongs to, as the transport knows it; what a message says of itself could be anything. No
            other run can speak in this one.

        Raises
        ------
        DiscreetError
            Where nothing is sent; for the silo's own eyes.
        """
        content, client = bytes(asked["state"]), int(asked["client"])
        state = read_state(content)
        values = self._session(str(run), client, state).answer(content, state, self._counts)
        self._sessions.keep(str(run))
        return {"round": state.round, "values": values}

    def _session(self, run: str, client: int, state: State) -> Session:
        terms = agreed_terms(state)
        task = next((t for t in self.tasks if all(terms[name] == value for name, value in t.items())), None)
        if task is None:
            told = ", ".join(f"{name}={value!r}" for name, value in terms.items())
            raise PrivacyError(f"the server asks for none of the tasks that were agreed ({told}).")
        known = self._sessions.find(run, expected=task, confirm=self.confirm)
        if known is None:
            account = Account(client, self.ledger, expected=task, confirm=self.confirm)
            return self._sessions.begin(run, account)
        if known.account.client != client:
            raise PrivacyError(f"in this run the silo is client {known.account.client}, and stays so.")
        return known


def _flower() -> dict[str, Any]:
    """Return what is needed of Flower's own SuperNode; it is not public there, so it may move."""
    homes = {
        "flwr.app": ("ConfigRecord", "Error", "Message", "RecordDict"),
        "flwr.supernode.fleet_http_connection": ("http_request_response",),
        "flwr.supercore.inflatable.inflatable_object": (
            "get_all_nested_objects",
            "get_object_tree",
            "no_object_id_recompute",
        ),
        "flwr.supercore.inflatable.inflatable_utils": ("pull_and_inflate_object_from_tree", "push_objects"),
    }
    try:
        return {name: getattr(import_module(home), name) for home, names in homes.items() for name in names}
    except (ImportError, AttributeError) as fault:
        raise ParameterError(
            f"this needs Flower 1.41 (pip install 'discreet[federated]'), and it was not as expected: {fault}."
        ) from fault


def serve(
    silo: Silo,
    *,
    superlink: str,
    root_certificates: str | Path | None,
    node_key: str | Path | None,
    log: Callable[[str], object] | None = None,
    stop: Callable[[], bool] = lambda: False,
    beat: float = 0.0,
) -> None:
    """Answer a SuperLink's messages until stopped.

    Parameters
    ----------
    silo : Silo
    superlink : str
        Address and port.
    root_certificates : path, optional
        Of the authority that vouches for the SuperLink. None: no TLS, for tests on one machine only.
    node_key : path, optional
        This node's private key, whose public one is registered with the SuperLink.
    log : callable, optional
        Gets one line for each message; by default to standard error. Never holds text or counts.
    stop : callable, optional
        Asked between messages.
    beat : float, default 0.0
        Seconds: answers leave at whole beats after their message came, so that the time an answer takes tells how many
        documents there are only in steps of this size.
    """
    flower = _flower()
    tell = log or partial(print, file=sys.stderr, flush=True)
    connect = partial(
        flower["http_request_response"],
        superlink,
        root_certificates is None,
        None if root_certificates is None else Path(root_certificates).read_bytes(),
        _keys(node_key),
    )
    with connect() as (_, receive, send, _, _, pull, push, confirm_received):
        pause = _LOOK_EVERY
        while not stop():
            came: Any = None
            try:
                came = receive()
                if came is not None:
                    _serve_one(silo, came, flower, tell, (pull, push, confirm_received, send), beat)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as fault:  # Flower's exception for a run that has ended is not an Exception
                tell(f"a message could not be fetched or answered ({type(fault).__name__}); going on")
                if came is None:  # the SuperLink is gone: ask less and less often
                    time.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                    continue
                time.sleep(_AFTER_FAULT)
            pause = _LOOK_EVERY
            if came is None:
                time.sleep(_LOOK_EVERY)


def _serve_one(
    silo: Silo,
    came: tuple[Any, Any],
    flower: Mapping[str, Any],
    tell: Callable[[str], object],
    calls: tuple[Callable[..., Any], ...],
    beat: float,
) -> None:
    (message, tree), (pull, push, confirm_received, send) = came, calls
    run = message.metadata.run_id  # as the SuperLink says, which asks for a token of that run
    whole = flower["pull_and_inflate_object_from_tree"](
        tree, partial(pull, run), partial(confirm_received, run), return_type=flower["Message"]
    )
    whole.metadata.__dict__["_message_id"] = tree.object_id
    started = time.monotonic()
    reply = _reply(silo, whole, run, flower, tell)
    if beat:
        time.sleep(until_next_beat(time.monotonic() - started, beat))
    reply.metadata.__dict__["_message_id"] = reply.object_id
    with flower["no_object_id_recompute"]():
        objects = flower["get_all_nested_objects"](reply)
        # How long it took would tell how many documents there are: nobody needs to know.
        wanted, session = send(reply, flower["get_object_tree"](reply), 0.0)
        flower["push_objects"](objects, partial(push, run, session), object_ids_to_push=set(wanted))


def until_next_beat(taken: float, beat: float) -> float:
    """Return the seconds from ``taken`` to the next whole beat."""
    return math.ceil(taken / beat) * beat - taken if beat > 0 else 0.0


def _line(text: str) -> str:
    """Return a text as one line for a terminal on which somebody is asked: nothing in it can move, hide or wrap far."""
    return "".join(each if each.isprintable() else "?" for each in text[:_LONGEST_LINE])


def _reply(
    silo: Silo, message: Any, run: int, flower: Mapping[str, Any], tell: Callable[[str], object]
) -> Any:
    try:
        answer = silo.answer(message.content[RECORD], run)
        tell(f"answered message {answer['round']} of run {run}")
        content = flower["RecordDict"]({RECORD: flower["ConfigRecord"](answer)})
        return flower["Message"](content, reply_to=message)
    except DiscreetError as fault:
        tell(_line(f"not answered: {fault}"))
    except Exception as fault:  # whatever a server sends, the silo goes on
        tell(f"not answered: a message that is not one of ours ({type(fault).__name__})")
    return flower["Message"](flower["Error"](0, _NO_ANSWER), reply_to=message)


def _keys(path: str | Path | None) -> Any:
    if path is None:
        return None
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(Path(path).read_bytes(), None)
    except ValueError:
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ParameterError(
            f"{path} must hold an elliptic-curve private key in OpenSSH's form, without a password."
        )
    return key, key.public_key()
