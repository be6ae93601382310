r"""Say which topic of one model is which of another.

The pairs that make the sum of Hellinger distances
:math:`\sqrt{1 - \sum_w \sqrt{\phi_{kw} \phi'_{lw}}}` smallest (Hungarian algorithm).

Reference
---------
Kuhn, "The Hungarian method for the assignment problem", 1955, doi:10.1002/nav.3800020109.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.lda.documents import check_topics

__all__ = ["TopicMatch", "hellinger", "topic_match"]


class TopicMatch(NamedTuple):
    """Pairs of topics of two models: ``first[i]`` is ``second[i]``, at Hellinger distance ``distance[i]``.

    Attributes
    ----------
    first, second : array of shape (n_pairs,), int
        Numbers of topics, from 0.
    distance : array of shape (n_pairs,)
        From 0 (the same topic) to 1 (no word in common).
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]

    @property
    def mean_distance(self) -> float:
        """Mean Hellinger distance of the pairs: 0 for the same model, 1 for models without a common word."""
        return float(self.distance.mean())


def hellinger(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the Hellinger distance, from 0 to 1, of each topic of one model to each of another.

    Parameters
    ----------
    first, second : arrays of shape (n_topics, n_words) and (n_other_topics, n_words)
        Models over the same words; rows are scaled to sum to 1.

    Returns
    -------
    array of shape (n_topics, n_other_topics)
    """
    a, b = check_topics(first), check_topics(second)
    if a.shape[1] != b.shape[1]:
        raise ParameterError(f"models must have the same words, but have {a.shape[1]} and {b.shape[1]}.")
    return np.sqrt(np.maximum(0.0, 1.0 - np.sqrt(a) @ np.sqrt(b).T))


def topic_match(first: ArrayLike, second: ArrayLike) -> TopicMatch:
    """Match the topics of two models one to one.

    Parameters
    ----------
    first, second : arrays of shape (n_topics, n_words) and (n_other_topics, n_words)
        Models over the same words; rows are scaled to sum to 1.

    Returns
    -------
    TopicMatch
        As many pairs as the smaller model has topics, ordered by ``first``.

    Examples
    --------
    >>> topic_match([[1, 0, 0], [0, 1, 1]], [[0, 1, 1], [1, 0, 0]]).second
    array([1, 0])
    """
    distances = hellinger(first, second)
    solve: Any = scipy.optimize.linear_sum_assignment
    rows, columns = solve(distances)
    return TopicMatch(rows, columns, distances[rows, columns])
