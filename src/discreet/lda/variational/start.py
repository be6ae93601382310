r"""Where batch updates begin: at random, or from topics that were found on small batches of the documents.

The fast start is that of a Gibbs chain (:mod:`discreet.lda.gibbs.start`): stepwise CVB0, and in its last pass a topic
for each token, :math:`n_{kw}` tokens of word w in topic k. As Dirichlet parameters such counts would keep a word out of
each topic in which it was not drawn, where it weighs :math:`e^{\psi(\eta)}`, 1e-44 for :math:`\eta` = .01. So the
first update gets means in place of geometric means, :math:`\lambda_{kw} = M (n_{kw} + \eta) / \sum_w (n_{kw} + \eta)`
with M so large that :math:`e^{E[\ln \beta_{kw}]}` is the mean.

Guarantee: none. The same topics for any number of threads. Memory: that of the chain's start, and 6 bytes a token;
all of it is gone before the first update.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.lda.documents import Documents
from discreet.lda.gibbs.start.batches import starting_topics
from discreet.lda.gibbs.state import count_topics, read_tokens

__all__ = ["begins_fast", "fast_components"]

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
