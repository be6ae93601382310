r"""The E-step of training in single precision: half the memory to read for each word of a document, twice the speed.

As :func:`~discreet.lda.variational.estep.infer_documents`, but rows :math:`B_w`, weights :math:`e^{\psi(\gamma_k)}` and
quotients are float32 inside the sums over words; :math:`\gamma` and its digamma are doubles. Rows are multiplied
by a power of 2 first, so that the largest entry is between a half and 1: the fixed point does not change, for
:math:`q_w B_w` does not.

Numbers under 1e-30 count as 0. Where the likelihood of some word of a document is so small (under 1e-20) that this
might be felt, as with priors under .02 it may, that document is inferred again in double precision.

Order of sums as written down in ``simd_single``: the same bytes on any processor, for any number of threads.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet._threads import pieces, share_out
from discreet.lda.documents import Documents
from discreet.lda.variational.digamma import exp_digamma_into
from discreet.lda.variational.estep import infer_documents
from discreet.lda.variational.simd import FEW, LANES, aligned, dirichlet_step, load_document, on_line
from discreet.lda.variational.simd_single import LANES as LANES_SINGLE
from discreet.lda.variational.simd_single import gather

__all__ = ["infer_single", "narrow"]

_LEAST = 1e-30
#: Largest quotient of a count and its likelihood; the likelihood is then far above what entries under _LEAST add.
_LARGEST = 1e20


@kernel(error_model="numpy")
def _narrow(
    table: NDArray[np.float64],
    first: int,
    last: int,
    scales: NDArray[np.float64],
    rows: NDArray[np.float32],
) -> None:
    for w in range(first, last):
        largest = table[w].max()
        scale = 1.0
        if largest > 0.0:
            scale = math.ldexp(1.0, min(1000, -math.frexp(largest)[1]))
        scales[w] = scale
        for k in range(table.shape[1]):
            value = table[w, k] * scale
            rows[w, k] = value if value > _LEAST else 0.0


def narrow(table: NDArray[np.float64], n_threads: int = 1) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the table in single precision, (n_words, width in 16s), and each row's power of 2."""
    n_words, width = table.shape
    rows = aligned((n_words, -(-width // LANES_SINGLE) * LANES_SINGLE), np.float32)
    scales = np.empty(n_words)
    ranges = pieces(np.arange(n_words + 1), n_threads)
    share_out(lambda piece: _narrow(table, *piece, scales, rows), ranges, n_threads)
    return rows, scales


@kernel(error_model="numpy")
def _infer_documents(
    table: NDArray[np.float64],
    single: NDArray[np.float32],
    scales: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
    first: int,
    last: int,
    weights: NDArray[np.float64],
    quotients: NDArray[np.float64],
    n_iter: NDArray[np.int32],
) -> None:
    """Infer documents first to last; ``single``, ``scales`` of :func:`narrow`, else as ``estep.infer_documents``."""
    width, wide = single.shape[1], table.shape[1]
    n_blocks, n_wide = width // LANES_SINGLE, width // LANES
    n_topics = 0
    while n_topics < width and prior[n_topics] > 0.0:
        n_topics += 1
    longest = 0
    for d in range(first, last):
        longest = max(longest, indptr[d + 1] - indptr[d])
    rows = np.empty(longest + FEW, np.int64)
    padded = np.empty(longest + FEW, np.float32)
    shares = np.empty(longest + FEW, np.float32)
    narrow_weights, narrow_gathered = (
        on_line(width).view(np.float32)[:width],
        on_line(width).view(np.float32)[:width],
    )
    gathered, gamma, own = on_line(width), on_line(width), on_line(width)
    at_prior, at_gathered, at_gamma, at_own = (
        prior.ctypes.data,
        gathered.ctypes.data,
        gamma.ctypes.data,
        own.ctypes.data,
    )
    at_rows, at_padded, at_shares = rows.ctypes.data, padded.ctypes.data, shares.ctypes.data
    at_weights, at_sums = narrow_weights.ctypes.data, narrow_gathered.ctypes.data
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        n_padded = load_document(single, words, counts, start, end, rows, padded)
        for k in range(n_topics):
            gamma[k] = own[k] = 1.0
        steps, done, lost = 0, False, False
        while True:
            for k in range(n_topics):
                narrow_weights[k] = own[k] if own[k] > _LEAST else 0.0
            gather(at_weights, at_sums, at_rows, at_padded, at_shares, n_padded, n_blocks)
            n_lost = 0
            for i in range(n_padded):
                n_lost += 0 if shares[i] <= np.float32(_LARGEST) * padded[i] else 1
            lost = n_lost > 0
            if lost or done:
                break
            for k in range(width):
                own[k] = narrow_weights[k]
                gathered[k] = narrow_gathered[k]
                narrow_gathered[k] = 0.0
            change = dirichlet_step(at_prior, at_own, at_gathered, at_gamma, n_wide)
            exp_digamma_into(gamma, n_topics, own)
            steps += 1
            done = change < tol * n_topics or steps == max_iter
        narrow_gathered[:] = 0.0
        if not lost:
            n_iter[d] = steps
            for k in range(width):
                weights[d, k] = narrow_weights[k]
            for i in range(end - start):
                quotients[start + i] = shares[i]
        else:
            one = np.array([0, end - start])
            wide_gamma, wide_weights = np.empty((1, wide)), np.empty((1, wide))
            infer_documents(
                table,
                one,
                words[start:end],
                counts[start:end],
                prior[:wide],
                max_iter,
                tol,
                0,
                1,
                wide_gamma,
                wide_weights,
                quotients[start:end],
                n_iter[d : d + 1],
            )
            for k in range(wide):
                weights[d, k] = wide_weights[0, k]
            for i in range(start, end):
                quotients[i] /= scales[words[i]]


def infer_single(
    table: NDArray[np.float64],
    narrowed: tuple[NDArray[np.float32], NDArray[np.float64]],
    documents: Documents,
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """E-step over documents, shared out to threads; ``narrowed`` is what :func:`narrow` made of the table.

    Returns weights and quotients, which belong to the narrowed table, and iterations, as :func:`svi.infer`.
    """
    width = narrowed[0].shape[1]
    padded = aligned((width,))
    padded[: len(prior)] = prior
    weights, quotients = aligned((documents.n_documents, width)), np.empty(len(documents.words))
    n_iter = np.empty(documents.n_documents, np.int32)
    how: Any = (padded, max_iter, tol)

    def work(piece: tuple[int, int]) -> None:
        _infer_documents(table, *narrowed, *documents[:3], *how, *piece, weights, quotients, n_iter)

    share_out(work, pieces(documents.indptr, n_threads), n_threads)
    return weights, quotients, n_iter
