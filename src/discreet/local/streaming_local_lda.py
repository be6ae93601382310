"""StreamingLocalLDA: topics of a stream of reports, from their moments.

Everything is post-processing of the reports, so the promise is the channel's; a public set of documents that comes
first is read as it is. Formulas: :mod:`discreet.lda.moments.moments`.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from discreet._base.arrays import as_array
from discreet._base.progress import Callback
from discreet._base.validate import (
    CALLBACK,
    FLAG,
    RANDOM,
    THREADS,
    declared,
    number,
    shown,
    whole,
)
from discreet.errors import CorpusError, Parameter, ParameterError
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.moments.estimates import Channel, Estimates, estimates
from discreet.lda.moments.moments import Moments
from discreet.local.local_lda import CHANNEL, LocalTopics, bits_in_order, make_release, words_of_reports
from discreet.release.release import Release


class DiscountedMoments:
    r"""Moments of a stream that forget: each batch weighs less than the next by a factor.

    Kept are the weighted sums of reports, of their bits and of their pairs, with weights :math:`\gamma^a` for a batch
    of which a batches came after, and :math:`\sum w` and :math:`\sum w^2` over reports. The estimates are those of
    :mod:`discreet.lda.moments.moments` (weights cancel); their variances are those of
    :math:`(\sum w)^2 / \sum w^2` reports. With :math:`\gamma = 1` use plain moments, which are exact.

    Parameters
    ----------
    like : Moments
        Whose channel, number of words and limit of memory to take over.
    forgetting : float
        gamma, above 0 and at most 1.
    """

    def __init__(self, like: Moments, forgetting: float) -> None:
        self.forgetting = float(forgetting)
        self.p, self.q = like.p, like.q
        self.n = 0
        self.weight = self.square = 0.0
        self.first = np.zeros(like.n_words)
        self.second = np.zeros((like.n_words, like.n_words))

    def merge(self, batch: Moments) -> "DiscountedMoments":
        """Let what came before fade by one batch, then add the new one."""
        self.first *= self.forgetting
        self.second *= self.forgetting
        self.weight *= self.forgetting
        self.square *= self.forgetting**2
        self._add(batch, 1.0)
        self.n += batch.n
        return self

    def subtract(self, batch: Moments, age: int) -> "DiscountedMoments":
        """Take away a batch after which ``age`` batches came; exact up to rounding."""
        if not whole(0).holds(age):
            raise ParameterError(
                f"age must say how many batches came after the one to delete (0, 1, ...), but is {shown(age)}."
            )
        weight = self.forgetting ** int(age)
        left = self.second - weight * batch.second
        if batch.n > self.n or left.min() < -1e-6 * max(1.0, self.weight):
            raise CorpusError("these reports were not part of the moments at that age.")
        self._add(batch, -weight)
        self.second = np.maximum(self.second, 0.0)
        self.first = np.maximum(self.first, 0.0)
        self.n -= batch.n
        return self

    def _add(self, batch: Moments, weight: float) -> None:
        self.first += weight * batch.first
        self.second += weight * batch.second
        self.weight += weight * batch.n
        self.square += weight * abs(weight) * batch.n

    def estimates(self) -> Estimates:
        """Return unbiased rates, with the effective number of reports."""
        if self.n == 0:
            raise CorpusError("there is no report to estimate anything from; add a batch first.")
        found = estimates(self.weight, self.first, self.second, self)
        effective = self.weight**2 / self.square
        return Estimates(found.rates, found.pairs, found.noise, effective, found.slope, found.contrast)


@dataclass
class ReportStream:
    """Everything so far.

    Attributes
    ----------
    words : tuple of str
    channel : Channel
        Of all reports: the promise of a release is about the first batch as much as about the last.
    seed : int
        Of the topics' starting point.
    moments : Moments or DiscountedMoments
        Of the reports.
    public : Moments, optional
        Of the public documents.
    simulated : bool
        Whether a batch was said to be drawn from a seed.
    """

    words: tuple[str, ...]
    channel: Channel
    seed: int
    moments: Moments | DiscountedMoments
    public: Moments | None = None
    simulated: bool = False

    @classmethod
    def begin(cls, model: Any, words: tuple[str, ...]) -> "ReportStream":
        """Return a stream without reports, with the parameters of an estimator."""
        moments = Moments(len(words), channel=model.channel)
        fading = moments if model.forgetting == 1 else DiscountedMoments(moments, model.forgetting)
        public = None
        if model.public is not None:
            bits = _public_bits(model.public, len(words))
            public = Moments(len(words)).add_batch(bits, n_jobs=model.n_jobs)
        return cls(words, model.channel, new_seed(model.random_state), fading, public)

    def check_channel(self, model: Any) -> None:
        """Refuse another channel than that of the reports so far: their writers were told what it promises."""
        then, now = ((c.p, c.q, getattr(c, "limit", None)) for c in (self.channel, model.channel))
        if then != now:
            raise ParameterError(
                *(
                    Parameter("channel"),
                    " changed within the stream, but its reports keep the promise of theirs: set it back, ",
                ),
                "or call fit to start over.",
            )


def _moments_of(X: Any, model: Any, n_words: int, packed: bool) -> Moments:
    return Moments(n_words, channel=model.channel).add_batch(X, packed=packed, n_jobs=model.n_jobs)


def _public_bits(public: Any, n_words: int) -> NDArray[np.uint8]:
    from discreet.corpus import check_counts

    bits = (check_counts(public, n_words=n_words) > 0).toarray().astype(np.uint8)
    if not len(bits):
        raise CorpusError("the public set must hold at least one document.")
    return bits


@declared
@dataclass(eq=False, repr=False)
class StreamingLocalLDA(LocalTopics):
    r"""Topics of reports that come in batches, in bounded memory.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    channel : BitChannel
        How each bit was randomised.
    public : array-like, sparse matrix or Corpus of shape (n_documents, n_words), optional
        A first set of documents that **are public**; counts or bits.
    forgetting : float, default 1.0
        Weight of what came before, relative to a new batch. At 1 everything counts the same and sums are
        exact.
    refit : bool, default True
        Whether ``partial_fit`` and ``delete_batch`` fit the topics anew. That takes as long whatever the size
        of the batch (about a second for 20 topics of 1,000 words): with many small batches set it to False, and
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
        How many topics the noise lets through.
    unigram_ : array of shape (n_words,)
        Estimated share of documents that have each word.
    moments_ : Moments or DiscountedMoments
        Moments of the reports so far.
    n_reports_ : int
        Reports taken in, less those deleted. Those that the topics rest on: ``release_.configuration["n_reports"]``.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : array of str of shape (n_words,)
        The words of the columns, where somebody named them.

    Notes
    -----
    *Guarantee*: that of the channel, for each report. Memory: 8 n_words^2 bytes (twice that while a batch
    comes in, and once more for a public set).

    A stream begins with few reports. So ``partial_fit`` takes them in without refusing or warning, however little
    can be learned from them; ``fit`` and ``update`` refuse and warn like :class:`~discreet.local.LocalLDA`.

    With ``forgetting=1`` the topics are, byte for byte, those of ``LocalLDA(refine=False)`` on all reports at once.
    """

    n_topics: Annotated[int, whole()] = 20
    _: KW_ONLY
    channel: Annotated[Channel, CHANNEL]
    public: Any = None
    forgetting: Annotated[float, number(above=0, most=1)] = 1.0
    refit: Annotated[bool, FLAG] = True
    allow_unlearnable: Annotated[bool, FLAG] = False
    random_state: Annotated[Any, RANDOM] = None
    n_jobs: Annotated[int | None, THREADS] = None
    callback: Annotated[Callback | None, CALLBACK] = None

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
        """Take a batch away again, as if it had never come.

        Parameters
        ----------
        X : array or sparse matrix
            The same reports.
        packed : bool, default False
        age : int, default 0
            With ``forgetting`` below 1: how many batches came after it.
        """
        check_is_fitted(self, "n_features_in_")
        stream = self._stream
        rows = X if packed else bits_in_order(X, stream.words)
        stream.check_channel(self)
        batch = _moments_of(rows, self, len(stream.words), packed)
        if isinstance(stream.moments, DiscountedMoments):
            stream.moments.subtract(batch, age)
        else:
            stream.moments.subtract(batch)
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
        return self._stream.moments.n

    @property
    def moments_(self) -> Moments | DiscountedMoments:
        """Moments of the reports so far."""
        check_is_fitted(self, "n_features_in_")
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
        if stream is not None:
            if words != stream.words:
                raise CorpusError(
                    "this batch has other words than the ones before, or another order of them."
                )
            stream.check_channel(self)
        batch = _moments_of(rows, self, len(words), packed)
        taken = ReportStream.begin(self, words) if stream is None else stream
        taken.moments.merge(batch)
        taken.simulated |= bool(simulated) or bool(getattr(self.channel, "reproducible", False))
        if taken is not stream:
            self._stream, self.n_features_in_, self._made = taken, len(words), None

    def _refitted(self) -> "StreamingLocalLDA":
        if self._stream.moments.n == 0:  # all were taken back, and what was learned from them with them
            self._made = ParameterError("there is no report to estimate anything from; add a batch first.")
        elif self.refit:
            try:
                self._update(warn=False)
            except ParameterError as refusal:  # kept for whoever asks for topics
                self._made = refusal
        return self

    def _update(self, *, warn: bool) -> None:
        stream = self._stream
        stream.check_channel(self)
        beside = [] if stream.public is None else [stream.public.estimates()]
        n_reports, found = stream.moments.n, stream.moments.estimates()
        topics = self._learn(found, n_reports, stream.seed, beside=beside, warn=warn)
        self.learnable_, self.unigram_ = topics.learnable, topics.unigram
        settings = {
            "learnable": topics.learnable,
            "forgetting": self.forgetting,
            "public_documents": self._public_size(),
        }
        shares = topics.topic_word, topics.topic_weight
        self._made: Release | ParameterError | None = make_release(
            self, *shares, stream.words, n_reports, settings, simulated=stream.simulated
        )

    def _public_size(self) -> int:
        return 0 if self.public is None else int(np.shape(getattr(self.public, "counts", self.public))[0])
