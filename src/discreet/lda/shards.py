"""Documents in shards: how this room reads them, one at a time, wherever somebody goes through them."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._sharding import sharding
from discreet._word_order import column_order, names_of
from discreet.errors import CorpusError, Parameter, ParameterError
from discreet.lda.documents import Documents, read_documents, refuse_nothing

__all__ = ["Part", "open_shards", "read_shards_for", "refuse_engine", "stack"]


class Part(NamedTuple):
    """The documents of a shard, and which documents and tokens of the whole they are. Private."""

    documents: Documents
    first_document: int = 0
    first_token: int = 0


def open_shards(
    corpus: Any,
    engine: Any,
    n_jobs: int | None,
    *,
    words: tuple[str, ...] | None = None,
    n_words: int | None = None,
) -> Any:
    """Return a :class:`~discreet.engines.through.Through` whose functions get the :class:`Part` of a shard.

    Parameters
    ----------
    corpus : ShardedCorpus
    engine : Engine, optional
    n_jobs : int, optional
    words : tuple of str, optional
        Order of the columns; further words are left out.
    n_words : int, optional
        How many there must be.

    Raises
    ------
    CorpusError
        Where these are other words.
    """
    order = column_order(corpus, words, drop_others=True)
    if n_words is not None and (corpus.n_words if order is None else len(order)) != n_words:
        raise CorpusError(
            f"X has {corpus.n_words} features, but {n_words} words are expected: count with the vocabulary of the "
            "topics."
        )
    return sharding.through(corpus.shards, partial(_read, order), engine, n_jobs)


def _read(order: list[int] | None, shard: Any) -> Part:
    counts: Any = shard.read().counts
    if order is not None:
        counts = sp.csr_matrix(counts[:, order])
    return Part(read_documents(counts), shard.first_document, shard.first_token)


def read_shards_for(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Open shards for an estimator, which learns their words, or holds them to those of ``fit``.

    Raises
    ------
    CorpusError
        Where there are no documents, or the words are others than in ``fit``.
    """
    words: tuple[str, ...] | None = None if reset else getattr(estimator, "_words", None)
    refuse_nothing(X.n_documents, X.n_words)
    if reset:
        estimator._words, estimator.n_features_in_ = names_of(X), X.n_words
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    known: int = estimator.n_features_in_
    return open_shards(X, estimator.engine, estimator.n_jobs, words=words, n_words=known)


def refuse_engine(engine: Any, why: str) -> None:
    """Refuse an engine where documents are in memory."""
    if engine is not None:
        name = Parameter("engine")
        raise ParameterError(name, f" goes through shards, but {why}; leave ", name, " out.")


def stack(parts: Iterable[NDArray[np.float64]], corpus: Any, n_topics: int) -> NDArray[np.float64]:
    """Put what was found for each shard into one array of shape (n_documents, n_topics)."""
    out, done = np.empty((corpus.n_documents, n_topics)), 0
    for part in parts:
        out[done : done + len(part)] = part
        done += len(part)
    return out
