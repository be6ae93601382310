"""What the central topic models share: fit books, reads, trains and releases, in this order and in this place only."""

import math
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from discreet._base.arrays import carried, column_words
from discreet._base.callers import warn_caller
from discreet._base.persons import check_persons, knows_persons
from discreet._base.validate import is_folder, refuse
from discreet.central.sums.units import faults_of_shards
from discreet.corpus import Corpus, check_counts
from discreet.corpus.counting import refuse_texts
from discreet.corpus.shards.sharded_corpus import ShardedCorpus
from discreet.corpus.vocabulary import (
    NUMBERED,
    Coverage,
    GivenWords,
    faults_of_runs,
    faults_of_words,
    given_words,
)
from discreet.errors import CorpusError, CorpusWarning, DiscreetError, ParameterError, PrivacyError, Proposal
from discreet.privacy.units import large_delta
from discreet.release.numbers import public_settings
from discreet.release.private_estimator import Booking, Plan, PrivateEstimator, pipelines
from discreet.release.release import Release, ReleasedTopics


def check_data(
    X: Any, persons: Any, words: tuple[str, ...] | None, privacy_unit: str, *, in_shards: bool = False
) -> tuple[Any, NDArray[np.int64] | None, tuple[str, ...]]:
    """Read X: canonical CSR counts, whose each document is where people are the unit (else None), and the words.

    With ``in_shards`` a ShardedCorpus stays where it is, for who can go through shards. ``CorpusError`` names the first
    row, or the lengths, that are wrong.
    """
    if in_shards and isinstance(X, ShardedCorpus):
        return X, None, X.vocabulary
    documents = X.to_corpus() if isinstance(X, ShardedCorpus) else X
    counts = check_counts(documents)
    people = check_persons(documents, persons, counts.shape[0]) if privacy_unit == "person" else None
    if privacy_unit == "person" and people is None:
        raise CorpusError("nothing says whose each document is, and people are the unit: give persons.")
    if words is None:
        words = column_words(counts.shape[1])
    check_width(counts.shape, words)
    return counts, people, words


def check_width(shape: tuple[int, ...] | None, words: tuple[str, ...] | None) -> None:
    """Raise ``CorpusError`` where counts of this shape have other columns than the words; None is not known yet."""
    if shape is not None and words is not None and shape[1] != len(words):
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but X has {shape[1]} columns; they must agree."
        )


class Data(NamedTuple):
    """What a fit has read. Private."""

    #: Canonical CSR of shape (n_documents, n_words), int32, or a ShardedCorpus.
    counts: Any
    #: (n_documents,) int64: where they are the unit.
    people: NDArray[Any] | None
    #: Public.
    words: tuple[str, ...]
    #: What was read beside X (:meth:`PrivateTopicModel._read_public`). Public.
    public: Any = None
    #: How much of the text the words make up, where that was released.
    coverage: Coverage | None = None


class Fitted(NamedTuple):
    """What a fit has found, all of it released: fields of the ``Release``, and what else is to be known."""

    topic_word: NDArray[Any]
    topic_weight: NDArray[Any]
    word_weight: NDArray[Any]
    topic_word_noise: NDArray[Any] | None = None
    n_units_noisy: float | None = None
    #: To stand in the release's configuration, too.
    settings: Mapping[str, Any] = {}
    #: To be set on the estimator, too.
    attributes: Mapping[str, Any] = {}


