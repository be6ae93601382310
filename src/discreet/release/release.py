"""The release: what a private fit publishes, and nothing else; and the base of the estimators that make one.

A release holds topics, words, settings and the ledger. Nothing about a single document can be reached from
it, and its size does not depend on the number of documents. It cannot be made without a ledger, whose
guarantee names unit and relation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet._base.arrays import COUNT_ITS_WORDS, first_words, holds_text, in_order, is_frame, known_words
from discreet._base.callers import warn_caller
from discreet._base.display import frame
from discreet._base.files import page_or_none
from discreet._base.lazy import is_sharded, later
from discreet._base.validate import Rule, check, is_there, kind_of, nearest, number, optional, shown, whole
from discreet.errors import CorpusError, CorpusWarning, ParameterError, ReleaseError
from discreet.privacy.ledger.ledger import Ledger
from discreet.release import details as written
from discreet.release import edits, files
from discreet.release.numbers import Promised, Scalar

if TYPE_CHECKING:
    from discreet.audit import AuditReport
    from discreet.corpus import ShardedCorpus
    from discreet.engines import Engine
    from discreet.release.numbers import FitRelease

#: How a release is shown: by rooms above this one.
_card = later("discreet.report.card", "card")
_report = later("discreet.report.page", "report")
_release_html = later("discreet.report.page", "release_html")
_roc_svg = later("discreet.audit", "roc_svg")

#: Above the noise is what is larger than this many of its standard deviations.
STANDARD_DEVIATIONS = 2.0


def topic_columns(release: Release, n_words: int | None = None) -> dict[str, list[Any]]:
    """Return columns: topic, name, rank, word, probability; where they are told, noise, above_noise, over_all_topics.

    Topics and ranks count from 1. Where a release may not leave (made with a seed, or without privacy), a column
    ``label`` says so, too.

    Parameters
    ----------
    release : Release
    n_words : int, optional
        Words of each topic; all of them by default.
    """
    order = np.argsort(-release.topic_word, axis=1, kind="stable")[:, :n_words]
    n_topics, shown = order.shape
    flat = order.ravel().tolist()
    rows = np.repeat(np.arange(n_topics), shown)
    columns: dict[str, list[Any]] = {
        "topic": (rows + 1).tolist(),
        "name": [release.topic_names[topic] for topic in rows.tolist()],
        "rank": np.tile(np.arange(1, shown + 1), n_topics).tolist(),
        "word": [release.vocabulary[word] for word in flat],
        "probability": release.topic_word[rows, flat].tolist(),
    }
    if release.topic_word_noise is not None:
        noise = release.topic_word_noise[rows, flat]
        columns["noise"] = noise.tolist()
        above = release.topic_word[rows, flat] > STANDARD_DEVIATIONS * noise
        columns["above_noise"] = above.astype(int).tolist()
    if release.word_weight is not None:
        columns["over_all_topics"] = release.word_weight[flat].tolist()
    return release._labelled(columns)  # pyright: ignore[reportPrivateUsage]


Floats = NDArray[np.float64]
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Release(Promised):
    """What may be published of a private fit.

    Parameters
    ----------
    topic_word : array-like of shape (n_topics, n_words)
        Probability of each word in each topic; rows sum to 1.
    vocabulary : sequence of str of length n_words
        Distinct words.
    ledger : Ledger
        What was booked; a closed copy is kept.
    configuration : mapping of str to str, int, float or bool
        Public settings; no seed.
    reproducible : bool, default False
        Whether the noise came from a seed; then the release is labelled as not for release.
    topic_weight : array-like of shape (n_topics,), optional
        Share of each topic; sums to 1.
    word_weight : array-like of shape (n_words,), optional
        Share of each word over all topics; sums to 1.
    topic_word_noise : array-like of shape (n_topics, n_words), optional
        Standard deviation of the privacy noise in each cell before denoising, in probability units.
    n_units_noisy : float, optional
        Released number of documents or people.

    Raises
    ------
    ReleaseError
        Naming the field that is wrong.
    """

    topic_word: Floats
    vocabulary: tuple[str, ...]
    ledger: Ledger
    configuration: Mapping[str, Scalar] = field(default_factory=dict)
    reproducible: bool = False
    topic_weight: Floats | None = None
    word_weight: Floats | None = None
    topic_word_noise: Floats | None = None
    n_units_noisy: float | None = None

    _NUMBERS: ClassVar[Mapping[str, Rule]] = {"n_units_noisy": optional(number())}
    _WARNING: ClassVar[str] = (
        "The noise came from a seed: reproducible, not for release, because whoever knows the seed can subtract it."
    )

    # Post-processing: each returns a new release.
    without_words = edits.without_words
    with_word_names = edits.with_word_names
    with_topic_names = edits.with_topic_names
    without_topics = edits.without_topics
    merge_topics = edits.merge_topics
    with_review = written.with_review
    topic_names = property(written.topic_names)

    def __post_init__(self) -> None:
        topic_word = _checked("topic_word", self.topic_word, None)
        if topic_word.ndim != 2 or 0 in topic_word.shape:
            raise ReleaseError(f"topic_word must have shape (n_topics, n_words), but has {topic_word.shape}.")
        n_topics, n_words = topic_word.shape
        words = _checked_words(self.vocabulary, n_words)
        self._close()
        shapes = {
            "topic_word": (n_topics, n_words),
            "topic_weight": (n_topics,),
            "word_weight": (n_words,),
            "topic_word_noise": (n_topics, n_words),
        }
        for name, shape in shapes.items():
            value = topic_word if name == "topic_word" else getattr(self, name)
            part = None if value is None else _checked(name, value, shape)
            sums = 1.0 if part is None or name == "topic_word_noise" else part.sum(-1)
            if not (np.abs(sums - 1) <= SUM_TOLERANCE).all():
                raise ReleaseError(f"{name} must hold probabilities that sum to 1, but they do not.")
            object.__setattr__(self, name, part)
        object.__setattr__(self, "vocabulary", words)

    def top_words(
        self, n: int = 10, *, by: Literal["probability", "lift"] = "probability"
    ) -> list[list[str]]:
        """Return the first n words of each topic; ties in order of the vocabulary.

        Parameters
        ----------
        n : int, default 10
        by : {"probability", "lift"}, default "probability"
            "probability": the most probable words. "lift": the order of p(w|k) (p(w|k) / p(w))^(1/2), which moves words
            up that are rare elsewhere. Lists of long texts read better so, those of short messages worse.

        Raises
        ------
        ReleaseError
            Where ``n`` or ``by`` is not one of these, or "lift" is asked of a release without ``word_weight``.
        """
        return first_words(self.topic_word, self.vocabulary, self.word_weight, n, by, ReleaseError)

    def transform(self, counts: Any, *, n_jobs: int | None = None, engine: Engine | None = None) -> Floats:
        """Return the topic shares of documents; exact, so as private as the documents.

        Parameters
        ----------
        counts : list of str, array-like, sparse matrix, Corpus or ShardedCorpus of shape (n_documents, n_words)
            Texts are cut into words as those of the release were. Of counts, columns as in ``vocabulary``; where they
            have names, in any order.
        n_jobs : int, optional
        engine : Engine, optional
            What goes through shards; by default ``n_jobs`` threads.

        Returns
        -------
        array of shape (n_documents, n_topics), rows sum to 1

        Raises
        ------
        CorpusError
            Where these are not counts, or count other words than ``vocabulary``.

        Warns
        -----
        CorpusWarning
            Where no document has a word of the release, so that all rows are the same.
        """
        from discreet.corpus import check_counts
        from discreet.lda import fold_in
        from discreet.lda.documents import stack

        if is_sharded(counts):
            parts = self.transform_shards(counts, n_jobs=n_jobs, engine=engine)
            return stack(parts, counts, len(self.topic_word))
        ordered = in_order(counted(counts, self), self.vocabulary)
        checked = check_counts(ordered, n_words=len(self.vocabulary), advice=COUNT_ITS_WORDS)
        if not checked.nnz:
            told = (
                f"none of {checked.shape[0]:,} documents has a word of the release, so each is said to have equal "
                "shares of all topics: are these the texts that were meant, in the language of the topics?"
            )
            warn_caller(CorpusWarning(ParameterError(told)))
        return fold_in(self.topic_word, checked, doc_topic_prior=self.doc_topic_prior, n_jobs=n_jobs)

    def transform_shards(
        self, corpus: ShardedCorpus, *, n_jobs: int | None = None, engine: Engine | None = None
    ) -> Iterator[Floats]:
        """Yield the rows of :meth:`transform` shard by shard, for what would not fit in memory.

        Words of the shards that the release does not know are left out.
        """
        from discreet.lda._fold_in import fold_in_shards

        prior, words = self.doc_topic_prior, self.vocabulary
        return fold_in_shards(
            self.topic_word, corpus, words=words, doc_topic_prior=prior, n_jobs=n_jobs, engine=engine
        )

    @property
    def doc_topic_prior(self) -> float:
        """Dirichlet prior of topics in a document, with which :meth:`transform` folds documents in."""
        return float(self.configuration.get("doc_topic_prior", 0.1))

    def save(self, folder: str | Path) -> None:
        """Write the release to a new (or empty) folder, whole or not at all (:mod:`discreet.release.files`)."""
        files.save(self, self.card(), Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Release:
        """Read a release from a folder; ``ReleaseError`` for anything that is not exactly one."""
        return files.load(Path(folder), cls)

    def card(self) -> str:
        """Return the model card in Markdown."""
        return _card(self)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        audit: AuditReport | None = None,
        fit: FitRelease | None = None,
        overwrite: bool = False,
    ) -> str | None:
        """Return the report as one offline HTML page, or write it to ``path`` where that is given.

        A file that is there is replaced only with ``overwrite``.
        With ``fit``, as :class:`~discreet.PrivateFit` releases it for this model, the page says how good it is. With
        ``audit``, an attack's figures are shown too. They are computed from the text: keep such a page. The file is
        then readable by its owner only; so is one with a fit without privacy.
        """
        page = _report(self, audit, "" if audit is None else _roc_svg(audit), fit)
        secret = audit is not None or (fit is not None and fit.noise == 0)
        return page_or_none(page, path, "the report", overwrite=overwrite, secret=secret)

    def __repr__(self) -> str:
        topics, words = self.topic_word.shape
        return f"<Release: {topics} topics, {words} words, {self.determinism}; {self.ledger!r}>"

    def _repr_html_(self) -> str:
        return _release_html(self)

    def to_frame(self, n: int | None = None) -> Any:
        """Return a frame with one row a topic; or with one row a word, of the first ``n`` words of each topic.

        Parameters
        ----------
        n : int, optional
            Words of each topic. By default one row a topic, from the heaviest: topic, name, share, words. The column
            ``topic`` counts from 1, as report and card do: topic 1 is ``topic_word[0]``.

        Returns
        -------
        frame of pandas, else of polars, else a table of pyarrow
            Where a release may not leave, a column ``label`` says so.
        """
        check(n=(n, optional(whole())))
        if n is not None:
            return frame(topic_columns(self, n))
        weight = self.topic_weight
        order = np.arange(len(self.topic_word)) if weight is None else np.argsort(-weight, kind="stable")
        words = self.top_words(10)
        columns: dict[str, list[Any]] = {
            "topic": (order + 1).tolist(),
            "name": [self.topic_names[topic] for topic in order],
            **({} if weight is None else {"share": weight[order].tolist()}),
            "words": [" ".join(words[topic]) for topic in order],
        }
        return frame(self._labelled(columns))

    def similar_words(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the words that stand in the same topics as a word, the most alike first; costs nothing.

        Parameters
        ----------
        word : str
            One of the vocabulary.
        n : int, default 10

        Returns
        -------
        list of (str, float)
            Words, and from 0 to 1 how alike the topics are that use them: 1 less Hellinger's distance between the
            p(k | w) of both. With few topics many words are nearly alike, and noise decides on their order.

        Raises
        ------
        ParameterError
            Where the release does not know the word.
        """
        # Nothing else here calls it: the first hour with a release asks for it.
        if word not in self.vocabulary:
            raise ParameterError(
                f"`word` must be one of {len(self.vocabulary):,} words of the release, but {shown(word)} is none of "
                f"them.{nearest(word, self.vocabulary)}"
            )
        weight = np.ones(len(self.topic_word)) if self.topic_weight is None else self.topic_weight
        topic_of_word = np.sqrt((weight[:, None] * self.topic_word).T)
        topic_of_word /= np.maximum(np.linalg.norm(topic_of_word, axis=1, keepdims=True), 1e-300)
        own = self.vocabulary.index(word)
        alike = topic_of_word @ topic_of_word[own]
        places = [place for place in np.argsort(-alike, kind="stable").tolist() if place != own][:n]
        near = 1 - np.sqrt(np.maximum(1 - alike, 0))
        return [(self.vocabulary[place], float(near[place])) for place in places]


