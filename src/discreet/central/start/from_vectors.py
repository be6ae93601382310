r"""The start where public word vectors are given: documents in the space of the vectors, and pairs of words.

Everything here is computed from released numbers and public vectors.

1. *Public topics* P (:mod:`discreet.lda.vectors`): with directions F of the vectors, documents made of
   them would have the second moment :math:`A_P = (F'P)(F'P)'/K`.
2. *The documents' moment* (:mod:`discreet.central.rounds.embedded_moment`), over what all documents share, gives A.
   :math:`\alpha = \langle A, A_P \rangle / |A_P|^2` says how far texts use words as the vectors do. Its noise is known;
   of vectors that know nothing of the texts it is about 0, and of good ones it was .1 to .3 on mail, news and messages.
   Of the rest, :math:`A - \alpha A_P`, eigenvalues count as far as they lie beyond the edge of the noise.
3. *Co-occurrence*: :math:`C_{vw} = s_v s_w (1 + F_v' A F_w)`, s the weighted unigram, is what the space of the vectors
   can show; the released pairs add what they have beyond it and beyond their noise. C is factorised. Without pairs
   there would be nothing of words without a vector, nor of what the vectors' space does not know.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread
from discreet.central.rounds.statistics import square
from discreet.central.start.factorize import factorize
from discreet.lda.vectors import topics_of_vectors
from discreet.privacy.shared_gaussian import Noisy

__all__ = ["Seen", "Words", "beyond_noise", "expected_moment", "factors_of", "features", "look"]

Floats = NDArray[np.float64]
#: The constant feature, beside directions of unit variance.
_COMMON = 0.7
#: Vectors are believed where alpha less so many deviations of its noise is at least this. Vectors half of which were
#: missing or wrong had an alpha of .01 to .14.
_LEAST_ALPHA, _DEVIATIONS = 0.08, 1.5
#: Of the noise in A, as a ridge on the factors.
_RIDGE = 0.05


class Seen(NamedTuple):
    """What the documents' moment says of the vectors. Released values and public vectors only.

    Attributes
    ----------
    directions : array of shape (n_words, d)
    moment : array of shape (d, d)
        A, read: no negative eigenvalues.
    alpha : float
        How strongly the public topics show in it.
    believed : bool
    noise : float
        Standard deviation of the noise in a cell of A off the diagonal.
    """

    directions: Floats
    moment: Floats
    alpha: float
    believed: bool
    noise: float

    @property
    def used(self) -> str:
        """Where the vectors are used after this look, in words."""
        if self.believed:
            return "for the start and in every round"
        return (
            "in every round; the start is without them, as a noisy look at the texts did not speak for them"
        )


class Words(NamedTuple):
    """The words whose co-occurrence is factorised.

    Attributes
    ----------
    columns : array of shape (M,), int64
        The first ``n_paired`` of them are those of the released pairs.
    weights : array of shape (M,)
    n_paired : int
    """

    columns: NDArray[np.int64]
    weights: Floats
    n_paired: int


def features(directions: Floats) -> Floats:
    """Return what the moment is taken of, (n_words, 1 + d): a constant, for what all documents share, and F."""
    return np.c_[np.full(len(directions), _COMMON), directions]


def expected_moment(vectors: Floats, directions: Floats, unigram: Floats, n_topics: int) -> Floats:
    """Return A_P of shape (d, d), the moment that documents made of the vectors' own topics would have."""
    with one_blas_thread():
        placed = directions.T @ topics_of_vectors(vectors, unigram, n_topics, 0)
        return placed @ placed.T / n_topics


def look(square: Floats, noise: float, directions: Floats, expected: Floats) -> Seen:
    """Read the released moment of :func:`features`.

    Parameters
    ----------
    square : array of shape (1 + d, 1 + d)
    noise : float
        Standard deviation in a cell of the triangle that was released; a cell off the diagonal has it over root 2.
    directions : array of shape (n_words, d)
    expected : array of shape (d, d)
        What :func:`expected_moment` returns.
    """
    with one_blas_thread():
        level = max(float(square[0, 0]) / _COMMON**2, 1e-9)
        raw, deviation = square[1:, 1:] / level, noise / level
        size = max(float(np.linalg.norm(expected)), 1e-150)
        alpha = float((raw * expected).sum()) / size**2
        doubt = deviation / size
        believed = alpha - _DEVIATIONS * doubt >= _LEAST_ALPHA
        supposed = max(alpha, 0.0) * expected
        off_diagonal = deviation / np.sqrt(2.0)
        values, axes = np.linalg.eigh(supposed + beyond_noise(raw - supposed, off_diagonal))
        moment = (axes * np.maximum(values, 0.0)) @ axes.T
    return Seen(directions, moment, alpha, believed, off_diagonal)


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

    Parameters
    ----------
    seen : Seen
    unigram : array of shape (n_words,)
    words : Words
    pairs : Noisy
        Strict upper triangle of the released co-occurrence of the paired words, row by row.
    n_topics : int
    """
    shared = unigram[words.columns] * words.weights
    length = float(np.linalg.norm(shared[: words.n_paired]))
    shared = shared / length
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
    ridge = _RIDGE * seen.noise * np.sqrt(along.shape[1]) * level
    return factorize(matrix, shared, n_topics, ridge=ridge)
