"""States, updates and accounts as bytes, without pickles: what a transport carries, and what a silo keeps.

A message to a client holds the public settings, the topics where the mechanism uses them ("rrp"), and of a sum
under masks only what this client needs. Bytes from others are read with numpy's ``allow_pickle=False``; what cannot
be read is no update (:func:`read_values` returns None), which ``server_step`` leaves out.
"""

import io
import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import CorpusError
from discreet.federated.account import Account
from discreet.federated.rounds import State
from discreet.federated.secure_aggregation.masks import Masker
from discreet.federated.sum_round import Secret
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream

__all__ = ["account_json", "read_account", "read_state", "read_values", "state_bytes", "values_bytes"]

_LEFT_OUT = ("topic_word", "sums", "refusals", "traffic")
_PLAIN = [field.name for field in fields(State) if field.name not in _LEFT_OUT]


def values_bytes(values: NDArray[Any]) -> bytes:
    """Return an update's values as one npy file."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def read_values(content: Any) -> NDArray[Any] | None:
    """Return the values, or None where the bytes are no array of numbers."""
    if not isinstance(content, bytes):
        return None
    try:
        file = io.BytesIO(content)
        values = np.load(file, allow_pickle=False)
        complete = isinstance(values, np.ndarray) and not file.read(1)
        return values if complete and values.dtype.kind in "biuf" else None
    except Exception:  # whatever strangers' bytes do to a reader, they are no update
        return None


def state_bytes(state: State, client: int) -> bytes:
    """Return what one client needs of a state."""
    header: dict[str, Any] = {name: getattr(state, name) for name in _PLAIN}
    if isinstance(state.sums, Secret):
        secret = state.sums
        header["secret"] = {
            "keys": {str(c): key.hex() for c, key in secret.keys.items()},
            "boxes": {str(c): boxes[client].hex() for c, boxes in secret.sealed.items() if client in boxes},
            "masked": sorted(int(c) for c in secret.masked),
        }
    topics = state.topic_word if state.mechanism == "rrp" else np.zeros((0, 0))
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, header=text, topics=topics)
    return file.getvalue()


def read_state(content: bytes, client: int) -> State:
    """Return the state as a client sees it."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as parts:
            header = json.loads(parts["header"].tobytes())
            topics = parts["topics"]
        secret = header.pop("secret", None)
        state = State(topic_word=topics, **{name: header[name] for name in _PLAIN})
    except Exception as fault:
        raise CorpusError(
            "the server's message cannot be read; do both sides run the same version?"
        ) from fault
    if secret is None:
        return state
    keys = {int(c): bytes.fromhex(key) for c, key in secret["keys"].items()}
    boxes = {int(c): {client: bytes.fromhex(box)} for c, box in secret["boxes"].items()}
    masked: Any = {int(c): None for c in secret["masked"]}
    return replace(state, sums=Secret(keys, {}, boxes, masked))


def account_json(account: Account) -> str:
    """Return a client's account as text, for the silo's own storage. Holds keys: keep it as safe as the corpus."""
    masker = account.masker
    value: dict[str, Any] = {
        "client": account.client,
        "rounds": account.rounds,
        "served": None if account.served is None else account.served.tolist(),
        "classes": None if account.dealt is None else account.dealt.tolist(),
        "corpus": account.corpus_digest,
        "terms": account.terms,
        "masker": None if masker is None else masker.to_json(),
        "ledger": account.ledger.to_json() if account.ledger.path is None else None,
    }
    return json.dumps(value)


def read_account(text: str, ledger: Ledger | None) -> Account:
    """Return the account; with the ledger given, or the one that was written where it has no file of its own."""
    value = json.loads(text)
    if value["ledger"] is not None:
        ledger = Ledger.from_json(value["ledger"])
    if ledger is None:
        raise CorpusError("this account's ledger is kept in a file; open it (Ledger.open) and pass it.")
    account = Account(int(value["client"]), ledger)
    account.rounds = [(int(number), str(what)) for number, what in value["rounds"]]
    if value["served"] is not None:
        account.served = np.array(value["served"], np.int64)
    if value["classes"] is not None:
        account.dealt = np.array(value["classes"], np.int64)
    account.corpus_digest, account.terms = value["corpus"], value["terms"]
    if value["masker"] is not None:
        account.masker = Masker.from_json(value["masker"], SecureStream(None))
    return account
