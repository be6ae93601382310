"""The heart of the sweep over word lists without a compiler: the same arithmetic in NumPy, hence the same topics.

Runs where numba's compiler is switched off (NUMBA_DISABLE_JIT=1); thousands of times slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.counter_stream import plain_mix, plain_stream_at
from discreet.lda.gibbs.frozen.plain import MOST_DRAWS, choose, draw_topic

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
    beta: np.float32,
    laws: NDArray[np.float32],
    n_topics: int,
    key: Any,
    first: int,
    last: int,
    workspace: NDArray[np.float32],
) -> None:
    """Draw topics from fixed lists; arguments as for ``list_kernel.draw_documents``."""
    prior, scale, rise = laws
    base = 0.0
    for k in range(n_topics):
        base += float(prior[k]) * float(scale[k])
    for d in range(first, last):
        begin, end = int(indptr[d]), int(indptr[d + 1])
        counts = np.bincount(topics[begin:end], minlength=len(prior)).astype(np.float32)
        total = base
        for k in topics[begin:end]:
            total += float(scale[k])
        stream = plain_mix(int(key) ^ int(plain_mix(d)))
        for i in range(begin, end):
            old, w = int(topics[i]), words[i]
            entries = slice(_LANES * int(starts[w]), _LANES * int(starts[w] + sizes[w]))
            those, theirs = listed[entries], weights[entries]
            counts[old] -= 1
            total -= float(scale[old])
            factors = (counts + prior) * scale
            word = draw_word = plain_stream_at(stream, i - begin)
            new = old
            for attempt in range(1, MOST_DRAWS + 1):
                entry = _draw_entry(theirs, factors[those], beta * np.float32(total), word)
                if entry >= 0:
                    new, count = int(those[entry]), theirs[entry]
                else:
                    aside = plain_stream_at(plain_mix(int(word)), 0)
                    new = min(draw_topic(counts, prior, scale, aside), n_topics - 1)
                    count = theirs[those == new].sum(dtype=np.float32)
                without = (count - np.float32(1) + beta) * rise[old] * np.float32(2.0**24)
                if new != old or np.float32(int(word) & 0xFFFFFF) * (count + beta) < without:
                    break
                word = plain_stream_at(plain_mix(int(draw_word)), attempt)
                new = old
            counts[new] += 1
            total += float(scale[new])
            topics[i] = new
