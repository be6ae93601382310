r"""The frozen Gibbs sweep for many topics: exact draws from lists of the topics in which a word has tokens.

The law of a draw is that of :func:`discreet.lda.gibbs.frozen.step`: counts of words stay as they were, the token itself
left out, and topic k gets a weight in proportion to

.. math:: (n_{dk} + \alpha_k) \frac{c_{wk} + \beta}{c_k + V \beta}
          = \underbrace{(n_{dk} + \alpha_k) \frac{c_{wk}}{c_k + V \beta}}_{\text{in the word's list}}
          + \underbrace{\beta \frac{n_{dk} + \alpha_k}{c_k + V \beta}}_{\text{outside}}.

The first term is 0 but for the topics in which the word has tokens: some dozens of 1,000. The sum of the second is kept
per document, one addition for each token that comes or goes; some per cent of draws fall there, and only they look at
all topics. So a token costs what its word's list is long, and no table of n_words x n_topics is read.

A list holds a word's topics in blocks of 16, in the order in which its tokens come, and the word's counts in them;
what is left of the last block has counts of 0. All lists lie in one piece of memory, each at its own place.

Counts are renewed once a sweep, or, where there are not many more documents than topics, up to four times
(:func:`n_parts`). Lists are long as long as topics are random; such a chain's first sweeps are its slowest. Counts are
integers, and each document has its own stream of random numbers: any number of threads draws the same.

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
from numba import float32, int64, njit, uint64
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import balanced_cuts, pieces, share_out
from discreet.lda.emitted import aligned
from discreet.lda.gibbs.draw import LANES, MOST_DRAWS, draw, draw_entry, mix, prefetch, stream_at, sweep_key
from discreet.lda.gibbs.state import (
    State,
    Tokens,
    WordOrder,
    own_share,
    padded,
    random_topics,
    word_order,
)

#: Largest number of parts of a sweep.
_MOST_PARTS = 4
#: Lists are asked for this many tokens before they are used: of most, four lines of weights are all of it.
AHEAD, _LINES = 6, 4
#: Rows of ``laws``.
_PRIOR, _SCALE, _RISE = 0, 1, 2
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


def empty_lists(tokens: Tokens, n_topics: int) -> Lists:
    """Allocate memory for lists: 4 bytes a token, and 6 for each entry that a list may come to hold."""
    order = word_order(tokens)
    longest = np.minimum(np.diff(order.indptr), n_topics)
    starts = np.zeros(tokens.n_words + 1, np.int64)
    np.cumsum(-(-longest // LANES), out=starts[1:])
    n_entries = max(int(starts[-1]), 1) * LANES
    return Lists(
        order,
        starts,
        np.zeros(tokens.n_words, np.int32),
        aligned((n_entries,), np.uint16),
        aligned((n_entries,), np.float32),
    )


@kernel()
def _fill(lists: Any, topics: Any, first: int, last: int, totals: Any) -> None:
    """Fill the lists of words ``first`` to ``last``, and add to the totals of topics."""
    (indptr, places), starts, sizes, listed, weights = lists
    counts = np.zeros(len(totals), np.int32)
    for w in range(first, last):
        begin = end = starts[w] * LANES
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
        while end % LANES:
            listed[end] = 0
            weights[end] = 0
            end += 1
        sizes[w] = (end - begin) // LANES


def fill(lists: Lists, topics: NDArray[np.uint16], n_topics: int, n_threads: int = 1) -> NDArray[np.int64]:
    """Fill ``lists`` from tokens' topics; return how many tokens each topic has."""

    def work(piece: tuple[int, int]) -> NDArray[np.int64]:
        totals = np.zeros(n_topics, np.int64)
        _fill(lists, topics, *piece, totals)
        return totals

    return np.stack(share_out(work, pieces(lists.order.indptr, n_threads), n_threads)).sum(axis=0)


def laws(
    totals: NDArray[np.int64], doc_topic_prior: NDArray[np.float64], beta: float, n_words: int
) -> NDArray[np.float32]:
    """What a draw has to know about topics, (3, width), zeros in the padding: the prior, and :func:`own_share`."""
    found = aligned((3, padded(len(totals))), np.float32)
    found[0, : len(totals)] = doc_topic_prior
    found[1:] = own_share(totals, beta, n_words)
    return found


class Draws(NamedTuple):
    """What the draws of a part of a sweep read, and the topics that they change."""

    tokens: Tokens
    #: (n_tokens,) uint16: is changed in place; a token's old topic stands in its word's list.
    topics: NDArray[np.uint16]
    lists: Lists
    #: What each word has in each topic besides its count.
    beta: np.float32
    #: :func:`laws`.
    laws: NDArray[np.float32]
    #: Topics without padding.
    n_topics: int
    #: The sweep's key.
    key: np.uint64


@njit(forceinline=True)
def _add(draws: Any, counts: Any, factors: Any, k: Any, amount: Any) -> Any:
    """Add to a document's count of topic k; return by how much the sum of its factors rises."""
    laws = draws.laws
    counts[k] += float32(amount)
    factors[k] = (counts[k] + laws[_PRIOR, k]) * laws[_SCALE, k]
    return amount * laws[_SCALE, k]


