"""The same rounds over Flower: a ServerApp and a ClientApp (extra ``federated``; flwr 1.41 or later).

    server_app = make_server_app(settings, save)         # in the server's app module
    client_app = make_client_app(load_corpus, open_ledger)  # in the silos' app module

Flower carries bytes; what they mean, and what is refused, is decided by :mod:`~discreet.federated.rounds`. A silo's
account (which tokens it has reported, its keys for a sum) is kept in the state that Flower holds for it on the silo's
own SuperNode; its ledger in a file of the silo. Who sent an answer is what Flower says (with node authentication:
proved), not what the answer says.

Run with TLS and authenticated SuperNodes. Switch Flower's telemetry off (``FLWR_TELEMETRY_ENABLED=0``).
"""

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from discreet.errors import CorpusError, ParameterError
from discreet.federated.account import Account, check_silo
from discreet.federated.rounds import State, Update, client_update, init_server, server_step
from discreet.federated.wire import (
    account_json,
    read_account,
    read_state,
    read_values,
    state_bytes,
    values_bytes,
)
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream

__all__ = ["make_client_app", "make_server_app"]

_RECORD, _ACCOUNT = "discreet", "discreet.account"
_LOOK_EVERY = 0.5


def _flower() -> Any:
    try:
        flwr: Any = import_module("flwr")
        for part in ("app", "clientapp", "serverapp"):
            import_module(f"flwr.{part}")
    except ImportError as fault:
        raise ParameterError("this needs Flower: pip install 'discreet[federated]'.") from fault
    return flwr


def make_client_app(load_corpus: Callable[[Any], Any], open_ledger: Callable[[Any, State], Ledger]) -> Any:
    """Return a ClientApp that answers each round.

    Parameters
    ----------
    load_corpus : callable
        ``load_corpus(context)``: the silo's counts, over the public vocabulary; called once the cost of the round is
        booked. ``context.node_config`` has what the SuperNode was started with.
    open_ledger : callable
        ``open_ledger(context, state)``: the silo's ledger, best kept in a file (:meth:`Ledger.open`).
    """
    flwr = _flower()
    app = flwr.clientapp.ClientApp()

    def answer(message: Any, context: Any) -> Any:
        asked = message.content[_RECORD]
        client = int(asked["client"])
        state = read_state(bytes(asked["state"]), client)
        kept = context.state.get(_ACCOUNT)
        if kept is None or kept["session"] != asked["session"]:
            account = Account(client, open_ledger(context, state))
        else:
            text = str(kept["account"])
            has_file = '"ledger": null' in text
            account = read_account(text, open_ledger(context, state) if has_file else None)
        try:
            update = client_update(
                state,
                lambda: check_silo(load_corpus(context), state.n_words),
                SecureStream(None),
                account,
            )
        finally:  # what was booked stays booked, whatever happens next
            record = {"session": str(asked["session"]), "account": account_json(account)}
            context.state[_ACCOUNT] = flwr.app.ConfigRecord(record)
        content = flwr.app.ConfigRecord({"round": state.round, "values": values_bytes(update.values)})
        return flwr.app.Message(flwr.app.RecordDict({_RECORD: content}), reply_to=message)

    app.query()(answer)
    return app


def make_server_app(
    settings: Mapping[str, Any],
    finish: Callable[[State], None],
    *,
    timeout: float = 600.0,
) -> Any:
    """Return a ServerApp that runs all rounds with as many SuperNodes as ``settings["n_clients"]`` says.

    Parameters
    ----------
    settings : mapping
        Arguments of :func:`~discreet.federated.rounds.init_server`, ``mechanism`` among them.
    finish : callable
        ``finish(state)`` gets the last state: save its ``topic_word``.
    timeout : float
        Seconds to wait for SuperNodes, and for the answers of a round; who is later is left out of the round.
    """
    flwr = _flower()
    app = flwr.serverapp.ServerApp()

    def main(grid: Any, context: Any) -> None:
        state = init_server(**settings)
        nodes = _wait_for_nodes(grid, state.n_clients, timeout)
        number = {node: client for client, node in enumerate(nodes)}
        session = f"{context.run_id}"
        while not state.finished:
            messages = [
                flwr.app.Message(
                    flwr.app.RecordDict(
                        {
                            _RECORD: flwr.app.ConfigRecord(
                                {"session": session, "client": client, "state": state_bytes(state, client)}
                            )
                        }
                    ),
                    dst_node_id=node,
                    message_type="query",
                )
                for node, client in number.items()
            ]
            replies = grid.send_and_receive(messages, timeout=timeout)
            state = server_step(state, [_update(reply, number) for reply in replies if not reply.has_error()])
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
        content = reply.content[_RECORD]
        client = number[reply.metadata.src_node_id]
        return Update(client, int(content["round"]), read_values(content["values"]))
    except Exception:  # whatever strangers put into a reply, it is no update
        return None
