"""Starting topics from the released pairs of words: their co-occurrence is factorised.

Everything here is computed from released numbers.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.central.start.factorize import factorize

__all__ = ["on_all_words", "start_weights", "starting_topics"]

Floats = NDArray[np.float64]
#: Of the unigram, in every topic.
_START_UNIGRAM = 0.002


def start_weights(
    unigram: Floats, words: NDArray[np.int64], chosen: NDArray[np.int64], power: float
) -> Floats:
    """Return what words weigh in the co-occurrence of the chosen: a power of how frequent they are."""
    return (unigram[words] / unigram[chosen].mean()) ** power


def starting_topics(
    matrix: Floats,
    noise: float,
    unigram: Floats,
    chosen: NDArray[np.int64],
    weights: Floats,
    n_topics: int,
) -> Floats:
    """Factorise the co-occurrence into topics of shape (n_words, n_topics); columns sum to 1."""
    shared = unigram[chosen] * weights
    shared /= np.linalg.norm(shared)
    factors = factorize(matrix, shared, n_topics, noise=noise)
    return on_all_words(factors, unigram, chosen, weights)


def on_all_words(factors: Floats, unigram: Floats, chosen: NDArray[np.int64], weights: Floats) -> Floats:
    """Make topics of the factors of the chosen words; the others are as frequent as in all texts."""
    factors = factors / weights[:, None]
    factors /= np.maximum(factors.sum(0), 1e-12)
    topics = np.repeat(unigram[:, None], factors.shape[1], axis=1)
    topics[chosen] = factors * unigram[chosen].sum()
    topics = (1 - _START_UNIGRAM) * topics + _START_UNIGRAM * unigram[:, None]
    return topics / topics.sum(0)
