"""StreamingLocalLDA: topics of a stream of reports, exact (moments) or as OLP-LDA was published. A shell.

Everything is post-processing of the reports, so the promise is the channel's; a public set of documents that comes
first is read as it is. Formulas: :mod:`discreet.lda.moments.moments`, :mod:`discreet.local.olp_lda`.
"""

from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from discreet._numbers import as_array
from discreet._progress import Callback
from discreet._validate import FLAG, formerly, number, optional, rules
from discreet.errors import CorpusError, ParameterError
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.moments import Moments
from discreet.local import report_stream
from discreet.local.arguments import SHARED, bits_in_order, words_of_reports
from discreet.local.base import LocalTopics, make_release
from discreet.local.discounted_moments import DiscountedMoments
from discreet.local.report_stream import ReportStream
from discreet.release.record import Release

__all__ = ["StreamingLocalLDA"]


class StreamingLocalLDA(LocalTopics):
    r"""Topics of reports that come in batches, in bounded memory.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    channel : BitChannel
        How each bit was randomised.
    algorithm : {"moments", "reconstruct"}, default "moments"
        "moments": keep moments, and fit topics to them. "reconstruct": OLP-LDA as published.
    public : array-like, sparse matrix or Corpus of shape (n_documents, n_words), optional
        A first set of documents that **are public**; counts or bits. Without one OLP-LDA starts from the
        first batch.
    forgetting : float, default 1.0
        Moments: weight of what came before, relative to a new batch. At 1 everything counts the same and sums are
        exact.
    learning_rate : float, default 0.5
        OLP-LDA: lambda, how much of a batch's counts the next batch starts from.
    prior_weight : float, default 0.4
        OLP-LDA: omega, how much the earlier batches' word rates count against the batch's own, from 0 to 1.
    count_deviation : float, optional
        OLP-LDA: sigma, how far a word's count in a batch may lie from its mean; then omega follows from it.
    doc_topic_prior, topic_word_prior : float, default 1.0 and 0.01
        OLP-LDA: alpha and the first beta.
    n_sweeps : int, default 100
        OLP-LDA: Gibbs sweeps over each batch.
    refit : bool, default True
        Whether ``partial_fit`` and ``delete_batch`` fit the topics anew. With moments that takes as long whatever the
        size of the batch (about a second for 20 topics of 1,000 words): with many small batches set it to False, and
        call ``update`` when topics are wanted.
    allow_unlearnable, random_state, n_jobs, callback
        As for :class:`~discreet.local.LocalLDA`.

    Attributes
    ----------
    release_ : Release
        Topics of everything up to the last ``fit``, ``update`` or, with ``refit``, ``partial_fit``. Looking at it
        computes nothing. Where the reports let nothing through yet, it raises the ``ParameterError`` that says so.
    topic_word_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    components_ : array of shape (n_topics, n_words)
        The same, under scikit-learn's name.
    learnable_ : int
        How many topics the noise lets through (moments only).
    unigram_ : array of shape (n_words,)
        Estimated share of documents that have each word.
    moments_ : Moments or DiscountedMoments
        Moments of the reports so far (moments only).
    n_reports_ : int
        Reports taken in, less those deleted. Those that the topics rest on: ``release_.configuration["n_reports"]``.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.

    Notes
    -----
    *Guarantee*: that of the channel, for each report. Memory: "moments" 8 n_words^2 bytes (twice that while a batch
    comes in, and once more for a public set); "reconstruct" some 8 n_topics n_words bytes and the batch.

    A stream begins with few reports. So ``partial_fit`` takes them in without refusing or warning, however little
    can be learned from them; ``fit`` and ``update`` refuse and warn like :class:`~discreet.local.LocalLDA`.

    With ``forgetting=1`` the topics are, byte for byte, those of ``LocalLDA(refine=False)`` on all reports at once.
    """

    _constraints = rules(
        SHARED,
        forgetting=number(above=0, most=1),
        learning_rate=number(above=0, most=1),
        prior_weight=number(least=0, most=1),
        count_deviation=optional(number(above=0)),
        refit=FLAG,
    )

    @formerly(inference="algorithm")
    def __init__(
        self,
        n_topics: int = 20,
        *,
        channel: Channel,
        algorithm: Literal["moments", "reconstruct"] = "moments",
        public: Any = None,
        forgetting: float = 1.0,
        learning_rate: float = 0.5,
        prior_weight: float = 0.4,
        count_deviation: float | None = None,
        doc_topic_prior: float = 1.0,
        topic_word_prior: float = 0.01,
        n_sweeps: int = 100,
        refit: bool = True,
        allow_unlearnable: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.channel = channel
        self.algorithm = algorithm
        self.public = public
        self.forgetting = forgetting
        self.learning_rate = learning_rate
        self.prior_weight = prior_weight
        self.count_deviation = count_deviation
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_sweeps = n_sweeps
        self.refit = refit
        self.allow_unlearnable = allow_unlearnable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> "StreamingLocalLDA":
        """Forget everything, take in one batch, and fit topics; parameters as for :meth:`partial_fit`.

        Raises
        ------
        ParameterError
            Also where there is nothing to learn; the batch is taken in then.
        """
        self._take(X, None, vocabulary, packed, simulated)
        return self.update()

    def partial_fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> "StreamingLocalLDA":
        """Take in a batch of reports, and fit topics to all so far unless ``refit`` is False.

        Parameters
        ----------
        X, vocabulary, packed, simulated
            As for :meth:`LocalLDA.fit`. The vocabulary is needed once.

        Raises
        ------
        ParameterError, CorpusError
            Before anything is taken in.
        """
        self._take(X, getattr(self, "_stream", None), vocabulary, packed, simulated)
        return self._refitted()

    def delete_batch(self, X: Any, *, packed: bool = False, age: int = 0) -> "StreamingLocalLDA":
        """Take a batch away again, as if it had never come (moments only).

        Parameters
        ----------
        X : array or sparse matrix
            The same reports.
        packed : bool, default False
        age : int, default 0
            With ``forgetting`` below 1: how many batches came after it.
        """
        check_is_fitted(self, "n_features_in_")
        rows = X if packed else bits_in_order(X, self._stream.words)
        report_stream.remove(self._stream, self, rows, packed, age)
        return self._refitted()

    def update(self) -> "StreamingLocalLDA":
        """Fit topics to everything so far.

        Raises
        ------
        ParameterError
            Where there is nothing to learn.
        """
        check_is_fitted(self, "n_features_in_")
        self._check_parameters()
        self._update(warn=True)
        return self

    @property
    def n_reports_(self) -> int:
        """Reports taken in, less those deleted."""
        check_is_fitted(self, "n_features_in_")
        return self._stream.n_reports

    @property
    def moments_(self) -> Moments | DiscountedMoments:
        """Moments of the reports so far (moments only)."""
        check_is_fitted(self, "n_features_in_")
        if self._stream.moments is None:
            raise AttributeError('moments are kept by algorithm="moments" only.')
        return self._stream.moments

    @property
    def release_(self) -> Release:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Topics, with the promise of one report."""
        check_is_fitted(self, "n_features_in_")
        if isinstance(self._made, Release):
            return self._made
        if self._made is None:
            raise NotFittedError("these reports have no topics yet; call update().")
        raise ParameterError(*self._made.args)

    def _take(
        self, X: Any, stream: ReportStream | None, vocabulary: Any, packed: bool, simulated: bool
    ) -> None:
        """Add a batch to a stream, or begin one; where anything is wrong, all stays as it is."""
        self._check_parameters()
        if stream is not None and vocabulary is None:
            vocabulary = stream.words
            shape = X.shape if hasattr(X, "shape") else as_array(X, "the reports").shape
            if not packed and len(shape) == 2 and shape[1] != len(vocabulary):
                raise CorpusError(
                    f"X has {shape[1]} features, but {type(self).__name__} is expecting {len(vocabulary)} features as "
                    "input: they must agree within a stream."
                )
        rows, words = words_of_reports(X, vocabulary, packed=packed)
        taken = report_stream.add(stream, self, rows, words, packed)
        taken.simulated |= bool(simulated)
        if taken is not stream:
            self._stream, self.n_features_in_, self._made = taken, len(words), None

    def _refitted(self) -> "StreamingLocalLDA":
        if self._stream.n_reports == 0:  # all were taken back, and what was learned from them with them
            self._made = ParameterError("there is no report to estimate anything from; add a batch first.")
        elif self.refit:
            try:
                self._update(warn=False)
            except ParameterError as refusal:  # kept for whoever asks for topics
                self._made = refusal
        return self

    def _update(self, *, warn: bool) -> None:
        stream, settings = self._stream, dict[str, Any]()
        report_stream.check_channel(stream, self)
        if stream.state is not None:
            names = ("learning_rate", "prior_weight", "doc_topic_prior", "topic_word_prior", "n_sweeps")
            topic_word, weight = stream.state.topic_word, stream.state.topic_weight
            assert stream.state.rates is not None  # a batch came
            self.unigram_ = stream.state.rates
        else:
            assert stream.moments is not None
            names = ("forgetting",)
            beside = [] if stream.public is None else [stream.public.estimates()]
            found = stream.moments.estimates()
            topics = self._learn(found, stream.n_reports, stream.seed, beside=beside, warn=warn)
            self.learnable_ = topics.learnable
            topic_word, weight, self.unigram_ = topics.topic_word, topics.topic_weight, topics.unigram
            settings["learnable"] = self.learnable_
        settings |= {name: getattr(self, name) for name in names}
        settings["public_documents"] = self._public_size()
        self._made: Release | ParameterError | None = make_release(
            self, topic_word, weight, stream.words, stream.n_reports, settings, simulated=stream.simulated
        )

    def _public_size(self) -> int:
        return 0 if self.public is None else int(np.shape(getattr(self.public, "counts", self.public))[0])
