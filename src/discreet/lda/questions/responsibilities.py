r"""What a document says of published topics: which word it would give to which topic, in whole numbers.

Theta starts even and takes a fixed number of steps,

.. math:: \theta_k \leftarrow \alpha + \theta_k \sum_{v \in d} \frac{\phi_{vk}}{\sum_j \theta_j \phi_{vj}} ,

and the answer's cell of word v and topic k is :math:`\omega_v r_{vk}`, r the responsibilities at the last theta and
omega whole weights of the words, rounded to whole numbers. Only sums, products and quotients of double precision, in
the order of words and topics as written: a browser gets the same numbers (``discreet-client.js``).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel

__all__ = ["responsibilities"]

Whole = NDArray[np.int64]


def responsibilities(
    counts: Any, topics: Whole, weights: Whole, *, doc_topic_prior: float, n_steps: int
) -> Whole:
    """Return the answers of documents, of shape (n_documents, n_words * n_topics), word after word.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_words)
        What is not zero is present.
    topics : array of shape (n_words, n_topics)
        Positive; each column up to one factor for all.
    weights : array of shape (n_words,)
        Positive.
    doc_topic_prior : float
    n_steps : int
    """
    n_topics = topics.shape[1]
    out = np.zeros((counts.shape[0], topics.size), np.int64)
    real = topics.astype(np.float64)
    for d in range(counts.shape[0]):
        words = np.sort(counts.indices[counts.indptr[d] : counts.indptr[d + 1]].astype(np.int64))
        _answer(words, real, weights, float(doc_topic_prior), n_steps, out[d].reshape(-1, n_topics))
    return out


@kernel()
def _answer(
    words: Whole, topics: NDArray[np.float64], weights: Whole, prior: float, n_steps: int, out: Whole
) -> None:
    n_topics = topics.shape[1]
    theta, gained = np.full(n_topics, prior + len(words) / n_topics), np.zeros(n_topics)
    for _ in range(n_steps):
        gained[:] = 0.0
        for i in range(len(words)):
            total = 0.0
            for k in range(n_topics):
                total += theta[k] * topics[words[i], k]
            for k in range(n_topics):
                gained[k] += topics[words[i], k] / total
        for k in range(n_topics):
            theta[k] = prior + theta[k] * gained[k]
    for i in range(len(words)):
        total = 0.0
        for k in range(n_topics):
            total += theta[k] * topics[words[i], k]
        for k in range(n_topics):
            share = theta[k] * topics[words[i], k] / total
            out[words[i], k] = np.int64(np.floor(weights[words[i]] * share + 0.5))
