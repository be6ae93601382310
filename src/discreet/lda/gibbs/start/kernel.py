"""Compiled heart of the start: expected counts of a batch of documents, and adding them to the table.

A piece of documents is worked on by one thread from a table that stays as it is; then each row of the table is changed
by one thread, document after document. So nothing depends on the number of threads.
"""

from typing import Any

import numpy as np
from numba import uint64

from discreet._kernels import kernel
from discreet.lda.gibbs import simd
from discreet.lda.gibbs.counter_stream import mix, stream_at
from discreet.lda.gibbs.start.plain import FEW, LANES, LEAST_KEPT
from discreet.lda.gibbs.start.simd import add_product, leave_out, plain

# an intrinsic's first argument, the typing context, is numba's own affair
draw: Any = simd.draw

__all__ = ["add_rows", "infer_documents", "refresh_rows"]


@kernel()
def _keep(expected: Any, n_topics: int, most: int, topics: Any, values: Any) -> int:
    """Write down the topics with at least ``LEAST_KEPT`` tokens, or twice or four times as many where room is short."""
    least = LEAST_KEPT
    while True:
        n = 0
        for k in range(n_topics):
            if expected[k] >= least:
                if n < most:
                    topics[n] = k
                    values[n] = expected[k]
                n += 1
        if n <= most:
            return n
        least *= 2.0


