r"""The textbook's collapsed Gibbs sampler, compiled: counts change token by token. The oracle for everything faster.

.. math:: p(z_{di} = k) \propto (n_{dk}^{-di} + \alpha_k) \frac{c_{wk}^{-di} + \beta}{c_k^{-di} + V \beta}.

Its stationary law is the posterior of the topics of all tokens. In double precision, dense in topics, one thread:
each draw depends on all the ones before.

Reference
---------
Griffiths, Steyvers, "Finding scientific topics", PNAS 2004, doi:10.1073/pnas.0307752101.
"""

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet.lda.documents import read_documents
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.draw import mix, stream_at, sweep_key
from discreet.lda.gibbs.state import State, Tokens, begin, read_tokens

__all__ = ["LiveLDA", "init", "step"]

#: Starts a chain: ``init(tokens, n_topics, seed)``.
init = begin


@kernel(error_model="numpy")
def _draw_all(
    indptr: Any, words: Any, topics: Any, counts: Any, totals: Any, alpha: Any, beta: Any, key: Any
) -> None:
    n_topics = len(alpha)
    n_words = counts.shape[0]
    document = np.empty(n_topics, np.int64)
    cumulated = np.empty(n_topics, np.float64)
    for d in range(len(indptr) - 1):
        document[:] = 0
        for i in range(indptr[d], indptr[d + 1]):
            document[topics[i]] += 1
        stream = mix(key ^ mix(d))
        for i in range(indptr[d], indptr[d + 1]):
            w, old = words[i], topics[i]
            document[old] -= 1
            counts[w, old] -= 1
            totals[old] -= 1
            mass = 0.0
            for k in range(n_topics):
                mass += (document[k] + alpha[k]) * (counts[w, k] + beta) / (totals[k] + n_words * beta)
                cumulated[k] = mass
            uniform = (stream_at(stream, i - indptr[d]) >> uint64(11)) * 2.0**-53
            new = 0
            while new < n_topics - 1 and cumulated[new] <= uniform * mass:
                new += 1
            document[new] += 1
            counts[w, new] += 1
            totals[new] += 1
            topics[i] = new


def step(
    state: State, tokens: Tokens, doc_topic_prior: NDArray[np.float64], topic_word_prior: float
) -> State:
    """Do one sweep; ``state`` is left as it was."""
    topics = state.topics.copy()
    word_topic = aligned(state.word_topic.shape, np.int32)
    word_topic[:] = state.word_topic
    totals = word_topic[:, : len(doc_topic_prior)].sum(axis=0, dtype=np.int64)
    _draw_all(
        tokens.indptr,
        tokens.words,
        topics,
        word_topic,
        totals,
        doc_topic_prior,
        topic_word_prior,
        sweep_key(state.seed, state.sweep),
    )
    return State(topics, word_topic, state.seed, state.sweep + 1)


class LiveLDA:
    """A trainer: a chain from random topics, and the mean of every fourth of the last quarter of its sweeps."""

    def __init__(self, n_topics, *, n_sweeps, doc_topic_prior=0.1, topic_word_prior=0.01, random_state=0):
        self.n_topics, self.n_sweeps, self.random_state = n_topics, n_sweeps, random_state
        self.doc_topic_prior, self.topic_word_prior = doc_topic_prior, topic_word_prior

    def fit(self, counts):
        tokens = read_tokens(read_documents(counts))
        alpha = np.full(self.n_topics, self.doc_topic_prior)
        state = init(tokens, self.n_topics, self.random_state)
        total = np.zeros((self.n_topics, tokens.n_words))
        for left in reversed(range(self.n_sweeps)):
            state = step(state, tokens, alpha, self.topic_word_prior)
            if 4 * left < self.n_sweeps and left % 4 == 0:
                total += state.word_topic[:, : self.n_topics].T + self.topic_word_prior
        self.topic_word_ = total / total.sum(axis=1, keepdims=True)
        return self
