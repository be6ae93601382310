"""The protocol as pure functions: what the server keeps, what a client sends, and how rounds go on.

``init_server`` makes a state; ``client_update`` computes what one silo sends for it; ``server_step`` takes what has
come, whatever it is, and returns the next state. Any transport can carry them: :class:`FederatedLDA` calls them in one
process, :mod:`discreet.federated.flower` over a network. Everything in a state is public.

An update that is not what the round asked for is left out whole, with its reason (:class:`Refusal`): of an unknown
client, for another round, a second one, of the wrong kind or size, or with a value that no honest client sends.
No update can keep a round from ending.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, PrivacyError
from discreet.federated.account import MESSAGES, Account
from discreet.federated.secure_aggregation.shared_noise import check_tolerated
from discreet.privacy.noise.stream import SecureStream

__all__ = ["MECHANISMS", "Refusal", "State", "Update", "client_update", "init_server", "server_step"]

_PARTS = {"rrp": "pair_round", "bits": "bit_round", "aggregate": "sum_round"}
MECHANISMS = tuple(_PARTS)
#: What a server may not change between rounds.
_TERMS = (
    "mechanism",
    "n_clients",
    "n_topics",
    "n_words",
    "n_rounds",
    "epsilon",
    "delta",
    "reports_per_token",
    "most_reports",
    "tolerated",
    "silos_see_result",
    "density",
)


class Update(NamedTuple):
    """What one client sends in one round.

    Attributes
    ----------
    client : int
        Its number, from 0.
    round : int
    values : array
        "rrp": reported cells, int64. "bits": packed reports, uint8 (n_reports, ceil(n_words / 8)). "aggregate":
        integer sums with noise, int64.
    """

    client: int
    round: int
    values: Any


class Refusal(NamedTuple):
    """An update that was left out, and why."""

    client: Any
    round: int
    reason: str


@dataclass(frozen=True, eq=False)
class State:
    """All that the server knows; public.

    Attributes
    ----------
    mechanism : str
    n_clients, n_topics, n_words, n_rounds : int
    round : int
        Rounds done; the round that is asked for now.
    epsilon, delta : float
        The promise: of one pair's reports together, given all topics ("rrp"), of one replaced word ("bits"), of one
        document ("aggregate").
    reports_per_token : int
        "rrp": in how many rounds each token is reported.
    most_reports : int
        Largest number of reports that a client may send in a round.
    tolerated : int
        "aggregate": how many clients may drop out, or be in league with the server.
    silos_see_result : bool
        "aggregate": whether silos see the topics. Then each brings more noise, so that the promise also holds towards
        them, who know their own.
    density : float
        "bits": public guess of the share of all words that a document has.
    seed : int
        Of starting points. Public.
    allow_unlearnable : bool
    topic_word : array of shape (n_topics, n_words)
    sums : dict
        What the mechanism keeps over rounds.
    refusals : tuple of Refusal
    traffic : tuple of (int, int)
        Bytes received and number of updates taken, for each round.
    """

    mechanism: str
    n_clients: int
    n_topics: int
    n_words: int
    n_rounds: int
    epsilon: float
    delta: float
    topic_word: NDArray[np.float64]
    reports_per_token: int = 1
    most_reports: int = 1 << 20
    tolerated: int = 0
    silos_see_result: bool = True
    density: float = 0.02
    seed: int = 0
    allow_unlearnable: bool = False
    round: int = 0
    sums: Any = None
    refusals: tuple[Refusal, ...] = ()
    traffic: tuple[tuple[int, int], ...] = ()

    @property
    def finished(self) -> bool:
        """Whether all rounds are done."""
        return self.round >= self.n_rounds


def init_server(
    mechanism: str,
    *,
    n_clients: int,
    n_topics: int,
    n_words: int,
    n_rounds: int,
    epsilon: float,
    delta: float = 0.0,
    seed: int = 0,
    **options: Any,
) -> State:
    """Return the state before the first round: topics near even, drawn from a public seed.

    Parameters
    ----------
    mechanism : {"rrp", "bits", "aggregate"}
    n_clients, n_topics, n_words, n_rounds : int
        "bits" and "aggregate" have one round; that of "aggregate" takes four messages, each a step.
    epsilon, delta : float
    seed : int
        Of the starting topics. Public.
    **options
        ``reports_per_token``, ``most_reports``, ``tolerated`` (clients that may drop out), ``silos_see_result``,
        ``density``; see :class:`State`.
    """
    if mechanism not in MECHANISMS:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}, but is {mechanism!r}.")
    if not epsilon > 0:
        raise PrivacyError(f"epsilon must be positive, but is {epsilon!r}.")
    if mechanism == "aggregate" and not 0 < delta < 1:
        raise PrivacyError(
            f'mechanism="aggregate" adds Gaussian noise, which needs a delta between 0 and 1, not {delta!r}.'
        )
    if mechanism != "rrp" and n_rounds != 1:
        raise ParameterError(f'mechanism="{mechanism}" has one round, but n_rounds is {n_rounds}.')
    numbers = {"n_clients": n_clients, "n_topics": n_topics, "n_words": n_words, "n_rounds": n_rounds}
    for name, value in {**numbers, "reports_per_token": options.get("reports_per_token", 1)}.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError(f"{name} must be a positive whole number, but is {value!r}.")
    if mechanism == "rrp" and options.get("reports_per_token", 1) > n_rounds:
        raise ParameterError("reports_per_token can be n_rounds at most: a token is reported once a round.")
    tolerated = options.get("tolerated", 0)
    if mechanism == "aggregate":
        n_rounds = MESSAGES
        check_tolerated(n_clients, tolerated, silos_see_result=options.get("silos_see_result", True))
    rng = np.random.default_rng(seed)
    topics = rng.gamma(10.0, size=(n_topics, n_words))
    topics /= topics.sum(1, keepdims=True)
    return State(
        mechanism,
        n_clients,
        n_topics,
        n_words,
        n_rounds,
        float(epsilon),
        float(delta),
        topics,
        seed=seed,
        **options,
    )


def client_update(state: State, corpus: Any, stream: SecureStream, account: Account) -> Update:
    """Compute what a silo sends in the round that the state asks for. The cost is booked before the corpus is read.

    Parameters
    ----------
    state : State
    corpus : CSR matrix of shape (n_documents, n_words), or a callable that returns one
        The silo's counts, as ``check_counts`` returns them. Looked at (or called) after the booking.
    stream : SecureStream
        The client's own.
    account : Account
        The client's own: its number, its ledger, what it sent before.

    Raises
    ------
    BudgetExceeded
        Where the round would cost more than is left. Nothing is sent then.
    PrivacyError
        Where the server's settings are not those of the client's first round, or the ledger protects another unit.
    """
    account.agree(state.mechanism, {name: str(getattr(state, name)) for name in _TERMS})
    return Update(account.client, state.round, _part(state).compute(state, corpus, stream, account))


def server_step(state: State, updates: Iterable[Any]) -> State:
    """Take what came, leave out what is not right, and return the state of the next round."""
    if state.finished:
        raise ParameterError(f"all {state.n_rounds} rounds are done; read the topics, or start anew.")
    part = _part(state)
    taken: dict[int, Any] = {}
    refusals: list[Refusal] = []
    received = 0
    for update in updates:
        reason = _fault(state, update, taken) or part.fault(state, update.values)
        if reason:
            refusals.append(Refusal(getattr(update, "client", None), state.round, reason))
        else:
            taken[update.client] = update.values
            received += update.values.nbytes
    clients = sorted(taken)  # so that the order in which updates come changes nothing
    topics, sums = part.combine(state, {client: taken[client] for client in clients})
    return replace(
        state,
        round=state.round + 1,
        topic_word=topics,
        sums=sums,
        refusals=(*state.refusals, *refusals),
        traffic=(*state.traffic, (received, len(taken))),
    )


def _fault(state: State, update: Any, taken: dict[int, Any]) -> str | None:
    if not isinstance(update, Update):
        return "no update"
    if isinstance(update.client, bool) or not isinstance(update.client, int | np.integer):
        return "no client's number"
    if not 0 <= update.client < state.n_clients:
        return "unknown client"
    if not isinstance(update.round, int | np.integer) or update.round != state.round:
        return "for another round"
    if update.client in taken:
        return "a second update"
    if not isinstance(update.values, np.ndarray):
        return "no array"
    return None


def _part(state: State) -> Any:
    return import_module(f"discreet.federated.{_PARTS[state.mechanism]}")
