"""Compiled heart of the frozen sweep: a range of documents, three of them interleaved.

``plain`` is the same in plain Python, for the same numbers and the same bits.
"""

from typing import Any

from numba import int64, njit, uint64

from discreet._kernels import kernel
from discreet.lda.gibbs import simd
from discreet.lda.gibbs.counter_stream import mix, stream_at
from discreet.lda.gibbs.frozen.plain import MOST_DRAWS

# an intrinsic's first argument, the typing context, is numba's own affair
draw: Any = simd.draw
add_to: Any = simd.add_to
prefetch: Any = simd.prefetch

__all__ = ["AHEAD", "STREAMS", "draw_documents"]

#: Documents in flight. A token's draw waits for the last one of its document; two more documents fill the wait.
STREAMS = 3
#: Rows of the table are asked for this many tokens before they are used.
AHEAD = 6


@njit(forceinline=True)
def _enter(indptr: Any, topics: Any, d: Any, counts: Any) -> None:
    one = counts.dtype.type(1)
    for k in range(counts.shape[0]):
        counts[k] = 0
    for i in range(indptr[d], indptr[d + 1]):
        counts[topics[i]] += one


@njit(forceinline=True)
def _refused(row: Any, own: Any, o: Any, k: Any, r: Any) -> Any:
    """Whether a draw of the token's old topic is refused: it has the weight of its share without the token."""
    # A uniform number that the draw has not seen: single precision leaves the lower bits, double none.
    bits = r & uint64(0xFFFFFF) if own.itemsize == 4 else mix(r) >> uint64(40)
    left = (row[o] - own[0, o]) * own[1, o] * own.dtype.type(2.0**24)
    return (k == o) & (own.dtype.type(int64(bits)) * row[o] >= left)


@njit
def _again(
    counts: Any,
    prior: Any,
    table: Any,
    w: Any,
    own: Any,
    o: Any,
    top: int,
    r: Any,
    sums: Any,
    n_blocks: int,
    blocks: Any,
) -> Any:
    """Draw until a draw is not refused; after ``MOST_DRAWS`` the token stays where it is."""
    for attempt in range(1, MOST_DRAWS):
        r_now = stream_at(mix(r), attempt)
        k = uint64(min(draw(counts, prior, table, w, r_now, sums, n_blocks, blocks), top))
        if not _refused(table[w], own, o, k, r_now):
            return k
    return o


@kernel(error_model="numpy")
def draw_documents(
    indptr: Any,
    words: Any,
    topics: Any,
    table: Any,
    prior: Any,
    n_topics: int,
    key: Any,
    bits: Any,
    first: int,
    last: int,
    workspace: Any,
    own: Any,
    blocks: Any,
    base: int,
) -> None:
    """Draw the topic of every token of documents ``first`` to ``last`` anew, in order, from a fixed table.

    Parameters
    ----------
    indptr : array of shape (n_documents + 1,), int64
        Where documents begin.
    words : array of shape (n_tokens,), int32
        Rows of the table.
    topics : array of shape (n_tokens,), uint16
        Is changed in place.
    table : array of shape (n_words, width), float32 or float64
        A positive weight for each topic, zeros in the padding; rows aligned to 64 bytes.
    prior : array of shape (width,), same type
        alpha, zeros in the padding; aligned.
    n_topics : int
        Topics without padding.
    key : uint64
        The sweep's key.
    bits : array of shape (n_tokens,), uint64
        Random words to use, one for each token; or empty: the stream of document base + d is used.
    first, last : int
        Documents to work on.
    workspace : array of shape (4, width), same type as the table
        Scratch space; aligned.
    own : array of shape (2, width) or (0, width), same type
        What one token adds to its cell of the table, and by how much its topic's column rises without it: the
        token is then left out of the table. Its old topic is drawn with the weight it has with the token, and the
        draw is refused and done again where it should have had less. Or nothing: the table is taken as it is.
    blocks : tuple
        See ``simd``.
    base : int
        Number of document 0 in the corpus of which these documents are a part.
    """
    counts0 = workspace[0]
    counts1 = workspace[1]
    counts2 = workspace[2]
    sums = workspace[3]
    n_blocks = counts0.nbytes >> 6
    one = counts0.dtype.type(1)
    given = len(bits) > 0
    excluding = len(own) > 0
    top = n_topics - 1
    end = indptr[last] - 1
    i0 = i1 = i2 = e0 = e1 = e2 = b0 = b1 = b2 = 0
    s0 = s1 = s2 = uint64(0)
    d = first
    while True:
        while i0 >= e0 and d < last:
            _enter(indptr, topics, d, counts0)
            b0 = i0 = indptr[d]
            e0 = indptr[d + 1]
            s0 = mix(key ^ mix(base + d))
            d += 1
        while i1 >= e1 and d < last:
            _enter(indptr, topics, d, counts1)
            b1 = i1 = indptr[d]
            e1 = indptr[d + 1]
            s1 = mix(key ^ mix(base + d))
            d += 1
        while i2 >= e2 and d < last:
            _enter(indptr, topics, d, counts2)
            b2 = i2 = indptr[d]
            e2 = indptr[d + 1]
            s2 = mix(key ^ mix(base + d))
            d += 1
        together = min(e0 - i0, e1 - i1, e2 - i2)
        if together <= 0:
            break
        for _ in range(together):
            w0 = uint64(words[i0])
            w1 = uint64(words[i1])
            w2 = uint64(words[i2])
            prefetch(table, words[min(i0 + AHEAD, end)], n_blocks, blocks)
            prefetch(table, words[min(i1 + AHEAD, end)], n_blocks, blocks)
            prefetch(table, words[min(i2 + AHEAD, end)], n_blocks, blocks)
            r0 = bits[i0] if given else stream_at(s0, i0 - b0)
            r1 = bits[i1] if given else stream_at(s1, i1 - b1)
            r2 = bits[i2] if given else stream_at(s2, i2 - b2)
            o0 = uint64(topics[i0])
            o1 = uint64(topics[i1])
            o2 = uint64(topics[i2])
            add_to(counts0, o0, -one)
            add_to(counts1, o1, -one)
            add_to(counts2, o2, -one)
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
                        k0 = _again(counts0, prior, table, w0, own, o0, top, r0, sums, n_blocks, blocks)
                    if x1:
                        k1 = _again(counts1, prior, table, w1, own, o1, top, r1, sums, n_blocks, blocks)
                    if x2:
                        k2 = _again(counts2, prior, table, w2, own, o2, top, r2, sums, n_blocks, blocks)
            add_to(counts0, k0, one)
            add_to(counts1, k1, one)
            add_to(counts2, k2, one)
            topics[i0] = k0
            topics[i1] = k1
            topics[i2] = k2
            i0 += 1
            i1 += 1
            i2 += 1
    for stream in range(STREAMS):  # at most two documents are left
        if stream == 0:
            i, e, b, s, counts = i0, e0, b0, s0, counts0
        elif stream == 1:
            i, e, b, s, counts = i1, e1, b1, s1, counts1
        else:
            i, e, b, s, counts = i2, e2, b2, s2, counts2
        while i < e:
            w = uint64(words[i])
            r = bits[i] if given else stream_at(s, i - b)
            o = uint64(topics[i])
            add_to(counts, o, -one)
            k = uint64(min(draw(counts, prior, table, w, r, sums, n_blocks, blocks), top))
            if excluding and _refused(table[w], own, o, k, r):
                k = _again(counts, prior, table, w, own, o, top, r, sums, n_blocks, blocks)
            add_to(counts, k, one)
            topics[i] = k
            i += 1
