"""Compiled heart of the sweep over word lists: fill the lists, and draw a range of documents, three interleaved.

``plain`` draws the same in plain Python, for the same numbers and the same bits.
"""

from typing import Any

from numba import float32, int64, njit, uint64

from discreet._kernels import kernel
from discreet.lda.gibbs import simd
from discreet.lda.gibbs.counter_stream import mix, stream_at
from discreet.lda.gibbs.frozen.plain import MOST_DRAWS
from discreet.lda.gibbs.sparse import simd as simd_lists

# an intrinsic's first argument, the typing context, is numba's own affair
draw: Any = simd.draw
draw_entry: Any = simd_lists.draw_entry
prefetch_list: Any = simd_lists.prefetch_list

__all__ = ["draw_documents"]

#: Lists are asked for this many tokens before they are used.
AHEAD = 6
#: Rows of ``laws``.
_PRIOR, _SCALE, _RISE = 0, 1, 2


@njit(forceinline=True)
def _add(counts: Any, factors: Any, laws: Any, k: Any, amount: Any) -> Any:
    """Add to a document's count of topic k; return by how much the sum of its factors rises."""
    counts[k] += float32(amount)
    factors[k] = (counts[k] + laws[_PRIOR, k]) * laws[_SCALE, k]
    return amount * laws[_SCALE, k]


@njit(forceinline=True)
def _enter(indptr: Any, topics: Any, d: Any, counts: Any, factors: Any, laws: Any, total: Any) -> Any:
    """Count a document's topics; return the sum of its factors, ``total`` being that of an empty document."""
    for k in range(counts.shape[0]):
        counts[k] = 0
        factors[k] = laws[_PRIOR, k] * laws[_SCALE, k]
    for i in range(indptr[d], indptr[d + 1]):
        total += _add(counts, factors, laws, topics[i], 1.0)
    return total


@njit(forceinline=True)
def _refuses(count: Any, beta: Any, laws: Any, o: Any, r: Any) -> Any:
    """Whether a draw of the token's old topic is refused, its count in the list given with the token."""
    # A uniform number that the draw has not seen: the lower bits.
    with_it, without = count + beta, (count - float32(1) + beta) * laws[_RISE, o]
    return float32(int64(r & uint64(0xFFFFFF))) * with_it >= without * float32(2.0**24)


@njit(forceinline=True)
def _unfinished(entry: Any, listed: Any, weights: Any, beta: Any, laws: Any, o: Any, r: Any) -> Any:
    """Whether the draw fell outside the list, or is refused."""
    e = uint64(max(entry, 0))
    return (entry < 0) | ((listed[e] == o) & _refuses(weights[e], beta, laws, o, r))


@njit
def _finish(
    entry: Any,
    begin: Any,
    size: Any,
    listed: Any,
    weights: Any,
    beta: Any,
    laws: Any,
    counts: Any,
    factors: Any,
    total: Any,
    sums: Any,
    top: int,
    o: Any,
    r: Any,
) -> Any:
    """Draw outside the list, and draw again while refused; after ``MOST_DRAWS`` the token stays where it is."""
    r_now = r
    for attempt in range(1, MOST_DRAWS + 1):
        if entry >= 0:
            k, count = uint64(listed[entry]), weights[entry]
        else:
            word = stream_at(mix(r_now), 0)
            k = uint64(min(draw(counts, laws[0], laws, 1, word, sums, counts.nbytes >> 6, ()), top))
            count = float32(0)
            if k == o:
                for e in range(16 * begin, 16 * (begin + size)):
                    if listed[e] == o:
                        count += weights[e]
        if k != o or not _refuses(count, beta, laws, o, r_now):
            return k
        r_now = stream_at(mix(r), attempt)
        entry = draw_entry(weights, listed, begin, size, factors, beta * float32(total), r_now, sums)
    return o


