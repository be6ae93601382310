r"""Canaries: documents made up for an audit, as easy to find again as a document can be.

* *rare*: words drawn from the rarest of the corpus. No two canaries share a word, as far as there are words. So
  might the document of an outlier look.
* *one_topic*: one word, repeated; each canary has its own. All that the document contributes lies in one row of
  the topic-word statistic, and for any topics its best mixture is the one topic that has most of the word: the
  worst case, in which nothing of the contribution is spread thin.

They depend on the corpus and a seed, never on who is in; that is all that
:func:`discreet.audit.one_run_audit` asks of them.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from discreet._validate import shown
from discreet.corpus import check_counts
from discreet.errors import ParameterError

__all__ = ["Kind", "make_canaries"]

Kind = Literal["rare", "one_topic"]
# How many times more rare words are in the hat than are drawn from it.
_CHOICE = 2


def make_canaries(
    corpus: Any,
    n_canaries: int,
    kind: Kind = "rare",
    *,
    length: int | None = None,
    random_state: int | np.random.SeedSequence | None = None,
) -> sp.csr_matrix:
    """Make up documents whose presence is easy to see.

    Parameters
    ----------
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Says which words are rare, and how long a document is.
    n_canaries : int
        At least 1; for "one_topic" at most n_words.
    kind : {"rare", "one_topic"}, default "rare"
    length : int, optional
        Tokens of a canary; by default the mean length of the corpus's documents, at least 8. "rare" has
        ``min(length, 8)`` distinct words.
    random_state : int or SeedSequence, optional

    Returns
    -------
    csr_matrix of shape (n_canaries, n_words), int64

    Raises
    ------
    ParameterError
        Where the kind is unknown, a number too small, or the vocabulary too small for canaries of their own.
    """
    counts = check_counts(corpus)
    n_words = counts.shape[1]
    if kind not in get_args(Kind):
        raise ParameterError(f"kind must be one of {get_args(Kind)}, but got {shown(kind)}.")
    if length is None:
        length = max(8, round(counts.sum() / max(1, counts.shape[0])))
    if n_canaries < 1 or length < 1:
        raise ParameterError(f"n_canaries and length must be at least 1, but got {n_canaries} and {length}.")
    own = 1 if kind == "one_topic" else min(length, 8)
    if n_words < max(own, n_canaries if kind == "one_topic" else 0):
        raise ParameterError(
            f"{n_canaries} canaries need more words than the corpus has ({n_words}): make fewer canaries, or "
            "take kind='rare' where it was 'one_topic'."
        )
    rng = np.random.default_rng(random_state)
    holders = np.bincount(counts.indices[counts.data > 0], minlength=n_words)
    # Random order among words that equally many documents have.
    rarest = np.lexsort((rng.random(n_words), holders))
    hat = rarest[: min(n_words, _CHOICE * n_canaries * own)]
    # Whole shuffles of the hat one after the other: no word comes back before every other was used.
    rounds = -(-n_canaries * own // len(hat)) + 1
    drawn = np.concatenate([rng.permutation(hat) for _ in range(rounds)])[: n_canaries * own]
    words = drawn.reshape(n_canaries, own)
    each = np.full((n_canaries, own), length // own) + (np.arange(own) < length % own)
    rows = np.repeat(np.arange(n_canaries), own)
    made = sp.csr_matrix((each.ravel().astype(np.int64), (rows, words.ravel())), shape=(n_canaries, n_words))
    made.sum_duplicates()
    return made
