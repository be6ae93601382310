r"""Perplexity of held-out documents: how much a new token surprises the model.

.. math:: \exp\Big(-\frac{\sum_d \sum_w n_{dw} \ln \theta_d \cdot \phi_w}{\sum_{dw} n_{dw}}\Big)

The two measures differ in the tokens from which :math:`\theta_d` is inferred: a random half of the document,
with the other half scored (completion), or the very tokens that are scored (transductive). Only the first
measures prediction: under the second, more topics look better without end. Lower is better; a model of one
topic, :func:`unigram`, is the line to beat.

Reference
---------
Document completion: Wallach, Murray, Salakhutdinov, Mimno, "Evaluation methods for topic models", ICML 2009,
doi:10.1145/1553374.1553515.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from discreet.corpus import check_counts
from discreet.errors import CorpusError, ParameterError
from discreet.lda import fold_in, log_likelihood

__all__ = ["completion_perplexity", "transductive_perplexity", "unigram"]

# Part of the definition, so that figures stay comparable: this many steps of expectation maximisation.
_STEPS = 40


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
        Counts are no counts, topics no topics, or no token is left to score.
    """
    documents = check_counts(counts)
    rng = np.random.default_rng(random_state)
    seen = rng.binomial(documents.data, 0.5)
    first, second = _with(documents, seen), _with(documents, documents.data - seen)
    return _perplexity(topic_word, first, second, doc_topic_prior, n_jobs)


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
    return _perplexity(topic_word, documents, documents, doc_topic_prior, n_jobs)


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


def _with(documents: Any, data: NDArray[Any]) -> Any:
    return sp.csr_matrix((data, documents.indices, documents.indptr), shape=documents.shape)


def _perplexity(topic_word: ArrayLike, seen: Any, scored: Any, prior: ArrayLike, n_jobs: int | None) -> float:
    # What is scored must be clean of zeros: 0 * ln 0 is no number.
    scored = scored.copy()
    scored.eliminate_zeros()
    n_tokens = int(scored.data.sum(dtype=np.int64))
    if n_tokens == 0:
        raise CorpusError("no token is left to score: give longer documents, or more of them.")
    doc_topic = fold_in(topic_word, seen, doc_topic_prior=prior, max_iter=_STEPS, tol=0.0, n_jobs=n_jobs)
    total = float(log_likelihood(topic_word, doc_topic, scored, n_jobs=n_jobs).sum())
    return float(np.exp(-total / n_tokens))
