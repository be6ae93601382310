r"""Exact Gibbs sweep from a frozen word-topic table.

In a sweep over all tokens the table :math:`\phi` stays as it was at the start; only the counts of the document
itself change from token to token. Token i of document d, a word w, gets topic k with probability

.. math:: p(z_{di} = k) \propto (n_{dk}^{-di} + \alpha_k)\, \phi_{wk}, \qquad
          \phi_{wk} = \frac{c_{wk} + \beta}{c_k + V \beta}.

Given the table, documents are independent and each has its own stream of random numbers: any number of threads
draws the same topics. Counts are integers, brought up to date after the sweep, word by word.

A step leaves the token itself out of the table, as the textbook's sampler does: with the counts of the table its
old topic o gets :math:`(c_{wo} - 1 + \beta) / (c_o - 1 + V \beta)`. (Left in, a rare word's token holds itself where it
is, the chain mixes slowly and ends in worse topics.) The other tokens' moves of the same sweep are not seen, so the
stationary law is near, not equal, to the posterior. What *is* exact is each draw, given the table.

:func:`sweep` alone leaves the table as it is given, whatever it holds.

How exact: each probability is off by at most :math:`(n + 6)\, 2^{-23}`, n the number of blocks of 16 topics.

Guarantee: none.

Reference
---------
Griffiths, Steyvers, "Finding scientific topics", PNAS 2004, doi:10.1073/pnas.0307752101 (the sampler);
Newman, Asuncion, Smyth, Welling, "Distributed algorithms for topic models", JMLR 10 (2009) (frozen counts).
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.draw import (
    LANES,
    MOST_DRAWS,
    MOST_UNROLLED,
    add_to,
    draw,
    mix,
    prefetch,
    stream_at,
    sweep_key,
)
from discreet.lda.gibbs.state import (
    State,
    Tokens,
    WordOrder,
    begin,
    count_topics,
    own_share,
    padded,
)

#: Starts a chain: ``init(tokens, n_topics, seed)``.
init = begin

#: Rows of the table are asked for this many tokens before they are used.
AHEAD = 6
_ONE = np.float32(1)


class Draws(NamedTuple):
    """What the draws of a sweep read, and the topics that they change."""

    tokens: Tokens
    #: (n_tokens,) uint16: is changed in place.
    topics: NDArray[np.uint16]
    #: (n_words, width) float32: a positive weight for each topic, zeros in the padding; rows aligned to 64 bytes.
    table: NDArray[np.float32]
    #: (width,) float32: alpha, zeros in the padding; aligned.
    prior: NDArray[np.float32]
    #: (2, width) float32, :func:`own_share`: each token is left out of the table. Its old topic is drawn with the
    #: weight it has with the token, and the draw is refused and done again where it should have had less. Or (0,
    #: width): the table is taken as it is.
    own: NDArray[np.float32]
    #: Topics without padding.
    n_topics: int
    #: The sweep's key.
    key: np.uint64


@njit(forceinline=True)
def _enter(draws: Any, d: Any, counts: Any) -> Any:
    """Count a document's topics; return where its tokens begin."""
    counts[:] = 0
    for i in range(draws.tokens.indptr[d], draws.tokens.indptr[d + 1]):
        counts[draws.topics[i]] += _ONE
    return draws.tokens.indptr[d]


@njit(forceinline=True)
def _refused(row: Any, own: Any, o: Any, k: Any, r: Any) -> Any:
    """Whether a draw of the token's old topic is refused: it has the weight of its share without the token."""
    # A uniform number that the draw has not seen: the lower bits.
    left = (row[o] - own[0, o]) * own[1, o] * np.float32(2.0**24)
    return (k == o) & (np.float32(int64(r & uint64(0xFFFFFF))) * row[o] >= left)


@njit
def _again(draws: Any, counts: Any, w: Any, o: Any, r: Any, sums: Any, blocks: Any) -> Any:
    """Draw until a draw is not refused; after ``MOST_DRAWS`` the token stays where it is."""
    for attempt in range(1, MOST_DRAWS):
        r_now = stream_at(mix(r), attempt)
        k = draw(counts, draws.prior, draws.table, w, r_now, sums, counts.nbytes >> 6, blocks)
        k = uint64(min(k, draws.n_topics - 1))
        if not _refused(draws.table[w], draws.own, o, k, r_now):
            return k
    return o


