"""Diversity: how far topics differ in their top words.

Reference
---------
Dieng, Ruiz, Blei, "Topic modeling in embedding spaces", TACL 2020, doi:10.1162/tacl_a_00325.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet._numbers import as_numbers
from discreet._validate import check, whole
from discreet.errors import ParameterError

__all__ = ["diversity"]


def diversity(topic_word: ArrayLike, *, top: int = 25) -> float:
    """Return the share of distinct words among the top words of all topics.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        The model; equal probabilities: the earlier word.
    top : int, default 25
        Words of each topic; all of them if the vocabulary is smaller, and then the result says little.

    Returns
    -------
    float
        From 1 / n_topics (all topics have the same words) to 1 (no word twice).

    Examples
    --------
    >>> diversity([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], top=2)
    0.75
    """
    topics = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    if topics.ndim != 2 or 0 in topics.shape or np.isnan(topics).any():
        raise ParameterError(
            f"topic_word must be numbers of shape (n_topics, n_words), but has shape {topics.shape}."
        )
    check(top=(top, whole()))
    words = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    return len(np.unique(words)) / words.size
