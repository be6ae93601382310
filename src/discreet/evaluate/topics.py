r"""What topics are like: how far top words occur together and topics differ, and which is which of another model.

Coherence
---------
How far a topic's top words occur together in a named reference corpus. With :math:`D(w)` documents that hold word w
and :math:`D(w, v)` that hold both, of :math:`D` documents:

* NPMI of a pair, in :math:`[-1, 1]`:
  :math:`\ln \frac{p(w, v)}{p(w)\, p(v)} \big/ {-\ln p(w, v)}` with :math:`p = D(\cdot) / D`;
  -1 for a pair that no document holds, 1 for one that every document holds. Mean over the pairs of the top words.
* UMass: :math:`\sum_{l < m} \ln \frac{D(w_m, w_l) + 1}{D(w_l)}`, top words by falling probability. A *sum*
  over pairs: compare only at equal ``top``. A word :math:`w_l` that no document of the reference holds adds nothing.

Always say which corpus was the reference. gensim's ``c_npmi`` differs by 1e-12 inside the logarithm (a pair
never seen then scores about -0.9), and its ``u_mass`` is a mean over pairs with 1e-12 in place of 1.

Matching
--------
Two models' topics are paired so as to make the sum of Hellinger distances
:math:`\sqrt{1 - \sum_w \sqrt{\phi_{kw} \phi'_{lw}}}` smallest (Hungarian algorithm).

References
----------
Bouma, "Normalized (pointwise) mutual information in collocation extraction", GSCL 2009.
Mimno, Wallach, Talley, Leenders, McCallum, "Optimizing semantic coherence in topic models", EMNLP 2011.
Dieng, Ruiz, Blei, "Topic modeling in embedding spaces", TACL 2020, doi:10.1162/tacl_a_00325.
Kuhn, "The Hungarian method for the assignment problem", 1955, doi:10.1002/nav.3800020109.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_numbers
from discreet._base.validate import check, whole
from discreet.corpus import check_counts
from discreet.errors import ParameterError
from discreet.lda.documents import check_topics


def coherence_npmi(topic_word: ArrayLike, reference_counts: Any, *, top: int = 10) -> float:
    """Return the mean NPMI of all pairs of a topic's top words, mean over topics.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        The model; only the order of words within a topic matters. Equal probabilities: the earlier word.
    reference_counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Documents to look for the words in. On private documents the result is a private statistic.
    top : int, default 10
        Words of each topic; all of them if the vocabulary is smaller.

    Returns
    -------
    float
        From -1 to 1, higher is better.

    Examples
    --------
    >>> round(coherence_npmi([[0.4, 0.3, 0.2, 0.1]], [[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 1]], top=2), 6)
    1.0
    """
    return float(topic_coherences_npmi(topic_word, reference_counts, top=top).mean())


def coherence_umass(topic_word: ArrayLike, reference_counts: Any, *, top: int = 10) -> float:
    """Return the UMass coherence, a sum over pairs of a topic's top words, mean over topics.

    Parameters
    ----------
    topic_word, reference_counts, top
        As for :func:`coherence_npmi`.

    Returns
    -------
    float
        In nats, higher is better.
    """
    return float(topic_coherences_umass(topic_word, reference_counts, top=top).mean())


def topic_coherences_npmi(
    topic_word: ArrayLike, reference_counts: Any, *, top: int = 10
) -> NDArray[np.float64]:
    """Return the coherence of each topic, whose mean is :func:`coherence_npmi`.

    Parameters
    ----------
    topic_word, reference_counts, top
        As there.

    Returns
    -------
    array of shape (n_topics,)
    """
    together, n_documents = _occurrences(topic_word, reference_counts, top)
    return np.array([_npmi(table, n_documents) for table in together])


def topic_coherences_umass(
    topic_word: ArrayLike, reference_counts: Any, *, top: int = 10
) -> NDArray[np.float64]:
    """Return the coherence of each topic, whose mean is :func:`coherence_umass`.

    Parameters
    ----------
    topic_word, reference_counts, top
        As there.

    Returns
    -------
    array of shape (n_topics,)
    """
    return np.array([_umass(table) for table in _occurrences(topic_word, reference_counts, top)[0]])


def _npmi(table: NDArray[np.float64], n_documents: int) -> float:
    alone = np.diag(table)
    lower = np.tril_indices(len(alone), -1)
    joint = table[lower] / n_documents
    # The logarithms of what is never or always seen are replaced below.
    inside = (joint > 0) & (joint < 1)
    usual = np.where(inside, joint, 0.5)
    apart = np.where(inside, alone[lower[0]] * alone[lower[1]], 1.0) / n_documents**2
    npmi = np.log(usual / apart) / -np.log(usual)
    return float(np.where(inside, npmi, np.where(joint > 0, 1.0, -1.0)).mean())


def _umass(table: NDArray[np.float64]) -> float:
    later, earlier = np.tril_indices(len(table), -1)
    alone = np.diag(table)[earlier]
    ratio = (table[later, earlier] + 1) / np.maximum(alone, 1)
    return float(np.log(np.where(alone > 0, ratio, 1.0)).sum())


def _occurrences(
    topic_word: ArrayLike, reference_counts: Any, top: int
) -> tuple[list[NDArray[np.float64]], int]:
    """Return in how many documents each pair of a topic's top words stands, and the number of documents."""
    words, n_words = _top_words(topic_word, top)
    if top < 2 or n_words < 2:
        raise ParameterError(f"coherence needs pairs: top must be at least 2, but is {top}.")
    counts = check_counts(reference_counts, n_words=n_words)
    used, columns = np.unique(words, return_inverse=True)
    present = counts[:, used].astype(bool).astype(np.float64).tocsc()
    columns = columns.reshape(words.shape)
    chosen = (present[:, row] for row in columns)
    return [(each.T @ each).toarray() for each in chosen], counts.shape[0]


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
    check(top=(top, whole()))
    words, _ = _top_words(topic_word, top)
    return len(np.unique(words)) / words.size


def _top_words(topic_word: ArrayLike, top: int) -> tuple[NDArray[np.int64], int]:
    """Return the numbers of each topic's most probable words, and how many words there are."""
    topics = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    if topics.ndim != 2 or 0 in topics.shape or np.isnan(topics).any():
        raise ParameterError(
            f"topic_word must be numbers of shape (n_topics, n_words), one topic or more, but has shape {topics.shape}."
        )
    return np.argsort(-topics, axis=1, kind="stable")[:, :top], topics.shape[1]


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
