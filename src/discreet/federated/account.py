"""A client's own account: its ledger, what it agreed to, and what it has sent. Never leaves the silo."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from discreet._base.arrays import carried
from discreet.corpus.vocabulary import refuse_chosen_columns
from discreet.errors import CorpusError, ParameterError, PrivacyError
from discreet.federated.masks.keys import ORDER
from discreet.privacy.accounting import events
from discreet.privacy.ledger.ledger import Ledger, Reservation

#: Whom the promise is about: unit and relation of the clients' ledgers.
UNIT = ("document", "add_or_remove_one")
#: What a silo must have been told by others than the server before it sends its share of a sum: the noise hangs on it.
AGREED = ("n_clients", "tolerated", "n_words", "vocabulary")


def vocabulary_digest(words: Iterable[str]) -> str:
    """Return the digest of a public list of words, in their order: the same in all silos, or they count differently.

    Parameters
    ----------
    words : iterable of str
    """
    return hashlib.sha256(json.dumps([str(word) for word in words]).encode()).hexdigest()


def check_silo(part: Any, n_words: int) -> Any:
    """Return a silo's counts as CSR of int32; a silo without documents is one, too.

    To refuse it would tell everyone that it has none, and one document more would be seen by all. Columns that were
    chosen from the texts are refused: what the choice cost would be told nowhere.
    """
    import scipy.sparse as sp

    from discreet.corpus import check_counts

    refuse_chosen_columns(part)
    shape = getattr(part, "shape", None)
    if shape is not None and tuple(shape) == (0, n_words):
        return sp.csr_matrix((0, n_words), dtype=np.int32)
    return check_counts(part, n_words=n_words)


def check_columns(corpus: Any, n_words: int) -> None:
    """Refuse columns that no promise can be made about, before anything is booked; reads no counts.

    These are columns of another number than the server asks for, and columns that were chosen from the texts.
    """
    refuse_chosen_columns(corpus)
    shape = getattr(carried(corpus, "counts"), "shape", None) or getattr(corpus, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[1] != n_words):
        raise CorpusError(
            f"the silo counts {shape[-1]} words, but the server asks for {n_words}; nothing is booked. Count with the "
            "vocabulary that was agreed."
        )


def read_corpus_now(corpus: Any, n_words: int) -> Any:
    """Return a silo's counts, checked, or call for them: only after the booking.

    All that leaves a silo is computed from what this returns. A word in two entries of a row would count twice in the
    sum of a document, beyond what its norm is taken for; so no caller is trusted to have checked.
    """
    return check_silo(corpus() if callable(corpus) else corpus, n_words)


class Account:
    """What a client remembers between rounds.

    Parameters
    ----------
    client : int
        Its number.
    ledger : Ledger
        Its budget.
    expected : mapping, optional
        What was agreed with the other silos, by the names of :class:`~discreet.federated.State`: a server that asks
        otherwise gets nothing. It needs ``n_clients``, ``tolerated``, ``n_words`` and ``vocabulary`` (see
        :func:`vocabulary_digest`), because how much noise is enough depends on them; ``silos_see_result`` is True, and
        ``statistic`` "pairs", where it is left out.
    confirm : callable, optional
        ``confirm(digits, client, n_clients)`` is called before anything is booked, with 40 digits that
        must be the same in all silos, and this silo's number among theirs, from 0; False stops. Only someone who
        compares both knows that the server did not make the other silos up, or ask one of them twice.

    Attributes
    ----------
    rounds : list of tuple
        (round, what was sent) for each update computed.
    terms : dict of str to str, optional
        The settings of the first round.
    masker : Masker, optional
        The client's part in a sum under masks.
    """

    def __init__(
        self,
        client: int,
        ledger: Ledger,
        *,
        expected: Mapping[str, Any] | None = None,
        confirm: Callable[[str, int, int], bool] | None = None,
    ) -> None:
        self.client = client
        self.ledger = ledger
        self.expected = dict(expected or {})
        self.confirm = confirm
        self.rounds: list[tuple[int, str]] = []
        self.masker: Any = None
        self.terms: dict[str, str] | None = None

    def agree(self, terms: Mapping[str, Any]) -> None:
        """Hold the server to what was agreed and to the settings of its first round, and the ledger to the unit.

        A sum's noise is worked out from the number of clients: a server that chose or changed settings could have more
        told than was booked.
        """
        ledger, (unit, neighboring) = self.ledger, UNIT
        if (ledger.privacy_unit, ledger.neighboring) != UNIT:
            raise PrivacyError(
                f"this ledger protects {ledger.privacy_unit} ({ledger.neighboring}), but a sum protects {unit} "
                f'({neighboring}); open one with privacy_unit="{unit}", neighboring="{neighboring}".'
            )
        unknown = sorted(set(self.expected) - set(terms))
        if unknown:
            raise ParameterError(
                f"expected has {', '.join(unknown)}, which is not a setting; these are: {', '.join(sorted(terms))}."
            )
        missing = [name for name in AGREED if self.expected.get(name) in (None, "")]
        if missing:
            raise PrivacyError(
                f"a silo must know {', '.join(missing)} from someone other than the server, which could otherwise "
                "choose the noise; give expected={...} with what the silos agreed on."
            )
        expected = {"silos_see_result": True, "statistic": "pairs", **self.expected}
        other = [name for name, value in expected.items() if terms[name] != value]
        if other:
            told = "; ".join(f"{name} {terms[name]!r} instead of {expected[name]!r}" for name in other)
            raise PrivacyError(f"the server asks for what was not agreed ({told}); nothing is sent.")
        told = {name: str(value) for name, value in terms.items()}
        changed = [name for name, value in (self.terms or told).items() if told.get(name) != value]
        if changed:
            raise PrivacyError(
                f"the server changed {', '.join(changed)} since this client's first round; nothing is sent. Start over."
            )
        self.terms = told

    def afford(self, event: events.Event) -> None:
        """Raise ``BudgetExceeded`` where an event does not fit the ledger now; nothing is booked."""
        if not self.ledger.closed:
            self.ledger.rehearsal().reserve(event, "a rehearsal")

    def ledger_secret(self, terms: bytes) -> int:
        """Return a secret of the ledger for sums under these terms: the same for all who book on it.

        Its point tells whether two silos book on one ledger, and nothing else; only who has the ledger can prove that
        it knows the secret, so that nobody can take part in another's name.
        """
        found = hmac.digest(self.ledger.identity.encode(), b"discreet ledger" + terms, "sha512")
        return 1 + int.from_bytes(found) % (ORDER - 1)

    def book(
        self, event: events.Event, number: int, what: str, *, reproducible: bool, once: str | None = None
    ) -> Reservation:
        """Reserve a round's event on the ledger; with ``once``, only where no booking has that text yet."""
        seeded = ", reproducible, not for release" if reproducible else ""
        reservation = self.ledger.reserve(event, f"round {number}: {what}{seeded}", once=once)
        self.rounds.append((number, what))
        return reservation
