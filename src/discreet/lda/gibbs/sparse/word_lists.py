"""Which topics each word has tokens in, and how many: what many topics are drawn from.

A list holds a word's topics in blocks of 16, in the order in which its tokens come, and the word's counts in them;
what is left of the last block has counts of 0. All lists lie in one piece of memory, each at its own place.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.lda.gibbs.state import Tokens, WordOrder, aligned_zeros, padded, word_order

__all__ = ["Lists", "empty_lists", "fill", "laws"]

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