class PrivateTopicModel(PrivateEstimator, ReleasedTopics):
    """Base of topic models for a curator. A subclass says what a fit would do, and how it trains."""

    _algorithm: ClassVar[str]
    #: Parameters that stand in the release, where they are not None.
    _published: ClassVar[tuple[str, ...]]
    #: Whether it can go through shards; otherwise they are read into memory.
    _in_shards: ClassVar[bool] = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        persons: Any = None,
        vocabulary: Any = None,
        words_are_public: bool = False,
    ) -> Self:
        """Book the cost, then train.

        Parameters
        ----------
        X : array-like, sparse matrix, Corpus of shape (n_documents, n_words)
            Counts: whole numbers, not negative.
        y : None
            Ignored.
        persons : array-like of shape (n_documents,), optional
            Person of each document, as whole numbers or text; by default those that X carries. With the document as
            the unit they are an error.
        vocabulary : sequence of str of length n_words, optional
            The public word of each column, where X carries none. Without words columns are numbered, and that their
            number does not depend on the texts is yours to vouch for.
        words_are_public : bool, default False
            Say that the words, given or carried by X, were not made from these texts. A corpus of a
            ``PrivateCountVectorizer`` needs it not: what its words cost is on its ledger, where this fit is booked.

        Raises
        ------
        ParameterError, PrivacyError
            Before X is read or anything booked, naming all parameters that are out of range.
        BudgetExceeded
            Where the ledger has less left. X is not read, and the estimator is as it was.
        CorpusError
            Where X is not what was expected. Nothing is booked where X is an array or a sparse matrix, or cannot be
            counts for its kind alone, nor where a file of word vectors is wrong; otherwise the cost stays booked.
        """
        return self._take(self._for_units_of(X, persons)._fit(X, persons, vocabulary, words_are_public))

    def _fit(self, X: Any, persons: Any, vocabulary: Any, words_are_public: bool) -> Self:
        refuse_texts(X)
        _refuse_words_of_a_pipeline()
        words, faults = take_words(self, X, vocabulary, words_are_public)
        refuse([*self._faults(), *self._faults_of_call(X, persons), *faults])
        check_width(getattr(X, "shape", None), words.words)
        public = self._read_public(words.words)
        if sp.issparse(X) and words.words is None and self.epsilon != math.inf:
            warn_caller(
                "the columns of X have no words, so topics will list word_0, word_1 and so on. What CountVectorizer "
                "counted has columns that it took from the texts, which no noise covers: give the texts to fit_topics, "
                "or a public list as fit(X, vocabulary=words, words_are_public=True).",
            )
        return self._fit_booked(self._book(X), X, persons, words, public)

    def _faults_of_call(self, X: Any, persons: Any) -> list[DiscreetError]:
        return [
            *super()._faults_of_call(X, persons),
            *faults_of_shards(X, persons, getattr(self, "engine", None)),
        ]

    def _read_public(self, words: tuple[str, ...] | None, *, booked: bool = False) -> Any:
        """Read what is public and can be refused while nothing is booked; the words are those of the columns.

        Where words were chosen privately, their cost is booked: then only what a fit cannot do without is refused.
        """
        return None

    def _fit_booked(self, booking: Booking, X: Any, persons: Any, words: GivenWords, public: Any) -> Self:
        """Do what was planned and booked. From here on X is read."""
        plan = booking.plan
        read = check_data(X, persons, words.words, self.privacy_unit, in_shards=self._in_shards)
        data = Data(*read, public, words.origin.coverage)
        # Whoever chose words knows the text, and on which ledger.
        digest = carried(X, "texts_digest") or ""
        self._notice(booking, None if words.origin.kind == "chosen" else data.counts, digest)
        fitted = self._train(data, booking)
        for name, value in fitted.attributes.items():
            setattr(self, name, value)
        self.n_features_in_ = len(data.words)
        self.release_ = Release(
            topic_word=fitted.topic_word,
            vocabulary=data.words,
            ledger=booking.ledger.snapshot(),
            configuration={**self._configuration(plan, fitted), **words.cut, **words.origin.settings()},
            reproducible=self.random_state is not None or words.origin.seeded,
            topic_weight=fitted.topic_weight,
            word_weight=fitted.word_weight,
            topic_word_noise=fitted.topic_word_noise,
            n_units_noisy=fitted.n_units_noisy,
        )
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # scikit-learn's checks then send whole numbers
        return tags

    @abstractmethod
    def _train(self, data: Data, booking: Booking) -> Fitted:
        """Find topics; what is released is paid for by the reservation."""

    def _check_delta(self, n_units: float, booking: Booking) -> None:
        """Refuse to train where delta is above 1 over the noisy number of units, just released, unless it may be."""
        delta = booking.ledger.delta
        weak = large_delta(delta, n_units, booking.ledger.called)
        free = math.isinf(self._promised(booking.plan)[0])
        if weak is None or free or getattr(self, "allow_large_delta", False):
            return
        whose = "" if delta == self.delta else f" It is that of the ledger, not this fit's {self.delta:g}."
        raise PrivacyError(
            f"`delta` {weak}{whose} Nothing was trained, but the cost stays booked; `allow_large_delta=True` goes on "
            "all the same."
        )

    def _configuration(self, plan: Plan, fitted: Fitted) -> dict[str, Any]:
        """Return the public settings of a run."""
        epsilon, delta = self._promised(plan)
        public = {name: getattr(self, name) for name in self._published}
        public |= {"epsilon": float(epsilon), "delta": float(delta), "privacy_unit": self.privacy_unit}
        return public_settings(type(self).__name__, self._algorithm, **{**public, **fitted.settings})


