"""A silo that answers what was agreed and runs nothing that a server sends.

A SuperNode of Flower runs the app that the SuperLink sends it: whoever may submit one reads what the SuperNode's user
can read. :class:`Silo` takes a SuperNode's place. It speaks to a SuperLink as one, asks for messages, and answers
them with this library and with what its own command line says; it never asks for an app, so there is none to run. What
a server can do is what :mod:`~discreet.federated.rounds` lets it do.

Of errors the server learns that there was one, and nothing more: what is left of a budget, or what is wrong with the
counts, is for the silo's own eyes.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet._validate import refuse
from discreet._word_order import carried, names_of
from discreet.corpus import Corpus
from discreet.corpus.words.origin import faults_of_runs
from discreet.errors import DiscreetError, ParameterError, PrivacyError
from discreet.federated.account import OF_ONE_WORD, Account, check_silo
from discreet.federated.sessions import Session, Sessions
from discreet.federated.state import TERMS, State, agreed_terms
from discreet.federated.wire import RECORD, read_state
from discreet.privacy.ledger.ledger import Ledger

__all__ = ["Silo", "read_tasks", "serve", "until_next_beat"]

_LOOK_EVERY = 1.0
_LONGEST_PAUSE = 30.0
_AFTER_FAULT = 0.1
_LONGEST_LINE = 300
_NO_ANSWER = "the silo does not answer this"


def read_tasks(path: str | Path) -> list[dict[str, Any]]:
    """Return the tasks that a silo agreed to: a JSON list of what :class:`Account` takes as ``expected``.

    Raises
    ------
    ParameterError
        Where it is no such list, or a task names no mechanism or something that is no setting.
    """
    try:
        tasks = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ParameterError(
            f"{path} must hold a JSON list of tasks, but cannot be read as one ({fault})."
        ) from None
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise ParameterError(f"{path} must hold a JSON list of tasks, each an object of settings.")
    for number, task in enumerate(tasks, 1):
        unknown = sorted(set(task) - set(TERMS))
        if unknown or "mechanism" not in task:
            raise ParameterError(
                f"task {number} in {path} must name its mechanism, and settings out of {', '.join(TERMS)} only"
                f"{', but has ' + ', '.join(unknown) if unknown else ''}."
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
        (:mod:`~discreet.federated.sessions`). None: in memory only.
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
        if any(task.get("mechanism") in OF_ONE_WORD for task in tasks):
            refuse(faults_of_runs(names_of(corpus), carried(corpus, "cut") or {}))
        counts = corpus.counts if isinstance(corpus, Corpus) else corpus
        self._counts = check_silo(counts, counts.shape[1])
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
        session = self._session(str(run), client, state)
        values = session.answer(content, state, self._counts)
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
