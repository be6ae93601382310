r"""Topics from word vectors alone: what is known before a single document is looked at.

Words are clustered by the direction of their vectors (spherical k-means, each word with the weight
:math:`\sqrt{p_v}`), and a cluster with centre m becomes the topic

.. math:: q_v \propto p_v \exp(\beta \cos(E_v, m)) .

Every private model that was given the same vectors must beat this one, or the private text taught it nothing.

References
----------
Arthur, Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007 (the starts).
Dhillon, Modha, "Concept decompositions for large sparse text data using clustering", Machine Learning 2001,
doi:10.1023/A:1007612920971 (spherical k-means).
"""

import numpy as np
from numpy.typing import NDArray

from discreet._threads import one_blas_thread
from discreet.lda.word_space.directions import centred

__all__ = ["topics_of_vectors"]

Floats = NDArray[np.float64]
#: How sharp a topic is around its centre; from 3 to 6 were as good on news, mail and reviews.
_SHARPNESS = 5.0
_STARTS = 8
_STEPS = 50


def topics_of_vectors(
    vectors: Floats, unigram: Floats, n_topics: int, seed: int, *, sharpness: float = _SHARPNESS
) -> Floats:
    """Return topics of shape (n_words, n_topics); columns sum to 1.

    Parameters
    ----------
    vectors : array of shape (n_words, n_dimensions)
        Rows of NaN for words without one; they stand at the mean, so their share is that of the unigram.
    unigram : array of shape (n_words,)
        Positive; sums to 1.
    n_topics : int
    seed : int
        Of the starts; public.
    sharpness : float, default 5
        Beta.
    """
    with one_blas_thread():
        moved = centred(vectors, unigram)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        pointing = moved / np.maximum(lengths, 1e-12)
        centres = _best_centres(pointing, np.sqrt(unigram) * (lengths[:, 0] > 0), n_topics, seed)
        topics = unigram[:, None] * np.exp(sharpness * (pointing @ centres.T - 1))
        return topics / topics.sum(0)


def _best_centres(pointing: Floats, weight: Floats, n_topics: int, seed: int) -> Floats:
    """Cluster several times; return the centres, (n_topics, n_dimensions), that words are nearest to."""
    if weight.sum() == 0:
        return np.zeros((n_topics, pointing.shape[1]))
    rng = np.random.default_rng(seed)
    best, value = np.zeros((n_topics, pointing.shape[1])), -np.inf
    for _ in range(_STARTS):
        centres = _descend(pointing, weight, _spread_out(pointing, weight, n_topics, rng))
        reached = float(weight @ (pointing @ centres.T).max(1))
        if reached > value:
            best, value = centres, reached
    return best


def _spread_out(pointing: Floats, weight: Floats, n_topics: int, rng: np.random.Generator) -> Floats:
    """Draw words as centres, each with a chance that grows with its distance from those before it."""
    chance = weight
    chosen: list[Floats] = []
    nearest = np.full(len(weight), -1.0)
    for _ in range(n_topics):
        chosen.append(pointing[rng.choice(len(weight), p=chance / chance.sum())])
        nearest = np.maximum(nearest, pointing @ chosen[-1])
        chance = np.maximum(1 - nearest, 0.0) ** 2 * weight
        if chance.sum() <= 1e-12 * weight.sum():  # fewer distinct words than topics
            chance = weight
    return np.array(chosen)


def _descend(pointing: Floats, weight: Floats, centres: Floats) -> Floats:
    nearest = np.full(len(weight), -1)
    for _ in range(_STEPS):
        before, nearest = nearest, (pointing @ centres.T).argmax(1)
        if (nearest == before).all():
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, weight[:, None] * pointing)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 1e-12, sums / np.maximum(lengths, 1e-12), centres)
    return centres
