"""Noticing counts of chosen words that have lost their choice on the way: a release of them tells too little.

What scipy and scikit-learn put together anew (``hstack``, ``FeatureUnion``, ``ColumnTransformer``, ``toarray()``) does
not carry where its columns come from (:mod:`discreet.corpus.words.chosen_counts`). Where it still holds the very same
counts, it is known again here, by a keyed digest. As for :mod:`discreet.release.booking.separate_budgets`: a courtesy,
and no guard.
"""

import threading
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from discreet.corpus.check import canonical_counts
from discreet.corpus.words.column_choice import ColumnChoice
from discreet.errors import LostChoiceWarning
from discreet.release.booking.separate_budgets import digest_of

if TYPE_CHECKING:
    from discreet.privacy.ledger.ledger import Ledger

__all__ = ["notice_lost_choice", "remember_choices"]

_MOST_COUNTS = 256
_ledgers: "OrderedDict[str, set[str]]" = OrderedDict()
_taking_turns = threading.Lock()


def remember_choices(counts: Any, choices: tuple[ColumnChoice, ...]) -> None:
    """Remember that these counts are of columns that were chosen so."""
    if not choices:
        return
    digest = digest_of(canonical_counts(counts))
    with _taking_turns:
        _ledgers.setdefault(digest, set()).update(choice.ledger for choice in choices)
        _ledgers.move_to_end(digest)
        while len(_ledgers) > _MOST_COUNTS:
            _ledgers.popitem(last=False)


def notice_lost_choice(counts: Any, ledger: "Ledger") -> None:
    """Warn where these counts were remembered, and a fit on them is booked on a ledger without the choice.

    Parameters
    ----------
    counts : canonical CSR
        All that the fit has read.
    ledger : Ledger
        On which it is booked.
    """
    with _taking_turns:
        known = set(_ledgers.get(digest_of(counts), ()))
    if known and ledger.identity not in known:
        warnings.warn(
            "these columns were chosen by a PrivateCountVectorizer, and the counts have lost that on the way: the "
            "release does not tell what the choice cost, nor whether it was seeded. FeatureUnion, ColumnTransformer, "
            "sparse.hstack, csr_array and toarray() lose it. Train on the vectorizer's counts themselves, or book on "
            "its ledger: give one ledger= to both.",
            LostChoiceWarning,
            stacklevel=6,
        )