@kernel(error_model="numpy")
def draw_documents(
    indptr: Any,
    words: Any,
    topics: Any,
    starts: Any,
    sizes: Any,
    listed: Any,
    weights: Any,
    beta: Any,
    laws: Any,
    n_topics: int,
    key: Any,
    first: int,
    last: int,
    workspace: Any,
) -> None:
    """Draw the topic of every token of documents ``first`` to ``last`` anew, in order, from fixed lists.

    Parameters
    ----------
    indptr : array of shape (n_documents + 1,), int64
        Where documents begin.
    words : array of shape (n_tokens,), int32
        Words.
    topics : array of shape (n_tokens,), uint16
        Is changed in place; a token's old topic stands in its word's list.
    starts, sizes : arrays of shape (n_words,), int64 and int32
        Where a word's list begins and how long it is, in blocks of 16 entries.
    listed, weights : arrays of shape (n_entries,), uint16 and float32
        The entries: topics, and the word's counts in them. Aligned.
    beta : float32
        What each word has in each topic besides its count.
    laws : array of shape (3, width), float32
        Prior; n_words / (c_k + V beta); by how much that rises without a token of the topic. Aligned.
    n_topics : int
        Topics without padding.
    key : uint64
        The sweep's key.
    first, last : int
        Documents to work on.
    workspace : array of shape (7, width), float32
        Scratch space; aligned.
    """
    c0, c1, c2 = workspace[0], workspace[1], workspace[2]
    f0, f1, f2 = workspace[3], workspace[4], workspace[5]
    sums = workspace[6]
    top = n_topics - 1
    end = indptr[last] - 1
    base = 0.0
    for k in range(n_topics):
        base += laws[_PRIOR, k] * float(laws[_SCALE, k])
    i0 = i1 = i2 = e0 = e1 = e2 = b0 = b1 = b2 = 0
    s0 = s1 = s2 = uint64(0)
    m0 = m1 = m2 = 0.0
    d = first
    while True:
        while i0 >= e0 and d < last:
            m0 = _enter(indptr, topics, d, c0, f0, laws, base)
            b0 = i0 = indptr[d]
            e0 = indptr[d + 1]
            s0 = mix(key ^ mix(d))
            d += 1
        while i1 >= e1 and d < last:
            m1 = _enter(indptr, topics, d, c1, f1, laws, base)
            b1 = i1 = indptr[d]
            e1 = indptr[d + 1]
            s1 = mix(key ^ mix(d))
            d += 1
        while i2 >= e2 and d < last:
            m2 = _enter(indptr, topics, d, c2, f2, laws, base)
            b2 = i2 = indptr[d]
            e2 = indptr[d + 1]
            s2 = mix(key ^ mix(d))
            d += 1
        together = min(e0 - i0, e1 - i1, e2 - i2)
        if together <= 0:
            break
        for _ in range(together):
            prefetch_list(weights, listed, starts[uint64(words[uint64(min(i0 + AHEAD, end))])])
            prefetch_list(weights, listed, starts[uint64(words[uint64(min(i1 + AHEAD, end))])])
            prefetch_list(weights, listed, starts[uint64(words[uint64(min(i2 + AHEAD, end))])])
            w0, w1, w2 = uint64(words[i0]), uint64(words[i1]), uint64(words[i2])
            g0, g1, g2 = starts[w0], starts[w1], starts[w2]
            n0, n1, n2 = sizes[w0], sizes[w1], sizes[w2]
            r0, r1, r2 = stream_at(s0, i0 - b0), stream_at(s1, i1 - b1), stream_at(s2, i2 - b2)
            o0, o1, o2 = uint64(topics[i0]), uint64(topics[i1]), uint64(topics[i2])
            m0 += _add(c0, f0, laws, o0, -1.0)
            m1 += _add(c1, f1, laws, o1, -1.0)
            m2 += _add(c2, f2, laws, o2, -1.0)
            q0 = draw_entry(weights, listed, g0, n0, f0, beta * float32(m0), r0, sums)
            q1 = draw_entry(weights, listed, g1, n1, f1, beta * float32(m1), r1, sums)
            q2 = draw_entry(weights, listed, g2, n2, f2, beta * float32(m2), r2, sums)
            k0 = uint64(listed[uint64(max(q0, 0))])
            k1 = uint64(listed[uint64(max(q1, 0))])
            k2 = uint64(listed[uint64(max(q2, 0))])
            x0 = _unfinished(q0, listed, weights, beta, laws, o0, r0)
            x1 = _unfinished(q1, listed, weights, beta, laws, o1, r1)
            x2 = _unfinished(q2, listed, weights, beta, laws, o2, r2)
            if x0 | x1 | x2:  # some per cent: one branch that is mostly foreseen
                if x0:
                    k0 = _finish(q0, g0, n0, listed, weights, beta, laws, c0, f0, m0, sums, top, o0, r0)
                if x1:
                    k1 = _finish(q1, g1, n1, listed, weights, beta, laws, c1, f1, m1, sums, top, o1, r1)
                if x2:
                    k2 = _finish(q2, g2, n2, listed, weights, beta, laws, c2, f2, m2, sums, top, o2, r2)
            m0 += _add(c0, f0, laws, k0, 1.0)
            m1 += _add(c1, f1, laws, k1, 1.0)
            m2 += _add(c2, f2, laws, k2, 1.0)
            topics[i0] = k0
            topics[i1] = k1
            topics[i2] = k2
            i0 += 1
            i1 += 1
            i2 += 1
    for stream in range(3):  # at most two documents are left
        if stream == 0:
            i, e, b, s, m, counts, factors = i0, e0, b0, s0, m0, c0, f0
        elif stream == 1:
            i, e, b, s, m, counts, factors = i1, e1, b1, s1, m1, c1, f1
        else:
            i, e, b, s, m, counts, factors = i2, e2, b2, s2, m2, c2, f2
        while i < e:
            w, r, o = uint64(words[i]), stream_at(s, i - b), uint64(topics[i])
            g, n = starts[w], sizes[w]
            m += _add(counts, factors, laws, o, -1.0)
            q = draw_entry(weights, listed, g, n, factors, beta * float32(m), r, sums)
            k = uint64(listed[uint64(max(q, 0))])
            if _unfinished(q, listed, weights, beta, laws, o, r):
                k = _finish(q, g, n, listed, weights, beta, laws, counts, factors, m, sums, top, o, r)
            m += _add(counts, factors, laws, k, 1.0)
            topics[i] = k
            i += 1
