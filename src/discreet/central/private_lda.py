"""PrivateLDA: topics of a corpus that a trusted curator holds, under differential privacy.

The estimator is a shell: it checks, books, reads, runs ``init`` and ``step`` of
:mod:`discreet.central.full_batch` (or :mod:`discreet.central.dp_svi` for ``sampling_rate < 1``), and puts what
was released into a ``Release``. The guarantee and its proof stand in those modules.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet._progress import Callback, tell
from discreet.central import dp_svi as dpsvi
from discreet.central import full_batch
from discreet.central.private_lda_check import check_data, check_parameters
from discreet.central.schedule import plan
from discreet.central.units import Units, group_units
from discreet.errors import ParameterError
from discreet.privacy.accounting import events
from discreet.privacy.accounting.explain import HOPELESS, Learnability, learnability
from discreet.privacy.accounting.totals import epsilon_for, gdp_mu, noise_multiplier_for
from discreet.privacy.ledger.ledger import Ledger, Reservation
from discreet.privacy.noise.stream import SecureStream
from discreet.privacy.shared_gaussian import SharedGaussian
from discreet.release.record import Release
from discreet.release.released_topics import ReleasedTopics

__all__ = ["PrivateLDA"]


class PrivateLDA(ReleasedTopics):
    r"""Latent Dirichlet allocation with a differential-privacy guarantee for each document, or each author.

    Parameters
    ----------
    n_topics : int, default 20
    epsilon : float, default 1.0
        Privacy loss of the fit. ``inf`` is the non-private twin, through the same code.
    delta : float, default 1e-6
        Probability with which the loss may be exceeded.
    privacy_unit : {"document", "author"}, default "document"
        Whose presence is hidden. "author" needs ``owners``.
    doc_topic_prior : float, default 0.1
        Dirichlet prior of topics in a document.
    sampling_rate : float, default 1.0
        At 1: the full-batch algorithm, which is better on all corpora measured. Below 1: DP-SVI on Poisson
        samples.
    n_rounds : int, optional
        Rounds of training. By default 3 or 5 (15 without privacy); with sampling, one expected pass over the
        corpus.
    topic_word_prior : float, optional
        DP-SVI only: Dirichlet prior of words in a topic; by default 1 / n_topics.
    contribution_bound : float, default 50.0
        DP-SVI only: Frobenius norm to which each unit's statistic is clipped.
    learning_offset, learning_decay : float, default 1.0 and 0.7
        DP-SVI only: tau_0 and kappa of the step size (tau_0 + t) ** -kappa.
    denoise : {"empirical_bayes", "zero"}, default "empirical_bayes"
        DP-SVI only: how noisy sums are read; "zero" replaces negative ones by 0.
    n_units_lower_bound : int, optional
        A public lower bound on the number of documents (or authors): lets a hopeless fit, or a delta that is
        too large, be refused before anything is spent.
    allow_unlearnable : bool, default False
        Train even where topics will be mostly noise.
    random_state : int, optional
        None: noise from the operating system. An int: reproducible, and the release says "not for release".
    n_jobs : int, optional
        Threads, as in scikit-learn. The result is the same bytes for any number.
    ledger : Ledger, optional
        Where the cost is booked; share one between all estimators that see a text. By default ``fit`` makes
        one.
    callback : callable, optional
        ``callback(stage, done, total)`` is called as work goes on.

    Attributes
    ----------
    release_ : Release
        Everything that may be published, with its guarantee.
    components_ : array of shape (n_topics, n_words)
        ``release_.topic_word``: rows sum to 1.
    forecast_ : Learnability or None
        How much could be learned, from released numbers (full batch only).
    n_features_in_ : int
        Number of words.

    Notes
    -----
    *Guarantee*: ``release_`` as a whole satisfies (epsilon, delta)-differential privacy for adding or removing one
    unit; if the ledger was shared, the release states the cost of everything booked on it. ``transform`` is exact,
    so what it returns is as private as the documents it is given.

    The cost is booked before ``X`` is read. If X turns out to be bad, it stays booked.

    Every call of ``fit`` is a release of its own. Fits without a ``ledger`` each get a new one, which knows nothing
    of the others: whoever tries several settings on one text (a grid search, say) and publishes more than one
    result, or picks the best, should give them one ledger, so that their costs add up.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.random.default_rng(0).poisson(0.3, (2000, 30))
    >>> model = PrivateLDA(n_topics=2, epsilon=4.0, random_state=0).fit(counts)
    >>> model.components_.shape
    (2, 30)
    """

    def __init__(
        self,
        n_topics: int = 20,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        privacy_unit: str = "document",
        doc_topic_prior: float = 0.1,
        sampling_rate: float = 1.0,
        n_rounds: int | None = None,
        topic_word_prior: float | None = None,
        contribution_bound: float = 50.0,
        learning_offset: float = 1.0,
        learning_decay: float = 0.7,
        denoise: str = "empirical_bayes",
        n_units_lower_bound: int | None = None,
        allow_unlearnable: bool = False,
        random_state: int | None = None,
        n_jobs: int | None = None,
        ledger: Ledger | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.epsilon = epsilon
        self.delta = delta
        self.privacy_unit = privacy_unit
        self.doc_topic_prior = doc_topic_prior
        self.sampling_rate = sampling_rate
        self.n_rounds = n_rounds
        self.topic_word_prior = topic_word_prior
        self.contribution_bound = contribution_bound
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.denoise = denoise
        self.n_units_lower_bound = n_units_lower_bound
        self.allow_unlearnable = allow_unlearnable
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.callback = callback

    @classmethod
    def park2016(cls, n_topics: int = 50, *, corrected: bool = False, **changes: Any) -> "PrivateLDA":
        """Return the DP-SVI of Park, Foulds, Chaudhuri and Welling (2016), with their settings.

        Parameters
        ----------
        n_topics : int, default 50
        corrected : bool, default False
            The settings that served this algorithm best on news text instead: every fifth document in each of 20
            rounds (not every twentieth), a norm bound of 10 (50 is far above what a document of a hundred words has,
            so it only adds noise), and tau_0 = 1 (with 1024, 20 rounds hardly move the topics).
        **changes
            Any parameter of the class, instead of theirs. ``epsilon`` by default is what their noise
            multiplier of 1.24 costs at their delta of 1e-4 by today's accounting.
        """
        n_rounds, delta = 20, 1e-4
        settings: dict[str, Any] = {
            "delta": delta,
            "sampling_rate": 0.2 if corrected else 0.05,
            "n_rounds": n_rounds,
            "doc_topic_prior": 1 / n_topics,
            "topic_word_prior": 1 / n_topics,
            "contribution_bound": 10.0 if corrected else 50.0,
            "learning_offset": 1.0 if corrected else 1024.0,
            "learning_decay": 0.7,
            "denoise": "zero",
        }
        if "epsilon" not in changes:
            settings["epsilon"] = epsilon_for(1.24, delta, sampling_rate=0.05, n_rounds=n_rounds)
        return cls(n_topics, **{**settings, **changes})

    def fit(self, X: Any, y: Any = None, *, owners: Any = None, vocabulary: Any = None) -> "PrivateLDA":
        """Book the cost, then train.

        Parameters
        ----------
        X : array-like, sparse matrix, WordCounts or Corpus of shape (n_documents, n_words)
            Counts: whole numbers, not negative.
        y : None
            Ignored.
        owners : array-like of shape (n_documents,), optional
            Author of each document, as whole numbers; by default those that X carries.
        vocabulary : sequence of str of length n_words, optional
            The (public, or privately chosen) word of each column; by default those that X carries.

        Raises
        ------
        ParameterError, PrivacyError
            Before X is read or anything booked, naming all parameters that are out of range.
        BudgetExceeded
            Where the ledger has less left. X is not read, and the estimator is as it was.
        CorpusError
            Where X is not what was expected. The cost stays booked.
        """
        check_parameters(self, X, owners)
        mu = gdp_mu(self.epsilon, self.delta)
        ledger = self.ledger
        if ledger is None:
            ledger = Ledger(self.epsilon, self.delta, privacy_unit=self.privacy_unit)
        seeded = ", reproducible, not for release" if self.random_state is not None else ""
        noise, event = self._noise_and_event()
        reservation = ledger.reserve(event, f"topics ({self.n_topics} topics{seeded})")
        # From here on X may be read: the cost is booked.
        counts, authors, words = check_data(X, owners, vocabulary, self.privacy_unit)
        units = group_units(counts, authors)
        stream = SecureStream(self.random_state).spawn("topics")
        if self.sampling_rate < 1:
            fitted = self._fit_samples(units, noise, stream, reservation)
        else:
            fitted = self._fit_full(units, noise, mu, stream, reservation)
        self.forecast_ = fitted.pop("forecast")
        self.n_features_in_ = len(words)
        self.release_ = Release(
            vocabulary=words,
            ledger=ledger.snapshot(),
            configuration=self._configuration(),
            reproducible=self.random_state is not None,
            **fitted,
        )
        return self

    def _rounds_of_samples(self) -> int:
        return self.n_rounds or max(1, round(1 / self.sampling_rate))

    def _noise_and_event(self) -> tuple[float, Any]:
        if math.isinf(self.epsilon):
            return 0.0, events.non_private()
        if self.sampling_rate == 1:
            noise = noise_multiplier_for(self.epsilon, self.delta)
            return noise, events.gaussian(noise)
        rate, n_rounds = self.sampling_rate, self._rounds_of_samples()
        noise = noise_multiplier_for(self.epsilon, self.delta, sampling_rate=rate, n_rounds=n_rounds)
        return noise, events.composed(events.poisson_sampled(rate, events.gaussian(noise)), n_rounds)

    def _fit_full(
        self, units: Units, noise: float, mu: float, stream: SecureStream, reservation: Reservation
    ) -> dict[str, Any]:
        gate = SharedGaussian(reservation, noise, self.privacy_unit, stream, self.n_jobs)
        n_units = full_batch.count_units(units, gate)
        forecast = learnability(units.n_words, self.n_topics, n_units, mu)
        if forecast.difficulty > HOPELESS and not self.allow_unlearnable:
            raise ParameterError(
                f"{forecast.in_words()} Nothing was trained, but the cost stays booked: state n_units_lower_bound to "
                "be told before, or set allow_unlearnable=True."
            )
        schedule = plan(n_units, mu, units.n_words, self.n_rounds)
        total = len(schedule.round_shares)
        tell(self.callback, "starting topics", 0, 1)
        state = full_batch.init(units, self.n_topics, self.doc_topic_prior, schedule, gate)
        tell(self.callback, "starting topics", 1, 1)
        for done in range(total):
            tell(self.callback, "training rounds", done, total)
            state, _ = full_batch.step(state, units, self.doc_topic_prior, schedule, gate)
        tell(self.callback, "training rounds", total, total)
        return {
            "topic_word": _rows(state.word_topic),
            "topic_weight": state.topic_weight,
            "word_weight": state.unigram,
            "topic_word_noise": full_batch.noise_in_topics(state),
            "n_units_noisy": n_units,
            "forecast": forecast,
        }

    def _fit_samples(
        self, units: Units, noise: float, stream: SecureStream, reservation: Reservation
    ) -> dict[str, Any]:
        settings = dpsvi.Settings(
            self.n_topics,
            self.doc_topic_prior,
            1 / self.n_topics if self.topic_word_prior is None else self.topic_word_prior,
            self.sampling_rate,
            self.contribution_bound,
            noise,
            self.learning_offset,
            self.learning_decay,
            self.denoise,
            self.privacy_unit,
        )
        state = dpsvi.init(units.n_words, settings, stream)
        total = self._rounds_of_samples()
        for done in range(total):
            tell(self.callback, "training rounds", done, total)
            state = dpsvi.step(state, units, settings, stream, reservation, self.n_jobs)
        tell(self.callback, "training rounds", total, total)
        weight = state.topics.sum(0)
        return {
            "topic_word": _rows(state.topics),
            "topic_weight": weight / weight.sum(),
            "word_weight": state.topics.sum(1) / state.topics.sum(),
            "topic_word_noise": dpsvi.noise_in_topics(state),
            "n_units_noisy": None,
            "forecast": None,
        }

    def _configuration(self) -> dict[str, Any]:
        from discreet._version import __version__

        sampled = self.sampling_rate < 1
        names = ["n_topics", "privacy_unit", "doc_topic_prior", "sampling_rate", "n_rounds"]
        if sampled:
            names += [
                "topic_word_prior",
                "contribution_bound",
                "learning_offset",
                "learning_decay",
                "denoise",
            ]
        public = {name: getattr(self, name) for name in names}
        public |= {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        public |= {"estimator": "PrivateLDA", "version": __version__}
        public["algorithm"] = (
            "DP-SVI on Poisson samples" if sampled else "full batch with co-occurrence start"
        )
        forecast: Learnability | None = self.forecast_
        if forecast is not None:
            public["forecast"] = forecast.in_words()
        return {name: value for name, value in public.items() if value is not None}


def _rows(word_topic: NDArray[np.float64]) -> NDArray[np.float64]:
    topic_word = np.ascontiguousarray(word_topic.T)
    return topic_word / topic_word.sum(1, keepdims=True)