@kernel(error_model="numpy")
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
    """Infer the documents of a piece of a batch.

    Parameters
    ----------
    entries : tuple
        ``indptr``, ``words``, ``counts`` of the documents as CSR: int64, int32, float32.
    order : array of shape (n_documents,), int64
        Documents in the order of this pass.
    rows_before : array of shape (n_documents + 1,), int64
        In that order, where a document's rows of ``expected`` begin, counted from the first document of the pass.
    table : array of shape (n_words, width), float32
        Counts of words in topics, up to a factor; zeros in the padding; aligned.
    laws : array of shape (2, width), float32
        alpha, and what a topic's column is multiplied by; zeros in the padding.
    shift : float32
        beta, by the same factor.
    steps : tuple
        Plain steps; steps with each token left out, at least one; whether documents begin with equal topics.
    kept : tuple
        What is known of documents: ``starts`` (n_documents + 1,) int64, ``sizes`` (n_documents,) int32; from
        ``starts[d]`` on, ``sizes[d]`` ``topics``, uint16, with their expected tokens ``values``, float32. Is renewed.
    cuts : array of shape (n_pieces + 1,), int64
        Pieces of the batch: places in ``order``.
    piece : int
        The piece to work on.
    drawn : tuple
        ``indptr``, where documents' tokens begin, and ``topics``, (n_tokens,) uint16, which receives a draw from each
        token's distribution; or empty: nothing is drawn.
    key : uint64
        Key of the draws.
    workspace : array of shape (8 + FEW, width), float32
        Scratch space; aligned.
    expected : array of shape (n_rows, width), float32
        Receives the expected counts of each entry; a document's rows are filled up to a multiple of ``FEW``; aligned.
    totals : array of shape (n_pieces, width), float64
        Receives the expected tokens of topics in each piece.
    """
    indptr, words, counts = entries
    n_plain, n_out, equal = steps
    starts, sizes, kept_topics, kept_values = kept
    token_indptr, topics = drawn
    width, base = table.shape[1], rows_before[cuts[0]]
    n_blocks, row_bytes = width // LANES, width * 4
    alpha, scale = laws[0], laws[1]
    known, weights, own, least, gathered = (
        workspace[0],
        workspace[1],
        workspace[2],
        workspace[3],
        workspace[4],
    )
    ones, zeros, sums = workspace[5], workspace[6], workspace[7]
    zero, n_topics = np.float32(0), 0
    for k in range(width):
        least[k] = alpha[k] * scale[k]
        ones[k] = np.float32(1)
        zeros[k] = zero
        if alpha[k] > zero:
            n_topics = k + 1
    longest = 0
    for q in range(cuts[piece], cuts[piece + 1]):
        longest = max(longest, indptr[order[q] + 1] - indptr[order[q]])
    rows = np.empty(longest + FEW, np.int64)
    padded = np.empty(longest + FEW, np.float32)
    at_weights, at_own, at_least = weights.ctypes.data, own.ctypes.data, least.ctypes.data
    at_gathered, at_rows, at_padded = gathered.ctypes.data, rows.ctypes.data, padded.ctypes.data
    at_scratch = workspace[8].ctypes.data
    for k in range(width):
        totals[piece, k] = 0.0
    for q in range(cuts[piece], cuts[piece + 1]):
        d = order[q]
        start, n = indptr[d], indptr[d + 1] - indptr[d]
        if n == 0:
            continue
        n_padded = (n + FEW - 1) // FEW * FEW
        length = zero
        for i in range(n):
            rows[i] = table.ctypes.data + words[start + i] * row_bytes
            padded[i] = counts[start + i]
            length += counts[start + i]
        for i in range(n, n_padded):
            rows[i] = rows[n - 1]
            padded[i] = zero
        for k in range(width):
            known[k] = length / np.float32(n_topics) if equal and k < n_topics else zero
        if not equal:
            for j in range(starts[d], starts[d] + sizes[d]):
                known[kept_topics[j]] = kept_values[j]
        for _ in range(n_plain):
            for k in range(width):
                weights[k] = (known[k] + alpha[k]) * scale[k]
                gathered[k] = zero
            for i in range(0, n_padded, FEW):
                plain(at_weights, at_gathered, at_rows + 8 * i, at_padded + 4 * i, shift, n_blocks)
            for k in range(width):
                known[k] = weights[k] * gathered[k]
        row = rows_before[q] - base
        at_expected = expected.ctypes.data + row * row_bytes
        for step in range(n_out):
            for k in range(width):
                weights[k] = (known[k] + alpha[k]) * scale[k]
                own[k] = weights[k] * scale[k]
                gathered[k] = zero
            for i in range(0, n_padded, FEW):
                leave_out(
                    at_weights,
                    at_own,
                    at_least,
                    at_gathered,
                    at_rows + 8 * i,
                    at_padded + 4 * i,
                    shift,
                    at_expected + i * row_bytes if step + 1 == n_out else at_scratch,
                    n_blocks,
                )
            for k in range(width):
                known[k] = gathered[k]
        for k in range(width):
            totals[piece, k] += known[k]
        room = slice(starts[d], starts[d + 1])
        sizes[d] = _keep(known, n_topics, starts[d + 1] - starts[d], kept_topics[room], kept_values[room])
        if len(topics):
            at = token_indptr[d]
            stream = mix(key ^ mix(d))
            for i in range(n):
                for _ in range(int(padded[i])):
                    bits = stream_at(stream, at - token_indptr[d])
                    k = draw(ones, zeros, expected, uint64(row + i), bits, sums, n_blocks, ())
                    topics[at] = min(k, n_topics - 1)  # min: a number that is not finite would lead past it
                    at += 1


@kernel(error_model="numpy")
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
    """Add a batch's ``expected`` counts, times ``factor``, to the rows of words ``first_word`` to ``last_word``.

    ``first``, ``last`` : places in ``order`` where the batch begins and ends; the rest as for ``infer_documents``.
    """
    indptr, words, _ = entries
    row_bytes, n_blocks = table.shape[1] * 4, table.shape[1] // LANES
    for q in range(first, last):
        d = order[q]
        what = expected.ctypes.data + (rows_before[q] - rows_before[first]) * row_bytes
        for i in range(indptr[d], indptr[d + 1]):
            if first_word <= words[i] < last_word:
                add_product(table.ctypes.data + words[i] * row_bytes, what, factor, n_blocks)
            what += row_bytes


@kernel()
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
    """Write ``table`` + ``factor`` * ``earlier`` to ``both``, in rows of a batch's words; as ``add_rows``."""
    indptr, words, _ = entries
    for q in range(first, last):
        for i in range(indptr[order[q]], indptr[order[q] + 1]):
            w = words[i]
            if first_word <= w < last_word:
                for k in range(table.shape[1]):
                    both[w, k] = table[w, k] + np.float32(earlier[w, k]) * factor
