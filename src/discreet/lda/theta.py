r"""The topics of one document under fixed ones: its variational Dirichlet, and its most probable shares.

**Variational Bayes.** For counts :math:`c_w`, prior :math:`\alpha` and word weights :math:`B_{wk} = e^{E[\ln
\beta_{kw}]}`, repeat to convergence

.. math:: \gamma_k = \alpha_k + e^{\psi(\gamma_k)} \sum_w q_w B_{wk}, \qquad
          q_w = c_w / \sum_k e^{\psi(\gamma_k)} B_{wk}

(the term :math:`\psi(\sum \gamma)` cancels). It starts from equal weights each time, nothing is kept from one
call to the next, and stops when :math:`\gamma` moved by less than ``tol`` on average over the topics.

**Digamma.** exp(digamma(x)) is the weight of a topic, without a call to a library. For the eight steps of the
recurrence :math:`\psi(x) = \psi(x + 8) - \sum_{j<8} 1/(x + j)` the reciprocals are one quotient of two polynomials in
:math:`t = x(x + 7)`, all of whose coefficients are positive, so nothing cancels; and far from the origin
:math:`e^{\psi}` itself, not only :math:`\psi`, has an asymptotic series,

.. math:: e^{\psi(y + 1/2)} \sim y \left(1 + \frac{1}{24 y^2} - \frac{37}{5760 y^4} + \dots\right).

What is left is one exponential of a number that is not positive. There is no branch and no table, so a loop
over topics becomes vector code, with the same result in every lane.

Relative error is under 5e-15 for x from 0.1 on; below that it grows with the exponent (:math:`e^{-1/x}`),
to 2e-13. Where :math:`\psi(x) < -700`, that is x below about 0.00143, the result is clamped near 1e-304.

**The mode** of a document's posterior, or of its likelihood, with a certificate. For counts :math:`n_w` and topics
:math:`\phi`, over the simplex,

.. math:: f(\theta) = \sum_w n_w \ln \sum_k \theta_k \phi_{kw} + \sum_k \alpha_k \ln \theta_k

is concave for every :math:`\alpha \ge 0`: :math:`\alpha_k` is the number of tokens that topic k has before any
word is seen (the mode under a Dirichlet of :math:`\alpha + 1`); :math:`\alpha = 0` is maximum likelihood.
With :math:`N = \sum n_w + \sum \alpha_k` the step of expectation maximisation,

.. math:: \theta_k \leftarrow \tfrac1N \Big(\alpha_k + \theta_k \sum_w n_w \phi_{kw} / \theta\cdot\phi_w\Big)
          = \theta_k\, \tfrac1N\, \partial f / \partial \theta_k,

never lowers f, and shows how far f is from its maximum: by concavity
:math:`f(\theta^*) - f(\theta) \le \max_k \partial f / \partial \theta_k - N`. So when no topic has grown by a
factor over 1 + tol, f was within tol nats *per token* of the maximum. That is the definition of convergence.

References
----------
Hoffman, Blei, Bach, "Online learning for latent Dirichlet allocation", NIPS 2010, algorithm 1.
Bernardo, "Algorithm AS 103: psi (digamma) function", 1976, doi:10.2307/2347257 (recurrence, then series).
The series of the exponential: the digamma series at y + 1/2, exponentiated with exact fractions.
Hofmann, "Probabilistic latent semantic indexing", SIGIR 1999, doi:10.1145/312624.312649 (folding in).
The bound is the Frank-Wolfe gap: Jaggi, "Revisiting Frank-Wolfe", ICML 2013.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.kernels import kernel
from discreet._base.threads import pieces, share_out
from discreet.lda.documents import Documents
from discreet.lda.emitted import (
    FEW,
    LANES,
    TINY,
    aligned,
    gather,
    load_document,
    on_line,
    pad_table,
)

#: Smallest weight of a topic in a document: numbers near 1e-308 would be slow, and a topic at 0 could not return.
FLOOR = 1e-100
# Coefficients of (1/y^2)^k, k = 1 to 8, from exact fractions.
_C1 = 1 / 24
_C2 = -37 / 5760
_C3 = 10313 / 2903040
_C4 = -5509121 / 1393459200
_C5 = 2709398569 / 367873228800
_C6 = -0.020734675824368137
_C7 = 0.08238185223878776
_C8 = -0.43960443686008127

_PER_LN2 = 1 / math.log(2)
# ln 2 in two parts; the first has its last 32 bits zero, so that a multiple of it is exact.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
# Adding and subtracting this rounds to a whole number, and leaves that number in the low bits.
_ROUND = 6755399441055744.0
_LOWEST = -700.0


@kernel(error_model="numpy", inline="always")
def _exp_of_negative(x: float) -> float:
    """exp(x) for x from -700 to 0: 2**n times a Taylor polynomial on half an octave."""
    shifted = x * _PER_LN2 + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = 1 / 6227020800
    p = p * r + 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    power = np.int64(bits).view(np.float64)
    return p * power


@kernel(error_model="numpy", inline="always")
def exp_digamma(x: float) -> float:
    """Return exp(digamma(x)) for one x > 0 (at most 1e30)."""
    t = x * (x + 7.0)
    above = ((4.0 * t + 84.0) * t + 504.0) * t + 720.0
    below = (((t + 28.0) * t + 252.0) * t + 720.0) * t
    reciprocals = -((2.0 * x + 7.0) * above) / below
    reciprocals = reciprocals if reciprocals > _LOWEST else _LOWEST
    y = x + 7.5
    z = 1.0 / (y * y)
    series = _C8
    series = series * z + _C7
    series = series * z + _C6
    series = series * z + _C5
    series = series * z + _C4
    series = series * z + _C3
    series = series * z + _C2
    series = series * z + _C1
    series = series * z + 1.0
    return (y * series) * _exp_of_negative(reciprocals)


@kernel(error_model="numpy")
def exp_digamma_into(x: NDArray[np.float64], n: int, out: NDArray[np.float64]) -> None:
    """Write exp(digamma(x[k])) to out[k] for k < n."""
    for k in range(n):
        out[k] = exp_digamma(x[k])


class Found(NamedTuple):
    """What inference says of documents, one by one."""

    #: (n_documents, width): the Dirichlets' parameters, zeros in the padding.
    gamma: NDArray[np.float64]
    #: (n_documents, width): exp(digamma(gamma)), zeros in the padding.
    weights: NDArray[np.float64]
    #: (n_entries,): q at the last gamma; or empty, which saves a pass over the words.
    quotients: NDArray[np.float64]


@kernel()
def _longest(documents: Any, first: int, last: int) -> int:
    longest = 0
    for d in range(first, last):
        longest = max(longest, documents.indptr[d + 1] - documents.indptr[d])
    return longest


@kernel(error_model="numpy")
def _dirichlet_step(prior: Any, weights: Any, gathered: Any, gamma: Any) -> float:
    """Set gamma = prior + weights * gathered, and gathered = 0; return the sum of changes, added lane by lane."""
    sums = np.zeros(LANES)
    for block in range(0, len(prior), LANES):
        for j in range(LANES):
            k = block + j
            new = prior[k] + weights[k] * gathered[k]
            sums[j] += abs(new - gamma[k])
            gamma[k] = new
            gathered[k] = 0.0
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))


class Inference(NamedTuple):
    """How documents are inferred."""

    #: (n_topics,): alpha.
    prior: NDArray[np.float64]
    #: Most steps of a document, and the mean absolute change of gamma that ends them.
    max_iter: int = 100
    tol: float = 1e-3
    #: Nothing depends on them.
    n_threads: int = 1

    def padded(self, width: int) -> "Inference":
        """Return the same, the prior padded with zeros."""
        prior = aligned((width,))
        prior[: len(self.prior)] = self.prior
        return self._replace(prior=prior)


@kernel(error_model="numpy")
def _infer_documents(table: Any, documents: Any, how: Any, found: Any, first: int, last: int) -> None:
    """Infer documents first to last; each depends on nothing but its own words. The prior is padded: (width,)."""
    width, n_topics = table.shape[1], np.count_nonzero(how.prior)
    room = _longest(documents, first, last) + FEW
    words, padded, quotients = np.empty(room, np.int64), np.empty(room), np.empty(room)
    gathered = on_line(width)
    for d in range(first, last):
        gamma, weights = found.gamma[d], found.weights[d]
        n_padded = load_document(documents, d, words, padded)
        for k in range(n_topics):
            gamma[k] = weights[k] = 1.0
        for _ in range(how.max_iter):
            gather(weights, gathered, table, words, padded, quotients, n_padded)
            change = _dirichlet_step(how.prior, weights, gathered, gamma)
            exp_digamma_into(gamma, n_topics, weights)
            if change < how.tol * n_topics:
                break
        if len(found.quotients) > 0:
            gather(weights, gathered, table, words, padded, quotients, n_padded)
            gathered[:] = 0.0
            start = documents.indptr[d]
            for i in range(documents.indptr[d + 1] - start):
                found.quotients[start + i] = quotients[i]


def infer(table: NDArray[np.float64], documents: Documents, how: Inference, *, with_quotients: bool) -> Found:
    """Infer documents, shared out to threads.

    ``table``: B, padded (:func:`~discreet.lda.emitted.pad_table`); quotients only where asked for.
    """
    n, width = documents.n_documents, table.shape[1]
    padded = how.padded(width)
    quotients = np.empty(len(documents.words) if with_quotients else 0)
    found = Found(aligned((n, width)), aligned((n, width)), quotients)

    def work(piece: tuple[int, int]) -> None:
        _infer_documents(table, documents, padded, found, *piece)

    share_out(work, pieces(documents.indptr, how.n_threads), how.n_threads)
    return found


@kernel(error_model="numpy")
def _find_modes(
    table: Any, documents: Any, how: Any, thetas: Any, values: Any, first: int, last: int
) -> None:
    """Find the topic proportions of documents first to last; each depends on nothing but its own words."""
    width, prior, tol = table.shape[1], how.prior, how.tol
    room = _longest(documents, first, last) + FEW
    words, padded, quotients = np.empty(room, np.int64), np.empty(room), np.empty(room)
    gathered = on_line(width)
    pseudo_tokens = prior.sum()
    for d in range(first, last):
        n = documents.indptr[d + 1] - documents.indptr[d]
        n_padded = load_document(documents, d, words, padded)
        theta = thetas[d]
        n_tokens = padded[:n].sum()
        if n_tokens > 0.0:
            scale = 1.0 / (n_tokens + pseudo_tokens)
            for _ in range(how.max_iter):
                gather(theta, gathered, table, words, padded, quotients, n_padded)
                growth = -1e300
                for k in range(width):
                    new = max((prior[k] + theta[k] * gathered[k]) * scale, FLOOR)
                    growth = max(growth, new - (1.0 + tol) * theta[k])
                    theta[k] = new
                    gathered[k] = 0.0
                if growth <= 0.0 and tol >= 0.0:
                    break
        if len(values) > 0:
            gather(theta, gathered, table, words, padded, quotients, n_padded)
            total = 0.0
            for i in range(n):
                likelihood = padded[i] / quotients[i]
                total += padded[i] * (np.log(likelihood) if likelihood > 2 * TINY else -np.inf)
            values[d] = total
            gathered[:] = 0.0


def find_modes(
    topics: NDArray[np.float64],
    documents: Documents,
    how: Inference,
    start: NDArray[np.float64],
    *,
    with_value: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find the topic proportions of documents, (n_documents, n_topics), and their log likelihoods where asked for.

    ``topics``: (n_topics, n_words); ``how``: its prior may be 0, its ``tol`` is in nats a token, see above, and where
    it is negative there are always ``max_iter`` steps; ``start``: (n_topics,) or (n_documents, n_topics);
    ``with_value``: whether to find sum_w n_w ln(theta . phi_w), (n_documents,), -inf where a word has probability 0 in
    all topics.
    """
    n_topics = len(how.prior)
    table = pad_table(topics)
    theta = aligned((documents.n_documents, table.shape[1]))
    theta[:, :n_topics] = start
    value = np.empty(documents.n_documents if with_value else 0)
    padded = how.padded(table.shape[1])

    def find(piece: tuple[int, int]) -> None:
        _find_modes(table, documents, padded, theta, value, *piece)

    share_out(find, pieces(documents.indptr, how.n_threads), how.n_threads)
    return np.ascontiguousarray(theta[:, :n_topics]), value
