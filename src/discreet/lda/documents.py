"""Documents as compiled code wants them, in memory or in shards; the checks and the base that the estimators share.

The words of these estimators are names of columns, as scikit-learn has them.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._base.arrays import (
    as_csr,
    as_numbers,
    column_order,
    column_words,
    first_words,
    in_order,
    listed_texts,
    names_of,
    refuse_nothing,
)
from discreet._base.lazy import run_over_shards
from discreet._base.validate import Checked, collect, kind_of, shown, whole
from discreet.errors import CorpusError, DiscreetError, ParameterError


class Documents(NamedTuple):
    """Documents as CSR: document d has words ``words[indptr[d]:indptr[d + 1]]``, as often as ``counts`` say."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float64]
    n_words: int

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1

    def rows(self, first: int, last: int) -> "Documents":
        """Documents first to last, sharing memory."""
        start, end = int(self.indptr[first]), int(self.indptr[last])
        indptr = self.indptr[first : last + 1] - start
        return Documents(indptr, self.words[start:end], self.counts[start:end], self.n_words)


def read_documents(X: Any, n_words: int | None = None) -> Documents:
    """Check a document-word matrix (dense, sparse or a Corpus) and take it apart; Documents were checked before.

    Weights need not be whole numbers: nothing in inference asks for it. ``CorpusError`` where it is not
    two-dimensional, negative, not finite, or has not ``n_words`` columns.
    """
    if isinstance(X, Documents):
        _check_width(X.n_words, n_words)
        return X
    given = as_csr(_counts_of(X))
    # Rebuilt: a flag that says that it is sorted may be wrong.
    counts: Any = sp.csr_matrix((given.data, given.indices, given.indptr), shape=given.shape)
    _check_width(counts.shape[1], n_words)
    if not counts.has_canonical_format:
        counts = counts.copy()
        counts.sum_duplicates()
    values: NDArray[np.float64] = np.ascontiguousarray(counts.data, dtype=np.float64)
    for bad, what in ((~np.isfinite(values), "NaN or infinity"), (values < 0, "Negative values")):
        if bad.any():
            row = int(np.searchsorted(counts.indptr, int(np.flatnonzero(bad)[0]), side="right"))  # from 1
            said = f"{what} in data passed to X, first in row {row} (counted from 1)"
            raise CorpusError(f"{said}; counts are numbers from 0.")
    return Documents(
        np.ascontiguousarray(counts.indptr, dtype=np.int64),
        np.ascontiguousarray(counts.indices, dtype=np.int32),
        values,
        int(counts.shape[1]),
    )


def _check_width(found: int, expected: int | None) -> None:
    if expected is not None and found != expected:
        raise CorpusError(
            f"X has {found} features, but {expected} words are expected: count with the vocabulary of the topics."
        )


def read_for(estimator: Any, X: Any, *, reset: bool) -> Documents:
    """Read X for an estimator, which learns the names and number of its columns, or holds X to them.

    scikit-learn looks at the columns only: its errors about values show them. ``CorpusError`` as of
    :func:`read_documents`, and where there are no documents or no words, or the words are others than in ``fit``.
    """
    from sklearn.utils.validation import validate_data

    words: tuple[str, ...] | None = None if reset else getattr(estimator, "_words", None)
    names = names_of(X)
    documents = read_documents(in_order(X, words))
    refuse_nothing(documents.n_documents, documents.n_words)
    if words is None or names is None:  # else our own rule held, which knows the words of a Corpus, too
        validate_data(estimator, _counts_of(X), reset=reset, skip_check_array=True)
    if reset:
        estimator._words = names
    return documents


def _counts_of(X: Any) -> Any:
    # A Corpus is known by what its class has: this room does not import that one, and a frame has any column.
    return X.counts if hasattr(type(X), "counts") and hasattr(type(X), "vocabulary") else X


