"""LocalLDA: topics from reports that were randomised by their writers. A shell over lda.moments.

Everything here is post-processing of the reports, so the promise is the channel's (see
:mod:`discreet.local.promise`), whatever is computed and however often.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from discreet._progress import Callback
from discreet._validate import ANYTHING, FLAG, Rule, choice, formerly, rules
from discreet.corpus.words.word_vectors import match_vectors
from discreet.errors import Parameter, ParameterError
from discreet.lda.gibbs.draw import new_seed
from discreet.lda.moments.estimates import Channel
from discreet.lda.moments.learn import Reports
from discreet.lda.moments.moments import Moments, read_bits
from discreet.local.arguments import SHARED, words_of_reports
from discreet.local.base import LocalTopics, make_release
from discreet.local.lp_lda import rebuild

__all__ = ["LocalLDA"]


class LocalLDA(LocalTopics):
    r"""Topics of texts that nobody but their writers ever saw: only randomised reports of their words.

    Parameters
    ----------
    n_topics : int, default 20
        Number of topics, K.
    channel : BitChannel
        How each bit was randomised: anything with P(1 | present) ``p`` and P(1 | absent) ``q``.
    algorithm : {"moments", "reconstruct"}, default "moments"
        "moments": fit unbiased rates of words and pairs of words. "reconstruct": LP-LDA as published, which repairs
        column sums at random and trains by Gibbs sampling as if the bits were true; a baseline.
    refine : {"auto", True, False}, default "auto"
        Whether to pass over the reports again with the channel in the model ("moments" only). "auto": where noise
        is low (q (1 - q) / (p - q)^2 up to .06) and there are at most 50,000 reports.
    word_vectors : path, mapping, KeyedVectors, frame, array or (words, array), optional
        *Public* vectors of the words (see :func:`discreet.corpus.match_vectors`), "moments" only: topics are expected
        to be made of words that mean something together. They are used where they know, far above chance, which words
        go together in the reports; elsewhere topics are those without them. They cost no privacy, and must not have
        been trained on the private texts.
    doc_topic_prior, topic_word_prior : float, default 1.0 and 0.01
        alpha and beta of the Gibbs sampler ("reconstruct" only).
    n_sweeps : int, default 200
        Of the Gibbs sampler.
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
        How many topics the noise lets through (moments only); see :mod:`discreet.lda.moments.estimates`.
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

    _constraints = rules(
        SHARED,
        word_vectors=ANYTHING,
        refine=Rule('"auto", True or False', lambda value: FLAG.holds(value) or choice("auto").holds(value)),
    )

    @formerly(inference="algorithm")
    def __init__(
        self,
        n_topics: int = 20,
        *,
        channel: Channel,
        algorithm: Literal["moments", "reconstruct"] = "moments",
        refine: bool | Literal["auto"] = "auto",
        word_vectors: Any = None,
        doc_topic_prior: float = 1.0,
        topic_word_prior: float = 0.01,
        n_sweeps: int = 200,
        allow_unlearnable: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.channel = channel
        self.algorithm = algorithm
        self.refine = refine
        self.word_vectors = word_vectors
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_sweeps = n_sweeps
        self.allow_unlearnable = allow_unlearnable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

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
        if self.algorithm == "reconstruct":
            return self._fit_rebuilt(rows, words, packed, simulated)
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
        if self.algorithm != "moments" or self.refine is True:
            raise ParameterError(
                "fit_moments has no reports to look at: take ",
                *(Parameter("algorithm"), '="moments" and ', Parameter("refine"), '="auto" or False.'),
            )
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
        found, seed = moments.estimates(), new_seed(self.random_state)
        vectors = None if self.word_vectors is None else match_vectors(self.word_vectors, words)
        rows = None if vectors is None else vectors.vectors
        topics = self._learn(found, moments.n, seed, vectors=rows, reports=reports)
        settings: dict[str, Any] = {"learnable": topics.learnable, "refined": topics.refined}
        if vectors is not None:
            settings |= topics.said_of_vectors(vectors.name, vectors.settings())
        self.learnable_, self.unigram_, self.n_features_in_ = topics.learnable, topics.unigram, len(words)
        self.release_ = make_release(
            self,
            topics.topic_word,
            topics.topic_weight,
            words,
            moments.n,
            settings,
            simulated=simulated,
        )
        return self

    def _fit_rebuilt(self, X: Any, words: tuple[str, ...], packed: bool, simulated: bool) -> LocalLDA:
        from discreet.lda.gibbs.estimator import GibbsLDA

        seed = new_seed(self.random_state)
        rows = np.concatenate([*read_bits(X, len(words), packed=packed), np.zeros((0, len(words)), np.uint8)])
        bits = rebuild(rows, self.channel, np.random.default_rng(seed))
        sampler = GibbsLDA(
            self.n_topics,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            init="random",
            n_sweeps=self.n_sweeps,
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(bits)
        tokens = sampler.topic_word_counts_.sum(1)
        self.unigram_, self.n_features_in_ = bits.mean(0), len(words)
        if hasattr(self, "learnable_"):
            del self.learnable_
        settings = {name: getattr(self, name) for name in ("doc_topic_prior", "topic_word_prior", "n_sweeps")}
        weight = tokens / max(tokens.sum(), 1)
        self.release_ = make_release(
            self, sampler.topic_word_, weight, words, len(rows), settings, simulated=simulated
        )
        return self
