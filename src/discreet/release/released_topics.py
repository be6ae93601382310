"""What estimators share once ``fit`` has made a release: its topics, and documents under them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._numbers import COUNT_ITS_WORDS
from discreet._sharding import is_sharded
from discreet._word_order import in_order, known_words
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
        X : array-like, sparse matrix, frame, WordCounts, Corpus or ShardedCorpus of shape (n_documents, n_words)
            Where columns have names, they are put in the order of the release; other words are refused. Of shards
            one a thread is read at a time, and ``release_.transform_shards`` holds no more of the answer, either.

        Returns
        -------
        array of shape (n_documents, n_topics), rows sum to 1
        """
        from discreet.lda import fold_in

        if is_sharded(X):
            check_is_fitted(self, "release_")
            return self.release_.transform(X, n_jobs=self.n_jobs, engine=getattr(self, "engine", None))
        counts, prior = self._read(X)
        return fold_in(self.components_, counts, doc_topic_prior=prior, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the completion log-likelihood a token, in nats: how well the topics foretell documents.

        It is the logarithm of 1 / :func:`discreet.evaluate.completion_perplexity`, higher is better. Exact, hence as
        private as X: a private number is :class:`discreet.PrivateFit`.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, WordCounts or Corpus of shape (n_documents, n_words)
            Documents that the topics were not fitted to.
        y : None
            Ignored.
        """
        from discreet.lda._fold_in import completion

        counts, prior = self._read(X)
        return completion(self.components_, counts, doc_topic_prior=prior, n_jobs=self.n_jobs)

    def top_words(
        self, n: int = 10, *, by: Literal["probability", "lift"] = "probability"
    ) -> list[list[str]]:
        """Return the first n words of each topic, as :meth:`discreet.Release.top_words` of ``release_`` does.

        Parameters
        ----------
        n : int, default 10
        by : {"probability", "lift"}, default "probability"
            "probability": the most probable words. "lift": words up that are rare elsewhere.

        Raises
        ------
        ReleaseError
            Where ``n`` or ``by`` is not one of these, or "lift" is asked of a release without ``word_weight``.
        """
        check_is_fitted(self, "release_")
        return self.release_.top_words(n, by=by)

    def _read(self, X: Any) -> tuple[Any, float]:
        """Return the counts of documents in the order of the release, and the prior of their topics."""
        from discreet.corpus import check_counts

        check_is_fitted(self, "release_")
        ordered = in_order(X, known_words(self.release_.vocabulary))
        counts = check_counts(ordered, advice=COUNT_ITS_WORDS)
        if counts.shape[1] != self.n_features_in_:
            raise CorpusError(
                f"X has {counts.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input; count with the vocabulary of the release."
            )
        return counts, float(self.release_.configuration.get("doc_topic_prior", 0.1))

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The words of the columns, where somebody named them."""
        check_is_fitted(self, "release_")
        words = known_words(self.release_.vocabulary)
        if words is None:
            raise AttributeError("the columns of X had no names.")
        return np.asarray(words, dtype=object)

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
