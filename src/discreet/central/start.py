r"""Starting topics: from the released pairs of words, and from public word vectors that know the texts.

Everything here is computed from released numbers and public vectors. Linear algebra runs on one BLAS thread, so that
the same input gives the same bytes on a machine whatever its number of cores.

*Factorisation.* The co-occurrence C of M words is read as

.. math:: C \approx \mathrm{off}\left(a\, p p^\top + F F^\top\right), \qquad F \ge 0 \quad (M \times K),

the diagonal left out. Start: the K leading eigenvectors of :math:`C - a_0 p p^\top`, rotated by varimax so that each
looks like one topic, positive part. Then projected Adam steps on F, with :math:`a` on the way.

*Word vectors.*

1. *Public topics* P (:mod:`discreet.lda.vectors`): with directions F of the vectors, documents made of
   them would have the second moment :math:`A_P = (F'P)(F'P)'/K`.
2. *The documents' moment* (:mod:`discreet.central.sums.units`), over what all documents share, gives A.
   :math:`\alpha = \langle A, A_P \rangle / |A_P|^2` says how far texts use words as the vectors do. Its noise is known;
   of vectors that know nothing of the texts it is about 0, and of good ones it was .1 to .3 on mail, news and messages.
   Of the rest, :math:`A - \alpha A_P`, eigenvalues count as far as they lie beyond the edge of the noise.
3. *Co-occurrence*: :math:`C_{vw} = s_v s_w (1 + F_v' A F_w)`, s the weighted unigram, is what the space of the vectors
   can show; the released pairs add what they have beyond it and beyond their noise. C is factorised.

References
----------
Kaiser, "The varimax criterion for analytic rotation in factor analysis", 1958, doi:10.1007/BF02289233.
Kingma, Ba, "Adam", arXiv:1412.6980.
Arora et al., "Learning topic models: going beyond SVD", arXiv:1204.1956 (why co-occurrences suffice).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._base.threads import one_blas_thread
from discreet.central.sums.units import square
from discreet.lda.vectors import topics_of_vectors
from discreet.privacy.mechanism import Noisy

Floats = NDArray[np.float64]
#: Vectors are believed where alpha less so many deviations of its noise is at least this. Vectors half of which were
#: missing or wrong had an alpha of .01 to .14.
_LEAST_ALPHA, _DEVIATIONS = 0.08, 2
#: Of the unigram in each starting topic, where a word that is missing comes back slowly.
_UNKNOWN_AT_FIRST = 0.2
#: Of the factorisation: rotations, steps of descent, the first step in parts of the usual size, how fast Adam forgets
#: slopes and their squares.
_ROTATIONS, _STEPS, _FIRST_STEP, _FORGET, _FORGET_SQUARES = 60, 150, 0.1, 0.1, 0.01


class Seen(NamedTuple):
    """What the documents' moment says of the vectors. Released values and public vectors only."""

    #: (n_words, d).
    directions: Floats
    #: (d, d): A, read: no negative eigenvalues.
    moment: Floats
    #: How strongly the public topics show in it.
    alpha: float
    believed: bool

    @property
    def used(self) -> str:
        """Where the vectors are used after this look, in words."""
        if self.believed:
            return "for the start and in every round"
        return (
            "in every round; the start is without them, as a noisy look at the texts did not speak for them"
        )


class Words(NamedTuple):
    """The words whose co-occurrence is factorised."""

    #: (M,) int64: the first ``n_paired`` of them are those of the released pairs.
    columns: NDArray[np.int64]
    #: (M,).
    weights: Floats
    n_paired: int


def features(directions: Floats) -> Floats:
    """Return what the moment is taken of, (n_words, 1 + d): a constant, for what all documents share, and F."""
    return np.c_[np.ones(len(directions)), directions]


def expected_moment(vectors: Floats, directions: Floats, unigram: Floats, n_topics: int) -> Floats:
    """Return A_P of shape (d, d), the moment that documents made of the vectors' own topics would have."""
    with one_blas_thread():
        placed = directions.T @ topics_of_vectors(vectors, unigram, n_topics, 0)
        return placed @ placed.T / n_topics


def look(square: Floats, noise: float, directions: Floats, expected: Floats) -> Seen:
    """Read the released moment of :func:`features`, (1 + d, 1 + d).

    ``noise``: standard deviation in a cell of the triangle that was released; a cell off the diagonal has it over root
    2. ``expected``: what :func:`expected_moment` returns.
    """
    with one_blas_thread():
        level = max(float(square[0, 0]), 1e-9)
        raw, deviation = square[1:, 1:] / level, noise / level
        size = max(float(np.linalg.norm(expected)), 1e-150)
        alpha = float((raw * expected).sum()) / size**2
        believed = alpha - _DEVIATIONS * (deviation / size) >= _LEAST_ALPHA
        supposed = alpha * expected
        values, axes = np.linalg.eigh(supposed + beyond_noise(raw - supposed, deviation / np.sqrt(2.0)))
        moment = (axes * np.maximum(values, 0.0)) @ axes.T
    return Seen(directions, moment, alpha, believed)


def beyond_noise(matrix: Floats, deviation: float) -> Floats:
    r"""Return a symmetric matrix with eigenvalues shrunk to what is beyond the edge of noise of this deviation.

    An eigenvalue l becomes :math:`\mathrm{sign}(l) \sqrt{\max(l^2 - 4 n \sigma^2, 0)}`.
    """
    values, axes = np.linalg.eigh(matrix)
    edge = 2 * deviation * np.sqrt(len(matrix))
    kept = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    return (axes * kept) @ axes.T


