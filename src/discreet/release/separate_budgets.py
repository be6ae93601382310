"""Noticing that one text is fitted twice, each time on a ledger of its own: every release then tells too little.

What is remembered is a keyed digest of what was read, and the ledger, for as long as this process lives; the key is
drawn anew in every process. It is a courtesy and no guard: another process knows nothing of it, and a corpus with one
document more, or other words, is another text to it. Whoever shares one ledger between all fits needs none of this.
"""

import secrets
import threading
import warnings
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.errors import PrivacyError, SeparateBudgetsWarning
from discreet.privacy.accounting.totals import composed_epsilon
from discreet.privacy.units import round_up

if TYPE_CHECKING:
    from discreet.privacy.ledger.entry import Entry
    from discreet.privacy.ledger.ledger import Ledger

__all__ = ["digest_of", "notice_fit"]

_MOST_TEXTS = 256
_key = secrets.token_bytes(32)
_ledgers: "OrderedDict[tuple[str, ...], dict[str, Ledger]]" = OrderedDict()
_taking_turns = threading.Lock()


def notice_fit(counts: Any, ledger: "Ledger") -> None:
    """Warn where these counts were fitted before in this process, on another ledger.

    Parameters
    ----------
    counts : canonical CSR or ShardedCorpus
        All that the fit has read.
    ledger : Ledger
        On which it is booked.
    """
    text = (digest_of(counts), ledger.privacy_unit, ledger.neighboring)
    with _taking_turns:
        known = _ledgers.setdefault(text, {})
        _ledgers.move_to_end(text)
        is_new = ledger.identity not in known
        known[ledger.identity] = ledger
        books = list(known.values())
        while len(_ledgers) > _MOST_TEXTS:
            _ledgers.popitem(last=False)
    if is_new and len(books) > 1:
        warnings.warn(_told(books), SeparateBudgetsWarning, stacklevel=6)


def digest_of(counts: Any) -> str:
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


def _told(books: "list[Ledger]") -> str:
    delta = min(sum(book.delta for book in books), 0.5)
    found = [entry.event for book in books for entry in _entries(book)]
    together = composed_epsilon(found, delta, neighboring=books[0].neighboring).epsilon
    return (
        f"the same text was fitted on {len(books)} ledgers in this process. Each release tells what stands on its own; "
        f"whoever sees all of them can learn as much as epsilon = {round_up(together)} at delta = {delta:g} allows. "
        "Share one: ledger = Ledger(epsilon, delta), and ledger=ledger in every call. If this is a search for "
        "settings (GridSearchCV), choose them on public text: discreet.evaluate.choose_n_topics."
    )
