r"""Shadow models: how models look that did, and did not, see each document.

:math:`N/2` random halves of the corpus and their complements train :math:`N` models, so that each document is in
exactly :math:`N/2` of them. Of each model only a statistic of every document is kept: :math:`\zeta(\Phi, d)`
(:func:`discreet.audit.query_statistic`).

Topics are mixed with :data:`FLOOR` of the uniform distribution first. Without that, a single word that no
topic can produce would make the statistic infinite.

References
----------
Manzonelli, Zhang, Vadhan, "Membership inference attacks and privacy in topic modeling", arXiv:2403.04451.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.progress import Callback, tell
from discreet._base.threads import count_threads, share_out
from discreet.corpus import check_counts
from discreet.errors import ParameterError
from discreet.lda._fold_in import query_statistic

#: ``train(counts, seed) -> topic_word``: counts of the members, topics of shape (n_topics, n_words).
Train = Callable[[Any, int], ArrayLike]

FLOOR = 1e-9


def draw_halves(n_documents: int, n_shadows: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw random halves, each followed by its complement.

    Parameters
    ----------
    n_documents : int
        Where odd, the first of two halves is the smaller.
    n_shadows : int
        Even, at least 4.
    rng : Generator

    Returns
    -------
    array of shape (n_shadows, n_documents), bool
        Every column has exactly ``n_shadows / 2`` members.

    Raises
    ------
    ParameterError
        If shadows are odd or fewer than 4, or documents fewer than 2.
    """
    if n_shadows < 4 or n_shadows % 2:
        raise ParameterError(f"`n_shadows` must be even and at least 4, but got {n_shadows}.")
    if n_documents < 2:
        raise ParameterError(f"an attack needs at least 2 documents, but the corpus has {n_documents}.")
    members = np.zeros((n_shadows, n_documents), dtype=bool)
    for row in range(0, n_shadows, 2):
        members[row, rng.permutation(n_documents)[: n_documents // 2]] = True
        members[row + 1] = ~members[row]
    return members


def train_statistics(
    train: Train,
    corpus: Any,
    members: NDArray[np.bool_],
    seeds: list[int],
    *,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    stage: str = "shadows",
) -> NDArray[np.float64]:
    """Train one model on each row of members; return what all documents say to it.

    Parameters
    ----------
    train : callable
        ``train(counts, seed) -> topic_word``; must be deterministic given both, and safe to call in threads.
    corpus : Corpus, sparse or dense matrix of shape (n_documents, n_words)
    members : array of shape (n_models, n_documents), bool
    seeds : list of int
        One a model.
    n_jobs : int, optional
        Models trained at a time. Results do not depend on it.
    callback : callable, optional
        ``callback(stage, done, total)``.
    stage : str, default "shadows"
        What ``callback`` is told.

    Returns
    -------
    array of shape (n_models, n_documents)

    Raises
    ------
    ParameterError
        If members and seeds do not fit the corpus, or ``train`` returns no topics.
    """
    counts = check_counts(corpus)
    if members.shape != (len(seeds), counts.shape[0]):
        raise ParameterError(
            f"members must have shape ({len(seeds)}, {counts.shape[0]}), one row per seed and one column per document, "
            f"but has {members.shape}."
        )
    done, lock, total = 0, threading.Lock(), len(seeds)
    tell(callback, stage, 0, total)

    def one(index: int) -> NDArray[np.float64]:
        nonlocal done
        values = statistic(train(counts[members[index]], seeds[index]), counts)
        with lock:
            done += 1
            tell(callback, stage, done, total)
        return values

    return np.array(share_out(one, range(total), min(total, count_threads(n_jobs))))


def statistic(topic_word: ArrayLike, counts: Any, must: str = "train must return") -> NDArray[np.float64]:
    """Return the query statistic of every document, finite whatever the topics; ``must`` begins errors about these."""
    expected = f"{must} topics in an array of shape (n_topics, {counts.shape[1]})"
    if sp.issparse(topic_word):
        raise ParameterError(f"{expected}, but they are sparse: call toarray().")
    try:
        topics = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{expected}, but got {type(topic_word).__name__}.") from None
    if topics.ndim != 2 or topics.shape[1] != counts.shape[1] or not len(topics):
        raise ParameterError(
            f"{expected}, but they have {topics.shape}: keep all words of the counts, in their order."
        )
    largest = topics.max(axis=1, keepdims=True)
    if not np.isfinite(topics).all() or (topics < 0).any() or (largest <= 0).any():
        raise ParameterError(f"{must} topics that are finite, not negative and not all 0.")
    topics = topics / largest  # so that no sum overflows
    totals = topics.sum(axis=1, keepdims=True)
    return query_statistic((1 - FLOOR) * topics / totals + FLOOR / topics.shape[1], counts)
