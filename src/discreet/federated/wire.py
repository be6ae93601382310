"""States, updates and accounts as bytes, without pickles: what a transport carries, and what a silo keeps.

A message to a client holds the terms, and of a sum under masks only what this client needs: the question, too, where
the answers are to be summed now. Bytes from others are read with
numpy's ``allow_pickle=False``; what cannot be read is no update (:func:`read_values` returns None), which
``server_step`` leaves out.
"""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.files import read_json, write_whole
from discreet._base.validate import is_whole
from discreet.errors import CorpusError, DiscreetError, ReleaseError
from discreet.federated.account import Account
from discreet.federated.masks.masker import Masker
from discreet.federated.question_round import asked_of
from discreet.federated.rounds import ended
from discreet.federated.state import MESSAGES, TERMS, VECTOR, Learned, Refusal, State, check_terms
from discreet.federated.sum_round import Shown, Total, shown_to
from discreet.privacy.ledger.ledger import Ledger

#: Under which name messages of a transport hold ours.
RECORD = "discreet"


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
        return _read_array(content)
    except Exception:  # whatever strangers' bytes do to a reader, they are no update
        return None


def _read_array(content: bytes) -> NDArray[Any]:
    """Read a npy file that holds what it claims to hold, before memory is taken for it."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("another version of npy")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
    if kind.kind not in "biuf" or kind.hasobject or (by_columns and len(shape) > 1):
        raise ValueError("no plain array")
    if math.prod(shape) * kind.itemsize != len(content) - file.tell():
        raise ValueError("an array of another size than it says")
    return np.frombuffer(content, kind, offset=file.tell()).reshape(shape)


def _header(state: State) -> dict[str, Any]:
    header = {name: getattr(state, name) for name in (*TERMS, "round")}
    return header | ({"epsilon": "inf"} if state.epsilon == math.inf else {})  # JSON has no infinity


def _archive(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return one npz file, the same bytes for the same content: a message that is asked for again is known by them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr(zipfile.ZipInfo("header.json"), json.dumps(header))
        for name, array in arrays.items():
            parts.writestr(zipfile.ZipInfo(f"{name}.npy"), values_bytes(array))
    return file.getvalue()


def _read_archive(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]], State]:
    """Return header, arrays and a state of the terms and the round; any error for other bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise ValueError("what is packed may be larger than memory")
        header = read_json(parts.read("header.json"))
        names = [name.removesuffix(".npy") for name in parts.namelist() if name.endswith(".npy")]
        arrays = {name: _read_array(parts.read(f"{name}.npy")) for name in names}
    terms = {name: header[name] for name in TERMS}
    terms |= {"epsilon": math.inf} if terms["epsilon"] == "inf" else {}
    check_terms(terms)
    if not is_whole(header["round"]) or not 0 <= header["round"] <= terms["n_rounds"]:
        raise ValueError("no such round")
    topics = arrays.pop("topics")
    if topics.size and topics.shape != (terms["n_topics"], terms["n_words"]):
        raise ValueError("topics of another shape")
    if not (np.isfinite(topics).all() and (topics >= 0).all()):
        raise ValueError("topics that are no probabilities")
    return header, arrays, State(topic_word=topics, round=header["round"], **terms)


def state_bytes(state: State, client: int) -> bytes:
    """Return what one client needs of a state."""
    header, arrays = _header(state), dict[str, NDArray[Any]]()
    asked = state.sums.known.question if state.statistic == "questions" else None
    if asked is not None and state.round % MESSAGES == VECTOR:
        arrays = {"table": np.ascontiguousarray(asked.table), "weights": asked.weights}
    shown = shown_to(client, state)
    content = {str(silo): part.hex() for silo, part in shown.content.items()}
    header["shown"] = {"content": content, "silos": [int(silo) for silo in shown.silos]}
    return _archive(header, {"topics": np.zeros((0, 0)), **arrays})


