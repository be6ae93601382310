"""Passes of variational Bayes over all documents: in memory, or over shards, with the same bytes.

A shard's statistic depends on its documents and on the topics, and is a sum of integers (``estep``); so the sum over
shards is that over all documents.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.documents import Documents
from discreet.lda.shards import Part, stack
from discreet.lda.variational.svi import (
    State,
    infer,
    move,
    prepare,
    statistic,
    step,
    unit_of,
    word_weights,
)

__all__ = ["pick", "shares", "shares_over_shards", "stepper_in_memory", "stepper_over_shards"]


def stepper_in_memory(documents: Documents, n_topics: int, **settings: Any) -> Callable[[State], State]:
    """Return what takes a batch step over documents; settings as of :func:`step`."""
    batches = prepare(documents, n_topics)
    return lambda state: step(state, batches, **settings)[0]


def stepper_over_shards(
    through: Any, n_topics: int, n_tokens: float, **settings: Any
) -> Callable[[State], State]:
    """Return the same for documents in shards, of so many tokens in all."""
    unit, eta, n_threads = unit_of(n_tokens), settings["topic_word_prior"], settings["n_threads"]
    how = (n_topics, unit, *(settings[name] for name in ("single", "doc_topic_prior", "max_iter", "tol")))

    def advance(state: State) -> State:
        total = through.sum(_statistic_of_shard, word_weights(state, n_threads), *how)
        return move(state, total, unit, eta)

    return advance


def _statistic_of_shard(
    part: Part, table: NDArray[np.float64], n_topics: int, unit: float, single: bool, *how: Any
) -> NDArray[np.int64]:
    prior, max_iter, tol = how
    batches = prepare(part.documents, n_topics)
    return statistic(table, batches, unit, prior, max_iter, tol, single=single)[0]


def shares(
    documents: Documents,
    table: NDArray[np.float64],
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the means of the documents' Dirichlets, (n_documents, n_topics)."""
    gamma = infer(table, documents, prior, max_iter, tol, n_threads, with_quotients=False)[0]
    gamma = gamma[:, : len(prior)]
    return np.ascontiguousarray(gamma / gamma.sum(axis=1, keepdims=True))


def shares_over_shards(
    through: Any,
    corpus: Any,
    table: NDArray[np.float64],
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
) -> NDArray[np.float64]:
    """Return the same for documents in shards."""
    return stack(through.map(_shares_of_shard, table, prior, max_iter, tol), corpus, len(prior))


def _shares_of_shard(
    part: Part, table: NDArray[np.float64], prior: NDArray[np.float64], max_iter: int, tol: float
) -> NDArray[np.float64]:
    return shares(part.documents, table, prior, max_iter, tol)


def pick(documents: Documents, rows: NDArray[np.int64]) -> Documents:
    """Take documents in the order of ``rows``."""
    lengths = np.diff(documents.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(documents.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Documents(indptr, documents.words[places], documents.counts[places], documents.n_words)
