"""Word vectors seen through how often words occur: centred, scaled, and their principal directions.

Vectors of a word that has none are NaN; such a word stands at the mean and so says nothing.
"""

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread

__all__ = ["centred", "directions"]

Floats = NDArray[np.float64]
_POWER = 0.25


def centred(vectors: Floats, unigram: Floats) -> Floats:
    """Return the vectors with mean 0 and total variance 1 under ``unigram``.

    Parameters
    ----------
    vectors : array of shape (n_words, n_dimensions)
        Rows of NaN for words without a vector.
    unigram : array of shape (n_words,)
        Positive; probabilities.

    Returns
    -------
    array of the same shape
        Zeros for words without a vector, and everywhere where no two words differ.
    """
    known = np.isfinite(vectors.sum(1))
    if not known.any():
        return np.zeros_like(vectors)
    scaled = np.where(known[:, None], vectors, 0.0) / max(float(np.abs(vectors[known]).max()), 1e-300)
    weight = unigram * known
    moved = np.where(known[:, None], scaled - (weight @ scaled) / weight.sum(), 0.0)
    size = float(np.sqrt(unigram @ (moved**2).sum(1)))
    return moved / size if size > 1e-9 else np.zeros_like(vectors)


def directions(vectors: Floats, unigram: Floats, n: int) -> Floats:
    """Return F, the first principal directions of the words, with F' diag(unigram) F = 1.

    Which directions come first is asked of words that count nearly alike (with the fourth root of their share): under
    the unigram itself the first directions of meaningless vectors would single out the most frequent words.

    Parameters
    ----------
    vectors : array of shape (n_words, n_dimensions)
        From :func:`centred`.
    unigram : array of shape (n_words,)
    n : int
        Most directions. Those along which words hardly differ are left out.

    Returns
    -------
    array of shape (n_words, at most n)
    """
    with one_blas_thread():
        share = unigram**_POWER / (unigram**_POWER).sum()
        moved = np.sqrt(share)[:, None] * (vectors - share @ vectors)
        values, axes = np.linalg.eigh(moved.T @ moved)
        order = np.argsort(-values, kind="stable")[:n]
        order = order[values[order] > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)]
        along = np.sqrt(unigram)[:, None] * (vectors @ axes[:, order])
        orthogonal, size = np.linalg.qr(along)
        kept = np.abs(size.diagonal()) > 1e-9 * max(float(np.abs(size.diagonal()).max(initial=0.0)), 1e-300)
        found = orthogonal[:, kept] / np.sqrt(unigram)[:, None]
        # The sign of a direction is arbitrary; fix it, so that libraries that differ in it agree.
        largest = np.abs(orthogonal[:, kept]).argmax(0)
        return found * np.where(found[largest, np.arange(found.shape[1])] < 0, -1.0, 1.0)
