"""The frozen sweep over documents in shards: the chain of :mod:`discreet.lda.gibbs.frozen`, with the same bytes.

In a sweep the table is fixed, documents have random numbers of their own, by their number in the whole corpus, and
counts are integers. So topics of tokens can stay beside their shard, and only counts travel: the table goes out, and
the sum of the new counts comes back. A shard's topics are a function of the shard, the seed and the tables so far;
those that are lost are drawn again from the beginning.

Guarantee: none. Counts and tables are exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.chains import Chain
from discreet.lda.gibbs.counter_stream import sweep_key
from discreet.lda.gibbs.frozen.sweep import build_table, empty_table, own_share, sweep
from discreet.lda.gibbs.state import count_topics, random_topics, read_tokens
from discreet.lda.shards import Part

__all__ = ["chain_over_shards"]

_MOST = 2**31 - 1


class _State(NamedTuple):
    word_topic: Any
    sweep: int


def chain_over_shards(
    through: Any, n_tokens: int, doc_topic_prior: NDArray[np.float64], topic_word_prior: float, seed: int
) -> Chain:
    """Begin a chain from random topics.

    Parameters
    ----------
    through : Through
        Whose functions get the :class:`Part` of a shard.
    n_tokens : int
        Of all shards.
    doc_topic_prior, topic_word_prior, seed
        As of :func:`discreet.lda.gibbs.chains.chain`.
    """
    n_topics = len(doc_topic_prior)
    beside = through.start(_begin, n_topics, seed)
    kind = np.int32 if n_tokens <= _MOST else np.int64

    def step(state: _State) -> _State:
        how = (doc_topic_prior, topic_word_prior, seed, state.sweep, state.word_topic)
        return _State(through.step(beside, _sweep, *how).astype(kind), state.sweep + 1)

    first = step(_State(None, -1))  # which only counts
    return Chain(first, step, _table)


def _table(state: _State) -> NDArray[Any]:
    return state.word_topic


def _begin(part: Part, n_topics: int, seed: int) -> NDArray[np.uint16]:
    n_tokens = int(part.documents.counts.sum())
    return random_topics(n_tokens, n_topics, seed, first=part.first_token)


def _sweep(
    part: Part,
    topics: NDArray[np.uint16],
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    number: int,
    word_topic: NDArray[Any] | None,
) -> NDArray[np.int64]:
    """Draw all topics anew, but before the first sweep, and count them."""
    tokens, n_topics = read_tokens(part.documents), len(doc_topic_prior)
    if word_topic is None:
        return count_topics(tokens, topics, n_topics).astype(np.int64)
    table = empty_table(tokens.n_words, n_topics)
    own = own_share(build_table(word_topic, n_topics, topic_word_prior, table), topic_word_prior, table)
    key = sweep_key(seed, number)
    sweep(tokens, topics, table, doc_topic_prior, key, own=own, first_document=part.first_document)
    return count_topics(tokens, topics, n_topics).astype(np.int64)
