"""A client's own account: its ledger, and which of its tokens it has reported how often. Never leaves the silo.

Tokens are dealt into ``n_rounds`` classes by a permutation that only the client knows and that does not depend on what
the tokens are. In round r it reports the classes r, ..., r + m - 1 (modulo the number of rounds), so that after all
rounds each token was reported m times. A round is booked where it raises the number of reports of the most reported
class; where it does not, the tokens it reports are others than before, and none pays more than what is booked. A
server that asks twice for a round, or for more rounds, is booked like any other: the budget stops it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.ledger import Ledger
from discreet.privacy.stream import SecureStream

__all__ = ["MESSAGES", "PURE_DELTA", "Account", "pure_event", "read_corpus_now"]

#: A ledger asks for a delta; pure losses need none, so this one is as good as zero.
PURE_DELTA = 1e-12
#: Messages of one sum under masks.
MESSAGES = 4


def pure_event(epsilon: float) -> Any:
    """Return the event of a pure loss: randomised response, which dominates all others of that loss."""
    from discreet.privacy import events

    return events.non_private() if np.isinf(epsilon) else events.discrete_laplace(epsilon, 1)


def read_corpus_now(corpus: Any) -> Any:
    """Return the corpus, or call for it: only after the booking."""
    return corpus() if callable(corpus) else corpus


class Account:
    """What a client remembers between rounds.

    Parameters
    ----------
    client : int
        Its number.
    ledger : Ledger
        Its budget.

    Attributes
    ----------
    rounds : list of tuple
        (round, what was sent) for each update computed.
    served : array of shape (n_rounds,), optional
        How often each class of tokens was reported.
    dealt : array of shape (n_tokens,), optional
        The class of each token.
    masker : Masker, optional
        The client's part in a sum under masks.
    """

    def __init__(self, client: int, ledger: Ledger) -> None:
        self.client = client
        self.ledger = ledger
        self.rounds: list[tuple[int, str]] = []
        self.masker: Any = None
        self.served: NDArray[np.int64] | None = None
        self.dealt: NDArray[np.int64] | None = None

    def book(self, event: Any, number: int, what: str, *, reproducible: bool) -> Any:
        """Reserve a round's event on the ledger."""
        seeded = ", reproducible, not for release" if reproducible else ""
        reservation = self.ledger.reserve(event, f"round {number}: {what}{seeded}")
        self.rounds.append((number, what))
        return reservation

    def book_classes(
        self, number: int, n_rounds: int, per_token: int, epsilon: float, *, reproducible: bool
    ) -> NDArray[np.int64]:
        """Book a round of pair reports, each of loss ``epsilon``, and return the classes of tokens it reports."""
        if self.served is None:
            self.served = np.zeros(n_rounds, np.int64)
        classes = (number + np.arange(per_token)) % n_rounds
        served = self.served.copy()
        served[classes] += 1
        if served.max() > self.served.max():
            what = "reports of (word, topic) pairs, each at most once in this round"
            self.book(pure_event(epsilon), number, what, reproducible=reproducible)
        else:
            self.rounds.append((number, "reports of other tokens than before; no further cost to any"))
        self.served = served
        return classes

    def classes(self, n_tokens: int, n_rounds: int, stream: SecureStream) -> NDArray[np.int64]:
        """Return the class of each token, shape (n_tokens,); drawn once."""
        if self.dealt is None or len(self.dealt) != n_tokens:
            order = np.argsort(stream.spawn("classes").words(n_tokens), kind="stable")
            self.dealt = (np.arange(n_tokens) % n_rounds)[order]
        return self.dealt