def read_state(content: bytes) -> State:
    """Return the state as a client sees it."""
    try:
        header, arrays, state = _read_archive(content)
        shown = header["shown"]
        parts = {int(silo): bytes.fromhex(part) for silo, part in shown["content"].items()}
        asked = None
        if state.statistic == "questions" and state.round % MESSAGES == VECTOR:
            asked = asked_of(state, arrays["table"], arrays["weights"])
        return replace(state, masks=Shown(parts, tuple(int(silo) for silo in shown["silos"])), sums=asked)
    except DiscreetError as fault:
        raise CorpusError(f"the settings that the server asks for are impossible: {fault}") from None
    except Exception as fault:
        raise CorpusError(
            "the server's message cannot be read; do both sides run the same version?"
        ) from fault


def save_state(state: State, path: str | Path) -> None:
    """Write what the silos paid for, so that topics can be fitted to it again. Readable by its owner only.

    Parameters
    ----------
    state : State
        After the last round; or, with ``word_vectors``, after the first sum: as if the course ended there.
    path : path
        One npz file; replaced where it exists.
    """
    state = ended(state)
    if not state.finished:
        raise ReleaseError(
            f"round {state.round} of {state.n_rounds} is not done; there is nothing to keep yet."
        )
    header = _header(state) | {"seed": state.seed, "traffic": state.traffic}
    header["refusals"] = [(repr(client)[:100], number, reason) for client, number, reason in state.refusals]
    arrays: dict[str, NDArray[Any]] = {"topics": state.topic_word}
    if isinstance(state.sums, Total):
        arrays["total"], header["n_vectors"] = state.sums.values, state.sums.n_vectors
    elif isinstance(state.sums, Learned):
        learned = state.sums._asdict()
        arrays |= {name: learned.pop(name) for name in ("weight", "unigram")}
        header["learned"] = learned
    write_whole(_archive(header, arrays), Path(path), "the sums", secret=True)


def load_state(path: str | Path) -> State:
    """Read what :func:`save_state` wrote; give it to ``fit_state``.

    Parameters
    ----------
    path : path

    Raises
    ------
    ReleaseError
        If the file is not one that ``save_state`` wrote after the last round.
    """
    try:
        header, arrays, state = _read_archive(Path(path).read_bytes())
        if not state.finished:
            raise ValueError("a state before its end")
        if state.statistic == "questions":
            sums = Learned(arrays["weight"], arrays["unigram"], **header["learned"])
        else:
            sums = Total(arrays["total"], int(header["n_vectors"]))
        return replace(
            state,
            sums=sums,
            seed=int(header["seed"]),
            traffic=tuple((int(size), int(n)) for size, n in header["traffic"]),
            refusals=tuple(Refusal(*refusal) for refusal in header["refusals"]),
        )
    except OSError:
        raise
    except Exception as fault:
        raise ReleaseError(f"{path} does not hold sums that save_state wrote.") from fault


def account_json(account: Account, *, keys: bool = True) -> str:
    """Return a client's account as text, for the silo's own storage. Holds keys: keep it as safe as the corpus.

    Its ledger, and what the silo expects of the server, are not in it: they are given anew. Without ``keys``, those for
    a sum are left out.
    """
    masker = account.masker if keys else None
    value: dict[str, Any] = {
        "client": account.client,
        "rounds": account.rounds,
        "terms": account.terms,
        "masker": None if masker is None else masker.to_json(),
    }
    return json.dumps(value)


def read_account(text: str, ledger: Ledger, **how: Any) -> Account:
    """Return the account, on its ledger; ``how`` are ``expected`` and ``confirm`` of :class:`Account`."""
    value = read_json(text)
    account = Account(int(value["client"]), ledger, **how)
    account.rounds = [(int(number), str(what)) for number, what in value["rounds"]]
    account.terms = value["terms"]
    if value["masker"] is not None:
        account.masker = Masker.from_json(value["masker"])
    return account
