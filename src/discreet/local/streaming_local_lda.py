"""StreamingLocalLDA: topics of a stream of reports, exact (moments) or as OLP-LDA was published. A shell.

Everything is post-processing of the reports, so the promise is the channel's; a public set of documents that comes
first is read as it is. Formulas: :mod:`discreet.lda.moments.moments`, :mod:`discreet.local.olp_lda`.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet._progress import Callback, tell
from discreet._threads import count_threads
from discreet.errors import CorpusError, ParameterError
from discreet.lda.gibbs.counter_stream import new_seed
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.fit import fit_topics
from discreet.lda.moments.marchenko_pastur import learnable
from discreet.lda.moments.moments import Moments, read_bits
from discreet.local import olp_lda as prior_stream
from discreet.local.base import LocalTopics, make_release, warn_or_refuse
from discreet.local.checks import check_settings, check_words
from discreet.local.discounted_moments import FadingMoments
from discreet.release.record import Release

__all__ = ["StreamingLocalLDA"]


class StreamingLocalLDA(LocalTopics):
    r"""Topics of reports that come in batches, in bounded memory.

    Parameters
    ----------
    n_topics : int
    channel : BitChannel
        How each bit was randomised.
    inference : {"moments", "reconstruct"}, default "moments"
        "moments": keep moments, and fit topics to them whenever asked. "reconstruct": OLP-LDA as published.
    public : array-like, sparse matrix or Corpus of shape (n_documents, n_words), optional
        A first set of documents that **are public**; counts or bits. OLP-LDA needs one.
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
    allow_unlearnable, random_state, n_jobs, callback
        As for :class:`~discreet.local.LocalLDA`. With moments, ``random_state`` must be None or an int.

    Attributes
    ----------
    release_ : Release
        Topics of everything so far; made when asked for, and again after more reports.
    components_ : array of shape (n_topics, n_words)
    n_reports_ : int
        Reports taken in, less those deleted.
    n_features_in_ : int

    Notes
    -----
    *Guarantee*: that of the channel, for each report. Memory: "moments" 8 n_words^2 bytes (twice that while a batch
    comes in, and once more for a public set); "reconstruct" some 8 n_topics n_words bytes and the batch.

    With ``forgetting=1`` the topics are, byte for byte, those of ``LocalLDA(refine=False)`` on all reports at once.
    """

    def __init__(
        self,
        n_topics: int,
        *,
        channel: Channel,
        inference: Literal["moments", "reconstruct"] = "moments",
        public: Any = None,
        forgetting: float = 1.0,
        learning_rate: float = 0.5,
        prior_weight: float = 0.4,
        count_deviation: float | None = None,
        doc_topic_prior: float = 1.0,
        topic_word_prior: float = 0.01,
        n_sweeps: int = 100,
        allow_unlearnable: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.channel = channel
        self.inference = inference
        self.public = public
        self.forgetting = forgetting
        self.learning_rate = learning_rate
        self.prior_weight = prior_weight
        self.count_deviation = count_deviation
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_sweeps = n_sweeps
        self.allow_unlearnable = allow_unlearnable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def fit(self, X: Any, y: Any = None, **how: Any) -> "StreamingLocalLDA":
        """Forget everything, then take in one batch; parameters as for :meth:`partial_fit`."""
        for name in [name for name in vars(self) if name.endswith("_") or name.startswith("_")]:
            delattr(self, name)
        return self.partial_fit(X, y, **how)

    def partial_fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, packed: bool = False, simulated: bool = False
    ) -> "StreamingLocalLDA":
        """Take in a batch of reports.

        Parameters
        ----------
        X, vocabulary, packed, simulated
            As for :meth:`LocalLDA.fit`. The vocabulary is needed once.

        Raises
        ------
        ParameterError, CorpusError
            Before anything is taken in.
        """
        check_settings(self)
        fresh = not hasattr(self, "n_features_in_")
        if vocabulary is None and not fresh:
            vocabulary = self._words
        words = check_words(X, vocabulary, packed=packed)
        if not fresh and words != self._words:
            raise CorpusError("this batch has other words than the ones before, or another order of them.")
        if self.inference == "moments":
            batch = Moments(len(words), channel=self.channel)
            batch.add_batch(X, packed=packed, n_jobs=self.n_jobs)
            if fresh:
                self._begin(words)
            self._moments.merge(batch)
            n_reports = batch.n
        else:
            rows = np.concatenate(
                [*read_bits(X, len(words), packed=packed), np.zeros((0, len(words)), np.uint8)]
            )
            if not len(rows):
                raise CorpusError("a batch must hold at least one report.")
            if fresh:
                self._begin(words)
            self._state = prior_stream.step(self._state, rows, self._settings(), self._rng)
            n_reports = len(rows)
        self.n_reports_ += n_reports
        self._simulated = self._simulated or bool(simulated)
        self._release = None
        return self

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
        if self.inference != "moments":
            raise ParameterError(
                'only inference="moments" can take a batch away again: start the stream anew.'
            )
        batch = Moments(len(self._words), channel=self.channel)
        batch.add_batch(X, packed=packed, n_jobs=self.n_jobs)
        if isinstance(self._moments, FadingMoments):
            self._moments.subtract(batch, age)
        else:
            self._moments.subtract(batch)
        self.n_reports_ -= batch.n
        self._release = None
        return self

    @property
    def moments_(self) -> Moments | FadingMoments:
        """Moments of the reports so far (moments only)."""
        check_is_fitted(self, "n_features_in_")
        if self.inference != "moments":
            raise AttributeError('moments are kept by inference="moments" only.')
        return self._moments

    @property
    def release_(self) -> Release:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Topics of everything so far, with the promise of one report."""
        check_is_fitted(self, "n_features_in_")
        if self._release is None:
            self._release = self._made()
        return self._release

    @property
    def unigram_(self) -> NDArray[np.float64]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Estimated share of documents that have each word."""
        _ = self.release_
        return self._unigram

    def _begin(self, words: tuple[str, ...]) -> None:
        public = self._public_bits(len(words))
        self._seed = new_seed(self.random_state)
        self._rng = np.random.default_rng(self._seed)
        self._public = None
        if self.inference == "moments":
            plain = Moments(len(words), channel=self.channel)
            self._moments = plain if self.forgetting == 1 else FadingMoments(plain, self.forgetting)
            if public is not None:
                self._public = Moments(len(words)).add_batch(public, n_jobs=self.n_jobs)
        elif public is None:
            raise ParameterError(
                'inference="reconstruct" (OLP-LDA) starts from public documents; pass public=.'
            )
        else:
            self._state = prior_stream.init(public, self._settings(), self._seed)
        self._words, self._simulated, self._release, self.n_reports_ = words, False, None, 0
        self.n_features_in_ = len(words)

    def _public_bits(self, n_words: int) -> NDArray[np.uint8] | None:
        if self.public is None:
            return None
        from discreet.corpus import check_counts

        bits = (check_counts(self.public, n_words=n_words) > 0).toarray().astype(np.uint8)
        if not len(bits):
            raise CorpusError("the public set must hold at least one document.")
        return bits

    def _settings(self) -> prior_stream.Settings:
        return prior_stream.Settings(
            self.channel,
            self.n_topics,
            self.doc_topic_prior,
            self.topic_word_prior,
            self.learning_rate,
            self.prior_weight,
            self.count_deviation,
            self.n_sweeps,
            count_threads(self.n_jobs),
        )

    def _made(self) -> Release:
        check_settings(self)
        names = ["forgetting"]
        if self.inference == "reconstruct":
            names = ["learning_rate", "prior_weight", "doc_topic_prior", "topic_word_prior", "n_sweeps"]
            topic_word, weight = self._state.topic_word, self._state.topic_weight
            self._unigram = self._state.rates
        else:
            sources = [self._moments.estimates()]
            found = learnable(sources[0])
            tell(self.callback, "learnable topics", found, self.n_topics)
            if self._public is None:
                warn_or_refuse(found, self.n_topics, allow=self.allow_unlearnable, n_reports=self.n_reports_)
            else:
                sources.append(self._public.estimates())
            topics = fit_topics(sources, self.n_topics, self._seed, callback=self.callback)
            topic_word, weight, self._unigram = topics.topic_word, topics.topic_weight, topics.unigram
        settings: dict[str, Any] = {name: getattr(self, name) for name in names}
        settings["public_documents"] = self._public_size()
        return make_release(
            self, topic_word, weight, self._words, self.n_reports_, settings, simulated=self._simulated
        )

    def _public_size(self) -> int:
        return 0 if self.public is None else int(np.shape(getattr(self.public, "counts", self.public))[0])