def check_topics(topic_word: ArrayLike) -> NDArray[np.float64]:
    """Check topics of shape (n_topics, n_words) and scale each to sum to 1."""
    topics = np.asarray(as_numbers(topic_word, "topic_word", ""), dtype=np.float64)
    if topics.ndim != 2 or 0 in topics.shape:
        raise ParameterError(f"topic_word must have shape (n_topics, n_words), but has {topics.shape}.")
    if not np.isfinite(topics).all() or (topics < 0).any():
        raise ParameterError("topic_word must be finite and not negative.")
    sums = topics.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        empty = np.flatnonzero(sums[:, 0] <= 0)
        raise ParameterError(f"each topic needs a word of positive probability; topic {empty[0]} has none.")
    return topics / sums


def check_prior(name: str, prior: ArrayLike, n_topics: int) -> NDArray[np.float64]:
    """Return a prior, one positive number or one for each topic, as an array of shape (n_topics,)."""
    if not isinstance(prior, int | float | np.number | list | tuple | np.ndarray):
        raise ParameterError(f"`{name}` must be numbers, but is {kind_of(prior)}.")
    values = np.asarray(as_numbers(prior, name, ""), dtype=np.float64)
    if values.shape not in ((), (n_topics,)):
        raise ParameterError(
            f"`{name}` must be a number or {n_topics} numbers, but has shape {values.shape}."
        )
    if not np.isfinite(values).all() or not (values > 0).all():
        raise ParameterError(f"`{name}` must be positive and finite, but is {shown(prior)}.")
    return np.ascontiguousarray(np.broadcast_to(values, (n_topics,)))


def open_shards(
    corpus: Any,
    engine: Any,
    n_jobs: int | None,
    *,
    words: tuple[str, ...] | None = None,
    n_words: int | None = None,
) -> Any:
    """Return a :class:`~discreet.engines.engine.ShardRunner` whose functions get the documents of a shard.

    ``words``: order of the columns, further words are left out; ``n_words``: how many there must be. ``CorpusError``
    where these are other words.
    """
    order = column_order(corpus, words, drop_others=True)
    _check_width(corpus.n_words if order is None else len(order), n_words)
    return run_over_shards(corpus.shards, partial(_read_shard, order), engine, n_jobs)


def _read_shard(order: list[int] | None, shard: Any) -> Documents:
    counts: Any = shard.read().counts
    if order is not None:
        counts = sp.csr_matrix(counts[:, order])
    return read_documents(counts)


def read_shards_for(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Open shards for an estimator, which learns their words, or holds them to those of ``fit``.

    ``CorpusError`` where there are no documents, or the words are others.
    """
    words: tuple[str, ...] | None = None if reset else getattr(estimator, "_words", None)
    refuse_nothing(X.n_documents, X.n_words)
    if reset:
        estimator._words, estimator.n_features_in_ = names_of(X), X.n_words
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    known: int = estimator.n_features_in_
    return open_shards(X, estimator.engine, estimator.n_jobs, words=words, n_words=known)


def refuse_engine(engine: Any, why: str) -> None:
    """Refuse an engine where documents are in memory."""
    if engine is not None:
        raise ParameterError(f"`engine` goes through shards, but {why}; leave `engine` out.")


def stack(parts: Iterable[NDArray[np.float64]], corpus: Any, n_topics: int) -> NDArray[np.float64]:
    """Put what was found for each shard into one array of shape (n_documents, n_topics)."""
    out, done = np.empty((corpus.n_documents, n_topics)), 0
    for part in parts:
        out[done : done + len(part)] = part
        done += len(part)
    return out


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
                raise ParameterError(f"`input_features`{said}")
            words = tuple(listed)
            if len(words) != len(weights):
                raise ParameterError(
                    f"`input_features` must have one word for each of {len(weights)} columns, but has {len(words)}."
                )
            if known is not None and words != known:
                raise ParameterError(
                    "`input_features` are not the words of the columns that were fitted; leave them out, or give "
                    "those."
                )
            if known is None and len(set(words)) != len(words):
                twice = len(words) - len(set(words))
                raise ParameterError(
                    f"`input_features` must be different words, but {twice} of them are repeated."
                )
        return first_words(topics, words, weights, n, by, ParameterError)

    def _faults(self) -> list[DiscreetError]:
        faults = super()._faults()
        if whole().holds(self.n_topics):
            faults += collect(lambda: check_prior("doc_topic_prior", self.doc_topic_prior, self.n_topics))
        return faults

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
