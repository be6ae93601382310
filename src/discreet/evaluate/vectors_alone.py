"""Public alone: what word vectors and word frequencies give, without a single document.

The line to print beside every model that was trained with word vectors. What it stays behind, the private text
taught; where it is as good, the text taught nothing, and the budget bought nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._validate import shown, whole
from discreet.corpus.words.word_vectors import match_vectors
from discreet.errors import ParameterError
from discreet.lda.vectors import topics_of_vectors

__all__ = ["public_topics"]


def public_topics(
    vectors: Any, words: Sequence[str], n_topics: int, unigram: ArrayLike, *, random_state: int = 0
) -> NDArray[np.float64]:
    """Return topics made of public word vectors and a unigram.

    Parameters
    ----------
    vectors : path, mapping, KeyedVectors, frame, array, or pair of words and array
        Anything that ``PrivateLDA(word_vectors=...)`` takes.
    words : sequence of str
        The vocabulary.
    n_topics : int
    unigram : array-like of shape (n_words,)
        Share (or count) of each word: a release's ``word_weight``, or that of a public text. Not negative. With the
        exact frequencies of a private text the topics are an exact statistic of it: look at them, but do not release
        them.
    random_state : int, default 0
        Of the clustering of words.

    Returns
    -------
    array of shape (n_topics, n_words)
        Rows sum to 1.

    Raises
    ------
    ParameterError, CorpusError
        Where an argument, or a file of vectors, is not what was expected.
    """
    faults: list[str] = []
    if not whole().holds(n_topics):
        faults.append(f"n_topics must be a positive whole number, but is {shown(n_topics)}.")
    share = np.asarray(unigram, dtype=np.float64)
    if share.shape != (len(words),):
        faults.append(
            f"unigram must have one number for each of {len(words)} words, but has shape {share.shape}."
        )
    elif not (np.isfinite(share).all() and (share >= 0).all() and share.sum() > 0):
        faults.append("unigram must hold finite numbers that are not negative, and not all zero.")
    if faults:
        raise ParameterError(" ".join(faults))
    found = match_vectors(vectors, words)
    # A word that never occurs stays possible: a topic that gives it zero would make a held-out text impossible.
    share = np.maximum(share / share.sum(), 1e-9)
    topics = topics_of_vectors(found.vectors, share / share.sum(), int(n_topics), random_state)
    return np.ascontiguousarray(topics.T)
