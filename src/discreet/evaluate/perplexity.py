r"""Perplexity of held-out documents: how much a new token surprises the model.

.. math:: \exp\Big(-\frac{\sum_d \sum_w n_{dw} \ln \theta_d \cdot \phi_w}{\sum_{dw} n_{dw}}\Big)

The two measures differ in the tokens from which :math:`\theta_d` is inferred: a random half of the document,
with the other half scored (completion), or the very tokens that are scored (transductive). Only the first
measures prediction: under the second, more topics look better without end. Lower is better; a model of one
topic, :func:`unigram`, is the line to beat.

Topics of public word vectors and word frequencies alone (:func:`public_topics`), without a single document, are the
line to print beside every model that was trained with word vectors. What they stay behind, the private text taught;
where they are as good, the text taught nothing, and the budget bought nothing.

Reference
---------
Document completion: Wallach, Murray, Salakhutdinov, Mimno, "Evaluation methods for topic models", ICML 2009,
doi:10.1145/1553374.1553515.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.validate import shown, whole
from discreet.corpus import check_counts
from discreet.corpus.word_vectors import match_vectors
from discreet.errors import CorpusError, ParameterError
from discreet.lda._fold_in import completion, token_log_likelihood
from discreet.lda.vectors import topics_of_vectors

__all__ = ["completion_perplexity", "public_topics", "transductive_perplexity", "unigram"]


def completion_perplexity(
    topic_word: ArrayLike,
    counts: Any,
    *,
    doc_topic_prior: ArrayLike = 0.1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> float:
    """Perplexity of one random half of each held-out document's tokens, given the other half.

    Each token goes to either half by a fair coin (a binomial draw for each count). The topic proportions are
    the mode given the first half (``fold_in``, 40 steps).

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        The model; rows are scaled to sum to 1.
    counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Held-out documents: none that the model was trained on.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        Tokens that each topic has before any is seen.
    random_state : int, default 0
        Seed of the halves. The same seed and documents give the same halves for every model.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    float
        At least 1; infinite if a scored word has probability 0 in all topics.

    Raises
    ------
    CorpusError, ParameterError
        Counts are not counts, topics not topics, or no token is left to score.
    """
    how: Any = {"doc_topic_prior": doc_topic_prior, "random_state": random_state, "n_jobs": n_jobs}
    return float(np.exp(-completion(topic_word, check_counts(counts), **how)))


def transductive_perplexity(
    topic_word: ArrayLike, counts: Any, *, doc_topic_prior: ArrayLike = 0.1, n_jobs: int | None = None
) -> float:
    """Perplexity of held-out documents whose topics were inferred from the tokens that are scored.

    Many papers report this. It is too low, and the lower the more topics there are; use it only to compare
    with them.

    Parameters
    ----------
    topic_word, counts, doc_topic_prior, n_jobs
        As for :func:`completion_perplexity`.

    Returns
    -------
    float
        At least 1; infinite if a word has probability 0 in all topics.
    """
    documents = check_counts(counts)
    mean = token_log_likelihood(topic_word, documents, documents, doc_topic_prior, n_jobs)
    return float(np.exp(-mean))


def unigram(counts: Any, *, smoothing: float = 0.0) -> NDArray[np.float64]:
    """Return the model of one topic, the words' frequencies: the baseline for any perplexity or coherence.

    Parameters
    ----------
    counts : Corpus, sparse or dense matrix of shape (n_documents, n_words)
        Training documents.
    smoothing : float, default 0.0
        Tokens added to each word. At 0 a word without a token makes the perplexity of a document that has it
        infinite.

    Returns
    -------
    array of shape (1, n_words), float64
        Sums to 1.

    Examples
    --------
    >>> unigram([[1, 0], [2, 1]])
    array([[0.75, 0.25]])
    """
    if not (np.isfinite(smoothing) and smoothing >= 0):
        raise ParameterError(f"smoothing must not be negative, but is {smoothing}.")
    documents = check_counts(counts)
    totals = np.bincount(documents.indices, documents.data, documents.shape[1]) + smoothing
    if not totals.sum() > 0:
        raise CorpusError("the documents hold no token; give others, or smoothing=1.")
    return (totals / totals.sum())[np.newaxis]


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
