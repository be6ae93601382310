r"""The frozen Gibbs sweep for many topics: exact draws from lists of the topics in which a word has tokens.

The law of a draw is that of ``frozen_sweep.step``: counts of words stay as they were, the token itself left out, and
topic k gets a weight in proportion to

.. math:: (n_{dk} + \alpha_k) \frac{c_{wk} + \beta}{c_k + V \beta}
          = \underbrace{(n_{dk} + \alpha_k) \frac{c_{wk}}{c_k + V \beta}}_{\text{in the word's list}}
          + \underbrace{\beta \frac{n_{dk} + \alpha_k}{c_k + V \beta}}_{\text{outside}}.

The first term is 0 but for the topics in which the word has tokens: some dozens of 1,000. The sum of the second is kept
per document, one addition for each token that comes or goes; some per cent of draws fall there, and only they look at
all topics. So a token costs what its word's list is long, and no table of n_words x n_topics is read.

Counts are renewed once a sweep, or, where there are not many more documents than topics, up to four times
(:func:`n_parts`). Lists are long as long as topics are random, so a chain begins with ``N_STARTING`` sweeps of
Metropolis-Hastings (``mh_sweep``), whose cost does not depend on topics; with counts of earlier documents it begins
with exact ones. Counts are integers, and each document has its own stream of random numbers: any number of threads draws the same.

How exact: each probability is off by at most :math:`(n + 8)\, 2^{-23}`, n the blocks of 16 entries in the word's list
or, outside it, of topics.

Guarantee: none.

Reference
---------
Yao, Mimno, McCallum, "Efficient methods for topic model inference on streaming document collections", KDD 2009,
doi:10.1145/1557019.1557121 (the split of the sum); Newman, Asuncion, Smyth, Welling, "Distributed algorithms for topic
models", JMLR 10 (2009) (frozen counts).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import balanced_cuts, pieces, share_out
from discreet.lda import mh_sweep
from discreet.lda.counter_stream import JIT, sweep_key
from discreet.lda.state import (
    Info,
    Tokens,
    WordOrder,
    aligned_zeros,
    count_topics,
    padded,
    random_topics,
    word_order,
)

if JIT:
    from discreet.lda.list_kernel import draw_documents
else:
    from discreet.lda.list_plain import draw_documents

__all__ = [
    "N_STARTING",
    "ListState",
    "Lists",
    "StartingState",
    "empty_lists",
    "fill",
    "init",
    "laws",
    "n_parts",
    "step",
    "word_topic",
]

#: Sweeps of Metropolis-Hastings at the start.
N_STARTING = 20
#: Largest number of parts of a sweep.
_MOST_PARTS = 4

_BLOCK = 16
_NO_COUNTS = np.empty((0, 0), np.int32)


class Lists(NamedTuple):
    """Memory for the lists of one sweep, and the order of words they are made from."""

    order: WordOrder
    #: (n_words + 1,) int64: where a word's list begins, in blocks of 16 entries.
    starts: NDArray[np.int64]
    #: (n_words,) int32: how long it is, in blocks.
    sizes: NDArray[np.int32]
    #: (n_entries,) uint16: topics; in what is left of a list's last block 0, with weight 0.
    topics: NDArray[np.uint16]
    #: (n_entries,) float32: counts c_wk.
    weights: NDArray[np.float32]


class StartingState(NamedTuple):
    """A chain in its first sweeps."""

    chain: mh_sweep.MHState
    order: mh_sweep.ByWord


class ListState(NamedTuple):
    """A chain between two sweeps. Steps return new states and leave old ones as they were."""

    #: (n_tokens,) uint16: the topic of each token.
    topics: NDArray[np.uint16]
    #: 0 to 2**64 - 1.
    seed: int
    #: Sweeps done.
    sweep: int


def n_parts(n_documents: int, n_topics: int) -> int:
    """In how many parts a sweep goes over the documents; counts are renewed before each.

    Where there are about as many topics as documents, a document's moves change whole topics, and a chain whose counts
    stay as they are for a whole sweep falls behind: see docs/speed.md.
    """
    return min(_MOST_PARTS, -(-_MOST_PARTS * n_topics // max(n_documents, 1)))


def empty_lists(tokens: Tokens, n_topics: int, earlier: NDArray[np.int32] | None = None) -> Lists:
    """Allocate memory for lists: 4 bytes a token, and 6 for each entry that a list may come to hold."""
    order = word_order(tokens)
    longest = np.minimum(np.diff(order.indptr), n_topics)
    if earlier is not None:
        longest = np.minimum(longest + np.count_nonzero(earlier, axis=1), n_topics)
    starts = np.zeros(tokens.n_words + 1, np.int64)
    np.cumsum(-(-longest // _BLOCK), out=starts[1:])
    n_entries = max(int(starts[-1]), 1) * _BLOCK
    return Lists(
        order,
        starts,
        np.zeros(tokens.n_words, np.int32),
        aligned_zeros((n_entries,), np.uint16),
        aligned_zeros((n_entries,), np.float32),
    )


@kernel()
def _fill(
    indptr: Any,
    places: Any,
    topics: Any,
    earlier: Any,
    starts: Any,
    first: int,
    last: int,
    listed: Any,
    weights: Any,
    sizes: Any,
    totals: Any,
) -> None:
    counts = np.zeros(len(totals), np.int32)
    for w in range(first, last):
        begin = end = starts[w] * _BLOCK
        if len(earlier):
            for k in range(len(totals)):
                if earlier[w, k]:
                    counts[k] = earlier[w, k]
                    listed[end] = k
                    end += 1
        for j in range(indptr[w], indptr[w + 1]):
            k = topics[places[j]]
            if counts[k] == 0:
                listed[end] = k
                end += 1
            counts[k] += 1
        for e in range(begin, end):
            k = listed[e]
            weights[e] = counts[k]
            totals[k] += counts[k]
            counts[k] = 0
        while end % _BLOCK:
            listed[end] = 0
            weights[end] = 0
            end += 1
        sizes[w] = (end - begin) // _BLOCK


def laws(
    totals: NDArray[np.int64], doc_topic_prior: NDArray[np.float64], beta: float, n_words: int
) -> NDArray[np.float32]:
    """What a draw has to know about topics, (3, width), zeros in the padding.

    The prior; n_words / (c_k + V beta), of a size near 1; by how much that rises without a token of the topic.
    """
    n_topics, empty = len(totals), n_words * beta
    found = aligned_zeros((3, padded(n_topics)), np.float32)
    found[0, :n_topics] = doc_topic_prior
    found[1, :n_topics] = n_words / (totals + empty)
    found[2, :n_topics] = (totals + empty) / np.maximum(totals + empty - 1, empty)
    return found


def fill(
    lists: Lists,
    topics: NDArray[np.uint16],
    n_topics: int,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int64]:
    """Fill ``lists`` from tokens' topics; return how many tokens each topic has, earlier ones among them."""
    order, starts, sizes, listed, weights = lists
    before = _NO_COUNTS if earlier is None else earlier

    def work(piece: tuple[int, int]) -> NDArray[np.int64]:
        totals = np.zeros(n_topics, np.int64)
        _fill(order.indptr, order.places, topics, before, starts, *piece, listed, weights, sizes, totals)
        return totals

    return np.stack(share_out(work, pieces(order.indptr, n_threads), n_threads)).sum(axis=0)