@njit
def _finish(draws: Any, i: int, end: int, begin: int, s: Any, counts: Any, sums: Any, blocks: Any) -> None:
    """Draw the topics of tokens i to ``end`` of a document alone."""
    while i < end:
        w, o, r = uint64(draws.tokens.words[i]), uint64(draws.topics[i]), stream_at(s, i - begin)
        add_to(counts, o, -_ONE)
        k = draw(counts, draws.prior, draws.table, w, r, sums, counts.nbytes >> 6, blocks)
        k = uint64(min(k, draws.n_topics - 1))
        if len(draws.own) > 0 and _refused(draws.table[w], draws.own, o, k, r):
            k = _again(draws, counts, w, o, r, sums, blocks)
        add_to(counts, k, _ONE)
        draws.topics[i] = k
        i += 1


@kernel(error_model="numpy")
def draw_documents(draws: Any, first: int, last: int, workspace: Any, blocks: Any) -> None:
    """Draw the topic of every token of documents ``first`` to ``last`` anew, in order, from a fixed table.

    Three documents are in flight, their steps interleaved: a token's draw waits for the last one of its document, and
    two more documents fill the wait. ``workspace``: (4, width) float32, aligned; ``blocks``: see the module of draws.
    """
    indptr, words, topics = draws.tokens.indptr, draws.tokens.words, draws.topics
    table, prior, own = draws.table, draws.prior, draws.own
    counts0, counts1, counts2, sums = workspace[0], workspace[1], workspace[2], workspace[3]
    n_blocks, top, excluding = counts0.nbytes >> 6, draws.n_topics - 1, len(own) > 0
    i0 = i1 = i2 = e0 = e1 = e2 = b0 = b1 = b2 = 0
    s0 = s1 = s2 = uint64(0)
    row_bytes, end = counts0.nbytes, indptr[last] - 1
    d = first
    while True:
        while i0 >= e0 and d < last:
            b0 = i0 = _enter(draws, d, counts0)
            e0, s0 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        while i1 >= e1 and d < last:
            b1 = i1 = _enter(draws, d, counts1)
            e1, s1 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        while i2 >= e2 and d < last:
            b2 = i2 = _enter(draws, d, counts2)
            e2, s2 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        together = min(e0 - i0, e1 - i1, e2 - i2)
        if together <= 0:
            break
        for _ in range(together):
            w0, w1, w2 = uint64(words[i0]), uint64(words[i1]), uint64(words[i2])
            prefetch(table, row_bytes * words[min(i0 + AHEAD, end)], n_blocks)
            prefetch(table, row_bytes * words[min(i1 + AHEAD, end)], n_blocks)
            prefetch(table, row_bytes * words[min(i2 + AHEAD, end)], n_blocks)
            r0, r1, r2 = stream_at(s0, i0 - b0), stream_at(s1, i1 - b1), stream_at(s2, i2 - b2)
            o0, o1, o2 = uint64(topics[i0]), uint64(topics[i1]), uint64(topics[i2])
            add_to(counts0, o0, -_ONE)
            add_to(counts1, o1, -_ONE)
            add_to(counts2, o2, -_ONE)
            # min: only a table that is not positive and finite could lead past the last topic
            k0 = uint64(min(draw(counts0, prior, table, w0, r0, sums, n_blocks, blocks), top))
            k1 = uint64(min(draw(counts1, prior, table, w1, r1, sums, n_blocks, blocks), top))
            k2 = uint64(min(draw(counts2, prior, table, w2, r2, sums, n_blocks, blocks), top))
            if excluding:
                x0 = _refused(table[w0], own, o0, k0, r0)
                x1 = _refused(table[w1], own, o1, k1, r1)
                x2 = _refused(table[w2], own, o2, k2, r2)
                if x0 | x1 | x2:  # a few per cent: one branch that is mostly foreseen
                    if x0:
                        k0 = _again(draws, counts0, w0, o0, r0, sums, blocks)
                    if x1:
                        k1 = _again(draws, counts1, w1, o1, r1, sums, blocks)
                    if x2:
                        k2 = _again(draws, counts2, w2, o2, r2, sums, blocks)
            add_to(counts0, k0, _ONE)
            add_to(counts1, k1, _ONE)
            add_to(counts2, k2, _ONE)
            topics[i0], topics[i1], topics[i2] = k0, k1, k2
            i0 += 1
            i1 += 1
            i2 += 1
    _finish(draws, i0, e0, b0, s0, counts0, sums, blocks)  # at most two documents are left
    _finish(draws, i1, e1, b1, s1, counts1, sums, blocks)
    _finish(draws, i2, e2, b2, s2, counts2, sums, blocks)


