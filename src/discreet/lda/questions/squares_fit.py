r"""Topics from one small matrix: the mean square of embedded documents, in d public directions.

A document is the sum of its words' rows of F (:func:`~discreet.lda.vectors.directions`), scaled to length
1; what was estimated is :math:`S \approx E\, g g^\top` of d x d cells with noise of known size. Words that are drawn
independently of each other add up to a multiple of the identity, because F is white under the unigram p; topics bend
it,

.. math:: S \approx e_0 I + e_0 L\, M^\top W M, \qquad M_k = \sum_v q_{kv} F_v, \qquad q_k = p\, e^{F a_k} / Z_k ,

with L the length of a document and W (K x K, symmetric, positive, sum 1) how topics share documents; their weights
:math:`m = W 1` must give back the unigram, :math:`\sum_k m_k q_k \approx p`. Coordinates a start from, and are
expected near, those of topics made from the vectors alone. Adam, 300 steps; post-processing.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread
from discreet.lda.moments.fit import adam, softmax

__all__ = ["fit_squares"]

Floats = NDArray[np.float64]
_STEPS, _RATE = 300, 0.03
_SCALE = 0.05
#: How far the unigram may be missed, relative to it, and with what weight.
_MISS, _PULL = 0.1, 0.1
#: Share of topics on the diagonal of W at the start: a document is mostly about one of them.
_OWN = 0.6
_JITTER = 0.02
_MISFIT = 0.02


def fit_squares(
    square: Floats, deviation: float, unigram: Floats, along: Floats, centre: Floats, length: float, seed: int
) -> tuple[Floats, Floats]:
    """Fit topics to the mean square of documents.

    Parameters
    ----------
    square : array of shape (d, d)
        S, symmetric, noisy.
    deviation : float
        Standard deviation of a cell off the diagonal.
    unigram : array of shape (n_words,)
    along : array of shape (n_words, d)
        F.
    centre : array of shape (n_topics, d)
        Coordinates of public topics.
    length : float
        Words of a document.
    seed : int
        Of the starting point; public.

    Returns
    -------
    coordinates : array of shape (n_topics, d)
    weight : array of shape (n_topics,)
        Sums to 1.
    """
    with one_blas_thread():
        return _descend(square, deviation, unigram, along, centre, length, np.random.default_rng(seed))


def _descend(
    square: Floats,
    deviation: float,
    unigram: Floats,
    along: Floats,
    centre: Floats,
    length: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    n_topics, d = centre.shape
    floor = float(np.linalg.eigvalsh(square)[: max(d // 4, 2)].mean())
    shared = (1 - _OWN) / n_topics**2 + _OWN * np.eye(n_topics) / n_topics
    level = np.array([np.log(max(floor, 0.2 / d))])
    parameters = [centre + _JITTER * rng.standard_normal(centre.shape), np.log(shared), level]
    means = [np.zeros_like(values) for values in parameters]
    squares = [np.zeros_like(values) for values in parameters]
    variance, pull = deviation**2 + (_MISFIT / d) ** 2, _PULL / (_MISS * unigram) ** 2
    base = np.log(unigram)
    for step in range(1, _STEPS + 1):
        slopes = _slopes(parameters, square, variance, unigram, base, along, centre, length, pull)
        rate = _RATE * min(1.0, 2.5 * (1 - step / (_STEPS + 1)))
        for values, slope, mean, spread in zip(parameters, slopes, means, squares, strict=True):
            adam(values, slope, mean, spread, rate, step)
    coordinates, log_shared, _ = parameters
    return coordinates, _shares(log_shared).sum(1)


def _shares(log_shared: Floats) -> Floats:
    shared = np.exp((log_shared + log_shared.T) / 2)
    return shared / shared.sum()


def _slopes(
    parameters: list[Floats],
    square: Floats,
    variance: float,
    unigram: Floats,
    base: Floats,
    along: Floats,
    centre: Floats,
    length: float,
    pull: Floats,
) -> list[Floats]:
    """Return the gradient in a, log W and log e0."""
    coordinates, log_shared, level = parameters
    topics = softmax(base + coordinates @ along.T)
    at, shared, floor = topics @ along, _shares(log_shared), float(np.exp(level[0]))
    weight = shared.sum(1)
    bent = floor * (np.eye(len(square)) + length * at.T @ shared @ at)
    left = square - bent
    missed = pull * (unigram - weight @ topics)
    by_at = -floor * length / variance * (shared @ at @ left)
    by_topics = by_at @ along.T - weight[:, None] * missed
    by_logits = topics * (by_topics - (by_topics * topics).sum(1, keepdims=True))
    by_shared = -0.5 * floor * length / variance * (at @ left @ at.T) - (topics @ missed)[:, None]
    by_shared = (by_shared + by_shared.T) / 2
    by_log = shared * (by_shared - (by_shared * shared).sum())
    by_level = np.array([-0.5 / variance * (left * bent).sum()])
    return [by_logits @ along + (coordinates - centre) / _SCALE, by_log, by_level]
