r"""The variational E-step: each document's Dirichlet over topics, given the topics.

For counts :math:`c_w`, prior :math:`\alpha` and word weights :math:`B_{wk} = e^{E[\ln \beta_{kw}]}`, repeat to
convergence

.. math:: \gamma_k = \alpha_k + e^{\psi(\gamma_k)} \sum_w q_w B_{wk}, \qquad
          q_w = c_w / \sum_k e^{\psi(\gamma_k)} B_{wk}

(the term :math:`\psi(\sum \gamma)` cancels). It starts from equal weights each time, nothing is kept from one
call to the next, and stops when :math:`\gamma` moved by less than ``tol`` on average over the topics.

The M-step's statistic :math:`s_{wk} = B_{wk} \sum_d q_{dw} e^{\psi(\gamma_{dk})}` is summed *word by word*: no two
threads ever add to the same number, which needs no table for each thread. Each entry's part is rounded to a whole
number of units, of which all counts together have less than :math:`2^{62}` (for a million tokens a unit is
:math:`2^{-42}`), so that sums are of integers: the same for any order of documents, any threads and any shards.

Reference
---------
Hoffman, Blei, Bach, "Online learning for latent Dirichlet allocation", NIPS 2010, algorithm 1.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet.lda.variational.digamma import exp_digamma_into
from discreet.lda.variational.simd import FEW, LANES, dirichlet_step, gather, load_document, on_line

__all__ = ["add_statistic", "infer_documents"]


@kernel(error_model="numpy")
def infer_documents(
    table: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
    first: int,
    last: int,
    gamma: NDArray[np.float64],
    weights: NDArray[np.float64],
    quotients: NDArray[np.float64],
    n_iter: NDArray[np.int32],
) -> None:
    """Infer documents first to last; each depends on nothing but its own words.

    Parameters
    ----------
    table : array of shape (n_words, width), float64
        B, padded (``pad_table``).
    indptr, words, counts : arrays
        Documents as CSR.
    prior : array of shape (width,), float64
        alpha, padded with zeros.
    max_iter, tol : int, float
        Most steps; mean absolute change of gamma that ends them.
    first, last : int
        Documents to work on.
    gamma, weights : arrays of shape (n_documents, width), float64
        Receive gamma and exp(digamma(gamma)), with zeros in the padding.
    quotients : array of shape (n_entries,), float64
        Receives q at the last gamma; or empty: then a pass over the words is saved.
    n_iter : array of shape (n_documents,), int32
        Receives the number of steps.
    """
    width = table.shape[1]
    n_blocks = width // LANES
    n_topics = 0
    while n_topics < width and prior[n_topics] > 0.0:
        n_topics += 1
    longest = 0
    for d in range(first, last):
        longest = max(longest, indptr[d + 1] - indptr[d])
    rows = np.empty(longest + FEW, np.int64)
    padded = np.empty(longest + FEW, np.float64)
    shares = np.empty(longest + FEW, np.float64)
    gathered = on_line(width)
    at_prior, at_gathered = prior.ctypes.data, gathered.ctypes.data
    at_rows, at_padded, at_shares = rows.ctypes.data, padded.ctypes.data, shares.ctypes.data
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        n_padded = load_document(table, words, counts, start, end, rows, padded)
        at_gamma, at_weights = gamma.ctypes.data + d * width * 8, weights.ctypes.data + d * width * 8
        for k in range(width):
            gamma[d, k] = 1.0 if k < n_topics else 0.0
            weights[d, k] = 1.0 if k < n_topics else 0.0
        steps = 0
        for _ in range(max_iter):
            gather(at_weights, at_gathered, at_rows, at_padded, at_shares, n_padded, n_blocks)
            change = dirichlet_step(at_prior, at_weights, at_gathered, at_gamma, n_blocks)
            exp_digamma_into(gamma[d], n_topics, weights[d])
            steps += 1
            if change < tol * n_topics:
                break
        n_iter[d] = steps
        if len(quotients) > 0:
            gather(at_weights, at_gathered, at_rows, at_padded, at_shares, n_padded, n_blocks)
            gathered[:] = 0.0
            for i in range(end - start):
                quotients[start + i] = shares[i]


@kernel(error_model="numpy")
def add_statistic(
    indptr: NDArray[np.int64],
    documents: NDArray[np.int32],
    entries: NDArray[np.int64],
    quotients: NDArray[np.float64],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],
    unit: float,
    first: int,
    last: int,
    total: NDArray[np.int64],
) -> None:
    """Add sum_d quotients * weights * table to rows first to last of ``total``, in whole units.

    Parameters
    ----------
    indptr, documents, entries : arrays
        The documents by word (CSC): word w stands in ``documents[indptr[w]:indptr[w + 1]]``, and ``entries``
        says where these are in CSR order.
    quotients, weights : arrays of shape (n_entries,) and (n_documents, width), float64
        From :func:`infer_documents`.
    table : array of shape (n_words, width), float64 or float32
        B, padded.
    unit : float
        A power of 2 times which the sum of all counts is below 2**62.
    first, last : int
        Words to work on.
    total : array of shape (n_words, width), int64
        Is added to: units of the statistic. Its width counts; others may have more padding.
    """
    width = total.shape[1]
    row = np.empty(width, np.float64)
    for w in range(first, last):
        for k in range(width):
            row[k] = table[w, k] * unit
        for j in range(indptr[w], indptr[w + 1]):
            quotient = quotients[entries[j]]
            d = documents[j]
            for k in range(width):
                total[w, k] += np.int64(quotient * weights[d, k] * row[k] + 0.5)