def empty_table(n_words: int, n_topics: int) -> NDArray[np.float32]:
    """Allocate a table for sweeps: n_words * width * 4 bytes, width = n_topics padded to 16s."""
    return aligned((n_words, padded(n_topics)), np.float32)


@kernel(error_model="numpy")
def _fill(counts: Any, totals: Any, beta: Any, first: int, last: int, table: Any) -> None:
    n_words, n_topics = counts.shape[0], len(totals)
    scale = np.empty(n_topics, np.float32)
    prior = np.float32(beta)
    for k in range(n_topics):
        scale[k] = n_words / (totals[k] + n_words * beta)
    for w in range(first, last):
        for k in range(n_topics):
            table[w, k] = (np.float32(counts[w, k]) + prior) * scale[k]


def build_table(
    word_topic: NDArray[np.int32],
    n_topics: int,
    topic_word_prior: float,
    table: NDArray[np.float32],
    n_threads: int = 1,
) -> NDArray[np.int64]:
    """Fill ``table`` with n_words * (c + beta) / (c_k + V beta): in proportion to phi, and of a size near 1.

    Returns the totals c_k, (n_topics,).
    """
    ranges = pieces(np.arange(len(table) + 1), n_threads)

    def add(piece: tuple[int, int]) -> NDArray[np.int64]:
        return word_topic[slice(*piece), :n_topics].sum(axis=0, dtype=np.int64)

    def fill(piece: tuple[int, int]) -> None:
        _fill(word_topic, totals, topic_word_prior, *piece, table)

    totals = np.stack(share_out(add, ranges, n_threads)).sum(axis=0)
    share_out(fill, ranges, n_threads)
    return totals


def sweep(
    tokens: Tokens,
    topics: NDArray[np.uint16],
    table: NDArray[np.float32],
    doc_topic_prior: NDArray[np.float64],
    key: Any,
    *,
    own: NDArray[np.float32] | None = None,
    n_threads: int = 1,
) -> None:
    """Draw every token's topic once from a given table; ``topics``, (n_tokens,) uint16, is changed in place.

    ``table``: (n_words, width) float32, positive and finite for each topic, zeros in the padding; rows start at
    multiples of 64 bytes, and a row may have any scale that keeps its products with counts in range.
    ``doc_topic_prior``: (n_topics,), positive; ``key``: ``sweep_key(seed, sweep)``; ``own``: :func:`own_share`, where
    each token is left out of the table while it is drawn. Topics do not depend on the threads.
    """
    n_topics, width = len(doc_topic_prior), table.shape[1]
    prior = aligned((width,), np.float32)
    prior[:n_topics] = doc_topic_prior
    own = np.empty((0, width), np.float32) if own is None else own
    n_blocks = width // LANES
    blocks = (0,) * n_blocks if n_blocks <= MOST_UNROLLED else ()
    draws = Draws(tokens, topics, table, prior, own, n_topics, np.uint64(key))

    def draw_piece(piece: tuple[int, int]) -> None:
        draw_documents(draws, *piece, aligned((4, width), np.float32), blocks)

    share_out(draw_piece, pieces(tokens.indptr, n_threads), n_threads)


def step(
    state: State,
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    memory: NDArray[np.float32] | None = None,
    order: WordOrder | None = None,
    n_threads: int = 1,
) -> State:
    """Do one sweep; ``memory``: an :func:`empty_table`, to be used again."""
    n_topics = len(doc_topic_prior)
    table = empty_table(tokens.n_words, n_topics) if memory is None else memory
    totals = build_table(state.word_topic, n_topics, topic_word_prior, table, n_threads)
    own, key = own_share(totals, topic_word_prior, len(table)), sweep_key(state.seed, state.sweep)
    topics = state.topics.copy()
    sweep(tokens, topics, table, doc_topic_prior, key, own=own, n_threads=n_threads)
    word_topic = count_topics(tokens, topics, n_topics, n_threads, order=order)
    return State(topics, word_topic, state.seed, state.sweep + 1)
