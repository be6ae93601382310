"""One thread's part of successive batches: all of it runs in a kernel, and threads meet there after each step.

A batch's pieces go to whichever thread is free, rows of words to the thread that owns them. Tables, and all that is
added up, have a fixed order; numbers of a batch are computed by each thread for itself, and come out alike.
"""

from math import sqrt
from typing import Any

import numpy as np

from discreet._kernels import kernel
from discreet._meetings import meet, next_piece
from discreet.lda.gibbs.counter_stream import JIT

if JIT:
    from discreet.lda.gibbs.start.kernel import add_rows, infer_documents, refresh_rows
else:
    from discreet.lda.gibbs.start.plain import add_rows, infer_documents, refresh_rows

__all__ = ["GATES", "take_batches"]

#: Gates that a batch takes.
GATES = 4


@kernel(error_model="numpy")
def take_batches(
    entries: Any,
    batches: Any,
    corpus: Any,
    table: Any,
    earlier: Any,
    laws: Any,
    beta: float,
    steps: Any,
    progress: Any,
    kept: Any,
    drawn: Any,
    key: Any,
    memory: Any,
    threads: Any,
    factor: float,
    totals: Any,
) -> float:
    """Take batches in, and return the factor after them.

    Parameters
    ----------
    entries, steps, kept, drawn, key
        As for ``infer_documents``.
    batches : tuple
        ``order``, ``rows_before``; ``cuts``, (n_batches, n_pieces + 1), places in ``order``; tokens of each batch.
    corpus : tuple
        Tokens, topics.
    table : array of shape (n_words, width), float32
        Counts of words in topics, divided by ``factor``. Is changed.
    earlier : tuple
        ``counts`` of earlier documents, (n_words, width) int32, or (0, width); their totals, (width,) float64; memory
        for the sum of both tables, float32.
    laws : array of shape (2, width), float32
        alpha, zeros in the padding; and memory of this thread.
    beta : float
        Prior of words.
    progress : tuple
        Batches done before; tau; the factor below which it is multiplied out.
    memory : tuple
        ``workspace`` of this thread, and ``expected``, which all of them share, as for ``infer_documents``; ``sums``,
        (n_pieces, width) float64, shared, too.
    threads : tuple
        Number of this thread; how many there are; words of each, (n_threads + 1,); gates, ``GATES`` a batch.
    factor : float
        What the table is multiplied by.
    totals : array of shape (width,), float64
        Tokens of topics, earlier ones left out; a copy of this thread's own, is changed.
    """
    order, rows_before, cuts, sizes = batches
    n_tokens, n_topics = corpus
    earlier_counts, earlier_totals, both = earlier
    n_done, tau, smallest = progress
    workspace, expected, sums = memory
    me, n_threads, word_cuts, gates = threads
    first_word, last_word, n_words = word_cuts[me], word_cuts[me + 1], len(table)
    n_pieces = len(sums)
    read = both if len(earlier_counts) else table
    for b in range(len(cuts)):
        gate, first, last = 1 + GATES * b, cuts[b, 0], cuts[b, n_pieces]
        if len(earlier_counts):
            refresh_rows(
                entries,
                order,
                first,
                last,
                table,
                earlier_counts,
                np.float32(1 / factor),
                first_word,
                last_word,
                both,
            )
            if not meet(gates, gate, n_threads):
                break
        for k in range(n_topics):
            laws[1, k] = n_words * factor / (totals[k] + earlier_totals[k] + n_words * beta)
        shift = np.float32(beta / factor)
        piece = next_piece(gates, gate + 1)
        while piece < n_pieces:
            infer_documents(
                entries,
                order,
                rows_before,
                read,
                laws,
                shift,
                steps,
                kept,
                cuts[b],
                piece,
                drawn,
                key,
                workspace,
                expected,
                sums,
            )
            piece = next_piece(gates, gate + 1)
        if not meet(gates, gate + 2, n_threads):
            break
        fall = (tau + 1) / (tau + 1 + n_done + b)
        rho = 0.5 * sqrt(fall * sqrt(fall))
        up = rho * n_tokens / sizes[b]
        factor *= 1 - rho
        add_rows(
            entries,
            order,
            rows_before,
            first,
            last,
            expected,
            np.float32(up / factor),
            first_word,
            last_word,
            table,
        )
        for k in range(len(totals)):
            added = sums[0, k]
            for i in range(1, n_pieces):
                added += sums[i, k]
            totals[k] = totals[k] * (1 - rho) + added * up
        if factor < smallest:
            table[first_word:last_word] *= np.float32(factor)
            factor = 1.0
        if not meet(gates, gate + 3, n_threads):
            break
    return factor