def _checked(name: str, value: ArrayLike, shape: tuple[int, ...] | None) -> Floats:
    array = None
    try:
        given = np.asarray(value)
        if given.dtype.kind in "fiu":
            array = np.array(given, dtype=np.float64, order="C")
    except Exception:  # of a foreign object: may show what it holds, and must not go on
        pass
    if array is None:
        raise ReleaseError(f"{name} must be an array of numbers, but is {kind_of(value)}.")
    if shape is not None and array.shape != shape:
        raise ReleaseError(f"{name} must have shape {shape}, but has {array.shape}.")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ReleaseError(f"{name} must hold finite numbers that are not negative.")
    array += 0.0  # there is one zero: -0.0 would be equal, but other bytes
    array.flags.writeable = False
    return array


def _checked_words(vocabulary: Any, n_words: int) -> tuple[str, ...]:
    try:
        words: tuple[Any, ...] = () if isinstance(vocabulary, str | bytes) else tuple(vocabulary)
    except TypeError:
        words = ()
    if not words or not all(isinstance(word, str) for word in words):
        raise ReleaseError("the vocabulary must be a sequence of words, as text.")
    if len(words) != n_words:
        raise ReleaseError(
            f"the vocabulary must have {n_words} words, one for each column, but has {len(words)}."
        )
    if len(set(words)) != len(words):
        raise ReleaseError("the words of the vocabulary must be distinct.")
    return tuple(str(word) for word in words)  # plain text, not a subclass such as numpy's


