"""The server's side of the same rounds over Flower: a ServerApp (extra ``federated``; flwr 1.41 or later).

    app = make_server_app(settings, save, keep="sums.npz")  # in the server's app module

Flower carries bytes; what they mean, and what is refused, is decided by :mod:`~discreet.federated.rounds`. Who sent an
answer is what Flower says (with node authentication: proved), not what the answer says.

There is no ClientApp: a SuperNode runs the app that the SuperLink sends, whoever submitted it, and with all that the
SuperNode can read. ``discreet silo serve`` takes its place (:mod:`~discreet.federated.silo`).

Run with TLS and authenticated SuperNodes. Switch Flower's telemetry off (``FLWR_TELEMETRY_ENABLED=0``).
"""

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.federated.rounds import Update, init_server, server_step
from discreet.federated.state import State
from discreet.federated.wire import RECORD, read_values, save_state, state_bytes

_LOOK_EVERY = 0.5


def _flower() -> Any:
    try:
        flwr: Any = import_module("flwr")
        for part in ("app", "serverapp"):
            import_module(f"flwr.{part}")
    except ImportError as fault:
        raise ParameterError("this needs Flower: pip install 'discreet[federated]'.") from fault
    return flwr


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
        Arguments of :func:`~discreet.federated.rounds.init_server`.
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