@njit(forceinline=True)
def _enter(draws: Any, d: Any, counts: Any, factors: Any, total: Any) -> Any:
    """Count a document's topics; return the sum of its factors, ``total`` being that of an empty document."""
    laws = draws.laws
    for k in range(counts.shape[0]):
        counts[k] = 0
        factors[k] = laws[_PRIOR, k] * laws[_SCALE, k]
    for i in range(draws.tokens.indptr[d], draws.tokens.indptr[d + 1]):
        total += _add(draws, counts, factors, draws.topics[i], 1.0)
    return total


@njit(forceinline=True)
def _refuses(draws: Any, count: Any, o: Any, r: Any) -> Any:
    """Whether a draw of the token's old topic is refused, its count in the list given with the token."""
    # A uniform number that the draw has not seen: the lower bits.
    with_it = count + draws.beta
    without = (count - float32(1) + draws.beta) * draws.laws[_RISE, o]
    return float32(int64(r & uint64(0xFFFFFF))) * with_it >= without * float32(2.0**24)


@njit(forceinline=True)
def _unfinished(draws: Any, entry: Any, o: Any, r: Any) -> Any:
    """Whether the draw fell outside the list, or is refused."""
    e = uint64(max(entry, 0))
    return (entry < 0) | ((draws.lists.topics[e] == o) & _refuses(draws, draws.lists.weights[e], o, r))


@njit
def _finish(
    draws: Any, entry: Any, w: Any, counts: Any, factors: Any, total: Any, sums: Any, o: Any, r: Any
) -> Any:
    """Draw outside the list, and draw again while refused; after ``MOST_DRAWS`` the token stays where it is."""
    listed, weights, laws = draws.lists.topics, draws.lists.weights, draws.laws
    begin, size, r_now = draws.lists.starts[w], draws.lists.sizes[w], r
    for attempt in range(1, MOST_DRAWS + 1):
        if entry >= 0:
            k, count = uint64(listed[entry]), weights[entry]
        else:
            word = stream_at(mix(r_now), 0)
            k = draw(counts, laws[_PRIOR], laws, _SCALE, word, sums, counts.nbytes >> 6, ())
            k = uint64(min(k, draws.n_topics - 1))
            count = float32(0)
            if k == o:
                for e in range(LANES * begin, LANES * (begin + size)):
                    if listed[e] == o:
                        count += weights[e]
        if k != o or not _refuses(draws, count, o, r_now):
            return k
        r_now = stream_at(mix(r), attempt)
        entry = draw_entry(weights, listed, begin, size, factors, draws.beta * float32(total), r_now, sums)
    return o


@njit
def _draw_rest(
    draws: Any, i: int, end: int, begin: int, s: Any, counts: Any, factors: Any, m: float, sums: Any
) -> None:
    """Draw the topics of tokens i to ``end`` of a document alone."""
    lists = draws.lists
    while i < end:
        w, r, o = uint64(draws.tokens.words[i]), stream_at(s, i - begin), uint64(draws.topics[i])
        m += _add(draws, counts, factors, o, -1.0)
        rest = draws.beta * float32(m)
        q = draw_entry(lists.weights, lists.topics, lists.starts[w], lists.sizes[w], factors, rest, r, sums)
        k = uint64(lists.topics[uint64(max(q, 0))])
        if _unfinished(draws, q, o, r):
            k = _finish(draws, q, w, counts, factors, m, sums, o, r)
        m += _add(draws, counts, factors, k, 1.0)
        draws.topics[i] = k
        i += 1