def are_texts(X: Any) -> bool:
    """Whether this is a list or column of texts, though some may be missing."""
    one_a_row = isinstance(X, list | tuple) or getattr(X, "ndim", None) == 1
    return one_a_row and any(isinstance(one, str) for one in X)


def counted(X: Any, release: Release) -> Any:
    """Return texts as counts of the words of a release, cut as its texts were; anything else as it is."""
    names: list[Any] = list(getattr(X, "columns", ())) if is_frame(X) else []
    of_words = set(release.vocabulary)
    if names and all(isinstance(name, str) for name in names):
        of_text = holds_text(X)
        if of_words.isdisjoint(names) or (of_text and not of_words <= set(names)):
            what = "has columns of text" if of_text else "has no word of the release as a column"
            raise CorpusError(
                f"this frame {what}, but counts of the release's words are expected: of texts, pass their column, "
                "frame['note'] or what it is called."
            )
    if known_words(release.vocabulary) is None:
        return X  # columns that nobody named have no words to count
    if isinstance(X, str | os.PathLike):
        if is_there(X):
            raise CorpusError(
                "X is the path of a file or folder, which is read first: "
                "release.transform(read_corpus(path, vocabulary=release.vocabulary))."
            )
        raise CorpusError("X is one text, but the topics of each text are a row: pass a list of texts.")
    if not are_texts(X):
        return X
    from discreet.corpus import Corpus, tokenizer_like

    cut = tokenizer_like(release.configuration)
    return Corpus.from_texts(X, tokenizer=cut, vocabulary=release.vocabulary)


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
        X : list of str, array-like, sparse matrix, frame, Corpus or ShardedCorpus of shape (n_documents, n_words)
            Texts are cut into words as those that were fitted. Where columns have names, they are put in the order of
            the release; other words are refused. Of shards one a thread is read at a time, and
            ``release_.transform_shards`` holds no more of the answer, either.

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
        X : array-like, sparse matrix, frame, Corpus of shape (n_documents, n_words)
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
        ordered = in_order(counted(X, self.release_), known_words(self.release_.vocabulary))
        counts = check_counts(ordered, advice=COUNT_ITS_WORDS)
        if counts.shape[1] != self.n_features_in_:
            raise CorpusError(
                f"X has {counts.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input; count with the vocabulary of the release."
            )
        return counts, self.release_.doc_topic_prior

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
