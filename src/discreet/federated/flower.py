"""The same rounds over Flower: a ServerApp and a ClientApp (extra ``federated``; flwr 1.41 or later).

    server_app = make_server_app(settings, save, keep="sums.npz")                     # in the server's app module
    client_app = make_client_app(load_corpus, open_ledger, expected=what_was_agreed)  # in the silos' app module

Flower carries bytes; what they mean, and what is refused, is decided by :mod:`~discreet.federated.rounds`. A silo's
account (which tokens it has reported, its keys for a sum) is kept in the state that Flower holds for it on the silo's
own SuperNode; its ledger in a file of the silo. Who sent an answer is what Flower says (with node authentication:
proved), not what the answer says.

A SuperNode runs the app that the SuperLink sends, whoever submitted it, and with all that the SuperNode can read: where
the counts are private, run ``discreet silo serve`` in its place (:mod:`~discreet.federated.silo`).

Run with TLS and authenticated SuperNodes. Switch Flower's telemetry off (``FLWR_TELEMETRY_ENABLED=0``).
"""

import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.federated.account import Account
from discreet.federated.rounds import Update, init_server, server_step
from discreet.federated.silo import Session
from discreet.federated.state import State
from discreet.federated.wire import (
    RECORD,
    read_state,
    read_values,
    save_state,
    state_bytes,
)
from discreet.privacy.ledger.ledger import Ledger

_SESSION = "discreet.session"
_LOOK_EVERY = 0.5


def _flower() -> Any:
    try:
        flwr: Any = import_module("flwr")
        for part in ("app", "clientapp", "serverapp"):
            import_module(f"flwr.{part}")
    except ImportError as fault:
        raise ParameterError("this needs Flower: pip install 'discreet[federated]'.") from fault
    return flwr


def make_client_app(
    load_corpus: Callable[[Any], Any],
    open_ledger: Callable[[Any, State], Ledger],
    *,
    expected: Mapping[str, Any] | None = None,
    confirm: Callable[[str, int, int], bool] | None = None,
) -> Any:
    """Return a ClientApp that answers each round.

    Parameters
    ----------
    load_corpus : callable
        ``load_corpus(context)``: the silo's counts, over the public vocabulary; called once the cost of the round is
        booked. ``context.node_config`` has what the SuperNode was started with.
    open_ledger : callable
        ``open_ledger(context, state)``: the silo's ledger, best kept in a file (:meth:`Ledger.open`).
    expected : mapping, optional
        What was agreed, as for :class:`~discreet.federated.Account`. "aggregate" needs it.
    confirm : callable, optional
        As for :class:`~discreet.federated.Account`.
    """
    flwr = _flower()
    app = flwr.clientapp.ClientApp()
    how: dict[str, Any] = {"expected": expected, "confirm": confirm}

    def reply(message: Any, context: Any) -> Any:
        asked = message.content[RECORD]
        content = bytes(asked["state"])
        state = read_state(content)
        kept = context.state.get(_SESSION)  # Flower keeps one for each run
        if kept is None:
            session = Session(Account(int(asked["client"]), open_ledger(context, state), **how))
        else:
            value = json.loads(str(kept["session"]))
            has_file = json.loads(value["account"])["ledger"] is None
            session = Session.from_json(value, open_ledger(context, state) if has_file else None, **how)
        try:
            values = session.answer(content, state, lambda: load_corpus(context))
        finally:  # what was booked stays booked, whatever happens next
            context.state[_SESSION] = flwr.app.ConfigRecord({"session": json.dumps(session.to_json())})
        answer = flwr.app.ConfigRecord({"round": state.round, "values": values})
        return flwr.app.Message(flwr.app.RecordDict({RECORD: answer}), reply_to=message)

    app.query()(reply)
    return app


def make_server_app(
    settings: Mapping[str, Any],
    finish: Callable[[State], None],
    *,
    keep: str | Path,
    timeout: float = 600.0,
) -> Any:
    """Return a ServerApp that runs all rounds with as many SuperNodes as ``settings["n_clients"]`` says.

    Parameters
    ----------
    settings : mapping
        Arguments of :func:`~discreet.federated.rounds.init_server`, ``mechanism`` among them.
    finish : callable
        ``finish(state)`` gets the last state: save its ``topic_word``. Not called where no topics could be fitted.
    keep : path
        File for what the silos paid for, written before topics are fitted (:func:`~discreet.federated.save_state`);
        with ``word_vectors`` after each sum, so that a later one that fails loses none before it.
    timeout : float
        Seconds to wait for SuperNodes, and for the answers of a round; who is later is left out of the round. Where
        too few answered, those who are missing are asked once more.
    """
    flwr = _flower()
    app = flwr.serverapp.ServerApp()

    def main(grid: Any, _: Any) -> None:
        state = init_server(**settings)
        nodes = _wait_for_nodes(grid, state.n_clients, timeout)
        number = {node: client for client, node in enumerate(nodes)}

        def ask(state: State, clients: Mapping[int, int]) -> dict[int, Update]:
            messages: list[Any] = []
            for node, client in clients.items():
                record = {"client": client, "state": state_bytes(state, client)}
                content = flwr.app.RecordDict({RECORD: flwr.app.ConfigRecord(record)})
                messages.append(flwr.app.Message(content, dst_node_id=node, message_type="query"))
            replies = grid.send_and_receive(messages, timeout=timeout)
            found = [_update(reply, number) for reply in replies if not reply.has_error()]
            return {update.client: update for update in found if update is not None}

        while not state.finished:
            came = ask(state, number)
            try:
                state = server_step(state, came.values(), keep=lambda last: save_state(last, keep))
            except PrivacyError:  # too few: what the others paid for need not be lost
                came |= ask(state, {node: client for node, client in number.items() if client not in came})
                state = server_step(state, came.values(), keep=lambda last: save_state(last, keep))
        if state.problem:
            raise ParameterError(f"{state.problem} It is kept in {keep}: load_state, then fit_state.")
        finish(state)

    app.main()(main)
    return app


def _wait_for_nodes(grid: Any, n_clients: int, timeout: float) -> list[int]:
    deadline = time.monotonic() + timeout
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) >= n_clients:
            return nodes[:n_clients]
        if time.monotonic() > deadline:
            raise CorpusError(
                f"{n_clients} SuperNodes are needed, but {len(nodes)} came; start them, then run again."
            )
        time.sleep(_LOOK_EVERY)


def _update(reply: Any, number: Mapping[int, int]) -> Update | None:
    """Return what a reply holds; the sender's number by its node, never by what it says itself."""
    try:
        content = reply.content[RECORD]
        client = number[reply.metadata.src_node_id]
        return Update(client, int(content["round"]), read_values(content["values"]))
    except Exception:  # whatever strangers put into a reply, it is no update
        return None