@njit(forceinline=True)
def _ask_for(draws: Any, i: int) -> None:
    """Ask for the first blocks of the list of token i's word."""
    begin = draws.lists.starts[uint64(draws.tokens.words[uint64(i)])]
    prefetch(draws.lists.weights, 64 * begin, _LINES)
    prefetch(draws.lists.topics, 32 * begin, _LINES // 2)


@kernel(error_model="numpy")
def draw_documents(draws: Any, first: int, last: int, workspace: Any) -> None:
    """Draw the topic of every token of documents ``first`` to ``last`` anew, in order, from fixed lists.

    Three documents are in flight, their steps interleaved: see :mod:`discreet.lda.gibbs.frozen`. ``workspace``:
    (7, width) float32, aligned.
    """
    indptr, words, topics, beta = draws.tokens.indptr, draws.tokens.words, draws.topics, draws.beta
    _, starts, sizes, listed, weights = draws.lists
    c0, c1, c2 = workspace[0], workspace[1], workspace[2]
    f0, f1, f2 = workspace[3], workspace[4], workspace[5]
    sums = workspace[6]
    end, base = indptr[last] - 1, 0.0
    for k in range(draws.n_topics):
        base += draws.laws[_PRIOR, k] * float(draws.laws[_SCALE, k])
    i0 = i1 = i2 = e0 = e1 = e2 = b0 = b1 = b2 = 0
    s0 = s1 = s2 = uint64(0)
    m0 = m1 = m2 = 0.0
    d = first
    while True:
        while i0 >= e0 and d < last:
            m0 = _enter(draws, d, c0, f0, base)
            b0 = i0 = indptr[d]
            e0, s0 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        while i1 >= e1 and d < last:
            m1 = _enter(draws, d, c1, f1, base)
            b1 = i1 = indptr[d]
            e1, s1 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        while i2 >= e2 and d < last:
            m2 = _enter(draws, d, c2, f2, base)
            b2 = i2 = indptr[d]
            e2, s2 = indptr[d + 1], mix(draws.key ^ mix(d))
            d += 1
        together = min(e0 - i0, e1 - i1, e2 - i2)
        if together <= 0:
            break
        for _ in range(together):
            _ask_for(draws, min(i0 + AHEAD, end))
            _ask_for(draws, min(i1 + AHEAD, end))
            _ask_for(draws, min(i2 + AHEAD, end))
            w0, w1, w2 = uint64(words[i0]), uint64(words[i1]), uint64(words[i2])
            r0, r1, r2 = stream_at(s0, i0 - b0), stream_at(s1, i1 - b1), stream_at(s2, i2 - b2)
            o0, o1, o2 = uint64(topics[i0]), uint64(topics[i1]), uint64(topics[i2])
            m0 += _add(draws, c0, f0, o0, -1.0)
            m1 += _add(draws, c1, f1, o1, -1.0)
            m2 += _add(draws, c2, f2, o2, -1.0)
            q0 = draw_entry(weights, listed, starts[w0], sizes[w0], f0, beta * float32(m0), r0, sums)
            q1 = draw_entry(weights, listed, starts[w1], sizes[w1], f1, beta * float32(m1), r1, sums)
            q2 = draw_entry(weights, listed, starts[w2], sizes[w2], f2, beta * float32(m2), r2, sums)
            k0 = uint64(listed[uint64(max(q0, 0))])
            k1 = uint64(listed[uint64(max(q1, 0))])
            k2 = uint64(listed[uint64(max(q2, 0))])
            x0, x1 = _unfinished(draws, q0, o0, r0), _unfinished(draws, q1, o1, r1)
            x2 = _unfinished(draws, q2, o2, r2)
            if x0 | x1 | x2:  # some per cent: one branch that is mostly foreseen
                if x0:
                    k0 = _finish(draws, q0, w0, c0, f0, m0, sums, o0, r0)
                if x1:
                    k1 = _finish(draws, q1, w1, c1, f1, m1, sums, o1, r1)
                if x2:
                    k2 = _finish(draws, q2, w2, c2, f2, m2, sums, o2, r2)
            m0 += _add(draws, c0, f0, k0, 1.0)
            m1 += _add(draws, c1, f1, k1, 1.0)
            m2 += _add(draws, c2, f2, k2, 1.0)
            topics[i0], topics[i1], topics[i2] = k0, k1, k2
            i0 += 1
            i1 += 1
            i2 += 1
    _draw_rest(draws, i0, e0, b0, s0, c0, f0, m0, sums)  # at most two documents are left
    _draw_rest(draws, i1, e1, b1, s1, c1, f1, m1, sums)
    _draw_rest(draws, i2, e2, b2, s2, c2, f2, m2, sums)


def n_parts(n_documents: int, n_topics: int) -> int:
    """In how many parts a sweep goes over the documents; counts are renewed before each.

    Where there are about as many topics as documents, a document's moves change whole topics, and a chain whose counts
    stay as they are for a whole sweep falls behind: see docs/speed.md.
    """
    return min(_MOST_PARTS, -(-_MOST_PARTS * n_topics // max(n_documents, 1)))


def init(tokens: Tokens, n_topics: int, seed: int, topics: NDArray[np.uint16] | None = None) -> State:
    """Start a chain, without a table, from ``topics``, or from random ones, 1 to 65,536 of them."""
    topics = random_topics(len(tokens.words), n_topics, seed) if topics is None else topics
    return State(topics, _NO_COUNTS, seed, 0)


def step(
    state: State,
    tokens: Tokens,
    doc_topic_prior: NDArray[np.float64],
    topic_word_prior: float,
    *,
    lists: Lists,
    n_threads: int = 1,
) -> State:
    """Do one sweep; ``lists``: :func:`empty_lists` of these documents, filled anew."""
    n_topics, topics, key = len(doc_topic_prior), state.topics.copy(), sweep_key(state.seed, state.sweep)
    beta, n_words = topic_word_prior, tokens.n_words
    for part in pairwise(balanced_cuts(tokens.indptr, n_parts(tokens.n_documents, n_topics)).tolist()):
        totals = fill(lists, topics, n_topics, n_threads)
        known = laws(totals, doc_topic_prior, beta, n_words)
        draws = Draws(tokens, topics, lists, np.float32(beta), known, n_topics, key)

        def draw_piece(piece: tuple[int, int], first: int = part[0], draws: Draws = draws) -> None:
            place = aligned((7, draws.laws.shape[1]), np.float32)
            draw_documents(draws, first + piece[0], first + piece[1], place)

        share_out(draw_piece, pieces(tokens.indptr[part[0] : part[1] + 1], n_threads), n_threads)
    return state._replace(topics=topics, sweep=state.sweep + 1)
