"""The kernels of the start without a compiler: the same operations in the same order in NumPy, hence the same bytes.

Runs where numba's compiler is switched off (NUMBA_DISABLE_JIT=1); hundreds of times slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.lda.gibbs.counter_stream import plain_mix, plain_stream_at
from discreet.lda.gibbs.frozen.plain import draw_topic

__all__ = ["FEW", "LANES", "LEAST_KEPT", "add_rows", "infer_documents", "refresh_rows"]

#: Words at a time: documents are filled up to a multiple.
FEW = 4
LANES = 16
#: Fewer expected tokens of a topic are not kept from one pass to the next, but begin at 0.
LEAST_KEPT = 0.02

_Vector = NDArray[np.float32]


def add_lanes(products: _Vector) -> np.float32:
    """Sum block after block in each lane, then halves of lanes onto halves."""
    total = np.zeros(LANES, np.float32)
    for block in products.reshape(-1, LANES):
        total = total + block
    while len(total) > 1:
        total = total[: len(total) // 2] + total[len(total) // 2 :]
    return total[0]


def keep(expected: _Vector, n_topics: int, most: int) -> NDArray[np.int64]:
    """Return the topics to keep."""
    least = LEAST_KEPT
    while True:
        topics = np.flatnonzero(expected[:n_topics].astype(np.float64) >= least)
        if len(topics) <= most:
            return topics
        least *= 2.0


def infer_documents(
    entries: Any,
    order: Any,
    rows_before: Any,
    table: Any,
    laws: Any,
    shift: Any,
    steps: Any,
    kept: Any,
    cuts: Any,
    piece: int,
    drawn: Any,
    key: Any,
    workspace: Any,
    expected: Any,
    totals: Any,
) -> None:
    """Infer the documents of a piece; arguments as for ``start.kernel.infer_documents``."""
    indptr, words, counts = entries
    n_plain, n_out, equal = steps
    starts, sizes, kept_topics, kept_values = kept
    token_indptr, topics = drawn
    alpha, scale = laws
    least, n_topics = alpha * scale, int(np.count_nonzero(alpha))
    ones, zeros = np.ones_like(alpha), np.zeros_like(alpha)
    totals[piece] = 0
    for q in range(cuts[piece], cuts[piece + 1]):
        d = order[q]
        here = slice(indptr[d], indptr[d + 1])
        rows, numbers = table[words[here]] + shift, counts[here]
        if not len(numbers):
            continue
        known, room = np.zeros_like(alpha), slice(starts[d], starts[d] + sizes[d])
        if equal:
            known[:n_topics] = np.float32(numbers.sum()) / np.float32(n_topics)
        else:
            known[kept_topics[room]] = kept_values[room]
        for _ in range(n_plain):
            weights, gathered = (known + alpha) * scale, zeros.copy()
            for row, number in zip(rows, numbers, strict=True):
                gathered += number / add_lanes(weights * row) * row
            known = weights * gathered
        at = rows_before[q] - rows_before[cuts[0]]
        for _ in range(n_out):
            weights, gathered = (known + alpha) * scale, zeros.copy()
            own = weights * scale
            for i, (row, number) in enumerate(zip(rows, numbers, strict=True)):
                share = np.float32(1) / add_lanes(weights * row)
                mass = np.maximum(weights - row * share * own, least) * row
                expected[at + i] = mass * (number / add_lanes(mass))
                gathered += expected[at + i]
            known = gathered
        totals[piece] += known
        chosen = keep(known, n_topics, starts[d + 1] - starts[d])
        sizes[d] = len(chosen)
        kept_topics[starts[d] : starts[d] + len(chosen)] = chosen
        kept_values[starts[d] : starts[d] + len(chosen)] = known[chosen]
        if len(topics):
            stream, begin = plain_mix(int(key) ^ int(plain_mix(d))), token_indptr[d]
            for i, row in enumerate(np.repeat(np.arange(len(numbers)), numbers.astype(int))):
                k = draw_topic(ones, zeros, expected[at + row], plain_stream_at(stream, i))
                topics[begin + i] = min(k, n_topics - 1)


def add_rows(
    entries: Any,
    order: Any,
    rows_before: Any,
    first: int,
    last: int,
    expected: Any,
    factor: Any,
    first_word: int,
    last_word: int,
    table: Any,
) -> None:
    """Add a batch's expected counts; arguments as for ``start.kernel.add_rows``."""
    indptr, words, _ = entries
    for q in range(first, last):
        at = rows_before[q] - rows_before[first]
        for i, word in enumerate(words[indptr[order[q]] : indptr[order[q] + 1]]):
            if first_word <= word < last_word:
                table[word] += expected[at + i] * factor


def refresh_rows(
    entries: Any,
    order: Any,
    first: int,
    last: int,
    table: Any,
    earlier: Any,
    factor: Any,
    first_word: int,
    last_word: int,
    both: Any,
) -> None:
    """Add earlier counts to the rows of a batch's words; arguments as for ``start.kernel.refresh_rows``."""
    indptr, words, _ = entries
    for d in order[first:last]:
        own = words[indptr[d] : indptr[d + 1]]
        own = own[(own >= first_word) & (own < last_word)]
        both[own] = table[own] + earlier[own].astype(np.float32) * factor
