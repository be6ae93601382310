"""What the topics know about labels: a linear classifier on topic proportions.

The proportions of each document come from ``fold_in`` under the given model, for training and test documents
alike; logistic regression (scikit-learn, standardised proportions) does the rest. The score of always
saying the most frequent label stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet._base.arrays import as_labels
from discreet._base.persons import check_same_rows
from discreet.corpus import check_counts
from discreet.errors import CorpusError
from discreet.lda import fold_in

__all__ = ["ClassificationReport", "classification_report"]


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
