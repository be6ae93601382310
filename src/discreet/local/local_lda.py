r"""LocalLDA: topics from reports that were randomised by their writers; and what the local estimators share.

Nothing on the server is private computation: it is post-processing of reports that were randomised by their writers.
So the promise is the channel's, whatever is computed and however often: four losses, which
:mod:`discreet.privacy.bit_channel` defines and proves. The ledger of a release states the loss of the *whole
report* (unit "report", "replace_one"), the only one that speaks of a person; all four stand among the settings.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._base import validate
from discreet._base.arrays import as_array, as_texts, column_words, in_order, known_words, names_of
from discreet._base.progress import Callback
from discreet._base.threads import count_threads
from discreet.corpus.vocabulary import WordOrigin
from discreet.corpus.word_vectors import match_vectors
from discreet.errors import CorpusError, ParameterError
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.learn import Learned, Reports, infer_topics, learn_topics
from discreet.lda.moments.moments import Moments, packed_width, read_bits
from discreet.privacy.accounting import events
from discreet.privacy.bit_channel import BitGuarantees, losses_of_bits
from discreet.privacy.ledger.ledger import Ledger
from discreet.release.numbers import public_settings
from discreet.release.private_estimator import PlannedEstimator
from discreet.release.release import Release, ReleasedTopics

#: Added to what a ledger says of reports from a seed.
SEEDED = ", reproducible, not for release"


def losses(channel: Channel, n_words: int) -> BitGuarantees:
    """Return the losses of a report of ``n_words`` bits; of any channel with p and q, and perhaps a ``limit``."""
    return losses_of_bits(channel.p, channel.q, getattr(channel, "limit", None), n_words)


def ledger_of_reports(loss: float, what: str) -> Ledger:
    """Return a closed ledger that states the loss of one report."""
    ledger = Ledger(max(loss, 1e-9), events.PURE_DELTA, privacy_unit="report", neighboring="replace_one")
    ledger.reserve(events.pure(loss), what)
    return ledger.snapshot()


def _is_channel(value: Any) -> bool:
    try:
        return 0 <= float(value.q) < float(value.p) <= 1
    except (AttributeError, TypeError, ValueError):
        return False


#: Rules of the parameters that all local estimators have.
CHANNEL = validate.Rule(
    "a BitChannel, or anything with numbers p and q, 0 <= q < p <= 1 (a flip f strictly between 0 and 1)",
    _is_channel,
)


def words_of_reports(X: Any, vocabulary: Any, *, packed: bool) -> tuple[Any, tuple[str, ...]]:
    """Return reports with their bits in the order of the words, and the word of each bit.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Where columns have names and ``vocabulary`` is given, they are put in its order.
    vocabulary : sequence of str, optional
        By default the names of the columns, or numbers.
    packed : bool
    """
    shape = X.shape if hasattr(X, "shape") else as_array(X, "the reports").shape
    if len(shape) != 2:
        raise CorpusError(f"reports must be rows of bits, but have shape {tuple(shape)}.")
    if shape[1] == 0:
        raise CorpusError(f"0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    if vocabulary is None:
        if packed:
            raise CorpusError("packed reports do not tell how many words they have; pass vocabulary=.")
        vocabulary = names_of(X) or column_words(shape[1])
    words = as_texts(vocabulary, "the vocabulary")
    width = packed_width(len(words)) if packed else len(words)
    if width != shape[1]:
        raise CorpusError(
            f"the vocabulary has {len(words)} words, but the reports have {shape[1]} "
            f"{'bytes' if packed else 'bits'}; they must agree."
        )
    if len(set(words)) != len(words):
        raise CorpusError("the words of the vocabulary must be distinct, but some are repeated.")
    return X if packed else bits_in_order(X, words), words


def bits_in_order(X: Any, words: tuple[str, ...]) -> Any:
    """Return reports with their bits in the order of a model's words, by name where they have names."""
    return in_order(X, known_words(words), "reports", "make reports with its words")


_ADVICE = (
    "Collect more reports, promise less (a larger epsilon), or let a shuffler or secure aggregation stand between "
    "writers and server;"
)