def _refuse_words_of_a_pipeline() -> None:
    """Refuse counts whose words an earlier step of a scikit-learn pipeline took from the texts, which no noise covers.

    A pipeline hands on a bare matrix: only the pipeline itself knows who made it.
    """
    for _, step in getattr(next(pipelines(), None), "steps", ()):
        if getattr(step, "fixed_vocabulary_", True) is False:
            raise PrivacyError(
                f"{type(step).__name__} took its words from the texts, which no noise covers; nothing was booked. "
                "Choose them privately: fit_topics(texts, epsilon=2, n_topics=20), or "
                "make_pipeline(PrivateCountVectorizer(epsilon=0.5, ledger=ledger), "
                "PrivateLDA(n_topics=20, epsilon=1.9, ledger=ledger)) with ledger = Ledger(2). A public list of words "
                f"goes to {type(step).__name__}(vocabulary=words)."
            )


def read_public(model: PrivateTopicModel, words: tuple[str, ...] | None, *, booked: bool = False) -> Any:
    """Read what a model takes that is public, as word vectors are; refuse too few words while nothing is booked."""
    refuse_too_few(model, None if words is None or booked else len(words))
    return model._read_public(words, booked=booked)  # pyright: ignore[reportPrivateUsage]


def refuse_too_few(model: PrivateTopicModel, n_words: int | None, *spent: str) -> None:
    """Refuse topics that so many words cannot tell apart; their number, or the most there can be, is public."""
    if n_words is not None:
        refuse(model._faults_of_words(n_words, *spent))  # pyright: ignore[reportPrivateUsage]


def fit_booked(
    model: PrivateTopicModel,
    booking: Booking,
    X: Any,
    persons: Any,
    public: Any,
    words: GivenWords | None = None,
) -> Release:
    """Fit a model whose cost is booked; its words are those that X carries, or those given."""
    if words is None:
        words, faults = take_words(model, X, None, False)
        refuse(faults)
    return model._fit_booked(booking, X, persons, words, public).release_  # pyright: ignore[reportPrivateUsage]


def take_words(
    model: PrivateEstimator, X: Any, vocabulary: Any, words_are_public: Any
) -> tuple[GivenWords, list[DiscreetError]]:
    """Return the words of X and where they come from, and what is wrong with them."""
    try:
        words = given_words(X, vocabulary, words_are_public, f"{type(model).__name__}.fit")
    except DiscreetError as fault:
        return GivenWords(None, NUMBERED), [fault]
    of_one_word = faults_of_runs(words.words, words.cut) if model.privacy_unit == "word" else []
    origin = faults_of_words(words.origin, choice_can_be_booked=model.neighboring == "add_or_remove_one")
    return words, [*of_one_word, *origin]


def warn_of_persons(source: Any, corpus: Corpus, columns: dict[str, Any]) -> None:
    """Say that each document is protected for itself, where a column of its source may tell whose it is."""
    others = set(corpus.fields) - {columns["text"] or "text", columns.get("by")}
    folder = isinstance(source, str | os.PathLike) and is_folder(source)
    if others and not folder and not knows_persons(corpus):
        told = ParameterError(
            "Protecting each document. Pass `person=...`, the column that says whose it is, if one person may have "
            "written several; if nobody has, ",
            Proposal("privacy_unit", "document"),
            " says so.",
        )
        warn_caller(CorpusWarning(told))


def rows_of(word_topic: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return topics as rows that sum to 1, from columns of any sum."""
    topic_word = np.ascontiguousarray(word_topic.T)
    return topic_word / topic_word.sum(1, keepdims=True)
