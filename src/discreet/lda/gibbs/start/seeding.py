"""What the topics of a start begin with: half the words of all documents, half those of a few of their own."""

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.counter_stream import random_halves, sweep_key
from discreet.lda.gibbs.state import Tokens, aligned_zeros, padded

__all__ = ["SEED_TOKENS", "seeded_table", "shuffled"]

#: Tokens of a topic's own documents, where there are as many.
SEED_TOKENS = 1000


def shuffled(n: int, seed: int, use: int) -> NDArray[np.int64]:
    """Return 0 to n - 1 in random order; ``use`` as for ``sweep_key``."""
    return np.argsort(random_halves(n, sweep_key(seed, use)), kind="stable")


def seeded_table(tokens: Tokens, n_topics: int, seed: int, use: int) -> NDArray[np.float32]:
    """Return counts of words in topics, (n_words, width), as many tokens in each topic.

    No two topics share a document: equal topics would stay equal. Where there are more topics than documents they share
    out documents' tokens.
    """
    n_tokens, lengths = len(tokens.words), np.diff(tokens.indptr)
    table = aligned_zeros((tokens.n_words, padded(n_topics)), np.float32)
    half = 0.5 / n_topics
    table[:, :n_topics] = (np.bincount(tokens.words, minlength=tokens.n_words) * half)[:, None]
    order = shuffled(tokens.n_documents, seed, use)
    order = order[lengths[order] > 0]
    n_documents = len(order)
    n_own = max(1, min(-(-SEED_TOKENS * n_documents // n_tokens), n_documents // n_topics))
    for k in range(n_topics):
        if n_topics <= n_documents:
            own = order[k * n_own : (k + 1) * n_own]
            words = np.concatenate([tokens.words[tokens.indptr[d] : tokens.indptr[d + 1]] for d in own])
        else:
            place, turn = k % n_documents, k // n_documents
            start, end = tokens.indptr[order[place] : order[place] + 2]
            cuts = np.linspace(start, end, -(-(n_topics - place) // n_documents) + 1).astype(int)
            words = tokens.words[cuts[turn] : cuts[turn + 1]]
        if len(words):
            found, counts = np.unique(words, return_counts=True)
            table[found, k] += (counts * (half * n_tokens / len(words))).astype(np.float32)
    return table
