"""Noticing that one text is fitted twice, each time on a ledger of its own: every release then tells too little.

What is remembered is a keyed digest of what was read, and the ledger, for as long as this process lives; the key is
drawn anew in every process. It is a courtesy and no guard: another process knows nothing of it, and a corpus with one
document more, or other words, is another text to it. Whoever shares one ledger between all fits needs none of this.
"""

import secrets
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.errors import PrivacyError, SeparateBudgetsWarning
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.units import round_up

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger
    from discreet.privacy.ledger.reservation import Entry

__all__ = ["notice_fit", "remember_text"]

_MOST_TEXTS = 256
_key = secrets.token_bytes(32)
_ledgers: "OrderedDict[tuple[str, ...], _Books]" = OrderedDict()
_taking_turns = threading.Lock()


@dataclass
class _Books:
    """The ledgers on which one text was fitted, and how many bookings the last warning about it counted."""

    by_identity: "dict[str, Ledger]" = field(default_factory=dict)
    n_told: int = 0


def notice_fit(counts: Any | None, ledger: "Ledger") -> None:
    """Warn where what was booked adds to what a text has cost on several ledgers in this process.

    Every booking counts, whatever it read: words chosen from a text and topics fitted to those words stand on one
    ledger, and the text is known by the first of them.

    Parameters
    ----------
    counts : canonical CSR, ShardedCorpus or None
        All that the fit has read; None for columns that were chosen from a text, which is known then.
    ledger : Ledger
        On which it is booked.
    """
    if counts is not None:
        remember_text(counts, ledger)
    with _taking_turns:
        told = [_grown(books) for books in _ledgers.values() if ledger.identity in books.by_identity]
    worst = max((one for one in told if one is not None), default=None)
    if worst is not None:
        warnings.warn(_told(*worst), SeparateBudgetsWarning, stacklevel=6)


def remember_text(counts: Any, ledger: "Ledger") -> None:
    """Remember that what was booked on a ledger read these canonical counts, or shards, or chose their columns."""
    text = (_digest_of(counts), ledger.privacy_unit, ledger.neighboring)
    with _taking_turns:
        _ledgers.setdefault(text, _Books()).by_identity[ledger.identity] = ledger
        _ledgers.move_to_end(text)
        while len(_ledgers) > _MOST_TEXTS:
            _ledgers.popitem(last=False)


def _digest_of(counts: Any) -> str:
    """Return a digest of canonical counts, or of shards, that nobody can make in another process."""
    digest = blake2b(repr(counts.shape).encode(), key=_key)
    if isinstance(counts, ShardedCorpus):
        digest.update("".join(entry.sha256 for entry in counts.manifest.entries).encode())
        return digest.hexdigest()
    for part in (counts.indptr, counts.indices, counts.data):
        digest.update(memoryview(part).cast("B") if len(part) else b"")
    return digest.hexdigest()


def _entries(book: "Ledger") -> tuple["Entry", ...]:
    """Return what is booked there; nothing where its file was exchanged, which is the affair of whoever books there."""
    try:
        return book.entries
    except PrivacyError:
        return ()


def _grown(books: _Books) -> tuple[float, float, int] | None:
    """Return what a text has cost on all its ledgers: epsilon, delta, how many; None where that is told, or one."""
    ledgers = list(books.by_identity.values())
    if len(ledgers) < 2:
        return None
    found = [entry.event for book in ledgers for entry in _entries(book)]
    if len(found) <= books.n_told:
        return None
    books.n_told = len(found)
    delta = min(sum(book.delta for book in ledgers), 0.5)
    together = composed_epsilon(found, delta, neighboring=ledgers[0].neighboring).epsilon
    return together, delta, len(ledgers)


def _told(together: float, delta: float, n_ledgers: int) -> str:
    return (
        f"the same text was fitted on {n_ledgers} ledgers in this process. Each release tells what stands on its own; "
        f"whoever sees all of them can learn as much as epsilon = {round_up(together)} at delta = {delta:g} allows. "
        "Share one: ledger = Ledger(epsilon, delta), and ledger=ledger in every call. If this is a search for "
        "settings (GridSearchCV), choose them on public text: discreet.evaluate.choose_n_topics."
    )
