r"""Passes of variational Bayes over all documents, in memory or over shards, with the same bytes; and their fast start.

A shard's statistic depends on its documents and on the topics, and is a sum of integers (``estep``); so the sum over
shards is that over all documents.

The fast start is that of a Gibbs chain (:mod:`discreet.lda.gibbs.start`): stepwise CVB0, and in its last pass a topic
for each token, :math:`n_{kw}` tokens of word w in topic k. As Dirichlet parameters such counts would keep a word out of
each topic in which it was not drawn, where it weighs :math:`e^{\psi(\eta)}`, 1e-44 for :math:`\eta` = .01. So the
first update gets means in place of geometric means, :math:`\lambda_{kw} = M (n_{kw} + \eta) / \sum_w (n_{kw} + \eta)`
with M so large that :math:`e^{E[\ln \beta_{kw}]}` is the mean.

Guarantee: none. The same topics for any number of threads. Memory: that of the chain's start, and 6 bytes a token;
all of it is gone before the first update.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.documents import Documents, Part, stack
from discreet.lda.gibbs.start import starting_topics
from discreet.lda.gibbs.state import count_topics, read_tokens
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

__all__ = [
    "begins_fast",
    "fast_components",
    "pick",
    "shares",
    "shares_over_shards",
    "stepper_in_memory",
    "stepper_over_shards",
]

# Up to here "auto" begins fast: no larger corpus was measured. And up to so many topics whoever asks for it.
_MOST_TOKENS = 4_000_000
_MOST_TOPICS = 3000
_WEIGHT = 1e9


def begins_fast(init: object, n_topics: int, counts: NDArray[np.float64] | int) -> bool:
    """Say whether batch updates begin fast: documents are given by their counts, or by their number of tokens."""
    if not isinstance(init, str) or init == "random" or n_topics > _MOST_TOPICS:
        return False
    n_tokens = counts if isinstance(counts, int) else counts.sum()
    if init == "fast":
        return n_tokens > 0  # what is no count is refused where tokens are read
    whole = isinstance(counts, int) or bool((np.floor(counts) == counts).all())
    return 0 < n_tokens <= _MOST_TOKENS and whole


def fast_components(
    documents: Documents,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return Dirichlet parameters to begin with, (n_topics, n_words).

    Raises
    ------
    CorpusError
        Where counts are not whole.
    """
    tokens, n_topics = read_tokens(documents), len(doc_topic_prior)
    topics = starting_topics(tokens, doc_topic_prior, topic_word_prior, seed, n_threads=n_threads)
    drawn = count_topics(tokens, topics, n_topics, n_threads)[:, :n_topics].T + topic_word_prior
    return drawn * (_WEIGHT / drawn.sum(axis=1, keepdims=True))


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
