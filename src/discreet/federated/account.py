"""A client's own account: its ledger, and which of its tokens it has reported how often. Never leaves the silo.

Tokens are dealt into ``n_rounds`` classes by a permutation that only the client knows and that does not depend on what
the tokens are. In round r it reports the classes r, ..., r + m - 1 (modulo the number of rounds), so that after all
rounds each token was reported m times. A round is booked where it raises the number of reports of the most reported
class; where it does not, the tokens it reports are others than before, and none pays more than what is booked. A
server that asks twice for a round, or for more rounds, is booked like any other: the budget stops it.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.noise.stream import SecureStream

__all__ = ["MESSAGES", "PURE_DELTA", "UNITS", "Account", "check_silo", "pure_event", "read_corpus_now"]

#: Whom each mechanism's promise is about: unit and relation of the clients' ledgers.
UNITS = {
    "rrp": ("pair", "replace_one"),
    "bits": ("word", "replace_one"),
    "aggregate": ("document", "add_or_remove_one"),
}

#: A ledger asks for a delta; pure losses need none, so this one is as good as zero.
PURE_DELTA = 1e-12
#: Messages of one sum under masks.
MESSAGES = 4


def pure_event(epsilon: float) -> Any:
    """Return the event of a pure loss: randomised response, which dominates all others of that loss."""
    from discreet.privacy.accounting import events

    return events.non_private() if np.isinf(epsilon) else events.discrete_laplace(epsilon, 1)


def check_silo(part: Any, n_words: int) -> Any:
    """Return a silo's counts as CSR of int32; a silo without documents is one, too.

    To refuse it would tell everyone that it has none, and one document more would be seen by all.
    """
    import scipy.sparse as sp

    from discreet.corpus import check_counts

    shape = getattr(part, "shape", None)
    if shape is not None and tuple(shape) == (0, n_words):
        return sp.csr_matrix((0, n_words), dtype=np.int32)
    return check_counts(part, n_words=n_words)


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
    corpus_digest : str, optional
        Of the corpus whose tokens were dealt.
    terms : dict of str to str, optional
        The settings of the first round.
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
        self.corpus_digest: str | None = None
        self.terms: dict[str, str] | None = None

    def agree(self, mechanism: str, terms: dict[str, str]) -> None:
        """Hold the server to the settings of its first round, and the ledger to the mechanism's unit.

        Which tokens are paid for is worked out over rounds, and a sum's noise from the number of clients. A server that
        changed settings on the way could have more told than was booked.
        """
        ledger, wanted = self.ledger, UNITS[mechanism]
        if (ledger.privacy_unit, ledger.neighboring) != wanted:
            raise PrivacyError(
                f'this ledger protects {ledger.privacy_unit} ({ledger.neighboring}), but "{mechanism}" protects '
                f'{wanted[0]} ({wanted[1]}); open one with privacy_unit="{wanted[0]}", neighboring="{wanted[1]}".'
            )
        changed = [name for name, value in (self.terms or terms).items() if terms.get(name) != value]
        if changed:
            raise PrivacyError(
                f"the server changed {', '.join(changed)} since this client's first round; nothing is sent. Start anew."
            )
        self.terms = dict(terms)

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

    def classes(self, corpus: Any, n_rounds: int, stream: SecureStream) -> NDArray[np.int64]:
        """Return the class of each token of a CSR matrix of counts, shape (n_tokens,); drawn once.

        Raises
        ------
        PrivacyError
            Where the corpus is another than in earlier rounds: a token dealt twice could be reported twice, paid once.
        """
        digest, n_tokens = _digest(corpus), int(corpus.data.sum())
        if self.corpus_digest not in (None, digest):
            raise PrivacyError(
                "the corpus changed since this client's first round; nothing is sent. Start anew, with a budget of its "
                "own for the texts that were reported."
            )
        self.corpus_digest = digest
        if self.dealt is None:
            order = np.argsort(stream.spawn("classes").words(n_tokens), kind="stable")
            self.dealt = (np.arange(n_tokens) % n_rounds)[order]
        return self.dealt


def _digest(corpus: Any) -> str:
    found = hashlib.sha256()
    for part in (corpus.indptr, corpus.indices, corpus.data):
        found.update(np.asarray(part, np.int64).tobytes())
    return found.hexdigest()