class LocalTopics(PlannedEstimator, ReleasedTopics):
    """Base of the local estimators: fitting, and what can be done once ``release_`` and ``unigram_`` are there."""

    n_topics: int
    channel: Channel
    allow_unlearnable: bool
    callback: Callback | None
    unigram_: NDArray[np.float64]

    def planned_event(self, n_words: int | None = None) -> events.Event:
        """Return the event of one whole report, which the release will state.

        Writers have paid it by the time they report: fitting costs nothing more, however often it is done.

        Parameters
        ----------
        n_words : int, optional
            Words of the vocabulary; can be left out where the channel keeps so many words of a document, its ``limit``.

        Returns
        -------
        event
            As made by :mod:`discreet.privacy.events`; unit "report", "replace_one".

        Raises
        ------
        ParameterError
            Naming all parameters that are out of range.
        """
        rules = validate.rules(n_words=validate.optional(validate.whole()))
        validate.refuse([*self._faults(), *validate.faults_of({"n_words": n_words}, rules)])
        limit = getattr(self.channel, "limit", None)
        if n_words is None and limit is not None:
            n_words = 2 * int(limit)  # from here on, what a document may keep is what counts
        if n_words is None:
            raise ParameterError(
                "this channel sends a bit for each word, so that a report costs more the more words there are; pass "
                "`n_words`."
            )
        return events.pure(losses(self.channel, n_words).whole_report)

    def transform_reports(self, X: Any, *, packed: bool = False) -> NDArray[np.float64]:
        """Return the topic shares that randomised reports suggest, the channel taken into account.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Reports, as for :meth:`fit`; where columns have names, in any order.
        packed : bool, default False

        Returns
        -------
        array of shape (n_reports, n_topics), rows sum to 1
            Where noise is high, close to the topics' overall weights. Post-processing of the reports.
        """
        check_is_fitted(self, "n_features_in_")
        rows = X if packed else bits_in_order(X, self.release_.vocabulary)
        blocks = read_bits(rows, self.n_features_in_, packed=packed, block=2048)
        weight = self.release_.topic_weight
        assert weight is not None
        return infer_topics(
            blocks,
            self.components_,
            weight,
            self.unigram_,
            self.channel,
            n_threads=count_threads(self.n_jobs),
        )

    @abstractmethod
    def fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> Self:
        """Fit topics to reports."""

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> NDArray[np.float64]:
        """Fit to reports, and return the topic shares that the same reports suggest (not ``transform``)."""
        self.fit(X, y, vocabulary=vocabulary, packed=packed, simulated=simulated)
        return self.transform_reports(X, packed=packed)

    def _learn(self, moments: Moments, seed: int, *, warn: bool = True, **more: Any) -> Learned:
        """Return topics; ``more`` as for :func:`~discreet.lda.moments.learn.learn_topics`."""
        topics = learn_topics(
            moments.estimates(),
            self.n_topics,
            seed,
            what=f"{moments.n:,} reports through this channel",
            advice=_ADVICE,
            allow_unlearnable=self.allow_unlearnable,
            warn=warn,
            n_threads=count_threads(self.n_jobs),
            callback=self.callback,
            **more,
        )
        self.learnable_, self.unigram_ = topics.learnable, topics.unigram
        return topics

    def _make_release(
        self, topics: Learned, moments: Moments, words: tuple[str, ...], simulated: bool, **settings: Any
    ) -> Release:
        """Put topics and the promise of the channel into a release.

        The number of reports stands among the settings: it is exact, whoever collected them knows it, and the promise,
        which is about what a report says, leaves it as it is. So it is no ``n_units_noisy``.
        """
        channel, found = self.channel, losses(self.channel, len(words))
        simulated = simulated or moments.reproducible or bool(getattr(channel, "reproducible", False))
        public = public_settings(
            type(self).__name__,
            "local, moments",
            n_topics=self.n_topics,
            p=float(channel.p),
            q=float(channel.q),
            n_reports=moments.n,
            **WordOrigin.public("the channel, whose writers all have the list").settings(),
            epsilon_one_word_added_or_removed=found.word_added_or_removed,
            epsilon_one_word_replaced=found.word_replaced,
            epsilon_whole_report_replaced=found.whole_report,
            words_kept_of_a_document=found.document_words,
            learnable=topics.learnable,
            **settings,
        )
        what = f"bits randomised by each writer (p = {float(channel.p):.6g}, q = {float(channel.q):.6g}"
        return Release(
            topics.topic_word / topics.topic_word.sum(1, keepdims=True),
            words,
            ledger_of_reports(found.whole_report, f"{what}{SEEDED if simulated else ''})"),
            public,
            simulated,
            topics.topic_weight / topics.topic_weight.sum(),
        )


_REFINE = validate.Rule(
    '"auto", True or False', lambda value: validate.FLAG.holds(value) or validate.choice("auto").holds(value)
)


