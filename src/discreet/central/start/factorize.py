r"""Topics from a noisy co-occurrence matrix: a symmetric factorisation with non-negative factors.

.. math:: C \approx \mathrm{off}\left(a\, p p^\top + F F^\top\right), \qquad F \ge 0 \quad (M \times K),

the diagonal left out. Start: the K leading eigenvectors of :math:`C - a_0 p p^\top`, rotated by varimax so
that each looks like one topic, positive part. Then projected Adam steps on F, with :math:`a` on the way.

Everything here sees released values only. Linear algebra runs on one BLAS thread, so that the same input
gives the same bytes on a machine whatever its number of cores.

References
----------
Kaiser, "The varimax criterion for analytic rotation in factor analysis", 1958, doi:10.1007/BF02289233.
Kingma, Ba, "Adam", arXiv:1412.6980.
Arora et al., "Learning topic models: going beyond SVD", arXiv:1204.1956 (why co-occurrences suffice).
"""

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread

__all__ = ["factorize", "varimax"]

Matrix = NDArray[np.float64]
_STEPS = 150
_ROTATIONS = 60


def factorize(
    cooccurrence: Matrix, unigram: Matrix, n_topics: int, *, noise: float = 0.0, ridge: float | None = None
) -> Matrix:
    """Return F of shape (M, n_topics), not negative.

    Parameters
    ----------
    cooccurrence : array of shape (M, M)
        Symmetric with zero diagonal; released.
    unigram : array of shape (M,)
        Direction of what all documents share, L2 norm 1; released.
    n_topics : int
        May exceed M; further columns then start from the unigram alone.
    noise : float, default 0.0
        Standard deviation of the noise in each cell; half the size of its spectrum is the ridge on F.
    ridge : float, optional
        Instead.
    """
    penalty = float(0.5 * noise * np.sqrt(len(unigram))) if ridge is None else ridge
    with one_blas_thread():
        return _factorize(cooccurrence, unigram, n_topics, penalty)


def _factorize(cooccurrence: Matrix, unigram: Matrix, n_topics: int, ridge: float) -> Matrix:
    shared = np.outer(unigram, unigram)
    np.fill_diagonal(shared, 0.0)
    square = float((shared * shared).sum()) or 1.0
    level = max(float((cooccurrence * shared).sum()) / square, 1e-9)
    factors = _start(cooccurrence - level * shared, n_topics)
    factors += 0.02 * np.sqrt(level) * unigram[:, None]
    return _descend(cooccurrence, shared, square, factors, level, ridge)


def _start(residual: Matrix, n_topics: int) -> Matrix:
    values, vectors = np.linalg.eigh(residual)
    values = np.maximum(values[::-1][:n_topics], 1e-6)
    vectors = vectors[:, ::-1][:, :n_topics]
    # The sign of an eigenvector is arbitrary; fix it, so that libraries that differ in it agree.
    largest = np.abs(vectors).argmax(0)
    vectors = vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    loadings = vectors * np.sqrt(values)
    power = (loadings**2).sum(1, keepdims=True)
    rotated = loadings @ varimax(loadings / np.sqrt(power + 1e-3 * power.mean() + 1e-300))
    # A topic is skewed to one side: make that side positive.
    rotated = rotated * np.where((rotated**3).sum(0) < 0, -1.0, 1.0)
    start = np.zeros((len(residual), n_topics))
    start[:, : rotated.shape[1]] = np.maximum(rotated, 0.0)
    return start


def varimax(loadings: Matrix) -> Matrix:
    """Return the rotation (K, K) that makes the columns of ``loadings`` (M, K) as uneven as it can."""
    rotation = np.eye(loadings.shape[1])
    for _ in range(_ROTATIONS):
        rotated = loadings @ rotation
        gradient = loadings.T @ (rotated**3 - rotated * (rotated**2).mean(0))
        left, _, right = np.linalg.svd(gradient)
        rotation = left @ right
    return rotation


def _descend(
    cooccurrence: Matrix, shared: Matrix, square: float, factors: Matrix, level: float, ridge: float
) -> Matrix:
    """Projected Adam on the squared error off the diagonal, in single precision for speed."""
    target, common = cooccurrence.astype(np.float32), shared.astype(np.float32)
    point = factors.astype(np.float32)
    scale = float(np.abs(point).mean())
    first, second = np.zeros_like(point), np.zeros_like(point)
    weight = 0.7 * level
    for step in range(1, _STEPS + 1):
        rate = scale * (0.1 * (1 - step / _STEPS) + 0.003)
        error = point @ point.T + np.float32(weight) * common - target
        np.fill_diagonal(error, 0.0)
        gradient = 2 * error @ point + np.float32(2 * ridge) * point
        first = np.float32(0.9) * first + np.float32(0.1) * gradient
        second = np.float32(0.99) * second + np.float32(0.01) * gradient * gradient
        move = (first / np.float32(1 - 0.9**step)) / (
            np.sqrt(second / np.float32(1 - 0.99**step)) + np.float32(1e-12)
        )
        point = np.maximum(point - np.float32(rate) * move, 0)
        weight = max(weight - 0.3 * float((error * common).sum()) / square, 0.05 * level)
    return point.astype(np.float64)
