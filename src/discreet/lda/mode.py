r"""Topic proportions that maximise a document's posterior, or its likelihood, with a certificate.

For counts :math:`n_w` and topics :math:`\phi`, over the simplex,

.. math:: f(\theta) = \sum_w n_w \ln \sum_k \theta_k \phi_{kw} + \sum_k \alpha_k \ln \theta_k

is concave for every :math:`\alpha \ge 0`: :math:`\alpha_k` is the number of tokens that topic k has before any
word is seen (the mode under a Dirichlet of :math:`\alpha + 1`); :math:`\alpha = 0` is maximum likelihood.
With :math:`N = \sum n_w + \sum \alpha_k` the step of expectation maximisation,

.. math:: \theta_k \leftarrow \tfrac1N \Big(\alpha_k + \theta_k \sum_w n_w \phi_{kw} / \theta\cdot\phi_w\Big)
          = \theta_k\, \tfrac1N\, \partial f / \partial \theta_k,

never lowers f, and shows how far f is from its maximum: by concavity
:math:`f(\theta^*) - f(\theta) \le \max_k \partial f / \partial \theta_k - N`. So when no topic has grown by a
factor over 1 + tol, f was within tol nats *per token* of the maximum. That is the definition of convergence.

Reference
---------
Hofmann, "Probabilistic latent semantic indexing", SIGIR 1999, doi:10.1145/312624.312649 (folding in).
The bound is the Frank-Wolfe gap: Jaggi, "Revisiting Frank-Wolfe", ICML 2013.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._kernels import kernel
from discreet.lda.variational.simd import FEW, LANES, TINY, gather, load_document, mode_step

__all__ = ["find_modes"]


@kernel(error_model="numpy")
def find_modes(
    table: NDArray[np.float64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    max_iter: int,
    tol: float,
    first: int,
    last: int,
    theta: NDArray[np.float64],
    log_likelihood: NDArray[np.float64],
    n_iter: NDArray[np.int32],
) -> None:
    """Find the topic proportions of documents first to last; each depends on nothing but its own words.

    Parameters
    ----------
    table : array of shape (n_words, width), float64
        ``pad_table`` of the topics.
    indptr, words, counts : arrays
        Documents as CSR.
    prior : array of shape (width,), float64
        alpha, padded with zeros.
    max_iter : int
        Most steps.
    tol : float
        Nats per token, see above. Negative: always ``max_iter`` steps.
    first, last : int
        Documents to work on.
    theta : array of shape (n_documents, width), float64
        Where to start, with zeros in the padding; receives the result.
    log_likelihood : array of shape (n_documents,), float64
        Receives sum_w n_w ln(theta . phi_w), -inf where a word has probability 0 in all topics; or empty.
    n_iter : array of shape (n_documents,), int32
        Receives the number of steps; or empty.
    """
    width = table.shape[1]
    n_blocks = width // LANES
    longest = 0
    for d in range(first, last):
        longest = max(longest, indptr[d + 1] - indptr[d])
    rows = np.empty(longest + FEW, np.int64)
    padded = np.empty(longest + FEW, np.float64)
    quotients = np.empty(longest + FEW, np.float64)
    gathered = np.zeros(width, np.float64)
    pseudo_tokens = 0.0
    for k in range(width):
        pseudo_tokens += prior[k]
    at_prior, at_gathered = prior.ctypes.data, gathered.ctypes.data
    at_rows, at_padded, at_quotients = rows.ctypes.data, padded.ctypes.data, quotients.ctypes.data
    for d in range(first, last):
        start, end = indptr[d], indptr[d + 1]
        n_padded = load_document(table, words, counts, start, end, rows, padded)
        at_theta = theta.ctypes.data + d * width * 8
        n_tokens = 0.0
        for i in range(end - start):
            n_tokens += padded[i]
        steps = 0
        if n_tokens > 0.0:
            scale = 1.0 / (n_tokens + pseudo_tokens)
            for _ in range(max_iter):
                gather(at_theta, at_gathered, at_rows, at_padded, at_quotients, n_padded, n_blocks)
                growth = mode_step(at_prior, at_gathered, at_theta, scale, 1.0 + tol, n_blocks)
                steps += 1
                if growth <= 0.0 and tol >= 0.0:
                    break
        if len(n_iter) > 0:
            n_iter[d] = steps
        if len(log_likelihood) > 0:
            gather(at_theta, at_gathered, at_rows, at_padded, at_quotients, n_padded, n_blocks)
            total = 0.0
            for i in range(end - start):
                likelihood = padded[i] / quotients[i]
                total += padded[i] * (np.log(likelihood) if likelihood > 2 * TINY else -np.inf)
            log_likelihood[d] = total
            gathered[:] = 0.0
