"""The heart of the frozen sweep without a compiler: the same arithmetic in NumPy, hence the same topics.

Runs where numba's compiler is switched off (NUMBA_DISABLE_JIT=1); thousands of times slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.counter_stream import plain_mix, plain_stream_at

__all__ = ["MOST_DRAWS", "choose", "draw_documents", "draw_topic"]

#: Draws of one token, of which all but the last may be refused.
MOST_DRAWS = 64

_BLOCK_BYTES = 64


def choose(products: NDArray[Any], rest: Any, bits: Any, n_bits: int) -> int:
    """Draw an entry of (n_blocks, lanes) weights as the kernels do; -1 where the draw falls into the rest."""
    kind, lanes = products.dtype.type, products.shape[1]
    cumulated = products.copy()
    for b in range(1, len(cumulated)):
        cumulated[b] += cumulated[b - 1]
    last = cumulated[-1]
    prefix, half = last.copy(), 1
    while half < lanes:
        for start in range(half, lanes, 2 * half):
            prefix[start : start + half] += prefix[start - 1]
        half *= 2
    target = (prefix[-1] + rest) * kind(float(int(bits) >> (64 - n_bits)) * 2.0**-n_bits)
    lane = int(np.count_nonzero(prefix <= target))
    if lane == lanes:
        return -1
    remainder = target - (prefix[lane - 1] if lane else kind(0))
    remainder = min(remainder, np.nextafter(last[lane], kind(0)))
    return lanes * int(np.count_nonzero(cumulated[:-1, lane] <= remainder)) + lane


def draw_topic(counts: NDArray[Any], prior: NDArray[Any], row: NDArray[Any], bits: np.uint64) -> int:
    """Draw a topic as ``simd.draw`` does, operation by operation."""
    kind = row.dtype.type
    products = ((counts + prior) * row).reshape(-1, _BLOCK_BYTES // row.dtype.itemsize)
    topic = choose(products, kind(0), bits, 24 if kind is np.float32 else 53)
    return len(row) if topic < 0 else topic  # only a row that is not positive and finite


def draw_documents(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    topics: NDArray[np.uint16],
    table: NDArray[Any],
    prior: NDArray[Any],
    n_topics: int,
    key: Any,
    bits: NDArray[np.uint64],
    first: int,
    last: int,
    workspace: NDArray[Any],
    own: NDArray[Any],
    blocks: tuple[int, ...],
    base: int,
) -> None:
    """Draw topics from a fixed table; arguments as for ``frozen_kernel.draw_documents``."""
    kind = table.dtype.type
    for d in range(first, last):
        start, end = int(indptr[d]), int(indptr[d + 1])
        counts = np.bincount(topics[start:end], minlength=table.shape[1]).astype(table.dtype)
        stream = plain_mix(int(key) ^ int(plain_mix(base + d)))
        for i in range(start, end):
            old, row = topics[i], table[words[i]]
            counts[old] -= 1
            word = bits[i] if len(bits) else plain_stream_at(stream, i - start)
            new = min(draw_topic(counts, prior, row, word), n_topics - 1)
            if len(own):
                left = (row[old] - own[0, old]) * own[1, old] * kind(2.0**24)
                again = int(plain_mix(int(word)))
                for attempt in range(1, MOST_DRAWS + 1):
                    unseen = int(word) & 0xFFFFFF if kind is np.float32 else int(plain_mix(int(word))) >> 40
                    if new != old or kind(unseen) * row[old] < left:
                        break
                    word = plain_stream_at(again, attempt)
                    new = min(draw_topic(counts, prior, row, word), n_topics - 1)
                    new = old if attempt == MOST_DRAWS else new
            counts[new] += 1
            topics[i] = new
