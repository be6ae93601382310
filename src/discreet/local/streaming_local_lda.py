"""StreamingLocalLDA: topics of a stream of reports, from their moments.

Everything is post-processing of the reports, so the promise is the channel's; a public set of documents that comes
first is read as it is. Formulas: :mod:`discreet.lda.moments.moments`.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from discreet._base.arrays import as_array
from discreet._base.progress import Callback
from discreet._base.validate import CALLBACK, FLAG, RANDOM, THREADS, declared, whole
from discreet.errors import CorpusError, ParameterError
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.moments import Moments
from discreet.local.local_lda import CHANNEL, LocalTopics, bits_in_order, words_of_reports
from discreet.release.release import Release


def _public_moments(public: Any, n_words: int, n_jobs: int | None) -> Moments:
    from discreet.corpus import check_counts

    bits = (check_counts(public, n_words=n_words) > 0).toarray().astype(np.uint8)
    if not len(bits):
        raise CorpusError("the public set must hold at least one document.")
    return Moments(n_words).add_batch(bits, n_jobs=n_jobs)


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
    moments_ : Moments
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

    The topics are, byte for byte, those of ``LocalLDA(refine=False)`` on all reports at once. Where old reports should
    count no more, take them away by ``delete_batch``.
    """

    n_topics: Annotated[int, whole()] = 20
    _: KW_ONLY
    channel: Annotated[Channel, CHANNEL]
    public: Any = None
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
        self._take(X, vocabulary, packed, simulated, anew=True)
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
        self._take(X, vocabulary, packed, simulated, anew=not hasattr(self, "_moments"))
        return self._refitted()

    def delete_batch(self, X: Any, *, packed: bool = False) -> "StreamingLocalLDA":
        """Take a batch away again, as if it had never come.

        Parameters
        ----------
        X : array or sparse matrix
            The same reports.
        packed : bool, default False
        """
        check_is_fitted(self, "n_features_in_")
        rows = X if packed else bits_in_order(X, self._words)
        self._check_channel()
        self._moments.subtract_batch(rows, packed=packed, n_jobs=self.n_jobs)
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
        return self.moments_.n

    @property
    def moments_(self) -> Moments:
        """Moments of the reports so far."""
        check_is_fitted(self, "n_features_in_")
        return self._moments

    @property
    def release_(self) -> Release:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Topics, with the promise of one report."""
        check_is_fitted(self, "n_features_in_")
        if isinstance(self._made, Release):
            return self._made
        if self._made is None:
            raise NotFittedError("these reports have no topics yet; call update().")
        raise ParameterError(*self._made.args)

    def _take(self, X: Any, vocabulary: Any, packed: bool, simulated: bool, *, anew: bool) -> None:
        """Add a batch to the stream, or begin one; where anything is wrong, all stays as it is."""
        self._check_parameters()
        if not anew and vocabulary is None:
            vocabulary = self._words
            shape = X.shape if hasattr(X, "shape") else as_array(X, "the reports").shape
            if not packed and len(shape) == 2 and shape[1] != len(vocabulary):
                raise CorpusError(
                    f"X has {shape[1]} features, but {type(self).__name__} is expecting {len(vocabulary)} features as "
                    "input: they must agree within a stream."
                )
        rows, words = words_of_reports(X, vocabulary, packed=packed)
        if not anew:
            if words != self._words:
                raise CorpusError(
                    "this batch has other words than the ones before, or another order of them."
                )
            self._check_channel()
        batch = Moments(len(words), channel=self.channel)
        batch.add_batch(rows, packed=packed, n_jobs=self.n_jobs)
        batch.reproducible |= bool(simulated)
        if not anew:
            self._moments.merge(batch)
            return
        public = None if self.public is None else _public_moments(self.public, len(words), self.n_jobs)
        self._public, self._seed = public, new_seed(self.random_state)
        self._moments, self._words, self.n_features_in_, self._made = batch, words, len(words), None

    def _check_channel(self) -> None:
        """Refuse another channel than that of the reports so far: their writers were told what it promises."""
        then, now = (
            (float(c.p), float(c.q), getattr(c, "limit", None)) for c in (self._moments, self.channel)
        )
        if then != now:
            raise ParameterError(
                "`channel` changed within the stream, but its reports keep the promise of theirs: set it back, or call "
                "fit to start over."
            )

    def _refitted(self) -> "StreamingLocalLDA":
        if self._moments.n == 0:  # all were taken back, and what was learned from them with them
            self._made = ParameterError("there is no report to estimate anything from; add a batch first.")
        elif self.refit:
            try:
                self._update(warn=False)
            except ParameterError as refusal:  # kept for whoever asks for topics
                self._made = refusal
        return self

    def _update(self, *, warn: bool) -> None:
        self._check_channel()
        moments, public = self._moments, self._public
        beside = [] if public is None else [public.estimates()]
        topics = self._learn(moments, self._seed, warn=warn, beside=beside)
        n_public = 0 if public is None else public.n
        self._made: Release | ParameterError | None = self._make_release(
            topics, moments, self._words, False, public_documents=n_public
        )
