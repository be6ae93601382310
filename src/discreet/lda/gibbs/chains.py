"""Which sweeps a Gibbs chain is made of: one way to begin, to step and to count for few topics and for many."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.expected import expected_counts
from discreet.lda.gibbs.frozen import sweep as frozen_sweep
from discreet.lda.gibbs.sparse import sweep as list_sweep
from discreet.lda.gibbs.sparse import word_lists
from discreet.lda.gibbs.start.batches import starting_topics
from discreet.lda.gibbs.start.cooling import warm_prior
from discreet.lda.gibbs.state import State, Tokens, WordOrder, aligned_zeros, begin, word_order

__all__ = ["MOST_TABLE_TOPICS", "Chain", "chain"]

#: Up to here a sweep reads a whole row of the table for a draw; above, the list of the topics that the word has.
MOST_TABLE_TOPICS = 200


class Chain(NamedTuple):
    """A chain's first state, and what to do with it."""

    #: The state before the first sweep.
    first: Any
    #: ``step(state)`` does a sweep and returns the next state.
    step: Callable[[Any], Any]
    #: ``table(state)`` counts each word in each topic: (n_words, width), int32, not to be changed.
    table: Callable[[Any], NDArray[np.int32]]
    #: ``expect(state)`` is the same in expected counts, float32; None where tokens' topics are not at hand.
    expect: Callable[[Any], NDArray[np.float32]] | None = None


def chain(
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    seed: int,
    *,
    earlier: NDArray[np.int32] | None = None,
    fast: bool = False,
    n_sweeps: int = 0,
    n_threads: int = 1,
) -> Chain:
    """Begin a chain.

    Parameters
    ----------
    tokens : Tokens
        The documents.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    seed : int
        0 to 2**64 - 1.
    earlier : array of shape (n_words, width), int32, optional
        Counts of other documents, which stay as they are and count in every draw.
    fast : bool, default False
        Begin with ``starting_topics`` in place of random ones, and without earlier documents sweep hot at first.
    n_sweeps : int, default 0
        Sweeps to come: how many of them are hot depends on it.
    n_threads : int
        Threads; the chain does not depend on it.
    """
    alpha, beta, n_topics = doc_topic_prior, topic_word_prior, len(doc_topic_prior)
    known: dict[str, Any] = {"earlier": earlier, "n_threads": n_threads}
    table: Callable[[Any], NDArray[np.int32]] = _word_topic
    topics = starting_topics(tokens, alpha, beta, seed, **known) if fast else None
    if n_topics > MOST_TABLE_TOPICS:
        known["lists"] = word_lists.empty_lists(tokens, n_topics, earlier)
        words: WordOrder = known["lists"].order
        first: Any = list_sweep.init(tokens, n_topics, seed, topics)
        step: Callable[..., Any] = partial(list_sweep.step, **known)
        table = partial(list_sweep.word_topic, tokens=tokens, n_topics=n_topics, **known)
    else:
        first = begin(tokens, n_topics, seed, earlier, n_threads, topics=topics)
        memory, words = frozen_sweep.empty_table(tokens.n_words, n_topics), word_order(tokens)
        step = partial(frozen_sweep.step, memory=memory, order=words, **known)

    def advance(state: Any) -> Any:
        now = warm_prior(tokens, n_topics, beta, state.sweep, n_sweeps) if fast and earlier is None else beta
        return step(state, tokens=tokens, doc_topic_prior=alpha, topic_word_prior=now)[0]

    def expect(state: Any) -> NDArray[np.float32]:
        counts = table(state)
        out = aligned_zeros(counts.shape, np.float32)
        expected_counts(tokens, state.topics, counts, alpha, beta, out, order=words, n_threads=n_threads)
        if earlier is not None:
            out += earlier
        return out

    return Chain(first, advance, table, expect)


def _word_topic(state: State) -> NDArray[np.int32]:
    return state.word_topic
