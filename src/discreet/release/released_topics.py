"""What estimators share once ``fit`` has made a release: its topics, and documents under them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._word_order import in_order
from discreet.errors import CorpusError
from discreet.release.record import Release

__all__ = ["ReleasedTopics"]


class ReleasedTopics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of estimators whose ``fit`` sets ``release_`` and ``n_features_in_``: all of it is post-processing."""

    release_: Release
    n_features_in_: int
    random_state: Any
    n_jobs: int | None

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the topic shares of documents under the released topics. Exact, hence as private as X.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, WordCounts or Corpus of shape (n_documents, n_words)
            Where columns have names, they are put in the order of the release; other words are refused.

        Returns
        -------
        array of shape (n_documents, n_topics), rows sum to 1
        """
        from discreet.corpus import check_counts
        from discreet.lda import fold_in

        check_is_fitted(self, "release_")
        words = self.release_.vocabulary
        named = words != tuple(f"word_{column}" for column in range(len(words)))
        counts = check_counts(in_order(X, words) if named else X)
        if counts.shape[1] != self.n_features_in_:
            raise CorpusError(
                f"X has {counts.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input; count with the vocabulary of the release."
            )
        prior = self.release_.configuration.get("doc_topic_prior", 0.1)
        return fold_in(self.components_, counts, doc_topic_prior=float(prior), n_jobs=self.n_jobs)

    @property
    def topic_word_(self) -> NDArray[np.float64]:
        """Topic-word probabilities of the release, shape (n_topics, n_words); rows sum to 1."""
        check_is_fitted(self, "release_")
        return self.release_.topic_word

    @property
    def components_(self) -> NDArray[np.float64]:
        """The same as ``topic_word_``, under scikit-learn's name."""
        return self.topic_word_

    @property
    def _n_features_out(self) -> int:
        return self.release_.topic_word.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.non_deterministic = self.random_state is None
        return tags