def factors_of(seen: Seen, unigram: Floats, words: Words, pairs: Noisy, n_topics: int) -> Floats:
    """Return non-negative factors of shape (M, n_topics) of what moment and pairs say together.

    ``pairs``: strict upper triangle of the released co-occurrence of the paired words, row by row.
    """
    shared = unigram[words.columns] * words.weights
    shared = shared / float(np.linalg.norm(shared[: words.n_paired]))
    along = seen.directions[words.columns]
    with one_blas_thread():
        matrix = (1 + along @ seen.moment @ along.T) * np.outer(shared, shared)
        np.fill_diagonal(matrix, 0.0)
        released = square(pairs.values, words.n_paired)
        block = matrix[: words.n_paired, : words.n_paired]
        level = max(float((released * block).sum()) / max(float((block**2).sum()), 1e-300), 1e-9)
        matrix *= level
        block += beyond_noise(released - block, pairs.noise)
        np.fill_diagonal(matrix, 0.0)
    return factorize(matrix, shared, n_topics)


def start_weights(
    unigram: Floats, words: NDArray[np.int64], chosen: NDArray[np.int64], power: float
) -> Floats:
    """Return what words weigh in the co-occurrence of the chosen: a power of how frequent they are."""
    return (unigram[words] / unigram[chosen].mean()) ** power


def starting_topics(
    matrix: Floats,
    noise: float,
    unigram: Floats,
    chosen: NDArray[np.int64],
    weights: Floats,
    n_topics: int,
) -> Floats:
    """Factorise the co-occurrence into topics of shape (n_words, n_topics); columns sum to 1."""
    shared = unigram[chosen] * weights
    shared /= np.linalg.norm(shared)
    return on_all_words(factorize(matrix, shared, n_topics, noise=noise), unigram, chosen, weights)


def on_all_words(factors: Floats, unigram: Floats, chosen: NDArray[np.int64], weights: Floats) -> Floats:
    """Make topics of the factors of the chosen words; the others are as frequent as in all texts."""
    factors = factors / weights[:, None]
    factors /= np.maximum(factors.sum(0), 1e-12)
    topics = np.repeat(unigram[:, None], factors.shape[1], axis=1)
    topics[chosen] = factors * unigram[chosen].sum()
    topics = (1 - _UNKNOWN_AT_FIRST) * topics + _UNKNOWN_AT_FIRST * unigram[:, None]
    return topics / topics.sum(0)


def factorize(cooccurrence: Floats, unigram: Floats, n_topics: int, *, noise: float = 0.0) -> Floats:
    """Return F of shape (M, n_topics), not negative.

    ``cooccurrence``: (M, M), symmetric with zero diagonal, and ``unigram``: direction of what all documents share, L2
    norm 1, are released; where there are more topics than words, further columns start from the unigram alone;
    ``noise``: standard deviation in each cell, half the size of whose spectrum is the ridge on F.
    """
    ridge = float(0.5 * noise * np.sqrt(len(unigram)))
    with one_blas_thread():
        shared = np.outer(unigram, unigram)
        np.fill_diagonal(shared, 0.0)
        square = float((shared * shared).sum()) or 1.0
        level = max(float((cooccurrence * shared).sum()) / square, 1e-9)
        factors = _start(cooccurrence - level * shared, n_topics)
        factors += 0.02 * np.sqrt(level) * unigram[:, None]
        return _descend(cooccurrence, shared, square, factors, level, ridge)


def _start(residual: Floats, n_topics: int) -> Floats:
    values, vectors = np.linalg.eigh(residual)
    values = np.maximum(values[::-1][:n_topics], 0.0)
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


def varimax(loadings: Floats) -> Floats:
    """Return the rotation (K, K) that makes the columns of ``loadings`` (M, K) as uneven as it can."""
    rotation = np.eye(loadings.shape[1])
    for _ in range(_ROTATIONS):
        rotated = loadings @ rotation
        gradient = loadings.T @ (rotated * (rotated**2 - (rotated**2).mean(0)))
        left, _, right = np.linalg.svd(gradient)
        rotation = left @ right
    return rotation


def _descend(
    cooccurrence: Floats, shared: Floats, square: float, factors: Floats, level: float, ridge: float
) -> Floats:
    """Projected Adam on the squared error off the diagonal, in single precision for speed."""
    target, common = cooccurrence.astype(np.float32), shared.astype(np.float32)
    point = factors.astype(np.float32)
    scale = float(np.abs(point).mean())
    first, second = np.zeros_like(point), np.zeros_like(point)
    for step in range(1, _STEPS + 1):
        error = point @ point.T + np.float32(level) * common - target
        np.fill_diagonal(error, 0.0)
        gradient = 2 * error @ point + np.float32(2 * ridge) * point
        first += np.float32(_FORGET) * (gradient - first)
        second += np.float32(_FORGET_SQUARES) * (gradient * gradient - second)
        size = np.sqrt(second / np.float32(1 - (1 - _FORGET_SQUARES) ** step)) + np.float32(1e-12)
        rate = _FIRST_STEP * scale * (1 - step / _STEPS) / (1 - (1 - _FORGET) ** step)
        point = np.maximum(point - np.float32(rate) * first / size, 0)
        # The share of what all documents have in common is the best one beside these factors.
        level = max(level - float((error * common).sum()) / square, 0.0)
    return point.astype(np.float64)