def _draw(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    lists: Lists,
    beta: np.float32,
    known: NDArray[np.float32],
    n_topics: int,
    key: np.uint64,
    part: tuple[int, int],
    n_threads: int,
) -> None:
    """Draw the topics of a part of the documents anew, in place."""
    arrays = (lists.starts, lists.sizes, lists.topics, lists.weights)

    def work(piece: tuple[int, int]) -> None:
        first, last = part[0] + piece[0], part[0] + piece[1]
        place = aligned_zeros((7, known.shape[1]), np.float32)
        draw_documents(
            tokens.indptr, tokens.words, topics, *arrays, beta, known, n_topics, key, first, last, place
        )

    share_out(work, pieces(tokens.indptr[part[0] : part[1] + 1], n_threads), n_threads)


def init(
    tokens: Tokens, n_topics: int, seed: int, earlier: NDArray[np.int32] | None = None
) -> StartingState | ListState:
    """Start a chain from random topics, 1 to 65,536 of them.

    ``earlier``, (n_words, width) int32: counts of other documents, which stay as they are and count in every draw.
    """
    if earlier is None:
        order = mh_sweep.by_word(tokens)
        return StartingState(mh_sweep.init(tokens, order, n_topics, seed), order)
    return ListState(random_topics(len(tokens.words), n_topics, seed), seed, 0)


def step(
    state: StartingState | ListState,
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    lists: Lists,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> tuple[StartingState | ListState, Info]:
    """Do one sweep.

    Parameters
    ----------
    state : StartingState or ListState
        Is left as it was.
    tokens : Tokens
        The documents that the state is about.
    doc_topic_prior : array of shape (n_topics,)
        alpha.
    topic_word_prior : float
        beta.
    lists : Lists
        ``empty_lists(tokens, n_topics, earlier)``; is filled anew.
    earlier : array of shape (n_words, width), int32, optional
        The counts of other documents that the chain began with.
    n_threads : int
        Threads; the new state does not depend on it.
    """
    if isinstance(state, StartingState):
        if state.chain.sweep < N_STARTING:
            chain, info = mh_sweep.step(
                state.chain, tokens, state.order, doc_topic_prior, topic_word_prior, n_threads=n_threads
            )
            return StartingState(chain, state.order), info
        chain = state.chain
        state = ListState(_topics(state), chain.seed, chain.sweep)
    n_topics, topics, key = len(doc_topic_prior), state.topics.copy(), sweep_key(state.seed, state.sweep)
    beta, n_words = topic_word_prior, tokens.n_words
    for part in pairwise(balanced_cuts(tokens.indptr, n_parts(tokens.n_documents, n_topics)).tolist()):
        totals = fill(lists, topics, n_topics, earlier, n_threads)
        known = laws(totals, doc_topic_prior, beta, n_words)
        _draw(tokens, topics, lists, np.float32(beta), known, n_topics, key, part, n_threads)
    n_moved = int(np.count_nonzero(topics != state.topics))
    return ListState(topics, state.seed, state.sweep + 1), Info(n_moved)


def _topics(state: StartingState | ListState) -> NDArray[np.uint16]:
    if isinstance(state, ListState):
        return state.topics
    return state.chain.packed.astype(np.uint16)[state.order.position]


def word_topic(
    state: StartingState | ListState,
    tokens: Tokens,
    n_topics: int,
    *,
    lists: Lists,
    earlier: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Count each word in each topic: (n_words, width), int32."""
    return count_topics(tokens, _topics(state), n_topics, n_threads, order=lists.order, earlier=earlier)
