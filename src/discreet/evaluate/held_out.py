r"""What a model predicts of held-out documents: their tokens (perplexity), and their labels.

Perplexity says how much a new token surprises the model.

.. math:: \exp\Big(-\frac{\sum_d \sum_w n_{dw} \ln \theta_d \cdot \phi_w}{\sum_{dw} n_{dw}}\Big)

The two measures differ in the tokens from which :math:`\theta_d` is inferred: a random half of the document,
with the other half scored (completion), or the very tokens that are scored (transductive). Only the first
measures prediction: under the second, more topics look better without end. Lower is better; a model of one
topic, :func:`unigram`, is the line to beat.

Topics of public word vectors and word frequencies alone (:func:`public_topics`), without a single document, are the
line to print beside every model that was trained with word vectors. What they stay behind, the private text taught;
where they are as good, the text taught nothing, and the budget bought nothing.

What the topics know about labels is asked of a linear classifier on topic proportions. The proportions of each document
come from ``fold_in`` under the given model, for training and test documents alike; logistic regression (scikit-learn,
standardised proportions) does the rest. The score of always saying the most frequent label stands beside it.

References
----------
Document completion: Wallach, Murray, Salakhutdinov, Mimno, "Evaluation methods for topic models", ICML 2009,
doi:10.1145/1553374.1553515.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_labels
from discreet._base.persons import check_same_rows
from discreet._base.validate import shown, whole
from discreet.corpus import check_counts
from discreet.corpus.word_vectors import match_vectors
from discreet.errors import CorpusError, ParameterError
from discreet.lda import fold_in
from discreet.lda._fold_in import completion, token_log_likelihood
from discreet.lda.vectors import topics_of_vectors


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
    vectors : path, mapping, KeyedVectors, array, or pair of words and array
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


@dataclass(frozen=True)
class ClassificationReport:
    """Scores on test documents.

    Attributes
    ----------
    accuracy : float
        Share of labels that were right.
    macro_f1 : float
        F1 score, mean over labels.
    baseline_accuracy : float
        Accuracy of always saying the label that is most frequent in training.
    n_labels : int
        Distinct labels in training.
    """

    accuracy: float
    macro_f1: float
    baseline_accuracy: float
    n_labels: int


def classification_report(
    topic_word: ArrayLike,
    train_counts: Any,
    train_labels: ArrayLike,
    test_counts: Any,
    test_labels: ArrayLike,
    *,
    doc_topic_prior: ArrayLike = 0.1,
    n_jobs: int | None = None,
) -> ClassificationReport:
    """Train a linear classifier on topic proportions and score it on other documents. Deterministic.

    Parameters
    ----------
    topic_word : array of shape (n_topics, n_words)
        The model; rows are scaled to sum to 1.
    train_counts, test_counts : Corpus, sparse or dense matrices of shape (n_documents, n_words)
        Documents; those of the test must be in neither the model nor the training.
    train_labels, test_labels : arrays of shape (n_documents,)
        Labels: numbers or strings.
    doc_topic_prior : float or array of shape (n_topics,), default 0.1
        For ``fold_in``.
    n_jobs : int, optional
        Threads for ``fold_in``; the result does not depend on it.

    Returns
    -------
    ClassificationReport

    Raises
    ------
    CorpusError
        Labels and documents differ in number, or all training labels are the same.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    known, asked = as_labels(train_labels, "train_labels"), as_labels(test_labels, "test_labels")
    if (known.dtype.kind in "US") != (asked.dtype.kind in "US"):
        raise CorpusError("train_labels and test_labels must both be text or both be numbers.")
    proportions: list[NDArray[np.float64]] = []
    check_same_rows(train_counts, train_labels, "train_labels")
    check_same_rows(test_counts, test_labels, "test_labels")
    for which, counts, labels in (("train", train_counts, known), ("test", test_counts, asked)):
        documents = check_counts(counts)
        if labels.shape != (documents.shape[0],):
            raise CorpusError(
                f"{which}_labels must be one label a document: {documents.shape[0]} documents, "
                f"labels of shape {labels.shape}."
            )
        proportions.append(fold_in(topic_word, documents, doc_topic_prior=doc_topic_prior, n_jobs=n_jobs))
    score_f1: Any = f1_score  # typed too narrowly by inference
    names, frequencies = np.unique(known, return_counts=True)
    if len(names) < 2:
        raise CorpusError("a classifier needs at least 2 labels in training, but all are one.")
    classifier: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    predicted = classifier.fit(proportions[0], known).predict(proportions[1])
    return ClassificationReport(
        accuracy=float(accuracy_score(asked, predicted)),
        macro_f1=float(score_f1(asked, predicted, average="macro", zero_division=0)),
        baseline_accuracy=float((asked == names[np.argmax(frequencies)]).mean()),
        n_labels=len(names),
    )
