"""Gibbs sampling with a prior that differs from word to word and topic to topic: what OLP-LDA trains a batch with.

The draws are those of :mod:`discreet.lda.gibbs.frozen`; only the table is another: counts plus a matrix of
prior counts. The chain starts from a sweep under the prior alone, so that topics keep their numbers from batch to
batch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.documents import read_documents
from discreet.lda.gibbs import frozen as frozen_sweep
from discreet.lda.gibbs.draw import sweep_key
from discreet.lda.gibbs.state import begin, count_topics, read_tokens, word_order

__all__ = ["count_topics_of"]

Floats = NDArray[np.float64]


def count_topics_of(
    bits: Any, prior: Floats, doc_topic_prior: float, *, n_sweeps: int, seed: int, n_threads: int = 1
) -> NDArray[np.int64]:
    """Return how many tokens of each word have each topic after the last sweep.

    Parameters
    ----------
    bits : array of shape (n_documents, n_words)
        Counts, or zeros and ones.
    prior : array of shape (n_topics, n_words)
        Positive prior counts.
    doc_topic_prior : float
    n_sweeps, seed, n_threads : int
        The result does not depend on ``n_threads``.

    Returns
    -------
    array of shape (n_topics, n_words), int64
        Zeros where there is no token.
    """
    tokens = read_tokens(read_documents(bits))
    n_topics, n_words = prior.shape
    if not len(tokens.words):
        return np.zeros(prior.shape, np.int64)
    table = frozen_sweep.empty_table(n_words, n_topics)
    state = begin(tokens, n_topics, seed, None, n_threads)
    topics, counts = state.topics, np.zeros((n_words, n_topics), np.int64)
    alpha = np.full(n_topics, doc_topic_prior)
    matrix = prior.T
    order = word_order(tokens)
    for number in range(n_sweeps + 1):
        informed = matrix + counts
        table[:, :n_topics] = n_words * informed / informed.sum(0)
        frozen_sweep.sweep(tokens, topics, table, alpha, sweep_key(seed, number), n_threads=n_threads)
        counts = count_topics(tokens, topics, n_topics, n_threads, order=order)[:, :n_topics].astype(np.int64)
    return np.ascontiguousarray(counts.T)
