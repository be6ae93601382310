"""The base of the estimators of this room: their words are names of columns, as scikit-learn has them."""

from collections.abc import Sequence
from typing import Any, Literal

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._base.arrays import column_words, listed_texts
from discreet._base.display import first_words
from discreet._base.validate import Checked, kind_of
from discreet.errors import DiscreetError, Parameter, ParameterError
from discreet.lda.documents import faults_of_prior

__all__ = ["TopicEstimator"]


class TopicEstimator(Checked, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator with ``topic_word_``, ``components_``, and columns with or without names."""

    n_topics: int
    doc_topic_prior: Any
    topic_word_: Any
    components_: Any
    _words: tuple[str, ...] | None

    def top_words(
        self,
        n: int = 10,
        *,
        by: Literal["probability", "lift"] = "probability",
        input_features: Sequence[str] | None = None,
    ) -> list[list[str]]:
        """Return the first n words of each topic; ties in order of the columns.

        Parameters
        ----------
        n : int, default 10
        by : {"probability", "lift"}, default "probability"
            "probability": the most probable words. "lift": the order of p(w|k) (p(w|k) / p(w))^(1/2), which moves words
            up that are rare elsewhere. Lists of long texts read better so, those of short messages worse.
        input_features : sequence of str, optional
            The words of the columns, in their order, each once. None: those of the Corpus or frame that was fitted,
            else ``word_0`` and so on.

        Raises
        ------
        ParameterError
            Where ``n`` or ``by`` is not one of these, or ``input_features`` are not the words of the columns.
        """
        check_is_fitted(self)
        topics, weights = self.topic_word_, self.components_.sum(axis=0)
        known: tuple[str, ...] | None = getattr(self, "_words", None)
        words = known or column_words(len(weights))
        if input_features is not None:
            listed = listed_texts(input_features)
            if listed is None:
                holds = " of other things" if isinstance(input_features, list | tuple) else ""
                said = f" must be a list of texts in the order of the columns, but is {kind_of(input_features)}{holds}."
                raise ParameterError(Parameter("input_features"), said)
            words = tuple(listed)
            if len(words) != len(weights):
                said = f" must have one word for each of {len(weights)} columns, but has {len(words)}."
                raise ParameterError(Parameter("input_features"), said)
            if known is not None and words != known:
                raise ParameterError(
                    Parameter("input_features"),
                    " are not the words of the columns that were fitted; leave them out, or give those.",
                )
            if known is None and len(set(words)) != len(words):
                said = f" must be different words, but {len(words) - len(set(words))} of them are repeated."
                raise ParameterError(Parameter("input_features"), said)
        return first_words(topics, words, weights, n, by, ParameterError)

    def _faults(self) -> list[DiscreetError]:
        return [*super()._faults(), *faults_of_prior("doc_topic_prior", self.doc_topic_prior, self.n_topics)]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