@validate.declared
@dataclass(eq=False, repr=False)
class LocalLDA(LocalTopics):
    r"""Topics of texts that nobody but their writers ever saw: only randomised reports of their words.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    channel : BitChannel
        How each bit was randomised: anything with P(1 | present) ``p`` and P(1 | absent) ``q``.
    refine : {"auto", True, False}, default "auto"
        Whether to pass over the reports again with the channel in the model. "auto": where noise is low
        (q (1 - q) / (p - q)^2 up to .06) and there are at most 50,000 reports.
    word_vectors : path, mapping, KeyedVectors, array or (words, array), optional
        *Public* vectors of the words (see :func:`discreet.corpus.match_vectors`): topics are expected to be made of
        words that mean something together. They are used where they know, far above chance, which words go together in
        the reports; elsewhere topics are those without them. They cost no privacy, and must not have been trained on
        the private texts.
    allow_unlearnable : bool, default False
        Fit even where the reports let no topic through the noise.
    random_state : int, Generator or None
        Of the starting point. It has nothing to do with privacy: the noise is in the reports already.
    n_jobs : int, optional
        Threads. The result is the same bytes for any number.
    callback : callable, optional
        ``callback(stage, done, total)``.

    Attributes
    ----------
    release_ : Release
        Topics, with the promise of one report.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    learnable_ : int
        How many topics the noise lets through; see :mod:`discreet.lda.moments.estimates`.
    unigram_ : array of shape (n_words,)
        Estimated share of documents that have each word.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.

    Notes
    -----
    *Guarantee*: that of the channel, for each report, whatever the server does. ``release_`` states it for a whole
    report and lists what it means for one word. A writer who sends reports of several documents pays for each.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> rng = np.random.default_rng(0)
    >>> own = np.arange(30) // 10 == rng.integers(3, size=(9000, 1))  # each text has ten words of its own
    >>> present = rng.random((9000, 30)) < np.where(own, 0.4, 0.02)
    >>> channel = SimpleNamespace(p=0.9, q=0.1)
    >>> reports = rng.random((9000, 30)) < np.where(present, 0.9, 0.1)
    >>> model = LocalLDA(2, channel=channel, random_state=0).fit(reports)
    >>> model.learnable_, model.components_.shape
    (2, (2, 30))
    """

    n_topics: Annotated[int, validate.whole()] = 20
    _: KW_ONLY
    channel: Annotated[Channel, CHANNEL]
    refine: Annotated[bool | Literal["auto"], _REFINE] = "auto"
    word_vectors: Annotated[Any, validate.ANYTHING] = None
    allow_unlearnable: Annotated[bool, validate.FLAG] = False
    random_state: Annotated[Any, validate.RANDOM] = None
    n_jobs: Annotated[int | None, validate.THREADS] = None
    callback: Annotated[Callback | None, validate.CALLBACK] = None

    def fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> LocalLDA:
        """Fit topics to reports.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_reports, n_words) of 0 and 1
            Or, where ``packed``, uint8 of shape (n_reports, ceil(n_words / 8)), the first word in the lowest bit.
        y : None
            Ignored.
        vocabulary : sequence of str of length n_words, optional
            The public word of each bit; needed where ``packed``.
        packed : bool, default False
        simulated : bool, default False
            Say that the reports were drawn from a seed: then the release is marked as not for release.

        Raises
        ------
        ParameterError
            Names all parameters that are out of range; or says that there is nothing to learn.
        CorpusError
            Where X is not what was expected.
        """
        self._check_parameters()
        rows, words = words_of_reports(X, vocabulary, packed=packed)
        moments = Moments(len(words), channel=self.channel).add_batch(rows, packed=packed, n_jobs=self.n_jobs)

        def blocks(size: int) -> Any:
            return read_bits(rows, len(words), packed=packed, block=size)

        refine: Any = self.refine
        reports = Reports(blocks, self.channel, moments.n, refine)
        return self._fit_found(moments, reports, words, simulated)

    def fit_moments(self, moments: Moments, *, vocabulary: Any = None, simulated: bool = False) -> LocalLDA:
        """Fit topics to moments of reports that are kept no more; without refining.

        Parameters
        ----------
        moments : Moments
            Of this estimator's channel.
        vocabulary, simulated
            As for :meth:`fit`.
        """
        self._check_parameters()
        if self.refine is True:
            raise ParameterError('fit_moments has no reports to look at: take `refine`="auto" or False.')
        expected = Moments(moments.n_words, channel=self.channel, max_bytes=moments.max_bytes)
        if not expected.same_reports(moments):
            raise ParameterError(
                f"expected {expected.of_what()} (this channel's), but got {moments.of_what()}."
            )
        _, words = words_of_reports(np.zeros((0, moments.n_words)), vocabulary, packed=False)
        return self._fit_found(moments, None, words, simulated or moments.reproducible)

    def _fit_found(
        self, moments: Moments, reports: Reports | None, words: tuple[str, ...], simulated: bool
    ) -> LocalLDA:
        found = None if self.word_vectors is None else match_vectors(self.word_vectors, words)
        vectors = None if found is None else found.vectors
        topics = self._learn(moments, new_seed(self.random_state), vectors=vectors, reports=reports)
        settings: dict[str, Any] = {"refined": topics.refined}
        if found is not None:
            settings |= topics.said_of_vectors(found.name, found.settings())
        self.n_features_in_ = len(words)
        self.release_ = self._make_release(topics, moments, words, simulated, **settings)
        return self
