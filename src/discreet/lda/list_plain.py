"""The heart of the sweep over word lists without a compiler: the same arithmetic in NumPy, hence the same topics.

Runs where numba's compiler is switched off (NUMBA_DISABLE_JIT=1); thousands of times slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.counter_stream import plain_mix, plain_stream_at
from discreet.lda.frozen_plain import MOST_DRAWS, choose, draw_topic

__all__ = ["draw_documents"]

_LANES = 16


def _draw_entry(
    weights: NDArray[np.float32], factors: NDArray[np.float32], rest: np.float32, word: Any
) -> int:
    """Draw from one list as ``simd_lists.draw_entry`` does, operation by operation; -1 outside."""
    cumulated = (weights * factors).reshape(-1, _LANES)
    return choose(cumulated, rest, word, 24)


def draw_documents(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    topics: NDArray[np.uint16],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    listed: NDArray[np.uint16],
    weights: NDArray[np.float32],
    laws: NDArray[np.float32],
    n_topics: int,
    key: Any,
    first: int,
    last: int,
    workspace: NDArray[np.float32],
    totals: NDArray[np.int64],
) -> None:
    """Draw topics from fixed lists; arguments as for ``list_kernel.draw_documents``."""
    prior, spread, own, rise = laws
    base = 0.0
    for k in range(n_topics):
        base += float(prior[k]) * float(spread[k])
    for d in range(first, last):
        begin, end = int(indptr[d]), int(indptr[d + 1])
        counts = np.bincount(topics[begin:end], minlength=len(prior)).astype(np.float32)
        rest = base
        for k in topics[begin:end]:
            rest += float(spread[k])
        stream = plain_mix(int(key) ^ int(plain_mix(d)))
        for i in range(begin, end):
            old, w = int(topics[i]), words[i]
            entries = slice(_LANES * int(starts[w]), _LANES * int(starts[w] + sizes[w]))
            those, theirs = listed[entries], weights[entries]
            counts[old] -= 1
            rest -= float(spread[old])
            factors = counts + prior
            word = draw_word = plain_stream_at(stream, i - begin)
            new = old
            for attempt in range(1, MOST_DRAWS + 1):
                entry = _draw_entry(theirs, factors[those], np.float32(rest), word)
                if entry >= 0:
                    new, weight = int(those[entry]), theirs[entry]
                else:
                    aside = plain_stream_at(plain_mix(int(word)), 0)
                    new = min(draw_topic(counts, prior, spread, aside), n_topics - 1)
                    weight = theirs[those == new].sum(dtype=np.float32)
                row = weight + spread[old]
                left = (row - own[old]) * rise[old] * np.float32(2.0**24)
                if new != old or np.float32(int(word) & 0xFFFFFF) * row < left:
                    break
                word = plain_stream_at(plain_mix(int(draw_word)), attempt)
                new = old
            counts[new] += 1
            rest += float(spread[new])
            topics[i] = new
            totals[new] += 1
